# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Device mismatch errors, and how to read them
#     promise: >-
#       You mix devices in more than twenty ways, read the message that each of them gives, mend the
#       line, and leave with a table and a routine for any device error you will meet.
#     minutes: 45
#     objectives:
#       - read a device error word by word, and say what it does not tell you
#       - find the tensor that is in the wrong place, also when the message names the other one
#       - mend mixes in arithmetic, layers, indexing, losses, your own modules, NumPy and files
#       - tell what looks like a mistake and is none from what looks right and moves nothing
#       - recognise one cause behind many wordings, older ones included
#     prerequisites:
#       - "[Lesson 01](01_tensors_and_devices.ipynb): where a tensor lives, and what `.to` does"
#       - "no GPU is needed: where there is none, the lesson runs on a simulated one that refuses
#         what a real one refuses, in the same words"
#     credits:
#       - >-
#         What may be mixed and what may not:
#         [CUDA semantics](https://pytorch.org/docs/stable/notes/cuda.html), in PyTorch's notes.
#       - >-
#         The question what `t1 + t2` and `t2 + t1` say comes from tutorials of the years of
#         torch 1.x, whose answers no longer hold; the messages here are those of torch 2.11 to
#         2.14.
# ---

# %% [markdown]
# ## Set up

# %%
import io
from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch import nn
from torch.nn import functional as F

from helpers import lesson
from helpers.plots import mismatch as figures

# %% tags=["parameters"]
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True)

# %% [markdown]
# The box says which device you work on. If this machine has no CUDA GPU, it is a simulated one. Its
# tensors say `cuda:0`, they move as they would on a GPU, and mixing them with tensors of the CPU is
# refused in the words that a real GPU's user reads.

# %%
device

# %% [markdown]
# An error ends a cell. This lesson provokes many and wants to go on, so it puts each into a block
# that prints the error's type and message, and that fails if there was no error. You need not write
# such blocks yourself.


# %%
@contextmanager
def refused(until="\n"):
    """Print the error that the block ends in, up to `until`; fail if it ends in none."""
    try:
        yield
    except (RuntimeError, TypeError) as error:
        print(f"{type(error).__name__}: {str(error).partition(until)[0]}")
    else:
        raise AssertionError("torch did not refuse this; run the section again from its start")


# %% [markdown]
# ## One error, word by word (6 minutes)
#
# Take two tensors, one on the GPU and one on the CPU. A tensor that you make without a word about
# devices lies on the CPU.

# %%
x = torch.tensor([1.0, 2.0, 3.0], device=device)
y = torch.tensor([10.0, 20.0, 30.0])
x.device, y.device

# %% [markdown]
# **Way 1: an addition.** **Think first:** with `x + y`, torch could do three things: copy `y` to
# the GPU and add there, copy `x` to the CPU and add there, or refuse. What would you have it do?

# %%
with refused():
    x + y

# %% [markdown]
# torch refuses. Read what it says, piece by piece.
#
# - `RuntimeError`: the type of the error. Most device errors are of this type, as are many others,
#   so the type tells you little.
# - `Expected all tensors to be on the same device`: the rule. An operation takes all its tensors
#   from one device.
# - `but found at least two devices, cuda:0 and cpu!`: how you broke it. `cuda:0` is GPU number 0.
#
# Then look for what it does *not* say: which of your variables is on which device. The line that
# failed stands further up, in the traceback, and for the variables you ask: `x.device, y.device`.

# %%
figures.draw_two_memories()

# %% [markdown]
# Why does torch not copy `y` for you? Because a copy between the two memories is slow: slower than
# the addition, by far. If torch copied on its own, a forgotten `.to` would cost you nothing but
# time, in every step of your training, and you would never hear of it. A refusal you hear of.
#
# The fix is to say which copy you want. `y.to(device)` returns a copy of `y` on the device, and the
# sum comes out where the two terms lie.

# %%
x + y.to(device)

