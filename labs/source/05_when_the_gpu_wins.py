# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: When the GPU wins
#     promise: >-
#       You build a stopwatch that measures a GPU correctly, find a bottleneck with it, and remove
#       one.
#     minutes: 30
#     objectives:
#       - time work that continues after the call has returned
#       - measure each part of a training step separately
#       - make an input pipeline several times faster, and confirm it by measuring
#     prerequisites:
#       - "no GPU and no dataset: without a GPU, the checks use a device that works in the
#         background as a GPU does"
#     credits:
#       - >-
#         Why a stopwatch has to synchronize: [CUDA
#         semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html), in PyTorch's notes.
# ---

# %%
import time

import torch

from helpers import lesson
from helpers.checks import lab_05 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed)

# %% [markdown]
# ## Exercise 1: a correct stopwatch (3 points)
#
# Write `seconds_per_call(call, device, runs)`: how long does `call()` keep the device busy? Call it
# once before you start timing, then time `runs` calls one by one, and return the median in seconds,
# a plain number.
#
# `call` only *launches* work on the device and returns at once. The device may even be busy with
# earlier work when your function starts. `torch.accelerator.synchronize` waits until a GPU has
# finished all its work. Waiting for a fixed time with `time.sleep` does not count as a solution. If
# `device.type` is `"cpu"`, there may be no GPU and nothing to wait for. Do not use the course's own
# stopwatch, `helpers.timing`.


# %% exercise=1
def seconds_per_call(call, device, runs):
    """Return the median time of `runs` calls in seconds, after one that is not timed."""
    ### BEGIN SOLUTION

    def clock():
        if device.type != "cpu":
            torch.accelerator.synchronize()
        return time.perf_counter()

    call()
    seconds = []
    for _ in range(runs):
        started = clock()
        call()
        seconds.append(clock() - started)
    return sorted(seconds)[runs // 2]
    ### END SOLUTION


# %% check=1 points=3
check.exercise_1(seconds_per_call)

# %% [markdown]
# ## Exercise 2: find the bottleneck (3 points)
#
# A training step has parts, such as `data`, `forward`, `backward` and `optimizer`. `parts` is a
# dictionary that maps each name to a function without arguments that runs this part. A step calls
# each of them once, in the order of the dictionary.
#
# Write `seconds_per_part(parts, device, steps)`. Run one step that does not count, then `steps`
# steps, and return a dictionary that maps each name to the mean time of this part per step, in
# seconds. The part with the largest time is the bottleneck. Some parts launch work on the device
# and return at once; the time of that work belongs to the part that launched it.
#
# Here `device` is always a GPU, or the device that a check uses in its place.


# %% exercise=2
def seconds_per_part(parts, device, steps):
    """Return the mean time per step of each part, in seconds, without the first step."""
    ### BEGIN SOLUTION
    total = dict.fromkeys(parts, 0.0)
    for step in range(steps + 1):
        for name, part in parts.items():
            torch.accelerator.synchronize()
            started = time.perf_counter()
            part()
            torch.accelerator.synchronize()
            if step > 0:
                total[name] += time.perf_counter() - started
    return {name: seconds / steps for name, seconds in total.items()}
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(seconds_per_part)

# %% [markdown]
# ## Exercise 3: feed the GPU faster (3 points)
#
# `prepare(images, chosen)` makes a batch. `images` are bytes of shape `(N, 3, 32, 32)`; `chosen` is
# a tensor with the indices of the images to take, in this order, and an index may appear twice. The
# result holds `float32` numbers from -1 to 1. The function is correct but slow: in a training loop,
# the network would wait for it.
#
# Make it **at least 10 times as fast**, with the same result, for any images and indices: results
# of earlier calls must not be reused. The check runs your function and the slow one alternately on
# one CPU thread and takes the median of the ratios.


# %% exercise=3 task="make it faster"
def prepare(images, chosen):
    """Return the chosen images as float32 numbers from -1 to 1, `(len(chosen), 3, 32, 32)`."""
    ### BEGIN SOLUTION
    batch = images.index_select(0, chosen).float()
    return batch.div_(255).sub_(0.5).div_(0.5)
    ### END SOLUTION
    ### BEGIN GIVEN
    # batch = []
    # for index in chosen.tolist():
    #     image = torch.empty(3, 32, 32)
    #     for channel in range(3):
    #         for row in range(32):
    #             pixels = images[index, channel, row].float()
    #             image[channel, row] = (pixels / 255 - 0.5) / 0.5
    #     batch.append(image)
    # return torch.stack(batch)
    ### END GIVEN


# %% check=3 points=3
check.exercise_3(prepare)
