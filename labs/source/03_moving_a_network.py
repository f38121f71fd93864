# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Moving a network
#     promise: >-
#       You write and fix code that moves a network with everything that belongs to it: its buffers,
#       its optimizer's state and its checkpoints.
#     minutes: 50
#     objectives:
#       - list where parameters, buffers and the optimizer's state are
#       - register every tensor of a module as what it is
#       - move an optimizer's state along with its network
#       - write a `forward` that runs on any device
#       - save a checkpoint on one machine and continue from it on another
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated GPU"
#     credits:
#       - >-
#         Checkpoints follow PyTorch's guide to [saving and loading
#         models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html).
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
# ## Exercise 1: where is everything? (2 points)
#
# Before you fix a network that is on two devices, you want to know which tensor is where.
#
# Write `find_devices(net, optimizer)`. It returns a dictionary of three sets of `torch.device`:
#
# - `"parameters"`: the devices of the network's parameters;
# - `"buffers"`: the devices of its buffers;
# - `"state"`: the devices of all tensors in the optimizer's state. `optimizer.state` is a
#   dictionary: for each parameter, it holds another dictionary, whose values are tensors or plain
#   numbers.
#
# A set may be empty: an optimizer that has taken no step has no state. A network may contain other
# networks.


# %% exercise=1
def find_devices(net, optimizer):
    """Return the devices of parameters, buffers and the optimizer's state, as three sets."""
    ### BEGIN SOLUTION
    values = [value for entry in optimizer.state.values() for value in entry.values()]
    return {
        "parameters": {parameter.device for parameter in net.parameters()},
        "buffers": {buffer.device for buffer in net.buffers()},
        "state": {value.device for value in values if isinstance(value, torch.Tensor)},
    }
    ### END SOLUTION


# %% check=1 points=2
check.exercise_1(find_devices)

# %% [markdown]
# ## Exercise 2: what does a module register? (3 points)
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
# Keep the three names, what `forward` computes, and the order in which things are created, so that
# the random initial weights stay the same. Before you start, decide for each of the three lines why
# the module does not move what it creates, and compare with the table in the lesson.


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
# ## Exercise 3: move the network after creating the optimizer (3 points)
#
# A program created an optimizer and took some steps on the CPU. It now wants to continue on the GPU
# without losing the optimizer's state.
#
# Write `move_both(net, optimizer, device)`. It moves the network and the optimizer's state to
# `device`, both in place, and returns nothing. Training then continues as if nothing had happened:
# with the same weights, the same parameters in the optimizer, the same state and the same settings.
# It works for SGD with momentum and for Adam, from any device to any other, and also for an
# optimizer that has not taken a step yet. Adam's step counters may stay where they are.


# %% exercise=3
def move_both(net, optimizer, device):
    """Move the network and the optimizer's state to `device`, in place."""
    ### BEGIN SOLUTION
    net.to(device)
    # Loading a state moves each tensor to the device of its parameter.
    optimizer.load_state_dict(optimizer.state_dict())
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(move_both)

# %% [markdown]
# ## Exercise 4: tensors created in `forward` (2 points)
#
# `Recurrent` processes a sequence of shape `(N, steps, inputs)` step by step and keeps a state of
# shape `(N, hidden)`. It works only on the CPU, because of two tensors that it creates.
#
# Fix `forward` so that the same network works on any device to which you move it and its input,
# also if you move it again. **Nothing is copied from one device to another** in a call: `forward`
# creates what it needs on the right device.


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
# ## Exercise 5: continue on another machine (3 points)
#
# Write two functions that belong together.
#
# - `save_checkpoint(path, net, optimizer, epoch)` writes a file from which training can continue.
#   It stores the network, the optimizer and the number of the epoch.
# - `load_checkpoint(path, net, optimizer)` gets a new network with the same layers and a new
#   optimizer. It loads the saved state into both and returns the number of the epoch. The network
#   stays on its device and keeps its mode (training or evaluation). The optimizer's state goes to
#   the same device; Adam's step counters may be on the CPU.
#
# Another program, perhaps on another computer, loads the file, so everything has to be in it. The
# file may be saved on a machine with two GPUs and loaded on a machine with one GPU or none.
# Training continues exactly as it would have without the break: the weights are the same, and the
# optimizer has the saved settings, such as the learning rate, even if the new optimizer was created
# with others. The names of the entries are up to you, but save only tensors, numbers, strings,
# lists and dictionaries, such as a `state_dict`: by default, `torch.load` refuses other objects.


# %% exercise=5
def save_checkpoint(path, net, optimizer, epoch):
    """Write the network, the optimizer and the epoch to a file."""
    ### BEGIN SOLUTION
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, path)
    ### END SOLUTION


def load_checkpoint(path, net, optimizer):
    """Restore the network and the optimizer from the file, and return the epoch."""
    ### BEGIN SOLUTION
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]
    ### END SOLUTION


# %% check=5 points=3
check.exercise_5(save_checkpoint, load_checkpoint)
