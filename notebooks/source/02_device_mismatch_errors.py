# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Device mismatch errors, and how to read them
#     promise: >-
#       You cause common device errors, read their messages, and fix them. You leave with a routine
#       and a table for device errors in your own code.
#     minutes: 50
#     objectives:
#       - read a device error piece by piece, and say what the message leaves out
#       - find the tensor that is on the wrong device, even if the message names another one
#       - fix a missing `.to` for data, labels, networks and losses
#       - fix tensors that your own code creates, such as masks, positions and hidden states
#       - name the two most common cases in which a CPU tensor may be mixed with GPU tensors
#     prerequisites:
#       - "[Lesson 01](01_tensors_and_devices.ipynb): where a tensor is stored, and what `.to` does"
#       - "you have trained a small network with PyTorch: `nn.Module`, a loss, an optimizer"
#       - "no GPU is needed: without one, the lesson uses a simulated GPU that gives CUDA's error
#         messages"
#     credits:
#       - >-
#         Which devices an operation accepts:
#         [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html), in PyTorch's
#         notes.
# ---

# %%
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from helpers import lesson
from helpers.plots import mismatch as figures

# %% tags=["parameters"]
seed: int = 0  # seed of the random numbers

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True)

# %% [markdown]
# The box says which device you work on. If your machine has no CUDA GPU, the device is a simulated
# GPU: its tensors report `cuda:0`, and mixing them with CPU tensors gives the error messages of
# PyTorch's CUDA code.

# %%
device

# %% [markdown]
# An error stops a cell. This lesson causes many errors and has to continue, so it catches each one
# in a `with` block that prints it. You do not need such blocks in your own code, and you can skip
# the next cell.


# %%
@contextmanager
def expect_error():
    """Print the first line of the error that the block raises."""
    try:
        yield
    except (RuntimeError, TypeError) as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    else:
        raise AssertionError("no error: run this section again from its start")


# %% [markdown]
# ## One error, word by word (6 minutes)
#
# Take two tensors. By default, torch creates a tensor on the CPU.

# %%
x = torch.tensor([1.0, 2.0, 3.0], device=device)
y = torch.tensor([10.0, 20.0, 30.0])
x.device, y.device

# %% [markdown]
# **Think first:** in [lesson 01](01_tensors_and_devices.ipynb), `x + y` on two devices was an
# error. Why does torch not copy one of them?
#
# <details><summary>Answer</summary>
#
# A copy between the two memories is much slower than the addition. If torch copied automatically,
# one missing `.to` would slow down every step of your training, and nothing would tell you. So
# torch asks you to write the copy.
#
# </details>

# %%
with expect_error():
    x + y

# %% [markdown]
# Read the message piece by piece:
#
# - `RuntimeError` is the type. Many other errors have the same type, so it tells you little.
# - `Expected all tensors to be on the same device` is the rule: an operation takes all its tensors
#   from one device.
# - `but found at least two devices, cuda:0 and cpu!` says which devices the operation found.
#   `cuda:0` is the first GPU. *At least*, because torch stops at the first tensor that differs.
#
# The message does *not* say which variable is on which device. To find out, look in the traceback,
# the list of calls that Python prints above the message, for the line that failed. Print the device
# of each tensor in it.

# %%
figures.draw_two_memories()

# %% [markdown]
# The fix is to write the copy that you want. `y.to(device)` returns a copy of `y` on the device,
# and the sum is computed there.

# %%
x + y.to(device)

# %% [markdown]
# `x.cpu() + y` also works; its result is then on the CPU. Choose the device on which you need the
# result. In training that is almost always the GPU, because the network is there.
#
# **Think first:** what will the message for `y + x` say? Will it name the devices in the opposite
# order?
#
# <details><summary>Answer</summary>
#
# The message is the same. For elementwise operations, which work number by number, such as `+`, `*`
# or `==`, torch takes the first device that is not the CPU, and then reports the device of the
# first tensor that is somewhere else. So with one GPU and the CPU, the GPU is always named first:
# **the order in the message says nothing about the order in your line.** (With two GPUs it does, as
# you will see below.)
#
# </details>

# %%
with expect_error():
    y + x

# %% [markdown]
# ## Matrix products and layers (9 minutes)
#
# For a matrix product, the message says more.