# %% [markdown]
# `x.cpu() + y` works as well, and its sum is on the CPU. Which one is right depends on where you
# need the sum next. In training that is nearly always the GPU: the network is there.
#
# **Way 2: the same, swapped.** You have seen what `x + y` says, with `x` on the GPU. **Think
# first:** what will `y + x` say? The same text, or one with the devices in the other order?

# %%
with refused():
    y + x

# %% [markdown]
# The same text. For operations that work number by number, such as `+`, `*`, `==` or
# `torch.maximum`, torch first settles on one device, the first in the line that is not the CPU, and
# then complains of the first tensor that is elsewhere. So `cuda:0` comes first in the message,
# wherever it stands in your line. **The order of the devices in the message says nothing about the
# order in your line.** (Two GPUs are two devices as well: mix their tensors, and you read
# `cuda:0 and cuda:1`.)
#
# It was not always so. In early versions of torch 1, `x + y` said
# `expected device cuda:0 but got device cpu`, and `y + x` said
# `expected device cpu but got device cuda:0`. Older tutorials and forum threads show that pair, and
# explain that torch takes the first tensor's device for the right one. If you meet these texts, you
# know their age; the cause and the fix are the same.

# %%
y.to(device) + x

# %% [markdown]
# ## The move that moves nothing (3 minutes)
#
# **Way 3: a result nobody keeps.** The same two tensors. You know that `y` is on the CPU, so you
# move it:

# %%
x = torch.tensor([1.0, 2.0, 3.0], device=device)
y = torch.tensor([10.0, 20.0, 30.0])
y.to(device)

# %% [markdown]
# There it is, on `cuda:0`. **Think first:** what will `x + y` do now?

# %%
with refused():
    x + y

# %%
y.device

# %% [markdown]
# Nothing has changed. `y.to(device)` *returns* a copy on the device and leaves `y` where it is. The
# notebook showed you that copy, because it stood at the end of a cell, and then dropped it. No
# error, no warning: the error comes later, from another line.
#
# Keep the result, under the same name:

# %%
y = y.to(device)
x + y

# %% [markdown]
# What makes this trap so good is that a network behaves otherwise. A module moves *in place*: its
# parameters are now elsewhere, whether you keep the result or not.

# %%
net = nn.Linear(3, 2)
net.to(device)
net.weight.device

# %% [markdown]
# Write `net = net.to(device)` all the same. Then there is one habit, and it is right for both.
#
# One forgotten move you hear of. Forget them all, the network's and the data's, and nothing is
# mixed: everything runs on the CPU, without an error, as slowly as before. So when you wonder why
# your GPU is no faster, ask `next(net.parameters()).device` first.

# %% [markdown]
# ## Matrix products and layers (8 minutes)
#
# **Way 4: a matrix product.** Here the message says more.

# %%
a = torch.ones(2, 3, device=device)
b = torch.ones(3, 4)
with refused():
    a @ b

# %%
figures.draw_message()

# %% [markdown]
# `mat2` is the name of an argument, but not your name for it: inside torch, a matrix product is
# `mm(self, mat2)`, so `mat2` is what stands right of the `@`. The method's name begins with
# `wrapper_CUDA_`; what comes after it is the operation. So: what stands right of the `@` is on the
# CPU.

# %%
a @ b.to(device)

# %% [markdown]
# **Way 5: swapped.** Now `a` is on the CPU and `b` on the GPU. **Think first:** the tensor in the
# wrong place is now `a`, the left one. Which one will the message name?

# %%
a = torch.ones(2, 3)
b = torch.ones(3, 4, device=device)
with refused():
    a @ b

# %% [markdown]
# Again `mat2`, which is your `b`, and `b` lies where it should. torch goes through the arguments in
# their order, takes the device of the first, and names the first that differs from it. It cannot
# know which of the two you want moved. **The tensor in the message is one that differs, not the one
# that is wrong.** The wrong one is the one that is not where your work is going on.

# %%
a.to(device) @ b

# %% [markdown]
# **Way 6: a layer on the GPU, its input on the CPU.** This is the most frequent of all: you moved
# the network and forgot the batch.

