# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Tensors and devices
#     promise: >-
#       You learn which device holds a tensor, how to move it, what that costs, and which
#       harmless-looking lines make your program wait for the GPU.
#     minutes: 50
#     objectives:
#       - name a device, count the GPUs, and write code that takes one only if it is there
#       - find out where a tensor is stored, and create it in the right place
#       - move tensors, and say when a move copies and when it does not
#       - compute and measure how much memory a tensor takes
#       - transfer few bytes between CPU and GPU, and find the lines where the CPU waits
#     prerequisites:
#       - "[Lesson 00](00_cpu_and_gpu.ipynb): what a CPU and a GPU are made of"
#       - "no GPU is needed: without one, the lesson uses a simulated GPU"
#     credits:
#       - >-
#         `try_gpu` and `try_all_gpus` follow the chapter on GPUs of
#         [Dive into Deep Learning](https://d2l.ai/chapter_builders-guide/use-gpu.html).
#       - >-
#         What is asynchronous, what waits and how memory is kept: PyTorch's
#         [notes on CUDA](https://docs.pytorch.org/docs/stable/notes/cuda.html) and its
#         [tutorial on pinned
#         memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html).
#       - >-
#         When a copy waits: NVIDIA's page on [API synchronization
#         behavior](https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html).
#       - >-
#         Speed of transfers: output of CUDA's sample bandwidthTest, published in
#         [cuda-demo](https://github.com/router-gao/cuda-demo/blob/8e2367b/cuda-samples/02-cuda-bandwidth.md).
# ---

# %%
import time
import warnings
from functools import partial

import numpy as np
import torch

import simulated_cuda
from helpers import lesson, records
from helpers.devices import count_fetches
from helpers.plots import devices as figures
from helpers.plots.shapes import show_drawing
from helpers.plots.speed import plot_groups
from helpers.plots.style import show

# %% tags=["parameters"]
seed: int = 0  # seed of the random numbers

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# **Two programs add up the same 64,000 numbers on the same GPU. In a model of a T4, one takes a
# thousand times longer. Which line is to blame?** The last section of this lesson shows them. To
# find such lines, you need to know where a tensor is, what moves it, and when the CPU waits.
#
# Without a GPU, you use a simulated one: it raises CUDA's errors about devices, while the CPU does
# the arithmetic. Times of a T4 are then *published*, or *modelled* from published measurements
# ([how](../docs/the_clock.md)).
#
# ## The name of a device (4 minutes)
#
# A **device** is a processor with its memory: the CPU or one GPU. A **tensor** is an array of
# numbers, all of one data type, in the memory of one device, and operations on it run there. torch
# names a device by its type and, where there can be several, its **index**, which starts at 0.

# %%
torch.device("cpu"), torch.device("cuda"), torch.device("cuda:1"), torch.device("cuda", 1)

# %% [markdown]
# The last two name the same device. A device has two parts:

# %%
second_gpu = torch.device("cuda:1")
second_gpu.type, second_gpu.index, str(second_gpu)

# %% [markdown]
# `cpu` means *all* CPU cores and the main memory, `cuda:0` *one* graphics card. Other types are
# `mps` (Apple), `xpu` (Intel), and `meta`, which stores no numbers; AMD's GPUs are called `cuda`,
# too.
#
# **Think first:** you do not have a hundred GPUs. Does `torch.device("cuda:99")` fail?
#
# <details><summary>Answer</summary>
#
# No. A `torch.device` is only a name. *Using* it fails, as in the next example.
#
# </details>

# %%
torch.device("cuda:99")

# %% [markdown]
# To create a tensor there, the GPU must exist:

# %%
try:
    torch.zeros(3, device="cuda:99")
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# *Ordinal* means index. A type that does not exist raises an error at once, which lists all types:

# %%
try:
    torch.device("gpu")
except RuntimeError as error:
    print(error)

