# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: More than one GPU
#     promise: >-
#       You write the parts of data parallel training yourself: the accuracy of all processes,
#       averaging the gradients, a ring all-reduce, a plan for memory and bytes, and an epoch
#       without deadlocks.
#     minutes: 50
#     objectives:
#       - compute the accuracy over all processes, whose shares have different sizes
#       - average gradients of shares with different sizes
#       - write a ring all-reduce that sends as few bytes as possible
#       - predict memory and bytes sent for DDP, ZeRO and FSDP
#       - find and remove deadlocks
#     prerequisites:
#       - "no GPU is needed: without one, you practice on two simulated ones"
#     credits:
#       - >-
#         Exercise 4 follows the [ZeRO paper](https://arxiv.org/abs/1910.02054), 2019.
# ---

# %%
import torch

from helpers import lesson
from helpers.checks import lab_09 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: the accuracy of all processes (2 points)
#
# Each process has evaluated its own share of the test images, and the shares have different sizes.
# Every process calls `accuracy(scores, labels, all_reduce)`. `scores` `(N, classes)` are the
# outputs of the network for the N images of this process, and `labels` `(N,)` are their classes,
# both on the device of this process. An image is right if its largest score is that of its class. N
# can be 0 in a process, but not in all.
#
# Write `accuracy`. It returns the same Python number in every process: the fraction of images of
# **all** processes that are right.
#
# `all_reduce(tensor)` works like `dist.all_reduce(tensor)`: it replaces the numbers in `tensor` by
# their sums over all processes, and returns nothing. The tensor must be on the device of the
# process. Every process calls it equally often, each time with the same shape and dtype. (The check
# runs the processes one after another, and starts all of them again after each `all_reduce`. So
# what you print appears several times.)


# %% exercise=1
def accuracy(scores, labels, all_reduce):
    """Return the fraction of the images of all processes that are right."""
    ### BEGIN SOLUTION
    correct = (scores.argmax(dim=1) == labels).sum()
    counts = torch.stack([correct, torch.full_like(correct, len(labels))])
    all_reduce(counts)
    correct, images = counts.tolist()
    return correct / images
    ### END SOLUTION


# %% check=1 points=2
check.exercise_1(accuracy)

# %% [markdown]
# ## Exercise 2: average the gradients (3 points)
#
# `replicas` lists identical networks on several devices. Each has computed the gradients of its
# own share's *mean* loss, over `sizes[i]` examples for `replicas[i]`.
#
# Write `average_gradients(replicas, sizes)`. Afterward, every replica has the gradients of the mean
# loss over the **whole** batch. The shares may have different sizes. Each gradient stays on the
# device of its parameter. Two replicas may be on one device; each needs its own gradient tensors.
# A parameter has a gradient in all replicas or in none; `None` stays `None`.


# %% exercise=2
def average_gradients(replicas, sizes):
    """Give every replica the gradients of the whole batch, in place."""
    ### BEGIN SOLUTION
    for copies in zip(*(net.parameters() for net in replicas), strict=True):
        if copies[0].grad is None:
            continue
        pairs = zip(copies, sizes, strict=True)
        total = sum(copy.grad.to(copies[0].device) * size for copy, size in pairs)
        for copy in copies:
            copy.grad = (total / sum(sizes)).to(copy.device)
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(average_gradients)

# %% [markdown]
# ## Exercise 3: a ring (4 points)
#
# Write `ring_all_reduce(tensors, send)`. `tensors[rank]` is the tensor of process `rank`, on the
# device of that process; all have the same length, a multiple of the number of processes N. Return
# a list: for each process the sum of all tensors, on its own device. Do not change the given
# tensors.
#
# A tensor reaches another process only through `send(source, target, tensor)`, which returns it as
# `target` receives it, on the device of `target`. Each process sends only to its right neighbor,
# `(rank + 1) % N`. It sends at most 2 (N - 1) / N times the bytes of its tensor: first N - 1 rounds
# that add, then N - 1 rounds that copy. With one process, nothing is sent.


