# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CIFAR-10 on a GPU
#     promise: >-
#       You put a training script on the GPU, judge a network there, save and resume a run, and mend
#       a loop that is wrong in three places.
#     minutes: 60
#     objectives:
#       - make the three edits that put training on a GPU, and no others
#       - count right answers on the device, overall and for each class, in batches of any size
#       - write a checkpoint from which training goes on exactly where it stopped
#       - find what is wrong in a loop that runs without an error
#     prerequisites:
#       - "no GPU and no data set is needed: you practice on a simulated GPU and on random images"
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
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: three edits (3 points)
#
# `train_classic(net, batches)` is the classic script as a function. It trains a network on batches
# of images and labels, all of which lie on the CPU, and returns the network. As it stands,
# everything happens on the CPU.
#
# Make the three edits that put the training on the GPU, and nothing else. Make the first edit
# *inside* the function: the check also runs it on a machine without a GPU, where the same function
# trains on the CPU. The weights that it learns are to be those of the script as it stands.


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
# ## Exercise 2: judge it on the device (3 points)
#
# Write `accuracy(net, batches)`. `net` lies on some device; the batches, pairs of images and
# labels, lie on the CPU, and some of them are smaller than the others. Return the share of images
# that the network gets right, a Python number from 0 to 1.
#
# - The answers are computed and counted where the network lies, and it stays there.
# - However many batches there are, **numbers are fetched from the GPU once**.
# - The network has dropout, and may come in training mode or in evaluation mode. It is judged in
#   evaluation mode and comes back in the mode it came in.
# - No gradients are tracked.
#
# `next(net.parameters()).device` tells where the network lies.


# %% exercise=2
def accuracy(net, batches):
    """Return the share of right answers, counted on the device of `net`."""
    ### BEGIN SOLUTION
    device = next(net.parameters()).device
    training = net.training
    net.eval()
    correct, images = torch.zeros((), dtype=torch.int64, device=device), 0
    with torch.no_grad():
        for inputs, targets in batches:
            answers = net(inputs.to(device)).argmax(dim=1)
            correct += (answers == targets.to(device)).sum()
            images += len(targets)
    net.train(training)
    return correct.item() / images
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(accuracy)

# %% [markdown]
# ## Exercise 3: for each class (3 points)
#
# Write `per_class(net, batches)`. Network and batches are as before, and there are ten classes,
# numbered from 0 to 9. Return a list of ten Python numbers: of the images of class 0 the share that
# the network gets right, of those of class 1, and so on. A class without an image counts as nan,
# "not a number": `float("nan")`.
#
# The network comes in evaluation mode, so leave its mode as it is. Batches may have any size, one
# image included. Numbers are fetched from the GPU at the end, twice at most.


# %% exercise=3
def per_class(net, batches):
    """Return for each of ten classes the share of its images that `net` gets right."""
    ### BEGIN SOLUTION
    device = next(net.parameters()).device
    counts = torch.zeros(100, dtype=torch.int64, device=device)
    with torch.no_grad():
        for inputs, targets in batches:
            answers = net(inputs.to(device)).argmax(dim=1)
            counts += torch.bincount(10 * targets.to(device) + answers, minlength=100)
    counts = counts.reshape(10, 10)
    return (counts.diagonal() / counts.sum(dim=1)).tolist()
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(per_class)

# %% [markdown]
# ## Exercise 4: a run in two parts (3 points)
#
# Write two functions.
#
# - `save(path, net, optimizer, epoch)` writes a checkpoint to the file `path`. It holds tensors and
#   numbers alone, so that `torch.load(path, weights_only=True)` reads it.
# - `resume(path, net, optimizer)` fills a new network and a new optimizer from that file and
#   returns the number of the epoch. The network stays on the device it is on, and a file written on
#   a GPU can be resumed on a machine without one.
#
# The optimizer has momentum. A run that is saved, lost and resumed takes the very steps that the
# run would have taken without a break.


# %% exercise=4
def save(path, net, optimizer, epoch):
    """Write all that training needs to go on to the file `path`."""
    ### BEGIN SOLUTION
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, path)
    ### END SOLUTION


def resume(path, net, optimizer):
    """Fill `net` and `optimizer` from the file `path` and return its epoch."""
    ### BEGIN SOLUTION
    device = next(net.parameters()).device
    state = torch.load(path, map_location=device, weights_only=True)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]
    ### END SOLUTION


# %% check=4 points=3
check.exercise_4(save, resume)

# %% [markdown]
# ## Exercise 5: wrong in three places (3 points)
#
# `train_epoch(net, batches, optimizer)` is to train for one epoch where the network lies, and to
# return the mean loss over all images as a Python number. It runs, the loss even falls, and it is
# wrong in three places. Mend it.
#
# The network has BatchNorm; the batches lie on the CPU, and the last one is smaller than the
# others.


# %% exercise=5 task="mend the three mistakes"
def train_epoch(net, batches, optimizer):
    """Train `net` for one epoch and return the mean loss over the images."""
    device = next(net.parameters()).device
    ### BEGIN SOLUTION
    net.train()
    total, images = 0.0, 0
    for inputs, targets in batches:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        images += len(targets)
    return total / images
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


# %% check=5 points=3
check.exercise_5(train_epoch)
