"""Lab 04, exercise 3: the accuracy of each of ten classes."""

from helpers.checks.exercise import Case
from helpers.checks.lab_04.shared import COSTS, SIDE_EFFECTS, count_confusion, draw_pairs, evaluate
from helpers.checks.plain import first, is_close, is_list, is_number

answers = "per_class(net, batches)"
points = 3
success = "Every image counts, in batches of any size."
section = "Accuracy per class, and a common mistake"
tolerance = 1e-4
collect = evaluate
side_effects, costs = SIDE_EFFECTS, COSTS


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


def right(case):
    table = count_confusion(case)
    return (table.diagonal() / table.sum(1)).tolist()


def wrong_fraction(f):
    return first(
        not is_close(found, row[i] / row.sum(), tolerance)
        and {"label": i, "found": found, "correct": int(row[i]), "images": int(row.sum())}
        for i, (row, found) in enumerate(zip(count_confusion(f.case), f.value, strict=True))
        if row.sum()
    )


returns = ("not-ten-numbers", lambda value, case: is_list(value, 10, is_number))
mistakes = {
    "wrong-fraction": wrong_fraction,
    "empty-class": lambda f: {"found": f.value[f.case.label]},
}
hints = """
not-ten-numbers: `per_class` returns {what}, but it should return a list of ten Python numbers.
    -> Return one plain number per class, in the order of the classes.
empty-class: For class {label}, without images, `per_class` returns {found}; it should return nan.
    -> Zero divided by zero is not a number. What do a tensor and Python return for 0 / 0?
wrong-fraction: For class {label}, you return {found:.3g}; {correct} of {images} images are correct.
    -> Work out by hand what a batch of three images should add to your counts.
"""