# %% [markdown]
# **Think first:** if you have one GPU, `cuda` and `cuda:0` are the same hardware. Are they equal?
#
# <details><summary>Answer</summary>
#
# No. `cuda` without an index means *the current GPU*, GPU 0 unless you change it. A tensor always
# reports the index.
#
# </details>

# %%
x = torch.zeros(1, device="cuda")
{"its device": x.device, "equals cuda": x.device == torch.device("cuda")}

# %% [markdown]
# So compare with a name that has an index, or compare the type: `x.device.type == "cuda"`.

# %% [markdown]
# ## Which devices are there? (5 minutes)
#
# `torch.cuda.is_available()` says whether torch can use a GPU, and `torch.cuda.device_count()` how
# many. Their names:

# %% tags=["nbval-ignore-output"]
{f"cuda:{i}": torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())}

# %% [markdown]
# A program for other people cannot assume a GPU. `try_gpu(i)` returns GPU `i` if it exists, and
# otherwise the CPU. `try_all_gpus()` returns a list of all GPUs, or of the CPU if there are none.


# %%
def try_gpu(i=0):
    if torch.cuda.device_count() > i:
        return torch.device("cuda", i)
    return torch.device("cpu")


def try_all_gpus():
    gpus = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return gpus or [torch.device("cpu")]


# %% [markdown]
# **Think first:** what do `try_gpu()` and `try_gpu(99)` return here?
#
# <details><summary>Answer</summary>
#
# The first GPU, and the CPU.
#
# </details>

# %%
try_gpu(), try_gpu(99)

# %% tags=["nbval-ignore-output"]
try_all_gpus()

# %% [markdown]
# Later lessons import them from `helpers.devices`. They know only CUDA. torch's term for a GPU of
# any manufacturer, or a similar processor, is **accelerator**:

# %%
torch.accelerator.current_accelerator(check_available=True)

# %% [markdown]
# Without an accelerator this is `None`.

# %% [markdown]
# ## Where a tensor lives (6 minutes)
#
# Every tensor knows its device. By default it is created on the CPU.

# %%
x = torch.tensor([1.0, 2.0, 3.0])
x, x.device, x.is_cuda

# %%
X = torch.ones(2, 3, device=device)
X, X.device, X.is_cuda

# %% [markdown]
# When printed, a tensor on the GPU shows its device, and one on the CPU does not. Functions that
# create a tensor accept `device=`. `zeros_like(X)` and `X.new_tensor(numbers)` create a tensor on
# the device of `X` (`new_tensor` copies the numbers there):

# %%
tensors = [
    torch.zeros(2, device=device),
    torch.arange(3, device=device),
    torch.randn(2, 2, device=device),
    torch.zeros_like(X),
    X.new_tensor([1.0, 2.0]),
]
[str(tensor.device) for tensor in tensors]

# %% [markdown]
# `torch.from_numpy` has no `device=`: its tensor is on the CPU, because it *shares its memory* with
# the NumPy array. (NumPy's default type is `float64`, and torch's is `float32`.) If you change one,
# the other changes too:

# %%
array = np.zeros(3)
shared = torch.from_numpy(array)
array[0] = 7
shared

# %% [markdown]
# A `with` statement sets the default device for a block:

# %%
with torch.device(device):
    y = torch.arange(3)
    Y = torch.eye(3)
y.device, Y.device, torch.arange(3).device

# %% [markdown]
# To avoid a transfer, create a tensor where it is needed, instead of on the CPU.
#
# **Think first:** `X` is on `cuda:0`. Where are `X + 1`, the row `X[0]`, the single number
# `X.sum()`, and the shape `X.shape`?
#
# <details><summary>Answer</summary>
#
# On the GPU, except the shape: an ordinary Python object, which the CPU can read at any time. The
# sum is a tensor too, although it is one number.
#
# </details>

# %%
(X + 1).device, X[0].device, X.sum().device, X.shape

# %% [markdown]
# ## Moving a tensor (8 minutes)
#
# `.to` returns a copy of a tensor on another device, given by name or as an object. It allocates
# the memory for the copy.