# %%
a = torch.ones(2, 3, device=device)
b = torch.ones(3, 4)
with expect_error():
    a @ b

# %%
figures.draw_message()

# %% [markdown]
# `mat2` is torch's name for an argument. Inside torch, the operation is `mm(self, mat2)`, so `mat2`
# is the right side of `@`: your `b`. In `wrapper_CUDA_mm`, the last part is the operation.
#
# **Think first:** now swap the devices, with `a` on the CPU and `b` on the GPU. You want to work on
# the GPU, so `a` is in the wrong place. Which argument does the message name?
#
# <details><summary>Answer</summary>
#
# Again `mat2`, your `b`, although `b` is where you want it. torch checks the arguments in order,
# takes the device of the first one, and names the first that differs. It cannot know which one you
# want to move. **The message names a tensor that differs, not the tensor that is wrong.**
#
# </details>

# %%
with expect_error():
    torch.ones(2, 3) @ torch.ones(3, 4, device=device)

# %% [markdown]
# ### You forgot to move the data
#
# This is the most common device error: the network is on the GPU, and the batch is not.

# %%
net = nn.Linear(3, 2).to(device)
X = torch.ones(4, 3)
with expect_error():
    net(X)

# %% [markdown]
# A linear layer computes `X @ weight.T + bias` in one operation called `addmm`. Its arguments are
# checked in this order:
#
# | name in the message | in your linear layer |
# |---|---|
# | `self` (torch's name for an argument, not Python's `self`) | the bias |
# | `mat1` | the input of the layer |
# | `mat2` | the weight |
#
# So `mat1 is on cpu` together with `addmm` means: the input of a linear layer is on the CPU, and
# the layer is on the GPU. (A layer with `bias=False` uses `mm`, as `@` does: there `self` is the
# input, and `mat2` is the weight.) Move the batch:

# %%
scores = net(X.to(device))
scores.shape, scores.device

# %% [markdown]
# ### You forgot to move the network
#
# **Think first:** now the network is on the CPU and the batch is on the GPU. Which argument does
# the message name, and on which device? Use the table: the arguments are checked in its order.
#
# <details><summary>Answer</summary>
#
# `mat1` again, but on `cuda:0`. The bias is checked first and is on the CPU, so the input is the
# first argument that differs. Compare the devices: **`mat1 is on cpu`: move the batch.
# `mat1 is on cuda:0`: move the network.**
#
# </details>

# %%
net = nn.Linear(3, 2)
X = torch.ones(4, 3, device=device)
with expect_error():
    net(X)

# %%
net = net.to(device)
net(X).device

# %% [markdown]
# If you forget both, the network *and* the data, there is no error: everything runs on the CPU. If
# your GPU does not make a program faster, first check `next(net.parameters()).device`, the device
# of the network's first parameter.
#
# ### The same mistakes with a convolution
#
# Convolutions have a message of their own.

# %%
conv = nn.Conv2d(3, 6, kernel_size=5).to(device)
images = torch.ones(4, 3, 32, 32)
with expect_error():
    conv(images)

# %% [markdown]
# This message names devices by the old names of tensor types: `torch.FloatTensor` is a `float32`
# tensor on the CPU, and `torch.cuda.FloatTensor` is one on a GPU. So the input is on the CPU and
# the weight is on the GPU. Ignore the part about MKLDNN, a library that torch uses on the CPU.
#
# If both types contain `cuda`, or neither does, the problem is the data type, not the device. (With
# several GPUs, check the devices too: these names have no index.)
#
# If you forget to move the network instead, the message has the two types the other way around:

# %%
with expect_error():
    nn.Conv2d(3, 6, kernel_size=5)(images.to(device))

# %% [markdown]
# ## Losses (5 minutes)
#
# You moved the network and the images. The labels are a tensor too.

# %%
scores = torch.zeros(2, 3, device=device)
labels = torch.tensor([0, 2])
with expect_error():
    F.cross_entropy(scores, labels)

# %% [markdown]
# `target` is the labels. The operation `nll_loss_forward` is the *negative log-likelihood*, the
# last step of cross-entropy. The loss comes after the network, so this message also tells you that
# the network itself ran without an error. Move the labels along with the images:

