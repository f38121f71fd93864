"""Lab 04, exercise 2: the accuracy, counted on the network's device."""

from statistics import mean

from helpers.checks.exercise import Case
from helpers.checks.lab_04.shared import COSTS, SIDE_EFFECTS, count_confusion, draw_pairs, evaluate
from helpers.checks.plain import is_number

answers = "accuracy(net, batches)"
points = 3
success = "The accuracy is right, and the CPU waits for the GPU once."
section = "How good is it?"
tolerance = 1e-5
collect = evaluate
side_effects, costs = SIDE_EFFECTS, COSTS


def cases(draw):
    for device in (draw.device, "cpu"):
        sizes = [draw.randint(5, 9)] * draw.randint(4, 6) + [1, 3]
        case = Case(seed=draw.randrange(2**31), device=device, training=device != "cpu")
        yield {**case, "pairs": [*draw_pairs(draw, case, sizes)], "images": sum(sizes)}


def right(case):
    table = count_confusion(case)
    return (table.trace() / table.sum()).item()


returns = ("not-a-number", lambda value, case: is_number(value))
wrong_outcomes = {
    "mean-of-means": lambda case: mean(right(Case(case, pairs=[pair])) for pair in case.pairs)
}
mistakes = {"wrong-fraction": lambda f: {"correct": round(f.right * f.case.images)}}
hints = """
mean-of-means: Your result is the mean of the batches' accuracies: a smaller batch counts too much.
    -> Which two counts do you need for the accuracy over all images?
wrong-fraction: {correct} of {images} images are correct, but `accuracy` returns {found:.4g}.
    -> Try it by hand on a batch of two images: what are the predictions, and which are correct?
"""