# %%
x = torch.arange(4)
y = x.to(device)
y

# %% [markdown]
# **Think first:** where is `x` now?
#
# <details><summary>Answer</summary>
#
# Still on the CPU. `.to` *returns* a new tensor and does not change the old one. Write
# `x = x.to(device)` to keep the result. [Lesson 03](03_moving_a_network.ipynb) shows why networks
# are different.
#
# </details>

# %%
x.device, y.device

# %%
show_drawing("move")

# %% [markdown]
# The copy moves 32 bytes: `torch.arange(4)` has four integers of 8 bytes (`int64`). If you change
# one tensor, the other keeps its numbers:

# %%
y += 10
x, y

# %% [markdown]
# Other calls also return a tensor:
#
# | you write | the result is on |
# |---|---|
# | `x.to(device)`, `x.to("cuda:0")` | that device |
# | `x.to(y)` | the device of `y`, with the data type of `y` |
# | `x.to(device, torch.float16)` | that device, with another data type |
# | `x.cuda()`, `x.cuda(1)` | the current GPU, GPU 1 |
# | `x.cpu()` | the CPU |
#
# Prefer `.to(device)`: `.cuda()` fails on a machine without a GPU.

# %%
x.to("cuda:0").device, x.to(y).device, x.cuda().device, y.cpu().device

# %%
x.to(device, torch.float16)

# %% [markdown]
# ### No copy when it is already there
#
# **Think first:** `y` is on `cuda:0` already. Does `y.to(device)` make a second copy there? Does
# `x.cpu()`?
#
# <details><summary>Answer</summary>
#
# No. If the tensor is already there, with that data type, `.to` and `.cpu` return the same object,
# so you do not need an `if`. To force a copy, write `y.to(device, copy=True)` or `y.clone()`.
#
# </details>

# %%
same = {
    "y.to(device)": y.to(device) is y,
    "y.cuda()": y.cuda() is y,
    "x.cpu()": x.cpu() is x,
    "y.to(device, copy=True)": y.to(device, copy=True) is y,
}
{code: "the same tensor" if is_same else "a copy" for code, is_same in same.items()}

# %% [markdown]
# That can surprise you, as in this function:


# %%
def brighten(pixels, device):
    pixels = pixels.to(device)
    pixels += 10
    return pixels


# %% [markdown]
# **Think first:** what is in `dark` after `brighten(dark, device)` on the GPU? After
# `brighten(dark, "cpu")`?
#
# <details><summary>Answer</summary>
#
# On the GPU the function works on a copy, and `dark` does not change. On the CPU it overwrites its
# argument: the same program, two results, and no error. The fix is to always create a new tensor:
# `pixels = pixels.to(device) + 10`.
#
# </details>

# %%
dark = torch.zeros(3)
brighten(dark, device)
dark

# %%
brighten(dark, "cpu")
dark

# %% [markdown]
# ### Two devices in one operation
#
# **Think first:** `x` is on the CPU and `y` on the GPU. Where is `x + y` computed?
#
# <details><summary>Answer</summary>
#
# Nowhere: it is an error. torch does not move tensors automatically (except a tensor without
# dimensions on the CPU, such as `torch.tensor(2)`), because a transfer takes time that you should
# know about. [Lesson 02](02_device_mismatch_errors.ipynb) is about this error.
#
# </details>

# %%
try:
    x + y
except RuntimeError as error:
    print(error)

# %% [markdown]
# The fix:

# %%
x.to(y.device) + y

# %% [markdown]
# ## A second GPU (4 minutes)
#
# This lesson simulates two GPUs. On a machine with one real GPU, `try_gpu(1)` returns the CPU
# instead, and every cell still runs.

# %% tags=["nbval-ignore-output"]
X = torch.ones(2, 3, device=device)
Z = torch.full((2, 3), 2.0, device=try_gpu(1))
Z

