"""Lab 04, exercise 3: the accuracy of each of ten classes."""

from helpers.checks.exercise import Case
from helpers.checks.lab_04.shared import COSTS, count_confusion, draw_pairs, evaluate
from helpers.checks.plain import first, is_close, is_number
from helpers.language import translate

answers = "per_class(net, batches)"
points = 3
success = "Every image counts, in batches of any size."
section = "Accuracy per class, and a common mistake"
tolerance = 1e-4
collect = evaluate
costs = COSTS


def cases(draw):
    # Without the last class, `bincount` needs to know how many classes there are.
    for device, sizes, missing in (
        (draw.device, [draw.randint(20, 30)] * 4 + [1, 7], draw.randint(0, 8)),
        ("cpu", [draw.randint(6, 9)] * 5 + [2, 1], 9),
    ):
        case = Case(seed=draw.randrange(2**31), device=device, training=False, label=missing)
        case["pairs"] = [*draw_pairs(draw, case, sizes)]
        for _, labels in case.pairs:
            labels.values[labels.values == missing] = (missing + 1) % 10
        yield case


def right(case, axis=1):
    table = count_confusion(case)
    return (table.diagonal() / table.sum(axis)).tolist()


def wrong_fraction(f):
    return first(
        not is_close(found, row[i] / row.sum(), tolerance)
        and {"label": i, "found": found, "correct": int(row[i]), "images": int(row.sum())}
        for i, (row, found) in enumerate(zip(count_confusion(f.case), f.value, strict=True))
        if row.sum()
    )


returns = (
    "not-ten-numbers",
    lambda value, case: isinstance(value, list) and [*map(is_number, value)] == [True] * 10,
)
wrong_outcomes = {"divided-by-predictions": lambda case: right(case, axis=0)}
mistakes = {
    "wrong-fraction": wrong_fraction,
    "empty-class": lambda f: {"what": translate("returns {value}", value=f.value[f.case.label])},
}
hints = """
not-ten-numbers: `per_class` returns {what}, but it should return a list of ten Python numbers.
    -> Return one plain number per class, in the order of the classes.
empty-class: There is no image of class {label}, and for that class `per_class` {what}; it should
    return nan.
    -> Zero divided by zero is not a number. What does a tensor return for 0 / 0, and what does
    Python do?
divided-by-predictions: You divide by how often the network *predicts* a class. Divide by how many
    images *are* of the class.
    -> In the table of true classes against predictions: along which axis do you sum?
wrong-fraction: For class {label}, `per_class` returns {found:.3g}; {correct} of {images} images are
    correct.
    -> Work out by hand what a batch of three images should add to your counts.
"""