# %%
labels = labels.to(device)
F.cross_entropy(scores, labels).device

# %% [markdown]
# A loss can have *class weights*, one number for each class: a mistake on a class with a large
# weight counts more. `nn.CrossEntropyLoss(weight=...)` stores them in a tensor.
#
# **Think first:** what do you have to move, and how?
#
# <details><summary>Answer</summary>
#
# The loss, as you would move a network: `loss = loss.to(device)`. A loss without weights contains
# no tensors and needs no move.
#
# </details>

# %%
loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.0, 5.0]))
with expect_error():
    loss(scores, labels)

# %%
loss = loss.to(device)
loss.weight, loss(scores, labels).device

# %% [markdown]
# Losses that subtract, such as `nn.MSELoss`, and the comparison `predicted == labels` in an
# evaluation are elementwise. Their message is that of `x + y`: two devices and no name.

# %%
predicted = scores.argmax(dim=1)
with expect_error():
    predicted == torch.tensor([0, 2])

# %% [markdown]
# ## Joining and indexing (7 minutes)
#
# You collect the results of many batches in a list and join them, and one of them is on another
# device.

# %%
pieces = [torch.ones(2, device=device), torch.zeros(2)]
with expect_error():
    torch.cat(pieces)

# %% [markdown]
# `tensors` is torch's name for the list that you pass to `torch.cat`. One of its elements is on the
# CPU; the message does not say which. Print the devices of all of them:

# %%
[piece.device for piece in pieces]

# %%
torch.cat([piece.to(device) for piece in pieces])

# %% [markdown]
# ### An index on the GPU
#
# A large table is on the CPU. `rows` contains the numbers of the rows that you need, and it was
# created on the GPU.

# %%
table = torch.arange(12.0).reshape(4, 3)
rows = torch.tensor([2, 0], device=device)
with expect_error():
    table[rows]

# %% [markdown]
# **Think first:** both `table[rows.cpu()]` and `table.to(device)[rows]` work. Which one is better
# for a large table of which you need two rows?
#
# <details><summary>Answer</summary>
#
# `table[rows.cpu()]`: it copies two integers to the CPU instead of the whole table to the GPU. Its
# result is on the CPU. If you need it on the GPU, `table[rows.cpu()].to(device)` moves only the two
# rows.
#
# </details>

# %%
table[rows.cpu()]

# %% [markdown]
# ### Two exceptions: a CPU index, and a single number
#
# The last message mentions an exception: *indices should be either on cpu or on the same device*.
# In square brackets, an index on the CPU is always accepted. torch copies it to the GPU, every
# time.

# %%
table.to(device)[torch.tensor([2, 0])]

# %% [markdown]
# This holds for square brackets only. Functions that take an index need it on the device of the
# tensor that they read. Examples are `torch.gather` and an embedding layer, a table with one row of
# numbers for each word:

# %%
embedding = nn.Embedding(10, 4).to(device)
with expect_error():
    embedding(torch.tensor([1, 5, 3]))

# %% [markdown]
# The second exception is a tensor without dimensions on the CPU, such as `torch.tensor(2.0)`. In
# arithmetic, torch treats it like the Python number `2.0`.

# %%
x * torch.tensor(2.0)

# %% [markdown]
# **Think first:** which of these raise an error: `x * torch.tensor([2.0])`, with a list of one
# number, and `torch.tensor(2.0, device=device) * torch.ones(3)`, with the single number on the
# *GPU* and the other tensor on the *CPU*?
#
# <details><summary>Answer</summary>
#
# Both. `torch.tensor([2.0])` has one dimension, of length 1, and the exception is for tensors
# without dimensions. It also works in one direction only: to read a number from the GPU, the CPU
# would have to wait for the GPU. If you want that, write `number.item()`.
#
# </details>

# %%
with expect_error():
    x * torch.tensor([2.0])
with expect_error():
    torch.tensor(2.0, device=device) * torch.ones(3)

# %% [markdown]
# Assigning to a slice copies, as `.to` does, so the values may be on another device. With a mask or
# an index tensor, as in `x[rows] = values`, the values must be on the device of `x`, or have no
# dimensions.

# %%
x[:] = torch.tensor([1.0, 2.0, 3.0])
x

