# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CIFAR-10 on a GPU
#     promise: >-
#       You put a training script on the GPU, evaluate a network there, fix two training loops, and
#       continue after an interruption.
#     minutes: 60
#     objectives:
#       - make the three edits that put training on a GPU, and no others
#       - count correct predictions on the device, in batches of any size
#       - find and remove the hidden waits of a training loop
#       - find what is wrong in a loop that runs without an error
#       - continue an interrupted epoch on another machine
#     prerequisites:
#       - "no GPU and no dataset: you practice on a simulated GPU and on random images"
#     credits:
#       - >-
#         The script of exercise 1 follows the classifier of
#         [PyTorch's beginner
#         tutorial](https://docs.pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html).
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
# Make the three edits that put the training on the GPU; what is computed, and in which dtype, stays
# the same. Make the first edit *inside* the function: the check runs it on a machine with one GPU,
# and on one without, where the same function trains on the CPU. `net` itself is trained and
# returned, not a copy or a network that contains it, and its final weights are those that the given
# script would learn.


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
# - The predictions are computed and compared with the labels on the device of the network, which
#   stays there. The right ones are counted there too: no predictions are copied to the CPU.
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
# ## Exercise 3: find the waits (3 points)
#
# `train_and_count(net, batches, optimizer)` trains for an epoch and returns a dictionary: the mean
# of the batches' losses, the accuracy, the largest norm of the gradients, and how many images of
# each of the four classes were classified wrongly. The batches have equal sizes and are already on
# the device of the network.
#
# The results are right, but the CPU waits for the GPU several times per batch. Fix that: **however
# many batches there are, the CPU waits for results at most four times**, and the training and the
# results stay the same. `nn.utils.clip_grad_norm_` does not wait.


# %% exercise=3 task="remove the waits"
def train_and_count(net, batches, optimizer):
    """Train for one epoch; return the loss, the accuracy, the norm and the mistakes."""
    ### BEGIN SOLUTION
    device = next(net.parameters()).device
    loss_sum, largest = torch.zeros(2, device=device)
    mistakes = torch.zeros(4, dtype=torch.int64, device=device)
    for inputs, targets in batches:
        scores = net(inputs)
        loss = F.cross_entropy(scores, targets)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        loss_sum += loss.detach()
        largest = torch.maximum(largest, norm)
        mistakes.index_add_(0, targets, (scores.argmax(dim=1) != targets).long())
    images = sum(len(targets) for _, targets in batches)
    counts = mistakes.tolist()
    return {
        "loss": loss_sum.item() / len(batches),
        "accuracy": 1 - sum(counts) / images,
        "norm": largest.item(),
        "mistakes": counts,
    }
    ### END SOLUTION
    ### BEGIN GIVEN
    # losses, correct, images, largest = [], 0, 0, 0.0
    # mistakes = torch.zeros(4, dtype=torch.int64, device=next(net.parameters()).device)
    # for inputs, targets in batches:
    #     scores = net(inputs)
    #     loss = F.cross_entropy(scores, targets)
    #     optimizer.zero_grad()
    #     loss.backward()
    #     norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    #     if norm > largest:
    #         largest = norm.item()
    #     optimizer.step()
    #     losses.append(loss.item())
    #     right = scores.argmax(dim=1) == targets
    #     correct += right.sum().item()
    #     mistakes += torch.bincount(targets[~right], minlength=4)
    #     images += len(targets)
    # return {
    #     "loss": sum(losses) / len(losses),
    #     "accuracy": correct / images,
    #     "norm": largest,
    #     "mistakes": mistakes.tolist(),
    # }
    ### END GIVEN


# %% check=3 points=3
check.exercise_3(train_and_count)

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

# %% [markdown]
# ## Exercise 5: an interrupted epoch (4 points)
#
# Rented machines can stop at any time. Change `train_with_checkpoints` so that it continues where
# it was interrupted. `batches_of(epoch)` yields the batches of an epoch, on the CPU, and for the
# same epoch always the same ones in the same order.
#
# - After each step, write a checkpoint to the file `path`, a `pathlib.Path`, over the earlier one.
# - If the file exists when the function starts, continue with the first batch that has not been
#   used. `net` and `optimizer` are then new ones of the same kind, and use no random numbers.
#   `batches_of(epoch)` always starts at the epoch's first batch, so skip those that are done.
# - The program may be interrupted with the network on `cuda:1`, and continue on a machine without
#   a GPU. `net` is already on the right device and stays there.
#
# At the end, the weights are those of a run without an interruption.


# %% exercise=5 task="add the checkpoints"
def train_with_checkpoints(net, optimizer, batches_of, epochs, path):
    """Train for some epochs, and continue from the checkpoint at `path` if it exists."""
    ### BEGIN SOLUTION
    device = next(net.parameters()).device
    first_epoch = done = 0
    if path.exists():
        state = torch.load(path, map_location="cpu")
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        first_epoch, done = state["epoch"], state["done"]
    for epoch in range(first_epoch, epochs):
        for number, (inputs, targets) in enumerate(batches_of(epoch), start=1):
            if epoch == first_epoch and number <= done:
                continue
            optimizer.zero_grad()
            F.cross_entropy(net(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()
            state = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state | {"epoch": epoch, "done": number}, path)
    ### END SOLUTION
    ### BEGIN GIVEN
    # device = next(net.parameters()).device
    # for epoch in range(epochs):
    #     for inputs, targets in batches_of(epoch):
    #         optimizer.zero_grad()
    #         F.cross_entropy(net(inputs.to(device)), targets.to(device)).backward()
    #         optimizer.step()
    ### END GIVEN


# %% check=5 points=4
check.exercise_5(train_with_checkpoints)
