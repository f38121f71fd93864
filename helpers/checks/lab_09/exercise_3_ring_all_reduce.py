"""Lab 09, exercise 3: `ring_all_reduce`."""

import torch
from torch import Tensor

from helpers.checks.descriptions import describe
from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(
    3, points=4, success_message="Every process has the sum, and none sent more than it had to."
)
def exercise_3(trial: Trial, ring_all_reduce: Answer) -> None:
    """`ring_all_reduce(tensors, send)`: the sum for each process, sending few bytes."""
    for n in (4, 2, 3, 1):
        devices = [trial.devices[rank % len(trial.devices)] for rank in range(n)]
        length = n * trial.random.randint(2, 5)
        tensors = [trial.integers(0, 100, (length,), device, torch.float32) for device in devices]
        before = [tensor.clone() for tensor in tensors]
        result, sent_bytes = _run(trial, ring_all_reduce, tensors, devices)
        _check_sums(trial, result, before, devices)
        unchanged = all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))
        trial.expect(unchanged, "input-changed")
        size = tensors[0].nbytes
        details = {"n": n, "size": size, "found": max(sent_bytes), "exact": 2 * (n - 1) * size // n}
        trial.expect(max(sent_bytes) <= details["exact"], "too-many-bytes", **details)
        trial.expect(
            min(sent_bytes) >= details["exact"], "not-sent", **details | {"found": min(sent_bytes)}
        )
        if n > 1:
            second_result, _ = _run(trial, ring_all_reduce, tensors, devices, added=1)
            all_used = all((a != b).all() for a, b in zip(second_result, result, strict=True))
            trial.expect(all_used, "not-received", n=n)


def _run(
    trial: Trial,
    ring_all_reduce: Answer,
    tensors: list[Tensor],
    devices: list[torch.device],
    added: int = 0,
) -> tuple[list[Tensor], list[int]]:
    """Call the answer; return its result and the bytes that each process sent.

    `added` is added to every number that is sent. Every number of the sum depends on at least one
    message, so all of them must then change.
    """
    n = len(tensors)
    sent_bytes = [0] * n
    mistakes: list[WrongAnswer] = []

    def send(source, target, tensor):
        if not isinstance(tensor, Tensor):
            mistakes.append(trial.wrong("not-a-message", found=describe(tensor)))
        elif target != (source + 1) % n:
            details = {"source": source, "target": target, "n": n}
            mistakes.append(trial.wrong("not-a-neighbor", **details))
        else:
            sent_bytes[source] += tensor.nbytes
            return tensor.detach().clone().to(devices[target]) + added
        raise mistakes[-1]

    result = trial.result_of(ring_all_reduce, list(tensors), trial.callback(send))
    if mistakes:  # the student's code has caught the exception
        raise mistakes[0]
    return result, sent_bytes


def _check_sums(trial: Trial, result, before: list[Tensor], devices: list[torch.device]) -> None:
    n = len(before)
    is_list = isinstance(result, list) and len(result) == n
    is_list = is_list and all(isinstance(tensor, Tensor) for tensor in result)
    trial.expect(is_list, "not-a-list", n=n, found=describe(result))
    total = sum(original.cpu() for original in before)
    for rank, tensor in enumerate(result):
        details = {"rank": rank, "n": n}
        same_shape = tensor.shape == before[rank].shape
        trial.expect(same_shape, "different-shape", **details, found=tuple(tensor.shape))
        on_device = tensor.device == devices[rank]
        trial.expect(on_device, "elsewhere", **details, found=tensor.device, wanted=devices[rank])
        if torch.equal(tensor.cpu(), total):
            continue
        is_mean = torch.allclose(tensor.cpu() * n, total)
        trial.expect(not is_mean, "the-mean", **details)
        num_right = int((tensor.cpu() == total).sum())
        partly_summed = num_right >= len(total) // n
        trial.expect(
            not partly_summed, "partly-summed", **details, right=num_right, count=len(total)
        )
        raise trial.wrong("different-sum", **details)