# %% [markdown]
# ## Tensors that your code creates (9 minutes)
#
# So far, you could fix the line that uses the network or the tensors. Here the mistake is in the
# network's own code, or in a line that creates a tensor.
#
# ### In `forward`
#
# The network is on the GPU, and so is its input.


# %%
class Ramp(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1])
        return x + steps


net = Ramp().to(device)
X = torch.ones(2, 3, device=device)
with expect_error():
    net(X)

# %% [markdown]
# Without the `with` block you would see a traceback, the list of calls from your cell to the line
# that failed. Shortened, it reads:
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
# Read it **from the bottom up**: first the message, then up to the first line that is *yours*. Here
# that is `x + steps`. `x` came in on the GPU. `steps` was created one line above, on the CPU.
# `net.to(device)` cannot help: it moves what the network contains, and `steps` does not exist until
# `forward` runs.
#
# Fix the line that *creates* the tensor. Take the device from the input, and the module works on
# every device:


# %%
class Ramp(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1], device=x.device)
        return x + steps


Ramp()(X), Ramp()(X.cpu())

# %% [markdown]
# A mask, a tensor of true and false that says which numbers to use, is often created in `forward`.
# `masked_fill` replaces the numbers where the mask is true:

# %%
mask = torch.tensor([[True, False, True], [False, False, True]])
with expect_error():
    X.masked_fill(mask, 0.0)

# %%
X.masked_fill(mask.to(X.device), 0.0)

# %% [markdown]
# ### A hidden state
#
# A recurrent network reads a sequence step by step. From step to step it passes on a *hidden
# state*, which you often create yourself. Its shape here is (layers, batch, hidden size).

# %%
rnn = nn.GRU(input_size=4, hidden_size=6, batch_first=True).to(device)
sequences = torch.zeros(2, 5, 4, device=device)
hidden = torch.zeros(1, 2, 6)
with expect_error():
    rnn(sequences, hidden)

# %% [markdown]
# This message is clear: it names both tensors with their devices. Create the state on the device of
# the input:

# %%
hidden = torch.zeros(1, 2, 6, device=sequences.device)
output, hidden = rnn(sequences, hidden)
output.shape, hidden.device

# %% [markdown]
# ### More than one GPU
#
# Two GPUs are two devices. The message is the same, with other names:
# `found at least two devices, cuda:0 and cuda:1!` Here the order helps: in an elementwise operation
# on two GPUs, the first device in the message is that of the first tensor in your line.
#
# **Think first:** a student writes `torch.arange(n, device="cuda:0")` in `forward`. It works on one
# GPU. On a machine with two GPUs, `nn.DataParallel` puts a copy of the network and a part of the
# batch on each of them. What happens?
#
# <details><summary>Answer</summary>
#
# The copy on `cuda:1` gets its input on `cuda:1`, creates the new tensor on `cuda:0`, and fails.
# `device=x.device` is right on every GPU.
#
# </details>

# %% [markdown]
# ## NumPy, plots and random numbers (5 minutes)
#
# NumPy can read only the CPU's memory.

# %%
w = torch.tensor([0.5, 1.5], device=device, requires_grad=True)
with expect_error():
    w.numpy()

# %% [markdown]
# The message contains the fix. Matplotlib, pandas and scikit-learn convert tensors to NumPy arrays,
# so you also meet this error when you plot a tensor.
#
# If you follow the advice, you meet the next error. One error can hide another:

# %%
with expect_error():
    w.cpu().numpy()

# %%
w.detach().cpu().numpy()

# %% [markdown]
# `detach` returns a tensor with the same numbers that is not connected to the computation of
# gradients, and does not change `w`. `cpu` copies it to the CPU, and `numpy` makes the array.
# `w.tolist()`, and `.item()` for a single number, give Python numbers from any device, without
# `detach` and `cpu`.
#
# A random number generator also has a device, which must be the one on which the numbers are
# created:

# %%
generator = torch.Generator().manual_seed(seed)
with expect_error():
    torch.rand(3, device=device, generator=generator)

# %%
generator = torch.Generator(device).manual_seed(seed)
torch.rand(3, device=device, generator=generator).device

