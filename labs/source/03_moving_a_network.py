# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Moving a network
#     promise: >-
#       You write and fix code that moves a network with everything that belongs to it, and replace
#       a layer that its optimizer already trains.
#     minutes: 45
#     objectives:
#       - register every tensor of a module as what it is
#       - move an optimizer's state along with its network
#       - write a `forward` that runs on any device
#       - replace a layer that the optimizer already knows
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated GPU"
#     credits:
#       - >-
#         A new head for a trained network: PyTorch's tutorial on [transfer
#         learning](https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html).
# ---

# %%
import torch
from torch import nn

from helpers import lesson
from helpers.checks import lab_03 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: what does a module register? (3 points)
#
# `Ranker` subtracts a fixed mean from its input, multiplies each feature by a learned factor, its
# gain, and adds up the scores of two heads, which are linear layers. It works on the CPU, but not
# after it has been moved.
#
# Fix `__init__` so that `net.to(device)` moves everything, and so that
#
# - `mean` is saved with the network but **not** learned;
# - `gain` is saved and learned;
# - `heads` are layers like any others: moved, learned and saved.
#
# Keep the three names and the shapes, what `forward` computes, and the order in which things are
# created, so that the random initial weights stay the same. Before you start, decide for each of
# the three lines why the module does not move what it creates, and compare with the table in the
# lesson.


# %% exercise=1
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


# %% check=1 points=3
check.exercise_1(Ranker)

# %% [markdown]
# ## Exercise 2: move the network after creating the optimizer (3 points)
#
# A program created an optimizer and took some steps on the CPU. It now wants to continue on the GPU
# without losing the optimizer's state.
#
# Write `move_both(net, optimizer, device)`. It moves the network and the optimizer's state to
# `device`, both in place, and returns nothing. Training then continues as if nothing had happened:
# with the same weights, the same parameters in the optimizer, the same state and the same settings.
# It works for SGD with momentum and for Adam, from any device to any other, and also for an
# optimizer that has not taken a step yet. Adam's step counters may stay where they are.


# %% exercise=2
def move_both(net, optimizer, device):
    """Move the network and the optimizer's state to `device`, in place."""
    ### BEGIN SOLUTION
    net.to(device)
    # Loading a state moves each tensor to the device of its parameter.
    optimizer.load_state_dict(optimizer.state_dict())
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(move_both)

# %% [markdown]
# ## Exercise 3: tensors created in `forward` (2 points)
#
# `Recurrent` processes a sequence of shape `(N, steps, inputs)` step by step and keeps a state of
# shape `(N, hidden)`. It works only on the CPU, because of two tensors that it creates.
#
# Fix `forward` so that the same network works on any device to which you move it and its input,
# also if you move it again. **Nothing is copied from one device to another** in a call: `forward`
# creates what it needs on the right device.


# %% exercise=3
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


# %% check=3 points=2
check.exercise_3(Recurrent)

# %% [markdown]
# ## Exercise 4: a new head for a trained network (3 points)
#
# A network was trained for some classes and should now learn others. It has two layers, `net.body`
# and `net.head`, both `nn.Linear`. Its optimizer, SGD with momentum, has one group of parameters.
#
# Write `replace_head(net, optimizer, classes)`, which changes both in place and returns nothing:
#
# - `net.head` becomes a new `nn.Linear` with as many inputs as before and `classes` outputs, on the
#   device of the network;
# - the optimizer trains all parameters of the changed network, with the settings of its group; a
#   scheduler may have changed the learning rate;
# - the momentum of the body stays, and the optimizer keeps nothing of the old head: neither its
#   parameters nor their state.
#
# `optimizer.param_groups` is a list of dictionaries. Each has a list `"params"` and settings such
# as `"lr"`. The keys of `optimizer.state` are the parameters. To find a parameter in a list,
# compare with `is`: `==` and `in` compare the numbers of tensors.


# %% exercise=4
def replace_head(net, optimizer, classes):
    """Give the network a new head, and let the optimizer train it instead of the old one."""
    ### BEGIN SOLUTION
    old = list(net.head.parameters())
    net.head = nn.Linear(net.head.in_features, classes, device=old[0].device)
    for parameter in old:
        optimizer.state.pop(parameter, None)
    optimizer.param_groups[0]["params"] = list(net.parameters())
    ### END SOLUTION


# %% check=4 points=3
check.exercise_4(replace_head)