# %%
net = nn.Linear(3, 2).to(device)
X = torch.ones(4, 3)
with refused():
    net(X)

# %% [markdown]
# Where do you see a `mat1`? A linear layer computes `X @ weight.T + bias`, and torch does that in
# one operation, `addmm`: *add* the bias to a *m*atrix *m*ultiplication. Its arguments are checked
# in this order:
#
# | name in the message | what it is in your linear layer |
# |---|---|
# | `self` | the bias |
# | `mat1` | the layer's input |
# | `mat2` | the weight |
#
# So `mat1 is on cpu` and `addmm` together say: the input of a linear layer is on the CPU, and its
# bias is on the GPU. You never read `self` there: it comes first, and the others are compared with
# it.

# %%
scores = net(X.to(device))
scores.shape, scores.device

# %% [markdown]
# **Way 7: a layer on the CPU, its input on the GPU.** **Think first:** you forgot to move the
# network instead. Which argument will the message name, and on which device? Look at the order in
# the table.

# %%
net = nn.Linear(3, 2)
X = torch.ones(4, 3, device=device)
with refused():
    net(X)

# %% [markdown]
# `mat1` once more. The bias is checked first and it is on the CPU, so torch takes the CPU for the
# right device, and the input is the first to differ. If you believed the message and moved the
# input, you would train on the CPU. Compare the two devices in the two messages: that is where ways
# 6 and 7 differ. `mat1 is on cpu`: move the batch. `mat1 is on cuda:0`: move the network.

# %%
net = net.to(device)
scores = net(X)
scores.shape, scores.device

# %% [markdown]
# **Way 8: a convolution.** The same mistake as in way 6, with another layer.

# %%
conv = nn.Conv2d(3, 6, kernel_size=5).to(device)
images = torch.ones(4, 3, 32, 32)
with refused():
    conv(images)

# %% [markdown]
# No word about devices. But there are two of them in it, if you know the names that torch has for
# its oldest types: `torch.FloatTensor` is a `float32` tensor on the CPU, and
# `torch.cuda.FloatTensor` is one on a GPU. So: the input is on the CPU, and the weight on the GPU.
# The end about MKLDNN, a library for convolutions on CPUs, is not always there and offers a way out
# that is not yours; read past it.
#
# The order is fixed here: first the input, then the weight. Had you forgotten the network instead,
# you would read
# `Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same`.

# %%
conv(images.to(device)).shape

# %% [markdown]
# **Way 9: an embedding.** It holds one row of numbers for each word and looks rows up, here those
# of the words 1, 5 and 3. **Think first:** by what name will the message call `words`?

# %%
embedding = nn.Embedding(10, 4).to(device)
words = torch.tensor([1, 5, 3])
with refused():
    embedding(words)

# %% [markdown]
# `index`: to torch, looking rows up is indexing. The operation is `_index_select`, and the tensors
# that `index` is compared with are the rows.

# %%
embedding(words.to(device)).shape

# %% [markdown]
# ## Joining and indexing (6 minutes)
#
# **Way 10: joining.** You collect a tensor from each batch, and one of them comes from elsewhere.

# %%
pieces = [torch.ones(2, device=device), torch.zeros(2)]
with refused():
    torch.cat(pieces)

# %% [markdown]
# `tensors is on cpu` is no grammar, but it is a hint: `tensors` is torch's name for the list that
# you hand to `torch.cat`. One of its elements is on the CPU, and the message does not say which.
# Ask all of them:

# %%
[piece.device for piece in pieces]

# %%
torch.cat([piece.to(device) for piece in pieces])

# %% [markdown]
# `torch.stack`, `hstack` and `vstack` are built on `cat` and say the same.
#
# **Way 11: an index on the GPU.** You keep a large table on the CPU, and shuffle its rows in an
# order that was made on the GPU.

# %%
table = torch.arange(12.0).reshape(4, 3)
rows = torch.tensor([2, 0], device=device)
with refused():
    table[rows]

