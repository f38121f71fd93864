# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Moving a network
#     promise: >-
#       You write and mend what moves a network with all that belongs to it: its buffers, its
#       optimizer's memory, its checkpoints, and the classic network itself.
#     minutes: 60
#     objectives:
#       - list where parameters, buffers and the optimizer's state live
#       - make every tensor of a module known to it, as what it is
#       - move an optimizer's memory along with its network
#       - write a `forward` that runs on any device
#       - save a checkpoint on one machine and go on from it on another
#       - put a training function for the CPU on the device
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated one"
#     credits:
#       - >-
#         The network of exercise 6 is that of PyTorch's tutorial [Training a
#         classifier](https://pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html).
# ---

# %%
import torch
from torch import nn

from helpers import lesson
from helpers.checks import lab_03 as check
from helpers.networks import ClassicNet

# %% tags=["parameters"]
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: where does everything live? (2 points)
#
# Before you mend a network that lies on two devices, you want to know what lies where.
#
# Write `devices_of(net, optimizer)`. It returns a dictionary of three sets of `torch.device`:
#
# - `"parameters"`: the devices of the network's parameters;
# - `"buffers"`: those of its buffers;
# - `"state"`: those of all tensors that the optimizer remembers. `optimizer.state` is a dictionary:
#   for each parameter, it holds another dictionary, whose values are tensors or plain numbers.
#
# A set may be empty: an optimizer that has taken no step remembers nothing. A network may hold
# other networks.


# %% exercise=1
def devices_of(net, optimizer):
    """Return the devices of parameters, buffers and the optimizer's state, as three sets."""
    ### BEGIN SOLUTION
    remembered = [value for entry in optimizer.state.values() for value in entry.values()]
    return {
        "parameters": {parameter.device for parameter in net.parameters()},
        "buffers": {buffer.device for buffer in net.buffers()},
        "state": {value.device for value in remembered if isinstance(value, torch.Tensor)},
    }
    ### END SOLUTION


# %% check=1 points=2
check.exercise_1(devices_of)

# %% [markdown]
# ## Exercise 2: what does a module know? (3 points)
#
# `Ranker` subtracts a fixed mean from its input, multiplies each feature by a learned gain, and
# adds up the scores of two heads. On the CPU it computes what it should. Move it, and it falls
# apart.
#
# Mend `__init__`, so that after `net.to(device)` everything lies on the device, and so that
#
# - `mean` is saved with the network and **not** learned;
# - `gain` is saved and learned;
# - `heads` are layers like any others: moved, learned and saved.
#
# Keep the three names, the order in which things are made, and what `forward` computes. Before you
# begin, ask yourself of each of the three lines why the module passes it by.


