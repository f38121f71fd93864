# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: What fills a GPU's memory
#     promise: >-
#       You predict what training keeps, find a leak, and make training fit into memory that is
#       too small for it.
#     minutes: 60
#     objectives:
#       - predict the bytes of the activations that training keeps
#       - validate a network without keeping its activations
#       - accumulate gradients over parts of a batch, even of unequal size
#       - checkpoint the activations of each layer
#       - make a training run fit, in a way you choose
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated one"
#     credits:
#       - >-
#         Checkpointing follows the documentation of
#         [torch.utils.checkpoint](https://docs.pytorch.org/docs/stable/checkpoint.html).
# ---

# %%
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from helpers import lesson
from helpers.checks import lab_07 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: how many bytes of activations? (2 points)
#
# `net` is an `nn.Sequential` of these layers, in training mode. `X` is a batch of the shape
# `(examples, tokens, features)`, with the dtype of the network. All parameters are trained, and `X`
# needs no gradient. On a GPU, autograd keeps these tensors for the backward pass:
#
# | layer | what autograd keeps |
# |---|---|
# | `nn.Linear`, `nn.GELU` | its input |
# | `nn.ReLU` | its output |
# | `nn.Dropout` | a mask, one byte per number in every dtype |
# | `nn.Flatten` | nothing: its output is a view, the same memory as its input |
#
# Write `activation_bytes(net, X)`. It predicts how many bytes the forward pass `net(X)` keeps,
# **without calling the network, a layer, or its method `forward`**. Memory that two layers keep
# counts once. `X` and the parameters exist anyway and do not count. `nn.Linear` changes the last
# dimension; `nn.Flatten` joins all dimensions but the first. The first layer, or the one after a
# first `nn.Flatten`, is an `nn.Linear`. Do not round to multiples of 512 bytes. `X.element_size()`
# is the bytes per number.


# %% exercise=1
def activation_bytes(net, X):
    """Return the bytes that autograd keeps for the backward pass of net(X), as an int."""
    ### BEGIN SOLUTION
    # `numbers` and `kept` describe the tensor between two layers. X exists anyway.
    numbers, kept, total = X.numel(), True, 0
    for layer in net:
        if isinstance(layer, nn.Linear | nn.GELU) and not kept:
            total, kept = total + numbers * X.element_size(), True
        if isinstance(layer, nn.Linear):
            numbers = numbers // layer.in_features * layer.out_features
        if isinstance(layer, nn.ReLU):
            total += numbers * X.element_size()
        if isinstance(layer, nn.Dropout):
            total += numbers
        if not isinstance(layer, nn.Flatten):
            kept = isinstance(layer, nn.ReLU)
    return total
    ### END SOLUTION


# %% check=1 points=2
check.exercise_1(activation_bytes)

# %% [markdown]
# ## Exercise 2: find the leak (2 points)
#
# `compute_losses` computes the loss of each batch for validation. GPU memory use grows with every
# batch.
#
# Fix it. `compute_losses(net, batches)` returns a list with one Python number per batch: the loss
# of the network in evaluation mode (`net.eval()`). While it runs, autograd keeps nothing.
# Afterward, the network is in its original mode, and autograd is on as before.


# %% exercise=2
def compute_losses(net, batches):
    """Return the loss of each batch `(X, y)` as a list of numbers."""
    losses = []
    ### BEGIN SOLUTION
    training = net.training
    net.eval()
    with torch.no_grad():
        for X, y in batches:
            losses.append(F.cross_entropy(net(X), y).item())
    net.train(training)
    ### END SOLUTION
    ### BEGIN GIVEN
    # for X, y in batches:
    #     losses.append(F.cross_entropy(net(X), y))
    ### END GIVEN
    return losses


# %% check=2 points=2
check.exercise_2(compute_losses)

# %% [markdown]
# ## Exercise 3: a step for a batch that does not fit (3 points)
#
# The activations of at most `size` examples fit into memory at once. Write
# `accumulated_step(net, optimizer, X, y, size)`: it takes **one** step of the optimizer with the
# gradients of `F.cross_entropy(net(X), y)` for the whole batch, and never keeps the activations of
# more than `size` examples.
#
# Ignore gradients left from an earlier step. The number of examples need not be a multiple of
# `size`: then the last part is smaller, and the step still matches the whole batch.


# %% exercise=3
def accumulated_step(net, optimizer, X, y, size):
    """Take one step with the whole batch's gradients, computed in parts of `size` examples."""
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    for some, labels in zip(X.split(size), y.split(size), strict=True):
        loss = F.cross_entropy(net(some), labels, reduction="sum") / len(X)
        loss.backward()
    optimizer.step()
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(accumulated_step)

# %% [markdown]
# ## Exercise 4: checkpoint each layer (3 points)
#
# Write `checkpointed(layers, X)`. It applies the layers one after another and returns the result.
# The forward pass keeps only the input of each layer; the backward pass runs each layer again when
# its turn comes. Results and gradients, including that of `X`, are the same as without
# checkpoints, whether `X` requires gradients or not, and even if a layer contains dropout.


# %% exercise=4
def checkpointed(layers, X):
    """Apply the layers one after another, each with an activation checkpoint."""
    ### BEGIN SOLUTION
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=False)
    return X
    ### END SOLUTION


# %% check=4 points=3
check.exercise_4(checkpointed)

# %% [markdown]
# ## Exercise 5: make it fit (4 points)
#
# This training run is small, so it takes seconds. The network is an `nn.Sequential` of four blocks
# (`Linear(256, 256)`, `GELU`) and a last `Linear(256, 10)`: 1 MiB of weights. Besides the network
# and the data, the function below needs 6.6 MiB at its peak, for gradients, Adam's states,
# activations and temporary tensors. Only 5.5 MiB are available (memory on the CPU counts too).
#
# Change `train` so that it fits, in whichever way you like: smaller batches, accumulation,
# checkpointing, lower precision (`torch.autocast`), fewer states, or several of them. The loss on
# all data must fall to at most half; you choose the steps and the learning rate. At the end,
# the network is on its device, in `float32`.
#
# There are at least five solutions. If you have one, try another: the check accepts all.


# %% exercise=5
def train(net, X, y):
    """Train the network on `X` `(512, 256)` and `y` `(512,)`, within 5.5 MiB extra."""
    ### BEGIN SOLUTION
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    for _ in range(20):
        optimizer.zero_grad()
        for some, labels in zip(X.chunk(4), y.chunk(4), strict=True):
            (F.cross_entropy(net(some), labels) / 4).backward()
        optimizer.step()
    ### END SOLUTION
    ### BEGIN GIVEN
    # optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    # for _ in range(20):
    #     optimizer.zero_grad()
    #     F.cross_entropy(net(X), y).backward()
    #     optimizer.step()
    ### END GIVEN


# %% check=5 points=4
check.exercise_5(train)