# %% [markdown]
# Either way, `Z` and `X` are on different devices, and an operation on both raises an error:

# %% tags=["nbval-ignore-output"]
try:
    X + Z
except RuntimeError as error:
    print(error)

# %% [markdown]
# A transfer between two GPUs is written like any other:

# %%
X + Z.to(X.device)

# %% [markdown]
# There are three ways to choose a GPU:
#
# - `device="cuda:1"` puts one tensor on GPU 1.
# - `with torch.cuda.device(1):` makes GPU 1 the current GPU in a block, so that `cuda` without an
#   index means GPU 1. Unlike in `with torch.device("cuda:1"):`, tensors created without `device=`
#   are on the CPU.
# - `CUDA_VISIBLE_DEVICES=1 python train.py` (in a Linux shell) shows the program only GPU 1, which
#   it then calls `cuda:0`. On a shared machine, use this: your program cannot use other people's
#   GPUs by accident. With GPUs of different models, also set `CUDA_DEVICE_ORDER=PCI_BUS_ID`, so
#   that the numbers are those of `nvidia-smi`.

# %% [markdown]
# ## How much memory a tensor takes (7 minutes)
#
# A GPU usually has less memory than the machine around it, and your program fails if it is full. A
# tensor takes the number of its elements times the bytes of one element.

# %%
X = torch.ones(2, 3, device=device)
X.shape, X.numel(), X.element_size(), X.nbytes

# %% [markdown]
# **Think first:** a **batch** is the group of examples that a network processes together. How many
# megabytes are 128 color images of 224 x 224 pixels as `uint8` (one byte per number)? As `float32`?
#
# <details><summary>Answer</summary>
#
# 19.3 MB and 77.1 MB. The next cell uses no memory: it creates tensors on the `meta` device.
#
# </details>

# %%
dtypes = (torch.uint8, torch.float16, torch.float32, torch.float64)
batch = {d: torch.empty(128, 3, 224, 224, dtype=d, device="meta").nbytes for d in dtypes}
{str(d): f"{size / 1e6:.1f} MB" for d, size in batch.items()}

# %% [markdown]
# A T4 has 16 GB, but training also keeps the output of nearly every layer for the backward pass,
# which computes the gradients. That takes much more than the images.
#
# `torch.cuda.memory_allocated` returns the bytes that your tensors hold on a GPU. The next cell
# shows them without `big`, with it, with its copy on the second GPU, and without both:


# %%
def allocated():
    return {str(gpu): torch.cuda.memory_allocated(gpu) for gpu in try_all_gpus()}


# %% tags=["nbval-ignore-output"]
stages = [allocated()]
big = torch.zeros(1024, 1024, device=device)
stages.append(allocated())
copy = big.to(try_gpu(1))
stages.append(allocated())
del big, copy
[*stages, allocated()]

# %% [markdown]
# 1024 · 1024 numbers of 4 bytes on each GPU, freed as soon as nothing refers to them.
#
# **Think first:** now `big` is deleted, but `row`, the first of its 1024 rows, still exists. How
# many bytes are in use?
#
# <details><summary>Answer</summary>
#
# All 4,194,304. A **view** has no numbers of its own: it refers to the whole tensor and keeps it
# alive. A program that stores a small view of a large result in every step can fill a GPU. Store
# `big[0].clone()` or a Python number instead.
#
# </details>

# %%
before = torch.cuda.memory_allocated(device)
big = torch.zeros(1024, 1024, device=device)
row = big[0]
del big
with_row = torch.cuda.memory_allocated(device)
del row
with_row - before, torch.cuda.memory_allocated(device) - before

# %% [markdown]
# A notebook also keeps the result of every cell in `Out`: a tensor that a cell has shown stays in
# memory until you restart the kernel or run `%reset -f out`.
#
# How much memory do small tensors take?


# %%
def allocated_by(numbers):
    before = torch.cuda.memory_allocated(device)
    tensor = torch.zeros(numbers, device=device)
    after = torch.cuda.memory_allocated(device)
    del tensor
    return after - before