# %% [markdown]
# The message gives away an exception: *indices should be either on cpu or on the same device*. In
# square brackets, an index on the CPU is always right.
#
# **Think first:** which of `table[rows.cpu()]` and `table.to(device)[rows]` is better, when the
# table is large and you need two of its rows?

# %%
table[rows.cpu()]

# %% [markdown]
# Moving the two numbers of the index costs far less than moving the table.
#
# **No mistake: a CPU index into a GPU tensor.** Turn it round, and torch has nothing to say. It
# copies the index over for you, each time:

# %%
table.to(device)[torch.tensor([2, 0])]

# %% [markdown]
# Square brackets are kind; functions that take an index as an argument are not:
# `torch.index_select`, `gather` and `scatter_` want it on the tensor's own device.
#
# **Way 12: a mask.** `masked_fill` is at home in attention layers, whose mask is often made once
# and forgotten on the CPU.

# %%
attention = torch.ones(2, 2, device=device)
mask = torch.tensor([[False, True], [False, False]])
with refused():
    attention.masked_fill(mask, 0.0)

# %% [markdown]
# This message is the clearest so far: `self` is the tensor before the dot, and each of the two is
# named with its device.

# %%
attention.masked_fill(mask.to(device), 0.0)

# %% [markdown]
# **No mistake: a single number.** `torch.tensor(2.0)` has no dimensions, it is one number on the
# CPU. **Think first:** may it be multiplied with a tensor on the GPU?

# %%
x = torch.tensor([1.0, 2.0, 3.0], device=device)
x * torch.tensor(2.0)

# %% [markdown]
# It may. torch treats it like the Python number `2.0`, which has no device either: the number is
# sent along with the request to multiply, and nothing has to be fetched from the CPU's memory.
#
# **Think first:** so which of these two are refused: `torch.tensor([2.0])`, with brackets, times
# `x`? And a single number on the *GPU* times a tensor on the CPU?

# %%
with refused():
    x * torch.tensor([2.0])
with refused():
    torch.tensor(2.0, device=device) * torch.ones(3)

# %% [markdown]
# Both. Brackets make a tensor with one dimension, if only of length 1, and the exception is for
# tensors with none. And it is for numbers of the CPU: a number on the GPU would have to be waited
# for and fetched, a cost that torch does not hide from you. These were **ways 13 and 14**. The
# first is mended like any mix. For the second, `.item()` fetches the number, from any device, and
# says so in your code:

# %%
x * torch.tensor([2.0], device=device), torch.tensor(2.0, device=device).item() * torch.ones(3)

# %% [markdown]
# ## Losses (5 minutes)
#
# **Way 15: targets on the CPU.** You moved the network and its inputs. The labels are a tensor too.

# %%
scores = torch.zeros(2, 3, device=device)
targets = torch.tensor([0, 2])
with refused():
    F.cross_entropy(scores, targets)

# %% [markdown]
# `target` is what you think it is. The operation is `nll_loss_forward`, the *negative log
# likelihood* that is the last step of cross-entropy. Since the loss stands at the end of the
# forward pass, this error tells you some good news: the whole network has worked.

# %%
F.cross_entropy(scores, targets.to(device)).device

# %% [markdown]
# **Way 16: class weights.** A loss that has weights is a module with a tensor in it. **Think
# first:** scores and targets are on the GPU now. What has to be moved, and how?

# %%
targets = targets.to(device)
loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.0, 5.0]))
with refused():
    loss(scores, targets)

# %% [markdown]
# Move the loss, as you would a network. It is a module, so `loss.to(device)` moves what is in it. A
# loss without weights holds no tensors and needs no moving.

# %%
loss = loss.to(device)
loss.weight, loss(scores, targets).device

# %% [markdown]
# **Way 17: a loss that subtracts.** Mean squared error works number by number. **Think first:**
# what will its message name: `target`, or nothing?

# %%
predicted, values = torch.zeros(2, device=device), torch.ones(2)
with refused():
    F.mse_loss(predicted, values)

