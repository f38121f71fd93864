# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Device mismatch errors, and how to read them
#     promise: >-
#       You find the line that causes a device error, even if the traceback does not show it. You
#       leave with a routine, a table, and a cell that explains most messages.
#     minutes: 52
#     objectives:
#       - debug a device error in four steps, from the last line of the traceback to its cause
#       - read a message piece by piece, and say what it leaves out
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
import traceback
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from helpers import lesson
from helpers.explain import explain
from helpers.plots.shapes import show_drawing

# %% tags=["parameters"]
seed: int = 0  # seed of the random numbers

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True)

# %% [markdown]
# ## A program that fails (10 minutes)
#
# **Here is a small network that assigns tags to words. Network, words and tags are moved to the
# GPU, and still the program fails. Which line is wrong?**


# %%
def make_positions(length):
    return torch.arange(length).unsqueeze(-1)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)  # a table with a row of numbers for each word
        self.output = nn.Linear(4, 3)

    def forward(self, words):
        positions = make_positions(words.shape[1])
        return self.output(self.embedding(words) + positions)


# %%
def training_step(net, words, tags):
    scores = net(words)
    return F.cross_entropy(scores.flatten(0, 1), tags.flatten())


def train(net, words, tags):
    net, words, tags = net.to(device), words.to(device), tags.to(device)
    return training_step(net, words, tags)


# %% [markdown]
# An error stops a notebook, and this one has to continue. So the next cell catches the error, and
# prints its **traceback**: the list of calls from your cell to the line that failed. You do not
# need such a block in your own code.

# %%
words, tags = torch.tensor([[1, 5, 3]]), torch.tensor([[0, 2, 1]])
try:
    train(Tagger(), words, tags)
except RuntimeError as error:
    calls = traceback.extract_tb(error.__traceback__)
    innermost = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1].f_locals
    message = str(error)
lines = [
    "   ... lines of torch" if "-packages" in call.filename else f"{call.name}: {call.line}"
    for call in calls
]
print(*dict.fromkeys(lines), f"RuntimeError: {message}", sep="\n")

# %% [markdown]
# Three of your functions, and some lines of torch between them. Every device error is found in the
# same four steps:
#
# 1. **Read the last line.** Two devices met: `cuda:0`, the first GPU, and `cpu`.
# 2. **Go up to the first line that is yours.** That is the line in `forward`. It fails, but it need
#    not be wrong.
# 3. **Print the device of everything in that line**: `x.device` for a tensor,
#    `next(net.parameters()).device` for a network. In a notebook of your own, after an error that
#    nothing caught, `%debug` in a new cell takes you to the failing line; there,
#    `p positions.device` prints, and `q` leaves. (Here the cell above caught the error, so `%debug`
#    has nothing to show.)
# 4. **Fix it where the tensor was created**, even if that line is not in the traceback.
#
# **Think first:** which tensor is on the CPU, and which line created it?
#
# <details><summary>Answer</summary>
#
# `positions`. `make_positions` created it, on the CPU, which is the default. The function had
# already returned when the addition failed, so the traceback does not show it.
#
# </details>

# %%
{name: str(t.device) for name, t in innermost.items() if isinstance(t, torch.Tensor)}

# %% [markdown]
# `net.to(device)` could not help: it moves what the network contains, and `positions` does not
# exist until `forward` runs. `positions.to("cuda")` would fail on other machines. Take the device
# from the input, and the network runs everywhere:


# %%
def make_positions_on(device, length):
    return torch.arange(length, device=device).unsqueeze(-1)


class FixedTagger(Tagger):
    def forward(self, words):
        positions = make_positions_on(words.device, words.shape[1])
        return self.output(self.embedding(words) + positions)


train(FixedTagger(), words, tags).device, FixedTagger()(words).device

# %% [markdown]
# ## One error, word by word (8 minutes)
#
# From here on, a `with` block prints the message alone. Run the next cell; you can skip reading it.


# %%
@contextmanager
def expect_error(name=""):
    """Print the first line of the error that the block raises."""
    try:
        yield
    except (RuntimeError, TypeError) as error:
        print(f"{name}{type(error).__name__}: {str(error).splitlines()[0]}")
    else:
        raise AssertionError("no error: run this section again from its start")