{numbers: allocated_by(numbers) for numbers in (1, 128, 129, 1024)}

# %% [markdown]
# torch allocates GPU memory in multiples of 512 bytes, so one `float32` number takes as much as 128
# ([lesson 07](07_what_fills_gpu_memory.ipynb) has the details).
#
# torch also keeps freed memory for the next tensor, because asking the driver is slow. So
# `nvidia-smi` shows more than `memory_allocated`: it includes what torch keeps
# (`torch.cuda.memory_reserved`) and what CUDA itself needs. The driver also reports the free memory
# of your GPU (a simulated GPU pretends to have 8 GiB; 1 GiB is 2^30 bytes):

# %% tags=["nbval-ignore-output"]
free, total = torch.cuda.mem_get_info(device)
f"{free / 2**30:.1f} GiB free of {total / 2**30:.1f} GiB"

# %% [markdown]
# ## What a transfer costs (6 minutes)
#
# The **bus** between CPU memory and GPU memory is slow compared with the GPU's own memory.
#
# **Think first:** on a T4, how much longer does it take to copy data to the GPU than to copy them
# within its memory: 2, 12, or 100 times?
#
# <details><summary>Answer</summary>
#
# About 12 times. (The figure counts each byte of a copy within the memory twice: it is read and
# written. 240 / 2 / 9.7 = 12.)
#
# </details>

# %%
published = records.published("transfers")
show(
    plot_groups(
        published["GB/s"],
        "GB/s",
        title="Published: a T4's memory moves 25 times as many bytes per second as its bus",
        source="copies of 32 MB, pinned memory; within GPU memory: bytes read plus written"
        "\npublished by router-gao (cuda-demo), CUDA's sample bandwidthTest",
        text="{:,.4g}".format,
    ),
    alt="Bar chart of the speed of copies. T4: 9.7 GB/s to the GPU, 11.1 back, 240 within its "
    "memory. V100: 9.6, 11.4, and 740. A100: 12.3, 13.2, and 1,158.",
)

# %% [markdown]
# So the rule is: **transfer few bytes, and transfer them once.** In each of ten passes, the next
# three programs convert a thousand small images to `float32` and add them up on the GPU. `Bus`
# counts the bytes that they transfer.


# %%
class Bus:
    def __init__(self):
        self.transferred = 0

    def move(self, tensor, to):
        moved = tensor.to(to)
        if moved is not tensor:
            self.transferred += tensor.nbytes
        return moved


images = torch.ones(1000, 3, 32, 32, dtype=torch.uint8)


# %%
def floats_in_every_pass(bus):
    sums = [bus.move(images.float(), device).sum() for _ in range(10)]
    return [bus.move(s, "cpu") for s in sums]


def bytes_in_every_pass(bus):
    sums = [bus.move(images, device).float().sum() for _ in range(10)]
    return [bus.move(s, "cpu") for s in sums]


def bytes_once(bus):
    resident = bus.move(images, device)
    sums = [resident.float().sum() for _ in range(10)]
    return [bus.move(s, "cpu") for s in sums]


# %% [markdown]
# **Think first:** an image has 3 · 32 · 32 = 3,072 numbers. How many bytes does each program
# transfer?
#
# <details><summary>Answer</summary>
#
# 123 MB, 31 MB and 3 MB, plus ten sums of 4 bytes each. Converting on the GPU transfers one byte
# per number instead of four, and keeping the images there needs one transfer instead of ten.
# [Lesson 04](04_cifar10_on_gpu.ipynb) trains in the third way.
#
# </details>

# %%
transferred, results = {}, []
for program in (floats_in_every_pass, bytes_in_every_pass, bytes_once):
    bus = Bus()
    results.append(sum(program(bus)).item())
    transferred[program.__name__.replace("_", " ")] = bus.transferred
{name: f"{size / 1e6:.1f} MB" for name, size in transferred.items()}, results