# %% [markdown]
# Two devices and nothing else, as in `x + y`. Counting right answers is number by number too, so
# `predicted == targets` fails in the same words when you evaluate.

# %%
F.mse_loss(predicted, values.to(device))

# %% [markdown]
# ## Inside your own network (6 minutes)
#
# So far the mistake stood in the line that failed. Here it stands elsewhere.
#
# **Way 18: a tensor made in `forward`.** The network is on the GPU, and so is its input.


# %%
class Ramp(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1])
        return x + steps


net = Ramp().to(device)
X = torch.ones(2, 3, device=device)
with refused():
    net(X)

# %% [markdown]
# `net(X)` looks right, and it is. Without our block, you would see a traceback, the way from your
# cell down to the line that failed. In short, with torch's own lines left out:
#
# ```text
# Cell In[..], line 9
#       7 net = Ramp().to(device)
#       8 X = torch.ones(2, 3, device=device)
# ----> 9 net(X)
#
#    ... lines of torch ...
#
# Cell In[..], line 4, in Ramp.forward(self, x)
#       2     def forward(self, x):
#       3         steps = torch.arange(x.shape[1])
# ----> 4         return x + steps
#
# RuntimeError: Expected all tensors to be on the same device, but found at least two devices, ...
# ```
#
# Read it **from the bottom up**: first the message, then upwards to the first line that is *yours*,
# past the lines of torch and, on a simulated GPU, of the course's `helpers`. (Colab names your
# cells by words with `ipython-input` in them.) Here that line is `x + steps`, and one of the two is
# on the CPU. `x` came in on the GPU; `steps` was made one line above, and without a word about
# devices a tensor is made on the CPU. `net.to(device)` could not help: it moves what the network
# holds, and `steps` did not exist then.
#
# The fix belongs where the tensor is *made*. Take the device from the input, and the module works
# wherever it is called:


# %%
class Ramp(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1], device=x.device)
        return x + steps


Ramp()(X), Ramp()(X.cpu())

# %% [markdown]
# **Way 19: a tensor that is no buffer.** Now the tensor is made once, in `__init__`, before the
# move. **Think first:** does `net.to(device)` move it?


# %%
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factors = torch.tensor([1.0, 10.0, 100.0])

    def forward(self, x):
        return x * self.factors


net = Scale().to(device)
with refused():
    net(X)

# %%
net.factors.device

# %% [markdown]
# It does not. `.to` moves parameters and **buffers**, and a tensor that you only assign is neither.
# Register it, and it moves with the network and is saved with it:


# %%
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factors", torch.tensor([1.0, 10.0, 100.0]))

    def forward(self, x):
        return x * self.factors


net = Scale().to(device)
net(X)

# %% [markdown]
# Layers in a plain Python list stay behind in the same way; `nn.ModuleList` registers them. And an
# optimizer's memory stays behind when a network moves after its first step. [Lesson
# 03](03_moving_a_network.ipynb) is about what moves with a network and what does not.

# %% [markdown]
# ## Leaving torch (5 minutes)
#
# **Way 20: NumPy.** NumPy reads the CPU's memory and no other.

# %%
w = torch.tensor([0.5, 1.5], device=device, requires_grad=True)
with refused():
    w.numpy()

# %% [markdown]
# A `TypeError`, with the fix in it. Matplotlib, pandas and scikit-learn ask for NumPy arrays behind
# your back, so you also read this when you plot a tensor.
#
# Follow the advice and you meet the next refusal: one error may hide another.

# %%
with refused():
    w.cpu().numpy()

# %%
w.detach().cpu().numpy()

# %% [markdown]
# `detach` leaves the gradients behind, `cpu` leaves the GPU, `numpy` leaves torch. `item()` and
# `tolist()` give Python numbers from any device and need none of it.
#
# **Way 21: a file from a GPU, loaded where there is none.** A saved tensor remembers its device,
# and `torch.load` puts it back there. To see what your colleague without a GPU sees, the next cell
# makes torch believe that there is none: `patch` replaces a function for the length of a block.

