"""Lab 01, exercise 2: the devices of machines with different numbers of GPUs."""

import torch

from helpers.checks.machines import machine
from helpers.checks.plain import describe, first, format_gpu_count
from helpers.language import translate

answers = "try_gpu(i=0), try_all_gpus()"
points = 3
success = "Your functions find the devices of every machine."
section = "Which devices are there?"


def cases(draw):
    for count in [*draw.sample([2, 3, 5], 2), 1, 0]:
        yield from ({"count": count, "i": i} for i in [*range(count + 2), None, "all"])


def collect(call, case, try_gpu, try_all_gpus):
    with machine(case.count):
        if case.i == "all":
            return call(try_all_gpus)
        return call(try_gpu, *([] if case.i is None else [case.i]), may_fail=case.i is None)


def right(case):
    gpus = [torch.device("cuda", i) for i in range(case.count)]
    cpu = torch.device("cpu")
    if case.i == "all":
        return gpus or [cpu]
    return [*gpus, cpu, cpu][case.i or 0]


def devices(f):
    return f.value if f.case.i == "all" else [f.value]


def wrong(f, found):
    i = "" if f.case.i is None else f.case.i
    return {"gpus": format_gpu_count(f.case.count), "i": i, "found": found}


errors = {"no-default": lambda f: f.case.i is None and f.error.hint == "wrong-arguments"}
returns = ("not-a-list", lambda value, case: case.i != "all" or isinstance(value, list))
side_effects = {
    "not-a-device": lambda f: first(
        not isinstance(device, torch.device) and {"what": describe(device)} for device in devices(f)
    ),
    "no-index": lambda f: torch.device("cuda") in devices(f),
}
mistakes = {
    "empty-list": lambda f: f.value == [],
    "wrong-list": lambda f: (
        f.case.i == "all" and wrong(f, ", ".join(map(str, f.value)) or translate("an empty list"))
    ),
    "no-fallback": lambda f: (f.case.i or 0) >= max(f.case.count, 1) and wrong(f, f.value),
    "wrong-gpu": lambda f: wrong(f, f.value),
}
hints = """
not-a-device: `{name}` returns {what}, but it should return a `torch.device`.
    -> The name of a device in quotes is a string. Which function turns it into a device?
    see: The name of a device
no-index: `{name}` returns `cuda` without an index.
    -> Without an index, `cuda` means the current GPU. Where does the index come from here?
    see: The name of a device
wrong-gpu: On a machine with {gpus}, `try_gpu({i})` returns {found}.
    -> The first GPU has index 0. With {gpus}, which indices exist?
no-fallback: On a machine with {gpus}, `try_gpu({i})` returns {found}, but that GPU does not exist.
    -> What does `torch.cuda.device_count()` return there, and how does {i} compare with it?
no-default: `try_gpu()` cannot be called without an index.
    -> The given function has a default value for its argument. Keep it.
empty-list: On a machine without a GPU, `try_all_gpus` returns an empty list.
    -> A program that loops over the list should still find one device to work on.
wrong-list: On a machine with {gpus}, `try_all_gpus` returns {found}.
    -> Write down the devices of such a machine by hand. Remember that indices start at 0.
not-a-list: `try_all_gpus` returns {what}, but it should return a list.
    -> The caller needs its length and may loop over it more than once.
"""
