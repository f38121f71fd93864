# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Device mismatch errors
#     promise: >-
#       You mend eight lines that mix devices, teach a function to tell who is to blame, and write
#       code whose losses, batches and files work on any device.
#     minutes: 45
#     objectives:
#       - find the culprit in a line that mixes devices, and move it
#       - tell what a message names from what has to move
#       - bring labels and class weights to where the network is
#       - take rows from a large table without moving the table
#       - load a file from a GPU on a machine that has none
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated one"
#     credits:
#       - >-
#         The messages are those of torch 2.11 to 2.14; what may be mixed and what may not is in
#         [CUDA semantics](https://pytorch.org/docs/stable/notes/cuda.html), in PyTorch's notes.
# ---

# %%
import torch

from helpers import lesson
from helpers.checks import lab_02 as check

# %% tags=["parameters"]
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: eight lines (4 points)
#
# Each of these eight functions has one line of work, and each works as long as all that it is given
# lies in one place. Mend them, so that they also work when it does not. The rules are the same for
# all:
#
# - **The work goes on where the first argument is**, on whatever device that may be, and the result
#   is there too. A network or an embedding is where its weights are.
# - What is handed in stays as it is and where it is: you may copy the second argument to the first,
#   and not the first to the second.
# - `total`, in `divide`, is a tensor with a single number in it and no dimensions.
# - `generator`, in `noise`, is on the CPU, so that it draws the same numbers on every machine. Keep
#   those numbers.
# - `count_right` returns a Python number.
#
# Before you mend a line, say what its message will be. To see one, call the function in a cell of
# your own, as in `add(torch.ones(3, device=device), torch.ones(3))`.


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


def count_right(guesses, labels):
    ### BEGIN SOLUTION
    return (guesses == labels.to(guesses.device)).sum().item()
    ### END SOLUTION
    ### BEGIN GIVEN
    # return (guesses == labels).sum().item()
    ### END GIVEN


# %% check=1 points=4
check.exercise_1(add, multiply, score, embed, hide, divide, noise, count_right)

# %% [markdown]
# ## Exercise 2: who is to blame? (3 points)
#
# This is the message of a matrix product:
#
#     Expected all tensors to be on the same device, but got mat2 is on cpu, different from other
#     tensors on cuda:0 (when checking argument in method wrapper_CUDA_mm)
#
# It names an argument, `mat2`, the place where that is, `cpu`, and the place of the others,
# `cuda:0`. Who has to move, it cannot know, since it does not know on which device you want to
# work. You do.
#
# Write `culprit(message, device)`. It gets the text of such a message and the device to work on,
# which is one of the two that the message names. It returns two strings:
#
# - *what* has to move: the name of the argument in the message, or `"others"` if that argument is
#   in the right place already and it is the others that have to move;
# - *where that is now*: `"cpu"`, `"cuda:0"` or `"cuda:1"`.
#
# For the message above and `cuda:0` as the device to work on, that is `("mat2", "cpu")`. For the
# same message and the CPU, it is `("others", "cuda:0")`.
#
# Some messages name no argument, such as that of `x + y`: `Expected all tensors to be on the same
# device, but found at least two devices, cuda:0 and cpu!` For these, return None.
#
# `device` is a `torch.device`, and `str(device)` makes a string of it. `message.split()` gives the
# words of a message as a list.


# %% exercise=2
def culprit(message, device):
    """Return what has to move and where that is now, or None if no argument is named."""
    ### BEGIN SOLUTION
    words = message.replace(",", "").split()
    if "got" not in words:
        return None
    start = words.index("got")
    name, place = words[start + 1], words[start + 4]
    others = words[start + 10]
    return ("others", others) if place == str(device) else (name, place)
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(culprit)

# %% [markdown]
# ## Exercise 3: three go to the network (3 points)
#
# Write `evaluate_batch(net, loss, images, labels)`. It returns two Python numbers: the loss of the
# batch, a float, and how many of the network's answers are right, an int. An answer is the class
# with the highest score.
#
# - `net` maps images to scores, of shape `(N, classes)`. It is on some device, and stays there.
# - `loss` is an `nn.CrossEntropyLoss` with class weights: call it as `loss(scores, labels)`. It may
#   be somewhere else. It is yours to move, if you like.
# - `images` and `labels` are the batch. They may be somewhere else too.


# %% exercise=3
def evaluate_batch(net, loss, images, labels):
    """Return the loss of the batch as a float, and the number of right answers as an int."""
    ### BEGIN SOLUTION
    place = next(net.parameters()).device
    images, labels, loss = images.to(place), labels.to(place), loss.to(place)
    with torch.no_grad():
        scores = net(images)
        right = (scores.argmax(dim=1) == labels).sum()
        return loss(scores, labels).item(), right.item()
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(evaluate_batch)

# %% [markdown]
# ## Exercise 4: a few rows of a large table (2 points)
#
# `table` is large and lies on the CPU. `rows` says which of its rows are wanted, and lies where the
# work goes on, as does `extra`, a tensor with a few more rows.
#
# Write `build_batch(table, rows, extra)`. It returns one tensor: the wanted rows of the table, in
# the order of `rows`, and those of `extra` below them. The result is where `extra` is. **The table
# stays on the CPU**: only the rows that are wanted go over. Nor does `extra` leave its place.


# %% exercise=4
def build_batch(table, rows, extra):
    """Return the rows of the table and the extra ones below them, where `extra` is."""
    ### BEGIN SOLUTION
    picked = table[rows.cpu()]
    return torch.cat([picked.to(extra.device), extra])
    ### END SOLUTION


# %% check=4 points=2
check.exercise_4(build_batch)

# %% [markdown]
# ## Exercise 5: a file from another machine (3 points)
#
# A colleague trained a network on a machine with two GPUs and saved it there, with
# `torch.save(net.state_dict(), path)`. The file may come from either GPU. Your machine may have
# two, one or none.
#
# Write `load_weights(net, path)`. It puts what is in the file into `net`, which has the same
# layers. `net` may be on any device of your machine, and stays where it is. The function returns
# nothing.
#
# The check tries it on machines with several numbers of GPUs.


# %% exercise=5
def load_weights(net, path):
    """Put the weights and buffers in the file into `net`, which stays where it is."""
    ### BEGIN SOLUTION
    net.load_state_dict(torch.load(path, map_location="cpu"))
    ### END SOLUTION


# %% check=5 points=3
check.exercise_5(load_weights)
