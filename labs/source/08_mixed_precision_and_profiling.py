# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Mixed precision and profiling
#     promise: >-
#       You round numbers by changing their bits, write a training step in fp16 that loses no
#       gradient, and find in a trace how busy a GPU was and why it waited.
#     minutes: 45
#     objectives:
#       - round a number to a mantissa of any length
#       - predict dtypes under autocast
#       - write a training step with `GradScaler` and gradient clipping
#       - find the longest gap of a GPU in a trace, and its cause
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated one"
#     credits:
#       - >-
#         The training step follows PyTorch's
#         [automatic mixed precision
#         examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html).
# ---

# %%
import torch
from torch import nn
from torch.nn import functional as F

from helpers import lesson
from helpers.checks import lab_08 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: round by the bits (3 points)
#
# TF32 has 10 mantissa bits and no PyTorch dtype. To see what it does to a tensor, you round
# float32 numbers yourself.
#
# Write `keep_bits(x, mantissa)`. It returns a new float32 tensor on the device of `x`, with each
# number rounded to the nearest one that has only `mantissa` mantissa bits; the others are 0. Range
# and sign do not change. If two numbers are equally close, take the one whose last kept bit
# is 0. `mantissa` is from 1 to 22; `x` has neither infinities nor subnormal numbers.
#
# `x.view(torch.int32)` reads the bits as integers, with the mantissa in the last 23; the sign is
# the first bit. With `mantissa=7` the result has the values of `x.to(torch.bfloat16)`.


# %% exercise=1
def keep_bits(x, mantissa):
    """Return x, rounded to this number of mantissa bits, as float32."""
    ### BEGIN SOLUTION
    bits, dropped = x.view(torch.int32), 23 - mantissa
    last_kept = (bits >> dropped) & 1
    half = (1 << (dropped - 1)) - 1 + last_kept  # carries into the kept bits if it rounds up
    return (((bits + half) >> dropped) << dropped).view(torch.float32)
    ### END SOLUTION


# %% check=1 points=3
check.exercise_1(keep_bits)

# %% [markdown]
# ## Exercise 2: predict the dtypes (2 points)
#
# `x` and `w` are float32 matrices, `t` holds class numbers, and `h = x @ w`. All the expressions
# are computed under `torch.autocast("cuda", dtype=torch.float16)`.
#
# Fill in the dtype of each result: `torch.float16` or `torch.float32`. Predict first; then, if you
# like, run them in a new cell.


# %% exercise=2
def predict():
    ### BEGIN SOLUTION
    return {
        "x @ w": torch.float16,
        "x + w": torch.float32,
        "F.linear(h, w)": torch.float16,
        "h.relu()": torch.float16,
        "h + x": torch.float32,
        "torch.cat([h, x])": torch.float32,
        "h.softmax(1)": torch.float32,
        "h.softmax(1) @ w": torch.float16,
        "h.sum()": torch.float32,
        "F.cross_entropy(h, t)": torch.float32,
    }
    ### END SOLUTION
    ### BEGIN GIVEN
    # return {
    #     "x @ w": None,
    #     "x + w": None,
    #     "F.linear(h, w)": None,
    #     "h.relu()": None,
    #     "h + x": None,
    #     "torch.cat([h, x])": None,
    #     "h.softmax(1)": None,
    #     "h.softmax(1) @ w": None,
    #     "h.sum()": None,
    #     "F.cross_entropy(h, t)": None,
    # }
    ### END GIVEN


# %% check=2 points=2
check.exercise_2(predict)

# %% [markdown]
# ## Exercise 3: a training step in fp16 (4 points)
#
# Write `training_step(net, optimizer, scaler, X, y, max_norm)`: one step of training in mixed
# precision with float16 on CUDA; the simulated GPU counts as CUDA.
#
# - The loss is the cross-entropy of `net(X)` and the labels `y`. All of it, including the
#   logarithm of the softmax, is computed in float32. The backward pass is outside the autocast
#   block.
# - `scaler` is a `torch.amp.GradScaler`. A step that overflows changes no weight and halves the
#   scale.
# - The total norm of the unscaled gradients is at most `max_norm`
#   (`nn.utils.clip_grad_norm_`). The weights after a step are those of the same step in float32, up
#   to rounding.
# - Gradients of one step are not used in the next.
# - Return the unscaled loss as a tensor without a graph.


# %% exercise=3
def training_step(net, optimizer, scaler, X, y, max_norm):
    """Train one step in mixed precision and return the loss."""
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(net(X), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()
    ### END SOLUTION


# %% check=3 points=4
check.exercise_3(training_step)

# %% [markdown]
# ## Exercise 4: how busy was the GPU, and why did it wait? (3 points)
#
# A trace lists the kernels of a GPU and the operations of the CPU, with their starts and durations
# in whole microseconds. Kernels in different *streams* (queues) can run at the same time; the
# operations run one after another. The lists are not sorted.
#
# Write `find_gap(kernels, operations)`. `kernels` is a list of pairs `(start, duration)`, and
# `operations` is a list of triples `(name, start, duration)`. Return three values:
#
# - the fraction of time, from 0 to 1, in which at least one kernel runs. Time runs from the
#   earliest start of a kernel to the latest end. (The figure in the lesson also counts the launch
#   before the first kernel.)
# - the length of the longest *gap* in this time: an interval in which no kernel runs;
# - the cause of this gap: the name of the operation that runs longest **within** it. An operation
#   can start before the gap, or end after it: only the time within the gap counts.
#
# In each trace with gaps, one gap is the longest, and one operation runs longest within it. If
# there is no gap, its length is 0 and its cause is `None`. Without kernels, the fraction is 0 too.
# Do not change the two lists: sort a copy.


# %% exercise=4
def find_gap(kernels, operations):
    """Return the fraction of busy time, the length of the longest gap, and its cause."""
    ### BEGIN SOLUTION
    if not kernels:
        return 0, 0, None
    kernels = sorted(kernels)
    first = covered = kernels[0][0]
    busy, length, gap_end = 0, 0, first
    for start, duration in kernels:
        if start - covered > length:
            length, gap_end = start - covered, start
        busy += max(0, start + duration - max(start, covered))
        covered = max(covered, start + duration)
    within = {
        name: min(start + duration, gap_end) - max(start, gap_end - length)
        for name, start, duration in operations
        if start < gap_end and start + duration > gap_end - length
    }
    cause = max(within, key=within.get) if length else None
    return busy / (covered - first), length, cause
    ### END SOLUTION


# %% check=4 points=3
check.exercise_4(find_gap)
