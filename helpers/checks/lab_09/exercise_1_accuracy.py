"""Lab 09, exercise 1: the accuracy over the images of all processes."""

from functools import partial

from helpers.checks.collecting import CallFailed, Facts
from helpers.checks.plain import PlainTensor, describe, first, is_close, is_number

answers = "accuracy(scores, labels, all_reduce)"
points = 2
success = "Every process knows the accuracy over all images."
section = "Train with DDP"
tolerance = 1e-5


def cases(draw):
    for sizes in ([4, 4], draw.sample(range(2, 9), 3), [3, 0, 2, 1], [0, 1], [100, 91, 80]):
        scores = [draw.normal(n, 5, device=draw.devices[i % 2]) for i, n in enumerate(sizes)]
        labels = [x.values.argmax(1) for x in scores]
        for classes in labels[1:]:
            classes[:1] = (classes[:1] + 1) % 5  # The first image is wrong, but not of process 0.
        labels = [PlainTensor(y, x.device) for x, y in zip(scores, labels, strict=True)]
        exact = 1 - sum(n > 0 for n in sizes[1:]) / sum(sizes)
        yield {"sizes": sizes, "exact": exact, "pairs": list(zip(scores, labels, strict=True))}


def all_reduce(rank, waiting, sums, tensor):
    """Replace the tensor by the next sum; end the call if other processes have to run first."""
    if (total := next(sums, None)) is None:
        waiting[rank] = tensor.detach().clone()
        raise SystemExit  # `except Exception` in an answer does not catch it
    tensor.data.copy_(total)


def collect(call, case, accuracy):
    """Call all processes up to their next all_reduce, add up, and start again."""
    passed, sums = [], []
    while True:
        waiting, values = {}, []
        for rank, pair in enumerate(case.pairs):
            reduce = partial(all_reduce, rank, waiting, iter(sums))
            try:
                values.append(call(accuracy, *(x.make() for x in pair), reduce).value)
            except CallFailed:
                if rank not in waiting:
                    raise
        passed += waiting.items()
        if values or len({(x.shape, x.dtype) for x in waiting.values()}) > 1:
            return Facts(value=values).add(passed=passed, waiting=[*waiting])
        sums.append(sum(x.cpu() for x in waiting.values()))


def accuracies(case):
    return [1 - (rank > 0) / max(n, 1) for rank, n in enumerate(case.sizes)]


def right(case):
    return [case.exact] * len(case.sizes)


errors = {"no-images": lambda f: 0 in f.case.sizes}
side_effects = {
    "deadlock": lambda f: f.waiting and {"rank": f.waiting[0]},
    "passed-elsewhere": lambda f: first(
        x.device != f.case.pairs[rank][0].device and {"rank": rank, "found": x.device}
        for rank, x in f.passed
    ),
    "not-a-number": lambda f: first(not is_number(x) and {"what": describe(x)} for x in f.value),
}
wrong_outcomes = {
    "own-share": accuracies,
    "mean-of-accuracies": lambda case: [sum(accuracies(case)) / len(case.sizes)] * len(case.sizes),
}
# `found` is the first value that is wrong.
mistakes = {"wrong-accuracy": lambda f: {"found": min(f.value, key=partial(is_close, f.right[0]))}}
hints = """
no-images: With {sizes} images in the processes, `accuracy` raises {error}.
    -> What does a process without images count? Which of its numbers is 0 before the all-reduce?
deadlock: With {sizes} images, process {rank} waits forever: another one does not call `all_reduce`,
    or calls it with a different shape or dtype.
    -> Which tensor has the same shape, and which line runs, whether a process has images or not?
    see: Deadlocks and uneven batches
passed-elsewhere: Process {rank} passes `all_reduce` a tensor on {found}, not on its own device.
    -> On which device do you create the tensor, and where are the scores?
own-share: Each process returns the accuracy of its own images.
    -> How does a process learn what the others have counted?
mean-of-accuracies: You return the mean of the processes' accuracies: a small share counts too much.
    -> Which two counts do you need for the accuracy over all images?
wrong-accuracy: With {sizes} images, the accuracy is {exact:.4g}, but you return {found:.4g}.
    -> Write down what each process counts, and what its tensor holds after `all_reduce`.
"""
