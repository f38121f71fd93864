# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CIFAR-10 on a GPU
#     promise: >-
#       You put a training script on the GPU, evaluate a network there, and fix a training loop that
#       is wrong in three places.
#     minutes: 50
#     objectives:
#       - make the three edits that put training on a GPU, and no others
#       - count correct predictions on the device, overall and per class, in batches of any size
#       - find what is wrong in a loop that runs without an error
#     prerequisites:
#       - "no GPU and no dataset: you practice on a simulated GPU and on random images"
#     credits:
#       - >-
#         The script of exercise 1 follows the classifier of
#         [PyTorch's beginner
#         tutorial](https://pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html).
# ---

# %%
import torch
from torch import nn, optim
from torch.nn import functional as F

from helpers import lesson
from helpers.checks import lab_04 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: three edits (3 points)
#
# `train_classic(net, batches)` is the classic script as a function. It trains `net` on batches of
# images and labels, which are on the CPU, and returns it. As it is, everything runs on the CPU.
#
# Make the three edits that put the training on the GPU; what is computed stays the same. Make the
# first edit *inside* the function: the check runs it on a machine with one GPU, and on one without,
# where the same function trains on the CPU. `net` itself is trained, not a copy, and its final
# weights are those that the given script would learn.


# %% exercise=1 task="make the three edits"
def train_classic(net, batches):
    """Train `net` on the batches, on a GPU if this machine has one, and return it."""
    ### BEGIN SOLUTION
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = net.to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for inputs, targets in batches:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
    return net
    ### END SOLUTION
    ### BEGIN GIVEN
    # criterion = nn.CrossEntropyLoss()
    # optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    # for inputs, targets in batches:
    #     optimizer.zero_grad()
    #     loss = criterion(net(inputs), targets)
    #     loss.backward()
    #     optimizer.step()
    # return net
    ### END GIVEN


# %% check=1 points=3
check.exercise_1(train_classic)

# %% [markdown]
# ## Exercise 2: evaluate on the device (3 points)
#
# Write `accuracy(net, batches)`. `net` is on some device; the batches, pairs of images and labels,
# are on the CPU, and some of them are smaller than the others. Return the fraction of images that
# the network classifies correctly, a Python number from 0 to 1.
#
# - The predictions are computed and counted on the device of the network, which stays there.
# - However many batches there are, **the result is read from the GPU once**.
# - The network has dropout and may be in training mode or in evaluation mode. It is evaluated in
#   evaluation mode and returned to the mode it was in.
# - No gradients are tracked during the evaluation. Afterward, the caller can train as before.
#
# `next(net.parameters()).device` is the device of the network, and `net.training` is `True` in
# training mode and `False` in evaluation mode.


# %% exercise=2
def accuracy(net, batches):
    """Return the fraction of correct predictions, counted on the device of `net`."""
    ### BEGIN SOLUTION
    device = next(net.parameters()).device
    training = net.training
    net.eval()
    correct, images = torch.zeros((), dtype=torch.int64, device=device), 0
    with torch.no_grad():
        for inputs, targets in batches:
            predicted = net(inputs.to(device)).argmax(dim=1)
            correct += (predicted == targets.to(device)).sum()
            images += len(targets)
    net.train(training)
    return correct.item() / images
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(accuracy)

# %% [markdown]
# ## Exercise 3: accuracy per class (3 points)
#
# Write `per_class(net, batches)`. Network and batches are as before, and there are ten classes,
# numbered from 0 to 9. Return a list of ten Python numbers: the fraction of the images of class 0
# that the network classifies correctly, then the same for class 1, and so on. For a class without
# images, the value is nan, "not a number": `float("nan")`.
#
# The network is in evaluation mode; do not change it. As before, no gradients are tracked. Batches
# may have any size, including a single image. Read the results from the GPU at the end, at most
# twice.


# %% exercise=3
def per_class(net, batches):
    """Return the accuracy of `net` on the images of each of the ten classes."""
    ### BEGIN SOLUTION
    device = next(net.parameters()).device
    counts = torch.zeros(100, dtype=torch.int64, device=device)
    with torch.no_grad():
        for inputs, targets in batches:
            pairs = 10 * targets.to(device) + net(inputs.to(device)).argmax(dim=1)
            counts.index_add_(0, pairs, torch.ones_like(pairs))
    counts = counts.reshape(10, 10)
    return (counts.diagonal() / counts.sum(dim=1)).tolist()
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(per_class)

# %% [markdown]
# ## Exercise 4: wrong in three places (3 points)
#
# `train_epoch(net, batches, optimizer)` should train for one epoch on the device of the network and
# return the mean loss over all images as a Python number. It runs, and the loss even falls, but it
# is wrong in three places. Fix it.
#
# The network has BatchNorm; the batches are on the CPU, and the last one is smaller than the
# others. At no time should more than one batch's computation graph be kept in memory. The mode in
# which your function leaves the network does not matter.


# %% exercise=4 task="fix the three mistakes"
def train_epoch(net, batches, optimizer):
    """Train `net` for one epoch and return the mean loss over the images."""
    device = next(net.parameters()).device
    ### BEGIN SOLUTION
    net.train()
    total, images = torch.zeros((), device=device), 0
    for inputs, targets in batches:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(targets)  # stays on the device: no wait per step
        images += len(targets)
    return total.item() / images
    ### END SOLUTION
    ### BEGIN GIVEN
    # optimizer.zero_grad()
    # total, images = 0.0, 0
    # for inputs, targets in batches:
    #     inputs, targets = inputs.to(device), targets.to(device)
    #     loss = F.cross_entropy(net(inputs), targets)
    #     loss.backward()
    #     optimizer.step()
    #     total += loss * len(targets)
    #     images += len(targets)
    # return total / images
    ### END GIVEN


# %% check=4 points=3
check.exercise_4(train_epoch)