# %% [markdown]
# One fortieth of the bytes for the same result. Each transfer also has a fixed cost, so one large
# transfer is faster than a thousand small ones.
#
# ### Pinned memory
#
# The operating system may move ordinary (*pageable*) memory, so the driver first copies the data to
# a buffer that stays in place, and the GPU reads that. **Pinned** memory (also *page-locked*) stays
# in place itself, and needs no extra copy. If you have a GPU, the next cell measures both.


# %%
def gigabytes_per_second(numbers, pinned):
    x = torch.ones(numbers)
    x = x.pin_memory() if pinned else x
    x.to(device)  # the first transfer sets things up
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(10):
        x.to(device)
    torch.cuda.synchronize()
    return 10 * x.nbytes / (time.perf_counter() - started) / 1e9


# %% tags=["nbval-ignore-output"]
if simulated_cuda.is_enabled():
    print("There is no GPU here. The figure above has published speeds, of pinned memory.")
else:
    print(torch.cuda.get_device_name(device))
    for numbers in (2**8, 2**14, 2**20, 2**24):
        plain, pinned = (gigabytes_per_second(numbers, pinned) for pinned in (False, True))
        print(f"{4 * numbers:>10,} bytes: {plain:.2f} GB/s, pinned {pinned:.2f} GB/s")

# %% [markdown]
# With `non_blocking=True`, `.to` does not wait until the copy has finished. What that means depends
# on the memory:
#
# | copy with `non_blocking=True` | what happens |
# |---|---|
# | pinned CPU memory to GPU | `.to` returns at once; the copy overlaps Python, but no kernels |
# | pageable CPU memory to GPU | `.to` may wait for earlier work, and until the data is read |
# | GPU to CPU | `.to` may return before the numbers have arrived |
#
# By default, the copy and the kernels share one queue, a *stream*, and run one after another. Two
# rules follow:
#
# - **Do not change a pinned tensor until its copy has finished**, or the GPU receives a mixture of
#   old and new numbers. Later operations on the GPU wait for the copy automatically, but your
#   Python code does not.
# - **Do not read the result of a non-blocking copy to the CPU before you synchronize.** Nothing
#   warns you about wrong numbers.

# %%
pinned = torch.arange(3).pin_memory()
on_gpu = pinned.to(device, non_blocking=True)
torch.cuda.synchronize()  # now the copy has finished, and pinned may change
pinned += 10
on_gpu, pinned

# %% [markdown]
# Without `synchronize`, the result on a real GPU would depend on timing; a simulated GPU always
# gives this one. A `DataLoader` with `pin_memory=True`, which prepares batches for training, pins
# them for you and does not change them afterward.

# %% [markdown]
# ## Hidden waiting (10 minutes)
#
# When you write `y = x @ x` on the GPU, the CPU only puts the work into a queue and continues with
# the next line. This is a **kernel launch**: a *kernel* is a program on the GPU, and by default the
# GPU executes the launched kernels one after another. `y` exists immediately, with a shape, a type,
# and a device; its numbers come later. The CPU must wait for the GPU when Python needs a *number*,
# and in some other cases. This is called **synchronization**, and many lines hide it.
#
# `count_fetches` runs a function and counts how many times the CPU waits for the GPU in it.
#
# **Think first:** `X` is on the GPU. Which of these make the CPU wait: `X * 2 + 1`, `X.sum()`,
# `len(X)`, `X.sum().item()`, `f"{X.sum():.2f}"`, and `if X.sum() > 0`?
#
# <details><summary>Answer</summary>
#
# The last three. The CPU knows the shape, so `len` does not wait. `.item()`, the formatted string,
# and the `if` need the number itself.
#
# </details>

# %%
X = torch.ones(2, 3, device=device)
{
    "X * 2 + 1": count_fetches(lambda: X * 2 + 1),
    "X.sum()": count_fetches(lambda: X.sum()),
    "len(X)": count_fetches(lambda: len(X)),
    "X.sum().item()": count_fetches(lambda: X.sum().item()),
    "f'{X.sum():.2f}'": count_fetches(lambda: f"{X.sum():.2f}"),
    "if X.sum() > 0": count_fetches(lambda: "yes" if X.sum() > 0 else "no"),
}

