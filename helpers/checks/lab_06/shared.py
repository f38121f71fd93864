"""What exercises 1 and 2 ask of an augmentation, whatever it does to the pixels."""

import random

import torch

from helpers.checks.plain import is_equal, is_tensor, plain
from helpers.language import translate


def make_case(draw, images, *others):
    given = translate("{dtype} and shape {shape}", dtype=images.dtype, shape=images.shape)
    case = {"images": images, "device": images.device, "count": len(images.values), "given": given}
    return {**case, "others": others, "seed": draw.randrange(2**31), "calls": 6, "small": 16}


def collect(call, case, function):
    """Call the augmentation repeatedly, and count its operations for few and many images."""
    images, calls = case.images.make(), []
    for each in [images] * case.calls + [images[: case.small]]:
        torch.manual_seed(case.seed + len(calls))
        random.seed(case.seed + len(calls))
        calls.append(call(function, each, *case.others))
    facts = calls[0].add(results=[each.value for each in calls[:-1]])
    facts.arguments = {"images": plain(images)}
    return facts.add(few=calls[-1].calls, many=facts.calls, large=case.count)


returns = (
    "not-images",
    lambda x, case: is_tensor(x) and (x.shape, x.dtype) == (case.images.shape, case.images.dtype),
)
questions = ["result-elsewhere", "input-changed", "copied"]
costs = {
    "not-random": lambda f: is_equal(*f.results[:2]),
    "one-by-one": lambda f: f.many >= 2 * f.few,
}
