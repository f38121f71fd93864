"""Lab 04, exercise 3: the accuracy of each of ten classes."""

from helpers.checks.exercise import Case
from helpers.checks.lab_04.shared import count_confusion, draw_batches, evaluate
from helpers.checks.plain import first, is_close, is_number
from helpers.language import translate

answers = "per_class(net, batches)"
points = 3
success = "Every image counts, in batches of any size."
section = "Accuracy per class, and a common mistake"
tolerance = 1e-4
collect = evaluate


def cases(draw):
    r = draw.randint
    # Without the last class, `bincount` needs to know how many classes there are.
    for device, sizes, missing in (
        (draw.device, [r(20, 30)] * 4 + [1, r(5, 9)], r(0, 8)),
        ("cpu", [r(6, 9)] * 5 + [r(2, 3), 1], 9),
    ):
        case = Case(seed=draw.randrange(2**31), before=device, training=False, label=missing)
        case |= {"batches": draw_batches(draw, case.seed, sizes), "size": min(sizes)}
        for _, labels in case.batches:
            labels.values[labels.values == missing] = (missing + 1) % 10
        yield case


def accuracies(case, divisor, first=None):
    table = count_confusion(case, first)
    return (table.diagonal() / divisor(table)).tolist()


def right(case):
    return accuracies(case, lambda table: table.sum(1))


def wrong_fraction(f):
    return first(
        not is_close(found, row[i] / row.sum(), tolerance)
        and {"label": i, "found": found, "correct": int(row[i]), "images": int(row.sum())}
        for i, (row, found) in enumerate(zip(count_confusion(f.case), f.value, strict=True))
        if row.sum()
    )


def is_list_of_ten(value, case):
    return isinstance(value, list) and len(value) == 10 and all(map(is_number, value))


errors = {
    "empty-class": lambda f: (
        "ZeroDivisionError" in f.error.types and {"what": translate("divides by zero")}
    ),
    "fixed-batch": lambda f: (
        ("IndexError" in f.error.types or "0-d tensor" in f.error.text) and {"error": f.error.line}
    ),
}
returns = ("not-ten-numbers", is_list_of_ten)
wrong_outcomes = {
    "first-four": lambda case: accuracies(case, lambda table: table.sum(1), first=4),
    "divided-by-predictions": lambda case: accuracies(case, lambda table: table.sum(0)),
    "fraction-of-all": lambda case: accuracies(case, lambda table: table.sum()),
}
mistakes = {
    "wrong-fraction": wrong_fraction,
    "empty-class": lambda f: {"what": translate("returns {value}", value=f.value[f.case.label])},
}
costs = {
    "keeps-gradients": lambda f: True in f.gradients,
    "many-fetches": lambda f: (
        f.fetched > 2 and {"enough": translate("two tables of counts need at most two reads")}
    ),
}
hints = """
not-ten-numbers: `per_class` returns {what}, but it should return a list of ten Python numbers.
    -> Return one plain number per class, in the order of the classes.
fixed-batch: For a batch of {size} images, `per_class` raises {error}.
    -> The last batch is often smaller, and may have a single image. Which number in your code
    assumes a batch size?
first-four: Your function counts only the first four images of each batch.
    -> Read the loop over single images again: where does it stop?
empty-class: There is no image of class {label}, and for that class `per_class` {what}; it should
    return nan.
    -> Zero divided by zero is not a number. What does a tensor return for 0 / 0, and what does
    Python do?
divided-by-predictions: You divide by how often the network *predicts* a class. Divide by how many
    images *are* of the class.
    -> In the table of true classes against predictions: along which axis do you sum?
fraction-of-all: You divide by the number of all images instead of the images of one class.
    -> How many images of this class are there?
wrong-fraction: For class {label}, `per_class` returns {found:.3g}; {correct} of {images} images are
    correct.
    -> Work out by hand what a batch of three images should add to your counts.
"""