# %% exercise=2
class Ranker(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        ### BEGIN SOLUTION
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList([nn.Linear(features, classes) for _ in range(2)])
        ### END SOLUTION
        ### BEGIN GIVEN
        # self.mean = torch.full((features,), 0.5)
        # self.gain = torch.ones(features)
        # self.heads = [nn.Linear(features, classes) for _ in range(2)]
        ### END GIVEN

    def forward(self, X):
        X = (X - self.mean) * self.gain
        return sum(head(X) for head in self.heads)


# %% check=2 points=3
check.exercise_2(Ranker)

# %% [markdown]
# ## Exercise 3: the optimizer was there first (3 points)
#
# Somebody made an optimizer, took some steps on the CPU, and now wants to continue on the GPU,
# without losing what the optimizer remembers.
#
# Write `move_both(net, optimizer, device)`. It moves the network and the optimizer's memory to
# `device`, both in place, and returns nothing. After it, training goes on as if nothing had
# happened: the same weights, the same parameters in the optimizer, the same memory, the same
# settings. It works for SGD with momentum and for Adam, from any device to any other, and also for
# an optimizer that has not taken a step yet.


# %% exercise=3
def move_both(net, optimizer, device):
    """Move the network and what the optimizer remembers to `device`, in place."""
    ### BEGIN SOLUTION
    net.to(device)
    # Loading puts each tensor where its parameter is now.
    optimizer.load_state_dict(optimizer.state_dict())
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(move_both)

# %% [markdown]
# ## Exercise 4: made in `forward` (2 points)
#
# `Recurrent` goes through a sequence of shape `(N, steps, inputs)` step by step and keeps a state
# of shape `(N, hidden)`. It makes two tensors of its own on the way, and that is why it works on
# the CPU only.
#
# Mend `forward`, so that one and the same network works wherever it is moved to, together with its
# input, also when it moves on to another device afterwards. **Nothing is carried from one device to
# another** in a call: what `forward` needs, it makes where it is needed.


# %% exercise=4
class Recurrent(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.inner = nn.Linear(inputs + hidden, hidden)

    def forward(self, sequence):
        count, steps, _ = sequence.shape
        ### BEGIN SOLUTION
        state = torch.zeros(count, self.hidden, device=sequence.device)
        order = torch.arange(steps, device=sequence.device)
        ### END SOLUTION
        ### BEGIN GIVEN
        # state = torch.zeros(count, self.hidden)
        # order = torch.arange(steps)
        ### END GIVEN
        sequence = sequence + order.reshape(-1, 1) / steps
        for step in range(steps):
            state = torch.tanh(self.inner(torch.cat([sequence[:, step], state], dim=1)))
        return state


# %% check=4 points=2
check.exercise_4(Recurrent)

# %% [markdown]
# ## Exercise 5: go on elsewhere (3 points)
#
# Write two functions that belong together.
#
# - `save_checkpoint(path, net, optimizer, epoch)` writes a file at `path`, from which training can
#   go on: with the network, what the optimizer remembers, and the number of the epoch.
# - `load_checkpoint(path, net, optimizer)` brings a network with the same layers and its optimizer,
#   both fresh, to the state that was saved, and returns the number of the epoch. The network stays
#   on the device where it is, and so does the optimizer's memory.
#
# The file may have been saved on a machine with two GPUs and be loaded on one with a single GPU, or
# with none. What is in the file, and under which names, is for you to choose.


# %% exercise=5
def save_checkpoint(path, net, optimizer, epoch):
    """Write network, optimizer and epoch to a file."""
    ### BEGIN SOLUTION
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, path)
    ### END SOLUTION


def load_checkpoint(path, net, optimizer):
    """Bring network and optimizer to the state in the file, and return the epoch."""
    ### BEGIN SOLUTION
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]
    ### END SOLUTION


# %% check=5 points=3
check.exercise_5(save_checkpoint, load_checkpoint)

# %% [markdown]
# ## Exercise 6: the classic network on the device (3 points)
#
# `train` is the training function of many a tutorial, written for the CPU. `net` is a network such
# as this one, and `batches` is a list of pairs of images and labels on the CPU. `train` returns the
# mean of the batches' losses as a Python number.

# %%
ClassicNet()

# %% [markdown]
# Mend it, so that it moves the network to `device`, trains it there, and leaves it there. The
# batches stay on the CPU and go over one at a time, and the list of batches stays as it was. Try
# the function first as it is: how many places of it does the GPU complain of, one after the other?


# %% exercise=6
def train(net, batches, device):
    """Train `net` on `device` for one pass over the batches; return their mean loss."""
    ### BEGIN SOLUTION
    net.to(device)
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    total = torch.zeros(1, device=device)
    for images, labels in batches:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        batch_loss = loss(net(images), labels)
        batch_loss.backward()
        optimizer.step()
        total += batch_loss.detach()
    return total.item() / len(batches)
    ### END SOLUTION
    ### BEGIN GIVEN
    # loss = nn.CrossEntropyLoss()
    # optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    # total = torch.zeros(1)
    # for images, labels in batches:
    #     optimizer.zero_grad()
    #     batch_loss = loss(net(images), labels)
    #     batch_loss.backward()
    #     optimizer.step()
    #     total += batch_loss.detach()
    # return total.item() / len(batches)
    ### END GIVEN


# %% check=6 points=3
check.exercise_6(train)