# %% exercise=3
def ring_all_reduce(tensors, send):
    """Return the sum of all tensors for each process, with as few bytes sent as possible."""
    ### BEGIN SOLUTION
    n = len(tensors)
    chunks = [list(tensor.clone().chunk(n)) for tensor in tensors]
    for turn in range(2 * (n - 1)):
        for rank in range(n):
            right, chunk = (rank + 1) % n, (rank - turn) % n
            message = send(rank, right, chunks[rank][chunk])
            adding = turn < n - 1
            chunks[right][chunk] = chunks[right][chunk] + message if adding else message
    return [torch.cat(each) for each in chunks]
    ### END SOLUTION


# %% check=3 points=4
check.exercise_3(ring_all_reduce)

# %% [markdown]
# ## Exercise 4: plan memory and bytes (3 points)
#
# Training takes 2 bytes per parameter for the weight, 2 for its gradient, and 12 for Adam's state
# with a copy of the weight. Write `plan(method, parameters, gpus)`, which returns two byte
# counts for **one** GPU:
#
# - the memory for weights, gradients and Adam's state;
# - what the GPU sends in a step, in rings. An all-reduce is a reduce-scatter and an all-gather, and
#   each of these sends (N - 1) / N times the whole size.
#
# | `method` | sharded | sends in a step |
# |---|---|---|
# | `"ddp"` | nothing | an all-reduce of the gradients |
# | `"zero1"` | Adam's state | a reduce-scatter of the gradients, an all-gather of the weights |
# | `"zero2"` | Adam's state and gradients | the same as `"zero1"` |
# | `"fsdp"` | everything | two all-gathers of the weights, a reduce-scatter of the gradients |


# %% exercise=4
def plan(method, parameters, gpus):
    """Return the bytes of memory and the bytes sent in a step, for one GPU."""
    ### BEGIN SOLUTION
    sharded = {"ddp": 0, "zero1": 12, "zero2": 14, "fsdp": 16}[method]
    memory = parameters * ((16 - sharded) + sharded / gpus)
    passes = 3 if method == "fsdp" else 2
    return memory, passes * 2 * parameters * (gpus - 1) / gpus
    ### END SOLUTION


# %% check=4 points=3
check.exercise_4(plan)

# %% [markdown]
# ## Exercise 5: an epoch without deadlocks (3 points)
#
# `epoch(rank, batches, do)` is what one process does in an epoch. `batches` is a list: process `r`
# has `batches[r]` batches, and the numbers may differ. `do(action)` performs one action:
#
# | action | what it is |
# |---|---|
# | `"train"` | forward and backward pass with this process's next batch |
# | `"all_reduce gradients"` | collective, then a step; a process with no more batches adds zeros |
# | `"evaluate"` | count right answers on this process's share of the test images |
# | `"all_reduce counts"` | collective: adds the counts of all processes |
# | `"save"` | write the checkpoint |
# | `"barrier"` | collective: wait for all |
#
# The given function deadlocks. Fix it: every process calls the same collective operations in the
# same order, each batch is used once and followed by its all-reduce, every process evaluates its
# share, only rank 0 saves, and nobody leaves before the file is written.


# %% exercise=5
def epoch(rank, batches, do):
    """Do what process `rank` does in an epoch."""
    ### BEGIN SOLUTION
    for batch in range(max(batches)):
        if batch < batches[rank]:
            do("train")
        do("all_reduce gradients")
    do("evaluate")
    do("all_reduce counts")
    if rank == 0:
        do("save")
    do("barrier")
    ### END SOLUTION
    ### BEGIN GIVEN
    # for _ in range(batches[rank]):
    #     do("train")
    #     do("all_reduce gradients")
    # if rank == 0:
    #     do("evaluate")
    #     do("all_reduce counts")
    #     do("save")
    #     do("barrier")
    ### END GIVEN


# %% check=5 points=3
check.exercise_5(epoch)
