"""Lab 04, exercise 2: the accuracy, counted on the network's device."""

from helpers.checks.exercise import Case, otherwise
from helpers.checks.lab_04.shared import count_confusion, draw_batches, evaluate
from helpers.checks.plain import first, is_close, is_number
from helpers.language import translate

answers = "accuracy(net, batches)"
points = 3
success = "The accuracy is right, and the CPU waits for the GPU once."
section = "How good is it?"
tolerance = 1e-5
collect = evaluate


def cases(draw):
    for device in (draw.device, "cpu"):
        sizes = [draw.randint(5, 9)] * draw.randint(4, 6) + [1, draw.randint(2, 4)]
        outcomes = [0, 0]
        # Repeat until each mistake has a different outcome.
        while len({round(outcome, 4) for outcome in outcomes}) < len(outcomes):
            seed = draw.randrange(2**31)
            case = Case(batches=draw_batches(draw, seed, sizes), seed=seed, sizes=sizes)
            case |= {"correct": count_correct(case), "images": sum(sizes)}
            outcomes = [right(case), mean_of_means(case)]
            outcomes += [case.correct / total for total in wrong_totals(case)]
        yield case | {"before": device, "training": device != "cpu"}


def count_correct(case):
    return int(count_confusion(case).trace())


def right(case):
    return case.correct / case.images


def mean_of_means(case):
    counts = [count_correct(Case(batches=[batch], seed=case.seed)) for batch in case.batches]
    return sum(n / size for n, size in zip(counts, case.sizes, strict=True)) / len(counts)


def wrong_totals(case):
    """Return wrong values that students may use as the number of images."""
    count = len(case.sizes)
    return {count * n for n in (case.sizes[0], case.sizes[-1], 4, 1)} - {case.images}


def wrong_total(f):
    totals = wrong_totals(f.case)
    return first({"guessed": t} for t in totals if is_close(f.value, f.case.correct / t, 1e-4, 0))


returns = ("not-a-number", lambda value, case: is_number(value))
side_effects = {
    "net-moved": lambda f: (
        (others := {*f.net.devices, *f.devices} - {f.case.before})
        and {"after": ", ".join(sorted(others))}
    ),
    "train-mode": lambda f: True in f.modes,
    "mode-not-restored": lambda f: (
        f.training != f.case.training and {"before": f.case.training, "after": f.training}
    ),
    "keeps-gradients": lambda f: True in f.gradients,
    "gradients-left-off": lambda f: f.gradients_left_off,
}
wrong_outcomes = {
    "in-percent": lambda case: 100 * right(case),
    "mean-of-means": mean_of_means,
}
mistakes = {"wrong-total": wrong_total, "wrong-fraction": otherwise}
costs = {
    "many-fetches": lambda f: f.fetched > 2 and {"enough": translate("once is enough")},
}
hints = """
not-a-number: `accuracy` returns {what}, but it should return a plain Python number from 0 to 1.
    -> A tensor with one number in it is still a tensor on its device. Which method returns the
    number?
net-moved: The network was on {before}, but it was called on {after}.
    -> A module moves in place, for everybody who uses it. What should move instead, and to which
    device?
    see: Three edits
train-mode: The network was in training mode during the evaluation: its dropout set half of its
    inputs to zero.
    -> A module has two modes. Which method switches to evaluation, and where does that line have to
    be?
mode-not-restored: `net.training` was {before} before the call and is {after} after it.
    -> The caller may want to continue training. `net.training` tells you the mode at the start;
    what do you do with it at the end?
gradients-left-off: After the call, torch no longer tracks gradients: the caller cannot train
    anymore.
    -> A setting stays until somebody changes it back. Which block turns gradients off only for the
    lines inside it?
in-percent: `accuracy` returns {found:g}, but it should return a fraction from 0 to 1.
    -> Percentages are for display. What is the result of the division alone?
mean-of-means: Your result is the mean of the accuracies of the batches. The last batch is smaller
    than the others, so its images have too much weight.
    -> Which two counts do you need for the accuracy over all images?
wrong-total: You divide by {guessed}, but there are {images} images.
    -> Is every batch as large as the first? What tells you how many images a batch has?
    see: Accuracy per class, and a common mistake
wrong-fraction: The network classifies {correct} of {images} images correctly, but `accuracy`
    returns {found:.4g}.
    -> Try it by hand on a batch of two images: what are the predictions, and which are correct?
"""