# %% [markdown]
# | you write | why the CPU waits |
# |---|---|
# | `loss.item()`, `float(loss)`, `int(count)`, `f"{loss:.3f}"` | Python gets a number |
# | `print(x)`, or `x` at the end of a cell | the numbers are shown |
# | `x.cpu()`, `x.tolist()`, `x.cpu().numpy()` | all the numbers are fetched |
# | `if`, `while`, `assert` with a tensor | Python must know which way to go |
# | `x[x > 0]`, `x.nonzero()`, `x.unique()`, `x.bincount()` | their size depends on the numbers |
# | `x.to(device)` from the CPU, without `non_blocking=True` | torch waits for the copy |
#
# One example from each row:

# %%
{
    "float(X.sum())": count_fetches(lambda: float(X.sum())),
    "X.tolist()": count_fetches(lambda: X.tolist()),
    "assert X.sum() > 0": count_fetches(lambda: bool(X.sum() > 0)),
    "X[X > 0]": count_fetches(lambda: X[X > 0]),
    "X.unique()": count_fetches(lambda: X.unique()),
    "torch.ones(3).to(device)": count_fetches(lambda: torch.ones(3).to(device)),
}

# %% [markdown]
# While Python converts numbers for `print` or `.tolist()`, it also holds the **GIL** (global
# interpreter lock): in the standard build of Python, only one CPU thread at a time can execute
# Python code.
#
# On a real GPU, torch itself reports most of these lines. After
# `torch.cuda.set_sync_debug_mode("warn")`, it warns of each synchronization that it detects:
# "called a synchronizing CUDA operation". With `"error"`, it raises an error there. (At first, it
# also warns that this mode is a prototype and does not detect all synchronizations.)

# %% tags=["nbval-ignore-output"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.cuda.set_sync_debug_mode("warn")
    X.sum().item()
    torch.cuda.set_sync_debug_mode("default")
print(*[str(warning.message).splitlines()[0] for warning in caught], sep="\n")

# %% [markdown]
# ### NumPy needs the CPU's memory
#
# `.numpy()` raises an error for a tensor on the GPU. A NumPy array shares its memory with the
# tensor, and NumPy cannot use GPU memory, so you have to write the copy:

# %%
try:
    X.numpy()
except TypeError as error:
    print(error)

# %%
X.cpu().numpy()

# %% [markdown]
# If `X` is on the CPU already, `X.cpu()` copies nothing, and the array shares the memory of `X`. A
# tensor with `requires_grad=True` needs `detach` first, which returns the same numbers without
# their connection to the gradients: `X.detach().cpu().numpy()`.
#
# ### Logging without waiting
#
# A common mistake is to fetch the loss in every step of a training loop. Here are two ways to log
# losses. The second one keeps the values on the GPU and fetches them all at the end.

# %%
net = torch.nn.Linear(1024, 1024, device=device)
inputs = torch.ones(512, 1024, device=device)


def compute_loss():
    return net(inputs).square().mean()


def log_numbers(steps):
    return [compute_loss().item() for _ in range(steps)]


def log_tensors(steps):
    history = [compute_loss().detach() for _ in range(steps)]  # without gradients
    return torch.stack(history).tolist()  # one transfer


# %% [markdown]
# **Think first:** what does `count_fetches` return for each of them, with four steps?
#
# <details><summary>Answer</summary>
#
# 4 and 1. The second one waits once, in `.tolist()`. In training, log in this way and print every
# few hundred steps.
#
# </details>

# %%
ways = {"log_numbers": log_numbers, "log_tensors": log_tensors}
{name: count_fetches(partial(way, 4)) for name, way in ways.items()}