# %%
x = torch.tensor([1.0, 2.0, 3.0], device=device)
y = torch.tensor([10.0, 20.0, 30.0])
with expect_error():
    x + y

# %% [markdown]
# An operation takes all its tensors from one device. The message says *at least* two, because torch
# stops at the first tensor that differs. torch does not copy it for you: a copy between the two
# memories is much slower than the addition. If torch copied, one missing `.to` would slow down
# every step of your training, and nothing would tell you. So you write the copy: `x +
# y.to(device)`, or `x.cpu() + y` for a result on the CPU.
#
# **Think first:** what will the message for `y + x` say? Will it name the devices in the opposite
# order?
#
# <details><summary>Answer</summary>
#
# The message is the same. For element-wise operations, which work number by number, such as `+`,
# `*` or `==`, torch takes the first device that is not the CPU, and then reports the first that
# differs. So with one GPU and the CPU, the GPU is always named first: **the order says nothing
# about your line.** With two GPUs it does: the first device is that of the first tensor.
#
# </details>

# %%
with expect_error():
    y + x

# %% [markdown]
# For a matrix product, the message says more.

# %%
a = torch.ones(2, 3, device=device)
b = torch.ones(3, 4)
with expect_error():
    a @ b

# %%
show_drawing("message")

# %% [markdown]
# Inside torch, the operation is `mm(self, mat2)`, so `mat2` is the right side of `@`: your `b`.
#
# **Think first:** now swap the devices, with `a` on the CPU and `b` on the GPU. You want to work on
# the GPU, so `a` is in the wrong place. Which argument does the message name?
#
# <details><summary>Answer</summary>
#
# Again `mat2`, although `b` is where you want it. torch takes the device of the first argument, and
# names the first one that differs. **The message names a tensor that differs, not the tensor that
# is wrong.**
#
# </details>

# %%
with expect_error():
    a.cpu() @ b.to(device)

# %% [markdown]
# ## The data was not moved (4 minutes)
#
# There are five cases: data, network, loss, tensors of your own, NumPy. This is case 1.

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
# | `self` (not Python's `self`) | the bias |
# | `mat1` | the input of the layer |
# | `mat2` | the weight |
#
# So `mat1 is on cpu` means: the input is on the CPU, and the layer is on the GPU. Move the batch,
# in the training loop:

# %%
net(X.to(device)).device

# %% [markdown]
# Without a bias, the layer is a plain `mm`: `mat2` is the weight. `mat2 is on cuda:0` then means:
# move the batch; `mat2 is on cpu`: move the network.
#
# A convolution has a message of its own, with old names of tensor types: `torch.FloatTensor` is a
# `float32` tensor on the CPU, and `torch.cuda.FloatTensor` is one on a GPU. Ignore MKLDNN, a
# library for CPUs.

# %%
conv = nn.Conv2d(3, 6, kernel_size=5).to(device)
with expect_error():
    conv(torch.ones(4, 3, 32, 32))

# %% [markdown]
# If both types contain `cuda`, or neither does, the problem is the data type, not the device. (With
# several GPUs, check the devices too: these names have no index.)
#
# ## The network was not moved (4 minutes)
#
# Case 2 of 5.
#
# **Think first:** now the network is on the CPU and the batch is on the GPU. Which argument does
# the message name, and on which device? Use the table.
#
# <details><summary>Answer</summary>
#
# `mat1` again, but on `cuda:0`. The bias is checked first and is on the CPU, so the input is the
# first argument that differs. **`mat1 is on cpu`: move the batch. `mat1 is on cuda:0`: move the
# network.**
#
# </details>

# %%
net = nn.Linear(3, 2)
with expect_error():
    net(X.to(device))

# %%
net = net.to(device)
net(X.to(device)).device

# %% [markdown]
# If you forget both, there is no error: everything runs on the CPU. If your GPU does not make a
# program faster, first check `next(net.parameters()).device`.
#
# ## Losses (4 minutes)
#
# Case 3 of 5: you moved the network and the images. The labels are a tensor, too.