# %% [markdown]
# With the same seed, a GPU and a CPU draw different numbers. If you need the same numbers on every
# machine, draw them on the CPU and move them:

# %%
generator = torch.Generator().manual_seed(seed)
torch.rand(3, generator=generator).to(device)

# %% [markdown]
# ## Let the notebook explain (4 minutes)
#
# In this course's notebooks, a cell that fails with a device error gets a box under the traceback.
# The box shows the device of each variable in your line, and a fix. An `explain` block shows the
# same box, and with `suppress=True` the notebook continues after the error:

# %%
from helpers.explain import explain

a = torch.ones(2, 3)
b = torch.ones(3, 4, device=device)
with explain(suppress=True):
    a @ b

# %% [markdown]
# The message names `mat2`, your `b`. The box lists both and suggests moving `a`, because it assumes
# that you want to work on the GPU. It also finds the line that created a tensor:


# %%
class Ramp(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1])
        return x + steps


with explain(suppress=True):
    Ramp()(X)

# %% [markdown]
# The box guesses what you want, and outside this course there is no box. Read the message first.

# %% [markdown]
# ## The table to keep (5 minutes)
#
# A routine for any device error:
#
# 1. **Read the last line.** Which devices does it name? If it names an argument and an operation,
#    what are they in your code?
# 2. **Go up to the first line that is yours**, and print the device of everything in it: `x.device`
#    for a tensor, `next(net.parameters()).device` for a network. Decide where you want to work.
#    Move what is somewhere else, even if the message names another tensor.
# 3. **Fix it where it comes from.** Data and labels: move the batch in the training loop. A network
#    or a loss with weights: move it once, before the loop. A tensor created in `forward`:
#    `device=x.device`. A tensor on its way to NumPy: `.detach().cpu()`.
#
# <table>
# <thead><tr>
# <th scope="col">the message says</th>
# <th scope="col">what is where</th>
# <th scope="col">what to write</th>
# </tr></thead>
# <tbody>
# <tr>
# <td><code>found at least two devices, cuda:0 and cpu!</code></td>
# <td>two tensors of an elementwise operation; the message does not say which</td>
# <td>print each <code>.device</code>, then <code>x + y.to(device)</code></td>
# </tr>
# <tr>
# <td><code>found at least two devices, cuda:1 and cuda:0!</code></td>
# <td>two GPUs: the first tensor in your line is on <code>cuda:1</code></td>
# <td><code>x.to(y.device) + y</code></td>
# </tr>
# <tr>
# <td><code>got mat2 is on cpu, … (… wrapper_CUDA_mm)</code></td>
# <td>the right side of <code>@</code> on the CPU, the left side on the GPU</td>
# <td><code>a @ b.to(device)</code></td>
# </tr>
# <tr>
# <td><code>got mat2 is on cuda:0, … (… wrapper_CUDA_mm)</code></td>
# <td>the left side of <code>@</code> on the CPU, the right side on the GPU</td>
# <td><code>a.to(device) @ b</code></td>
# </tr>
# <tr>
# <td><code>got mat1 is on cpu, … (… wrapper_CUDA_addmm)</code></td>
# <td>the input of a linear layer on the CPU, the layer on the GPU</td>
# <td><code>net(X.to(device))</code></td>
# </tr>
# <tr>
# <td><code>got mat1 is on cuda:0, … (… wrapper_CUDA_addmm)</code></td>
# <td>the layer on the CPU, its input on the GPU</td>
# <td><code>net = net.to(device)</code></td>
# </tr>
# <tr>
# <td><code>Input type (torch.FloatTensor) and weight type</code>
# <code>(torch.cuda.FloatTensor) should be the same</code></td>
# <td>the images on the CPU, the convolution on the GPU; with <code>cuda</code> in the first
# parentheses, the other way around</td>
# <td><code>net(images.to(device))</code>; else <code>net = net.to(device)</code></td>
# </tr>
# <tr>
# <td><code>got target is on cpu, …</code> or <code>got weight is on cpu, …</code>
# <code>(… wrapper_CUDA_nll_loss_forward)</code></td>
# <td>the labels, or the class weights of a loss, on the CPU</td>
# <td><code>labels.to(device)</code>, or <code>loss = loss.to(device)</code></td>
# </tr>
# <tr>
# <td><code>got tensors is on cpu, … (… wrapper_CUDA_cat)</code></td>
# <td>an element of a list on the CPU</td>
# <td><code>torch.cat([t.to(device) for t in pieces])</code></td>
# </tr>
# <tr>
# <td><code>got index is on cpu, … (… wrapper_CUDA__index_select)</code></td>
# <td>the input of an embedding on the CPU</td>
# <td><code>embedding(words.to(device))</code></td>
# </tr>
# <tr>
# <td>
# <code>indices should be either on cpu or on the same device as the indexed tensor (cpu)</code>
# </td>
# <td>the index on the GPU, the tensor on the CPU</td>
# <td><code>table[rows.cpu()]</code>, then <code>.to(device)</code> if you need it there</td>
# </tr>
# <tr>
# <td><code>expected self and mask to be on the same device</code></td>
# <td>the mask of <code>masked_fill</code> on another device</td>
# <td><code>mask.to(x.device)</code></td>
# </tr>
# <tr>
# <td><code>Input and hidden tensors are not at the same device</code></td>
# <td>the hidden state of a recurrent network on another device than its input</td>
# <td><code>torch.zeros(…, device=x.device)</code></td>
# </tr>
# <tr>
# <td><code>can't convert cuda:0 device type tensor to numpy</code></td>
# <td>the tensor on the GPU</td>
# <td><code>x.detach().cpu().numpy()</code></td>
# </tr>
# <tr>
# <td><code>Expected a 'cuda' device type for generator but found 'cpu'</code></td>
# <td>the generator on the CPU, the numbers on the GPU</td>
# <td><code>torch.Generator(device)</code></td>
# </tr>
# </tbody>
# </table>
#
# If a message says `is on cuda:0` and the table has only a row with `is on cpu`, it is the other
# way around: the other tensors are on the CPU, usually because the network was not moved.
#
# Earlier versions of torch 2, and most posts, have another wording for the rows with `got`: `found
# at least two devices, cpu and cuda:0! (when checking argument for argument mat1 in method
# wrapper_CUDA_addmm)`. The argument that it names is on the *second* device. So this message is the
# row `got mat1 is on cuda:0`: the layer is on the CPU.
#
# Rarer messages, and messages that are not about two devices:
#
# - `Torch not compiled with CUDA enabled`, `Found no NVIDIA driver`: torch cannot use a GPU on this
#   machine. If it has one, see [help](../docs/help.md#no-gpu). If not, choose the device with
#   `try_gpu()` from [lesson 01](01_tensors_and_devices.ipynb).
# - `invalid device ordinal`: there is no GPU with this number. Use one below
#   `torch.cuda.device_count()`.
# - `Attempting to deserialize object on a CUDA device`: the file was saved on a GPU, and this
#   machine has none. Pass `map_location`, as in [lesson 03](03_moving_a_network.ipynb).
# - An error in `optimizer.step()`: the network moved after the first step of the optimizer. See
#   [lesson 03](03_moving_a_network.ipynb).
# - `'lengths' argument should be a 1D CPU int64 tensor`: `pack_padded_sequence` needs the lengths
#   on the CPU, although the sequences are on the GPU. Write `lengths.cpu()`.
# - `CUDA out of memory`: this is not about two devices. There is not enough GPU memory. Use a
#   smaller batch.
# - `expected device cuda:0 but got device cpu`, in old posts about torch 1.x: the same as the first
#   row of the table.

# %% [markdown]
# ## Summary
#
# - An operation takes all its tensors from one device. Apart from a few exceptions, torch does not
#   copy between devices automatically, because such copies are slow.
# - The message names devices, sometimes an argument, and never your variable. It names a tensor
#   that differs, which may not be the one to move.
# - The most common exceptions: in arithmetic, a CPU tensor without dimensions; in square brackets,
#   an index on the CPU.
# - Move the network and the loss once, and every batch with its labels in the loop. Create new
#   tensors with `device=x.device`.
# - No error does not mean that the GPU is used: if nothing was moved, everything runs on the CPU.
#
# **To try:** run `torch.ones(3, 4, device=device) + torch.ones(3, 4)` in a new cell. Read the last
# line of the traceback, decide which tensor to move, and then compare with the box below it.
