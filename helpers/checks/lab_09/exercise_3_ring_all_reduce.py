"""Lab 09, exercise 3: `ring_all_reduce`."""

import torch
from torch import Tensor

from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial, describe


@lab.exercise(3, points=4, right="Every process has the sum, and none sent more than it had to.")
def exercise_3(trial: Trial, ring_all_reduce: Answer) -> None:
    """`ring_all_reduce(tensors, send)`: the sum for each process, sending few bytes."""
    for n in (4, 2, 3, 1):
        places = [trial.devices[rank % len(trial.devices)] for rank in range(n)]
        length = n * trial.random.randint(2, 5)
        tensors = [trial.integers(0, 100, (length,), place, torch.float32) for place in places]
        before = [tensor.clone() for tensor in tensors]
        result, sent = _run(trial, ring_all_reduce, tensors, places)
        _check_sums(trial, result, before, places)
        kept = all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))
        trial.expect(kept, "input-changed")
        size = tensors[0].nbytes
        details = {"n": n, "size": size, "found": max(sent), "exact": 2 * (n - 1) * size // n}
        trial.expect(max(sent) <= details["exact"], "too-many-bytes", **details)
        trial.expect(min(sent) >= details["exact"], "not-sent", **details | {"found": min(sent)})
        if n > 1:
            changed, _ = _run(trial, ring_all_reduce, tensors, places, added=1)
            used = all((a != b).all() for a, b in zip(changed, result, strict=True))
            trial.expect(used, "not-received", n=n)


def _run(
    trial: Trial,
    ring_all_reduce: Answer,
    tensors: list[Tensor],
    places: list[torch.device],
    added: int = 0,
) -> tuple[list[Tensor], list[int]]:
    """Call the answer; return its result and the bytes that each process sent.

    `added` is added to every number that is sent. All numbers of the sum must then change, because
    each one depends on at least one message.
    """
    n = len(tensors)
    sent = [0] * n
    mistakes: list[WrongAnswer] = []

    def send(source, target, tensor):
        if not isinstance(tensor, Tensor):
            mistakes.append(trial.wrong("not-a-message", found=describe(tensor)))
        elif target != (source + 1) % n:
            details = {"source": source, "target": target, "n": n}
            mistakes.append(trial.wrong("not-a-neighbor", **details))
        else:
            sent[source] += tensor.nbytes
            return tensor.detach().clone().to(places[target]) + added
        raise mistakes[-1]

    result = trial.result_of(ring_all_reduce, list(tensors), trial.callback(send))
    if mistakes:  # the student's code has caught the exception
        raise mistakes[0]
    return result, sent


def _check_sums(trial: Trial, result, before: list[Tensor], places: list[torch.device]) -> None:
    n = len(before)
    good = isinstance(result, list) and len(result) == n
    good = good and all(isinstance(each, Tensor) for each in result)
    trial.expect(good, "not-a-list", n=n, found=describe(result))
    total = sum(tensor.cpu() for tensor in before)
    for rank, each in enumerate(result):
        details = {"rank": rank, "n": n}
        shape = each.shape == before[rank].shape
        trial.expect(shape, "other-shape", **details, found=tuple(each.shape))
        there = each.device == places[rank]
        trial.expect(there, "elsewhere", **details, found=each.device, wanted=places[rank])
        if torch.equal(each.cpu(), total):
            continue
        mean = torch.allclose(each.cpu() * n, total)
        trial.expect(not mean, "the-mean", **details)
        right = int((each.cpu() == total).sum())
        partly = right >= len(total) // n
        trial.expect(not partly, "partly-summed", **details, right=right, count=len(total))
        raise trial.wrong("other-sum", **details)