# %%
scores = torch.zeros(2, 3, device=device)
labels = torch.tensor([0, 2])
with expect_error():
    F.cross_entropy(scores, labels)

# %% [markdown]
# `target` is the labels; `nll_loss` is the last step of cross-entropy. The network itself ran
# without an error. Move the labels along with the images.
#
# A loss can have *class weights*, one number for each class, in a tensor:

# %%
labels = labels.to(device)
loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.0, 5.0]))
with expect_error():
    loss(scores, labels)

# %% [markdown]
# Move such a loss as you would a network: once, before the loop.

# %%
loss = loss.to(device)
loss(scores, labels).device

# %% [markdown]
# ## Tensors that your code creates (4 minutes)
#
# Case 4 of 5. The first program of this lesson is one example. Masks and hidden states are others.
# A recurrent network passes on a *hidden state* from step to step, which you often create yourself:

# %%
rnn = nn.GRU(input_size=4, hidden_size=6, batch_first=True).to(device)
sequences = torch.zeros(2, 5, 4, device=device)
with expect_error():
    rnn(sequences, torch.zeros(1, 2, 6))

# %%
output, hidden = rnn(sequences, torch.zeros(1, 2, 6, device=sequences.device))
output.shape, hidden.device

# %% [markdown]
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
#
# ## NumPy and plots (3 minutes)
#
# Case 5 of 5: NumPy can read only the CPU's memory. Matplotlib, pandas and scikit-learn convert
# tensors to NumPy arrays, so you also meet this error when you plot a tensor.

# %%
w = torch.tensor([0.5, 1.5], device=device, requires_grad=True)
with expect_error():
    w.numpy()

# %% [markdown]
# The message contains the fix. If you follow it, you meet the next error. One error can hide
# another:

# %%
with expect_error():
    w.cpu().numpy()

# %%
w.detach().cpu().numpy()

# %% [markdown]
# `detach` returns a tensor with the same numbers, not connected to the computation of gradients.
# `w.tolist()`, and `.item()` for a single number, work on any device, without `detach` and `cpu`.
#
# ## Joining and indexing (5 minutes)
#
# `torch.cat` joins the tensors of a list, which it calls `tensors`. The message does not say which
# one is on another device: print all of them.

# %%
pieces = [torch.ones(2, device=device), torch.zeros(2)]
with expect_error():
    torch.cat(pieces)

# %%
[piece.device for piece in pieces], torch.cat([piece.to(device) for piece in pieces])

# %% [markdown]
# An index on the GPU cannot read a tensor on the CPU. Of a large table, move the index and not the
# table: `table[rows.cpu()]` copies two integers.

# %%
table, rows = torch.arange(12.0).reshape(4, 3), torch.tensor([2, 0], device=device)
with expect_error():
    table[rows]

# %% [markdown]
# The other way around is one of the two most common *exceptions*: a CPU index in square brackets,
# and a CPU tensor *without dimensions* in arithmetic. torch copies the index to the GPU, every
# time; it passes the single number to the kernel without a copy.

# %%
x * torch.tensor(2.0), x[torch.tensor([2, 0])]

# %% [markdown]
# **Think first:** which of these raise an error: `x * torch.tensor([2.0])`, with a list of one
# number, and `torch.tensor(2.0, device=device) * torch.ones(3)`, with the single number on the
# *GPU*?
#
# <details><summary>Answer</summary>
#
# Both. `torch.tensor([2.0])` has one dimension, of length 1. And to read a number from the GPU, the
# CPU would have to wait; if you want that, write `number.item()`.
#
# </details>

# %%
with expect_error():
    x * torch.tensor([2.0])
with expect_error():
    torch.tensor(2.0, device=device) * torch.ones(3)

# %% [markdown]
# ## The table to keep (5 minutes)
#
# Other mistakes that people make. You do not need to remember them: look them up.

# %%
mistakes = {
    "an embedding": lambda: nn.Embedding(10, 4).to(device)(torch.tensor([1, 5])),
    "a mask": lambda: x.masked_fill(torch.tensor([True, False, True]), 0.0),
    "a generator": lambda: torch.rand(3, device=device, generator=torch.Generator()),
}
for name, mistake in mistakes.items():
    with expect_error(f"{name}: "):
        mistake()

