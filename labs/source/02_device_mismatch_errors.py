# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Device mismatch errors
#     promise: >-
#       You fix eight lines that mix devices, read seven error messages, and find the cause of an
#       error three calls away from it.
#     minutes: 40
#     objectives:
#       - find the tensor on the wrong device in a line of code, and move it
#       - read from a message which tensor is on which device
#       - find the line that caused an error, even if the traceback does not show it
#       - select rows of a large table without moving the table
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated GPU"
#     credits:
#       - >-
#         The messages are those of torch 2.11 to 2.14. Which devices an operation accepts:
#         [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html), in PyTorch's
#         notes.
# ---

# %%
import torch

from helpers import lesson
from helpers.checks import lab_02 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: eight lines (4 points)
#
# The body of each of these eight functions is one line, which you edit. Each works as long as all
# of its arguments are on the same device. Fix them so that they also work when they are not. Two
# rules:
#
# - **The computation runs on the device of the first argument**, and the result is there too. The
#   device of a network or an embedding is that of its weights.
# - The arguments stay unchanged and on their devices: you may copy the second argument to the
#   device of the first, but not the first to that of the second.
#
# Three of the functions need a note:
#
# - `divide`: `total` is a tensor with a single number and no dimensions.
# - `noise`: `generator` is always on the CPU. Draw the numbers there, and return them on the device
#   of `x`.
# - `count_correct` returns a Python number, which has no device.
#
# Before you fix a line, predict its error message. To see it, call the function in a new cell, as
# in `add(torch.ones(3, device=device), torch.ones(3))`.


# %% exercise=1
def add(x, y):
    ### BEGIN SOLUTION
    return x + y.to(x.device)
    ### END SOLUTION
    ### BEGIN GIVEN
    # return x + y
    ### END GIVEN


def multiply(a, b):
    ### BEGIN SOLUTION
    return a @ b.to(a.device)
    ### END SOLUTION
    ### BEGIN GIVEN
    # return a @ b
    ### END GIVEN


def score(net, X):
    ### BEGIN SOLUTION
    return net(X.to(next(net.parameters()).device))
    ### END SOLUTION
    ### BEGIN GIVEN
    # return net(X)
    ### END GIVEN


def embed(embedding, words):
    ### BEGIN SOLUTION
    return embedding(words.to(embedding.weight.device))
    ### END SOLUTION
    ### BEGIN GIVEN
    # return embedding(words)
    ### END GIVEN


def hide(scores, mask):
    ### BEGIN SOLUTION
    return scores.masked_fill(mask.to(scores.device), -torch.inf)
    ### END SOLUTION
    ### BEGIN GIVEN
    # return scores.masked_fill(mask, -torch.inf)
    ### END GIVEN


def divide(x, total):
    ### BEGIN SOLUTION
    return x / total.to(x.device)
    ### END SOLUTION
    ### BEGIN GIVEN
    # return x / total
    ### END GIVEN


def noise(x, generator):
    ### BEGIN SOLUTION
    return torch.rand(x.shape, generator=generator).to(x.device)
    ### END SOLUTION
    ### BEGIN GIVEN
    # return torch.rand(x.shape, device=x.device, generator=generator)
    ### END GIVEN


def count_correct(guesses, labels):
    ### BEGIN SOLUTION
    return (guesses == labels.to(guesses.device)).sum().item()
    ### END SOLUTION
    ### BEGIN GIVEN
    # return (guesses == labels).sum().item()
    ### END GIVEN


# %% check=1 points=4
check.exercise_1(add, multiply, score, embed, hide, divide, noise, count_correct)