# %%
file = io.BytesIO()  # a file in memory, so that nothing is left on your disk
torch.save(nn.Linear(2, 1).to(device).state_dict(), file)
file.seek(0)
with refused(), patch("torch.cuda.is_available", return_value=False):
    torch.load(file)

# %% [markdown]
# *To deserialize* is to make objects from a file again. The message ends with the fix:
# `map_location` says where the tensors go, wherever they were saved.

# %%
file.seek(0)
with patch("torch.cuda.is_available", return_value=False):
    state = torch.load(file, map_location="cpu")
{name: tensor.device for name, tensor in state.items()}

# %% [markdown]
# In code that is for every machine, write `map_location=device`. A file saved on `cuda:1` fails in
# similar words on a machine with one GPU, and the fix is the same.
#
# **Way 22: random numbers.** A generator belongs to a device too.

# %%
dice = torch.Generator().manual_seed(seed)
with refused():
    torch.rand(3, device=device, generator=dice)

# %%
dice = torch.Generator(device).manual_seed(seed)
torch.rand(3, device=device, generator=dice).device

# %% [markdown]
# With the same seed, a GPU draws other numbers than a CPU. If you need the same ones on every
# machine, draw them on the CPU and move them.
#
# **Not a mix: out of memory.** The other famous device error is none of place but of size. Ask for
# 256 TiB:

# %%
with refused(until=" GPU 0"):
    torch.empty(1 << 48, dtype=torch.uint8, device=device)

# %% [markdown]
# The rest of that message says how much memory your GPU has and what takes it. Every tensor is in
# the right place; there are too many of them, or they are too large. Take a smaller batch, keep no
# tensors that you no longer need, and evaluate under `torch.no_grad()`.

# %% [markdown]
# ## One cause, many wordings (3 minutes)
#
# The next cells mix devices in eighteen ways, each as short as possible: `g` is on the GPU, `c` on
# the CPU. **Think first:** how many different texts will torch have for them?

# %%
g, c = torch.ones(2, 2, device=device), torch.ones(2, 2)
here, there = torch.tensor([0, 1], device=device), torch.tensor([0, 1])
on_tensors = [
    lambda: g + c,
    lambda: c * g,
    lambda: g == c,
    lambda: torch.maximum(g, c),
    lambda: g @ c,
    lambda: torch.cat([g, c]),
    lambda: torch.index_select(g, 0, there),
    lambda: c[here],
    lambda: g.masked_fill(c > 0, 0.0),
    lambda: g.numpy(),
]

# %%
linear, conv = nn.Linear(2, 2).to(device), nn.Conv2d(1, 1, 3).to(device)
embedding = nn.Embedding(2, 2).to(device)
on_networks = [
    lambda: linear(c),
    lambda: nn.Linear(2, 2)(g),
    lambda: conv(torch.ones(2, 1, 5, 5)),
    lambda: embedding(there),
    lambda: F.mse_loss(g, c),
    lambda: F.cross_entropy(g, there),
    lambda: nn.CrossEntropyLoss(weight=torch.ones(2))(g, here),
    lambda: torch.rand(2, device=device, generator=torch.Generator()),
]


# %%
def message_of(attempt):
    """Return what torch says to an attempt that it refuses."""
    try:
        attempt()
    except (RuntimeError, TypeError) as error:
        return str(error)
    raise AssertionError("torch did not refuse this, and the lesson says that it does")


messages = [message_of(attempt) for attempt in on_tensors + on_networks]
len(messages), len(set(messages))

# %% [markdown]
# Eighteen attempts, thirteen texts. But many differ only in a name, so sort them by the words that
# you would recognise them by.

# %%
wordings = [
    "found at least two devices",
    "different from other tensors on",
    "should be the same",
    "either on cpu or on the same device",
    "expected self and mask",
    "device type tensor to numpy",
    "device type for generator",
]
counts = {wording: sum(wording in text for text in messages) for wording in wordings}
sum(counts.values()) == len(messages)