# %% [markdown]
# `simulated_cuda.estimate` models how long a function would take on a GPU that you do not have. In
# the figure, the CPU launches where its row is blue, and a kernel runs where the GPU's row is
# orange. A wait costs a gap in the GPU's row, until the CPU has launched the next kernel.

# %%
modelled = {name: simulated_cuda.estimate(way, 4, gpu="T4") for name, way in ways.items()}
figures.plot_timelines(modelled, title="Modelled for a T4: without waits, the GPU has no gaps")

# %% [markdown]
# ### Many small operations
#
# Each operation takes the CPU some time to launch, however small the tensor is. The two programs
# from the beginning have the same result:


# %%
rows = torch.ones(1000, 64, device=device)


def row_by_row():
    total = torch.zeros(64, device=device)
    for row in rows:  # 1,000 additions, 1,000 launches
        total = total + row
    return total


def all_at_once():
    return rows.sum(dim=0)  # 1 launch


(row_by_row() - all_at_once()).abs().max()

# %% [markdown]
# **Think first:** what takes longer in `row_by_row`: the CPU's launches, or the GPU's additions?
#
# <details><summary>Answer</summary>
#
# The launches, by far.
#
# </details>

# %%
modelled = {f.__name__: simulated_cuda.estimate(f, gpu="T4") for f in (row_by_row, all_at_once)}
for name, result in modelled.items():
    print(f"{name}, modelled for a T4: {1e3 * result.seconds:.3f} ms", end=", ")
    print(f"the GPU works for {1e3 * result.gpu_seconds:.3f} ms; limit: {result.limit}")

# %% [markdown]
# One launch per row, modelled at 58 microseconds each: this was fitted to networks on computers of
# 2018 with PyTorch 1.8. For a newer one, next to an A100, it would be 32. The GPU waits for the
# CPU. If you have a GPU, measure it:


# %% tags=["nbval-ignore-output"]
def milliseconds(action):
    action()  # the first call sets things up
    torch.cuda.synchronize()
    started = time.perf_counter()
    action()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - started)


if simulated_cuda.is_enabled():
    print("There is no GPU here: the times above are modelled.")
else:
    print(f"row by row {milliseconds(row_by_row):.3f} ms")
    print(f"all at once {milliseconds(all_at_once):.3f} ms")

# %% [markdown]
# `milliseconds` calls `synchronize` before it reads the clock. Without it, you measure the time of
# the *launches*, which hardly depends on the size of the tensors.

# %% [markdown]
# ## Summary
#
# - `cpu` means all cores, and `cuda:0` one card. `try_gpu(i)` returns GPU `i` or the CPU.
# - Create tensors where they are needed: `device=`, `zeros_like`, `with torch.device(device):`.
# - `.to(device)` returns a copy on the device, or the same tensor if it is already there.
# - A tensor takes `numel()` times `element_size()` bytes, as long as a variable or a view refers to
#   it.
# - The bus between CPU and GPU is slow. Transfer small data types, and transfer them once.
# - The CPU runs ahead of the GPU until a line needs a number: `print`, `.item()`, `.cpu()`, `if`.
#   Keep such lines out of the inner loop, log on the GPU, and synchronize before you read a clock.
# - The line to blame: `total = total + row` in a loop. One large operation is faster than many
#   small ones, because each launch takes the CPU time.
#
# **To try:**
#
# 1. Write `largest_of(tensors)`, which takes a list of tensors on the GPU and returns their largest
#    number as a Python number. Let the CPU wait only once.
# 2. How much memory do the training images of CIFAR-10 (50,000 x 3 x 32 x 32 numbers) take as
#    `uint8`, and as `float32`? How many of these datasets fit into your GPU's free memory?
#
# <details><summary>Answers</summary>
#
# 1. `return torch.stack([x.max() for x in tensors]).max().item()`: only `.item()` waits.
# 2. 153.6 MB and 614.4 MB. Divide the free memory by them: 8 GiB (8,590 MB) hold 55 and 13.
#
# </details>
