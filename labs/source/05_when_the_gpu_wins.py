# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: When the GPU wins
#     promise: >-
#       You build a stopwatch that a GPU cannot fool, find a bottleneck with it, and remove one.
#     minutes: 50
#     objectives:
#       - time work that goes on after the call has come back
#       - give every part of a training step the time that is its own
#       - make an input pipeline several times as fast, and measure that you did
#       - plan steps and learning rate for a larger batch, and take a large step in pieces
#     prerequisites:
#       - "no GPU and no data set is needed: where there is no GPU, the checks bring a device along
#         that works in the background as a GPU does"
#     credits:
#       - >-
#         The rule for the learning rate: Goyal et al.,
#         [Accurate, Large Minibatch SGD](https://arxiv.org/abs/1706.02677), 2017.
# ---

# %%
import time

import torch
from torch.nn import functional as F

from helpers import lesson
from helpers.checks import lab_05 as check

# %% tags=["parameters"]
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed)

# %% [markdown]
# ## Exercise 1: an honest stopwatch (3 points)
#
# Write `seconds_a_call(call, device, runs)`: how long does `call()` keep the device busy? Call it
# once before you look at the clock, then time `runs` calls one by one, and return the median in
# seconds, a plain number.
#
# `call` only *asks* the device for work and comes back at once. The device may even have work left
# from before when your function begins. `torch.accelerator.synchronize` waits until a GPU has
# done all that it was asked for. Where `device.type` is `"cpu"` there may be no GPU, and nothing to
# wait for. Leave the course's own stopwatch, `helpers.timing`, aside.


# %% exercise=1
def seconds_a_call(call, device, runs):
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
check.exercise_1(seconds_a_call)

# %% [markdown]
# ## Exercise 2: find the bottleneck (3 points)
#
# A training step has parts, such as `data`, `forward`, `backward` and `optimizer`. `parts` is a
# dictionary: for each name a function without arguments that does this part. A step calls all of
# them once, in the order of the dictionary.
#
# Write `seconds_of_parts(parts, device, steps)`. Make one step that does not count, then `steps`
# steps, and return a dictionary: for each name, the mean time in seconds that a step takes for this
# part. The largest of them is the bottleneck. Some parts ask the device for work and come back at
# once; their time is to be found under their own name.
#
# Here `device` is always a GPU, or stands for one.


# %% exercise=2
def seconds_of_parts(parts, device, steps):
    """Return for each part its mean time a step, in seconds, without the first step."""
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
check.exercise_2(seconds_of_parts)

# %% [markdown]
# ## Exercise 3: feed it faster (3 points)
#
# `prepare(images, chosen)` makes a batch. `images` are bytes, `(N, 3, 32, 32)`; `chosen` is a
# tensor with the numbers of the images to take, in this order, and some of them may come twice. The
# result holds `float32` numbers from -1 to 1. It is right, and it is slow: in a training loop the
# network would wait for it.
#
# Make it **at least 10 times as fast**, with the same result. The check lets your function and the
# slow one take turns on one thread of this machine's CPU, and takes the median of the ratios.


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
    #     for colour in range(3):
    #         for row in range(32):
    #             pixels = images[index, colour, row].float()
    #             image[colour, row] = (pixels / 255 - 0.5) / 0.5
    #     batch.append(image)
    # return torch.stack(batch)
    ### END GIVEN


# %% check=3 points=3
check.exercise_3(prepare)

# %% [markdown]
# ## Exercise 4: plan for a larger batch (2 points)
#
# A learning rate of `base_rate` suits batches of `base_batch` images. Write `plan`, which returns
# two numbers for batches of `batch` images: how many steps one pass over `images` images takes, the
# last batch included even if it is smaller; and the learning rate by the linear scaling rule, which
# never goes above `limit`.


# %% exercise=4
def plan(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    """Return the steps of an epoch, a whole number, and the learning rate."""
    ### BEGIN SOLUTION
    steps = -(-images // batch)
    return steps, min(base_rate * batch / base_batch, limit)
    ### END SOLUTION


# %% check=4 points=2
check.exercise_4(plan)

# %% [markdown]
# ## Exercise 5: a large step in pieces (3 points)
#
# You want to train with batches of 4,096 images, and the memory of your GPU holds the activations
# of 1,000. A batch can be worked on in pieces, for the gradient of a sum is the sum of the
# gradients.
#
# Write `step_in_pieces(net, optimizer, pieces)`. `pieces` is a list of pairs, inputs and targets,
# where the network lies; the last piece is smaller than the others. Make **one** step of the
# optimizer, the same that one batch with all images would give, with the mean cross-entropy over
# all of them. The network may still have gradients from before; they do not count.


# %% exercise=5
def step_in_pieces(net, optimizer, pieces):
    """Make one step of `optimizer`, as if all pieces were one batch."""
    ### BEGIN SOLUTION
    images = sum(len(targets) for _, targets in pieces)
    optimizer.zero_grad()
    for inputs, targets in pieces:
        loss = F.cross_entropy(net(inputs), targets, reduction="sum") / images
        loss.backward()
    optimizer.step()
    ### END SOLUTION


# %% check=5 points=3
check.exercise_5(step_in_pieces)