# %%
figures.plot_wordings(counts)

# %% [markdown]
# Two wordings cover most of what you will meet. The one with `different from other tensors on`
# names an argument of torch's, the one with `found at least two devices` names nothing but the
# devices, and neither names your variable.

# %% [markdown]
# ## Let the notebook explain (3 minutes)
#
# You can read the message alone now. Still, looking up the devices of your variables is work that a
# program can do. In this course's notebooks, a cell that fails with a device error gets a box below
# the traceback. It looks at the line that failed, asks each variable in it for its device, and
# writes the line that would mend it. To see the box without failing, put the line in a block:

# %%
from helpers.explain import explain

a = torch.ones(2, 3)
b = torch.ones(3, 4, device=device)
with explain(go_on=True):
    a @ b

# %% [markdown]
# Compare it with way 5, where the message named `mat2`, your `b`. The box names `a`, because it
# takes the GPU for the place where you want to work.
#
# It also looks for where a tensor was made, as in way 18:


# %%
class Ramp(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1])
        return x + steps


X = torch.ones(2, 3, device=device)
with explain(go_on=True):
    Ramp()(X)

# %% [markdown]
# Two warnings. The box guesses what you want, and where it cannot find the variable, it says so.
# And it is not there outside this course, while the message is; so read the message first.
#
# **To try:** add a cell below this one, write `b + torch.ones(3, 4)` in it, and run it. That error
# is yours, so the cell fails. Read the last line of the traceback, say what is where, and only then
# look at the box.

