"""Lab 01, exercise 2: the devices of machines with different numbers of GPUs."""

import torch

from helpers.checks.plain import describe, first, format_gpu_count
from simulated_cuda import visible_devices

answers = "try_gpu(i=0), try_all_gpus()"
points = 3
success = "Your functions find the devices of every machine."
section = "Which devices are there?"


def cases(draw):
    for count in [*draw.sample([2, 3, 5], 2), 1, 0]:
        for i in [*range(count + 2), "", "all"]:
            yield {"count": count, "i": i, "gpus": format_gpu_count(count)}


def collect(call, case, try_gpu, try_all_gpus):
    with visible_devices(case.count):
        if case.i == "all":
            return call(try_all_gpus)
        return call(try_gpu, *([] if case.i == "" else [case.i]))


def right(case):
    gpus, cpu = [torch.device("cuda", i) for i in range(case.count)], torch.device("cpu")
    return (gpus or [cpu]) if case.i == "all" else [*gpus, cpu, cpu][case.i or 0]


returns = ("not-a-list", lambda value, case: case.i != "all" or isinstance(value, list))
side_effects = {
    "not-a-device": lambda f: first(
        not isinstance(device, torch.device) and {"what": describe(device)}
        for device in (f.value if f.case.i == "all" else [f.value])
    )
}
mistakes = {
    "wrong-list": lambda f: f.case.i == "all",
    "no-fallback": lambda f: (f.case.i or 0) >= max(f.case.count, 1),
    "wrong-gpu": True,
}
hints = """
not-a-device: `{name}` returns {what}, but it should return a `torch.device`.
    -> The name of a device in quotes is a string. Which function turns it into a device?
    see: The name of a device
wrong-gpu: On a machine with {gpus}, `try_gpu({i})` returns {found}.
    -> The first GPU has index 0. With {gpus}, which indices exist?
no-fallback: On a machine with {gpus}, `try_gpu({i})` returns {found}, but that GPU does not exist.
    -> What does `torch.cuda.device_count()` return there, and how does {i} compare with it?
wrong-list: On a machine with {gpus}, `try_all_gpus` returns {found}.
    -> Write down the devices of such a machine by hand. Remember that indices start at 0.
not-a-list: `try_all_gpus` returns {what}, but it should return a list.
    -> The caller needs its length and may loop over it more than once.
"""