# %% [markdown]
# ## Exercise 2: read the messages (3 points)
#
# Here are seven lines of code, each with its error message. You see neither the tensors nor their
# devices: the message tells you what you need. Each line can be fixed by moving **one** tensor.
# After the move, the line has to run, and **its result has to be on `cuda:0`**; only for D it is on
# the CPU, and for G it is a NumPy array. `F` in the code is `torch.nn.functional`.
#
# **A.** `loss = F.cross_entropy(scores, labels)`
#
#     Expected all tensors to be on the same device, but got target is on cpu, different from other
#     tensors on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)
#
# **B.** `scores = images @ weights`
#
#     Expected all tensors to be on the same device, but got mat2 is on cuda:0, different from other
#     tensors on cpu (when checking argument in method wrapper_CUDA_mm)
#
# **C.** `total = running + batch_mean`
#
#     Expected all tensors to be on the same device, but found at least two devices, cuda:1 and
#     cuda:0!
#
# **D.** `picked = table[rows]`, where the table is too large for the GPU and has to stay on the CPU
#
#     indices should be either on cpu or on the same device as the indexed tensor (cpu)
#
# **E.** `vectors = F.embedding(words, table)`
#
#     Expected all tensors to be on the same device, but got index is on cpu, different from other
#     tensors on cuda:0 (when checking argument in method wrapper_CUDA__index_select)
#
# **F.** `edges = F.conv2d(images, kernel)`
#
#     Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or
#     input should be a MKLDNN tensor and weight is a dense tensor
#
# **G.** `array = scores.numpy()`, where `scores` is on the first GPU
#
#     can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host
#     memory first.
#
# Write `moves()`. It returns a dictionary: for each letter the name of the tensor to move, as it is
# in the line of code, and the device to move it to, one of `"cpu"`, `"cuda:0"` and `"cuda:1"`.


# %% exercise=2
def moves():
    """Return {"A": (name, device), ..., "G": (name, device)}."""
    ### BEGIN SOLUTION
    return {
        "A": ("labels", "cuda:0"),
        "B": ("images", "cuda:0"),
        "C": ("running", "cuda:0"),
        "D": ("rows", "cpu"),
        "E": ("words", "cuda:0"),
        "F": ("images", "cuda:0"),
        "G": ("scores", "cpu"),
    }
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(moves)

# %% [markdown]
# ## Exercise 3: the error is not where the mistake is (3 points)
#
# This program subtracts from each batch's scores the mean of all batches up to this one, and
# returns the classes with the highest scores. It works for a network on the CPU. With a network on
# a GPU, it fails, and the line that fails is not the one that is wrong. Call
# `run(torch.nn.Linear(4, 3).to(device), [torch.rand(2, 4)])` in a new cell, and find the cause as
# the lesson does.
#
# Fix the program for a network on any device:
#
# - the network stays where it is, and the result is on its device;
# - **only the images are copied between devices**, each once, to the network's device.


# %% exercise=3 task="fix the program"
class RunningMean:
    def __init__(self, batches, net):
        ### BEGIN SOLUTION
        self.means = torch.zeros(batches, net.out_features, device=net.weight.device)
        ### END SOLUTION
        ### BEGIN GIVEN
        # self.means = torch.zeros(batches, net.out_features)
        ### END GIVEN
        self.count = 0

    def add(self, scores):
        self.means[self.count] = scores.mean(dim=0)
        self.count += 1

    def value(self):
        return self.means[: self.count].mean(dim=0)


def center(scores, running):
    return scores - running.value()


def predict(net, images, running):
    scores = net(images)
    running.add(scores)
    return center(scores, running).argmax(dim=1)


@torch.no_grad()
def run(net, batches):
    """Return the predicted classes of all batches, in one tensor."""
    device = next(net.parameters()).device
    running = RunningMean(len(batches), net)
    return torch.cat([predict(net, images.to(device), running) for images in batches])


# %% check=3 points=3
check.exercise_3(run)

# %% [markdown]
# ## Exercise 4: a few rows of a large table (2 points)
#
# `table` is large and is on the CPU. `rows` holds the indices of the rows to select. `rows` and
# `extra`, a tensor with a few more rows, are on the device where the computation runs.
#
# Write `build_batch(table, rows, extra)`. It returns one tensor: the selected rows of the table, in
# the order of `rows`, and the rows of `extra` below them. The result is on the device of `extra`.
# **The table stays on the CPU**: only the selected rows move. `extra` does not move either.


# %% exercise=4
def build_batch(table, rows, extra):
    """Return the rows of the table and the extra ones below them, where `extra` is."""
    ### BEGIN SOLUTION
    picked = table[rows.cpu()]
    return torch.cat([picked.to(extra.device), extra])
    ### END SOLUTION


# %% check=4 points=2
check.exercise_4(build_batch)