# %% [markdown]
# ## The table to keep (3 minutes)
#
# A routine first, for any device error:
#
# 1. **Read the last line.** Which devices does it name? If it names an argument and an operation,
#    what are they in your code?
# 2. **Go up to the first line that is yours**, and ask everything in it where it is: `x.device` for
#    a tensor, `next(net.parameters()).device` for a network. One of them is not where your work is
#    going on. That one is wrong, whatever the message names.
# 3. **Mend it where it came from.** Data: move the batch in the training loop, and keep the result.
#    A network or a loss with weights: move it once, before the loop. Made in `forward`:
#    `device=x.device`. Made in `__init__`: a buffer. On its way to NumPy: `.detach().cpu()`. From a
#    file: `map_location=device`.
#
# <table>
# <thead><tr>
# <th scope="col">the message says</th>
# <th scope="col">what is where</th>
# <th scope="col">what to write</th>
# <th scope="col">ways</th>
# </tr></thead>
# <tbody>
# <tr>
# <td><code>found at least two devices, cuda:0 and cpu!</code></td>
# <td>two tensors of an operation that works number by number; which ones, it does not say</td>
# <td>ask each for its <code>.device</code>; <code>x + y.to(device)</code></td>
# <td>1&#8209;3, 13, 14, 17&#8209;19</td>
# </tr>
# <tr>
# <td><code>got mat2 is on cpu, different from other tensors on cuda:0</code>
# <code>(… wrapper_CUDA_mm)</code></td>
# <td>the right factor of a matrix product on the CPU, the left one on the GPU; with the devices
# swapped, the other way round</td>
# <td><code>a @ b.to(device)</code>; else <code>a.to(device) @ b</code></td>
# <td>4, 5</td>
# </tr>
# <tr>
# <td><code>got mat1 is on cpu, … (… wrapper_CUDA_addmm)</code></td>
# <td>the input of a linear layer on the CPU, the layer on the GPU</td>
# <td><code>net(X.to(device))</code></td>
# <td>6</td>
# </tr>
# <tr>
# <td><code>got mat1 is on cuda:0, … (… wrapper_CUDA_addmm)</code></td>
# <td>the layer on the CPU, its input on the GPU</td>
# <td><code>net = net.to(device)</code></td>
# <td>7</td>
# </tr>
# <tr>
# <td><code>Input type (torch.FloatTensor) and weight type</code>
# <code>(torch.cuda.FloatTensor) should be the same</code></td>
# <td>the images on the CPU, the convolution on the GPU; with <code>cuda</code> in the first
# brackets, the other way round</td>
# <td><code>conv(images.to(device))</code>; else <code>net = net.to(device)</code></td>
# <td>8</td>
# </tr>
# <tr>
# <td><code>got index is on cpu, … (… wrapper_CUDA__index_select)</code></td>
# <td>the words of an embedding on the CPU</td>
# <td><code>embedding(words.to(device))</code></td>
# <td>9</td>
# </tr>
# <tr>
# <td><code>got tensors is on cpu, … (… wrapper_CUDA_cat)</code></td>
# <td>one element of a list on the CPU</td>
# <td><code>torch.cat([t.to(device) for t in pieces])</code></td>
# <td>10</td>
# </tr>
# <tr>
# <td>
# <code>indices should be either on cpu or on the same device as the indexed tensor (cpu)</code>
# </td>
# <td>the index on the GPU, the tensor on the CPU</td>
# <td><code>table[rows.cpu()]</code></td>
# <td>11</td>
# </tr>
# <tr>
# <td><code>expected self and mask to be on the same device,</code>
# <code>but got mask on cpu and self on cuda:0</code></td>
# <td>as it says</td>
# <td><code>mask.to(device)</code></td>
# <td>12</td>
# </tr>
# <tr>
# <td><code>got target is on cpu, …</code> or <code>got weight is on cpu, …</code>
# <code>(… wrapper_CUDA_nll_loss_forward)</code></td>
# <td>the labels, or the class weights, of a loss on the CPU</td>
# <td><code>targets.to(device)</code>, or <code>loss = loss.to(device)</code></td>
# <td>15, 16</td>
# </tr>
# <tr>
# <td><code>can't convert cuda:0 device type tensor to numpy</code></td>
# <td>the tensor on the GPU; NumPy reads the CPU's memory only</td>
# <td><code>x.detach().cpu().numpy()</code></td>
# <td>20</td>
# </tr>
# <tr>
# <td><code>Attempting to deserialize object on a CUDA device</code>
# <code>but torch.cuda.is_available() is False</code></td>
# <td>the file was saved on a GPU; there is none here</td>
# <td><code>torch.load(path, map_location=device)</code></td>
# <td>21</td>
# </tr>
# <tr>
# <td><code>Expected a 'cuda' device type for generator but found 'cpu'</code></td>
# <td>the generator on the CPU, its numbers wanted on the GPU</td>
# <td><code>torch.Generator(device)</code></td>
# <td>22</td>
# </tr>
# <tr>
# <td><code>CUDA out of memory. Tried to allocate …</code></td>
# <td>all in the right place, but too much of it</td>
# <td>a smaller batch</td>
# <td></td>
# </tr>
# </tbody>
# </table>
#
# Three more that you meet in older posts and other layers:
#
# - `expected device cuda:0 but got device cpu`: torch 1.x's words for the first row.
# - `(when checking argument for argument mat1 in method wrapper_CUDA_addmm)` behind
#   `found at least two devices, cpu and cuda:0!`: older words for
#   `got mat1 is on cuda:0, different from other tensors on cpu`. The argument that it names is on
#   the *second* device.
# - `Input and hidden tensors are not at the same device`: a recurrent layer whose first hidden
#   state was made on the CPU; make it with `device=x.device`.

# %% [markdown]
# ## Summary
#
# - An operation takes all its tensors from one device, and torch copies nothing between devices on
#   its own, because copies are slow and hidden ones would be slow in secret.
# - The message names devices, sometimes an argument, never your variable. What it names is what
#   differs, not what is wrong.
# - Two exceptions: in arithmetic, a single number on the CPU (a tensor with no dimensions) goes
#   with tensors of any device; and in square brackets, so does an index on the CPU.
# - `.to` moves a module in place and returns a copy of a tensor. Always write `y = y.to(device)`.
# - No error is no proof: if nothing was moved, everything runs on the CPU.
# - Mend a mix where the tensor comes from, which is often not where the error is.