# %% [markdown]
# <table>
# <thead><tr>
# <th scope="col">the message says</th>
# <th scope="col">what is where</th>
# <th scope="col">what to write</th>
# </tr></thead>
# <tbody>
# <tr>
# <td><code>found at least two devices, cuda:0 and cpu!</code></td>
# <td>two tensors of an element-wise operation; the message does not say which</td>
# <td>print each <code>.device</code>, then <code>x + y.to(device)</code></td>
# </tr>
# <tr>
# <td><code>found at least two devices, cuda:1 and cuda:0!</code></td>
# <td>two GPUs: the first tensor in your line is on <code>cuda:1</code></td>
# <td><code>x.to(y.device) + y</code></td>
# </tr>
# <tr>
# <td><code>got mat2 is on cpu, … (… wrapper_CUDA_mm)</code></td>
# <td>the right side of <code>@</code> on the CPU, the left side on the GPU; or a layer without a
# bias on the CPU, its input on the GPU</td>
# <td><code>a @ b.to(device)</code>, or <code>net = net.to(device)</code></td>
# </tr>
# <tr>
# <td><code>got mat2 is on cuda:0, … (… wrapper_CUDA_mm)</code></td>
# <td>the left side of <code>@</code> on the CPU, the right side on the GPU; or the input of a layer
# without a bias on the CPU, the layer on the GPU</td>
# <td><code>a.to(device) @ b</code>, or <code>net(X.to(device))</code></td>
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
# Messages that are not about two devices:
#
# - `Torch not compiled with CUDA enabled`, `Found no NVIDIA driver`: torch cannot use a GPU on this
#   machine: see [help](../docs/help.md#no-gpu).
# - `invalid device ordinal`: there is no GPU with this number.
# - `Attempting to deserialize object on a CUDA device`: pass `map_location`, as in [lesson
#   03](03_moving_a_network.ipynb).
# - An error in `optimizer.step()`: the network was moved after the first step of the optimizer
#   ([lesson 03](03_moving_a_network.ipynb)).
# - `'lengths' argument should be a 1D CPU int64 tensor`: `pack_padded_sequence` needs
#   `lengths.cpu()`, although the sequences are on the GPU.
# - `CUDA out of memory`: use a smaller batch ([lesson 07](07_what_fills_gpu_memory.ipynb)).

# %% [markdown]
# ## Let the notebook explain (5 minutes)
#
# In this course's notebooks, a cell that fails with a device error gets a box under the traceback.
# It takes steps 1 to 3 for you and proposes a fix for the line that failed. Step 4 is yours: here
# the better fix is in `make_positions`. An `explain` block shows the same box, and with
# `suppress=True` the notebook continues after the error:

# %%
with explain(suppress=True):
    Tagger().to(device)(words.to(device))

# %% [markdown]
# The box guesses what you want, and outside this course there is no box. For an error from
# somewhere else, paste its message into the next cell:

# %%
message = (
    "Expected all tensors to be on the same device, but found at least two devices, cpu and "
    "cuda:0! (when checking argument for argument mat1 in method wrapper_CUDA_addmm)"
)
explain(RuntimeError(message))

# %% [markdown]
# From a message alone, the box knows the argument, not your code. The table has the fix: the input
# is on the GPU, so the layer is on the CPU: `net = net.to(device)`.

# %% [markdown]
# ## Summary
#
# Which line was wrong? Not the one that failed, but the one that created `positions`.
#
# - Read the last line, go up to your own line, print the devices, and fix the tensor where it was
#   created: the batch with its labels in the loop, the network and the loss once before it, new
#   tensors with `device=x.device`.
# - The message names devices, sometimes an argument, and never your variable. It names a tensor
#   that differs, which may not be the one to move.
# - Exceptions: in arithmetic, a CPU tensor without dimensions; in square brackets, an index on the
#   CPU.
# - No error does not mean that the GPU is used: if nothing was moved, everything runs on the CPU.
#
# **To try:** run `torch.ones(3, 4, device=device) + torch.ones(3, 4)` in a new cell. Read the last
# line of the traceback, decide which tensor to move, and then compare with the box below it.
