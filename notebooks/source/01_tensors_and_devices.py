# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Tensors and devices
#     promise: >-
#       You learn where a tensor lives, how to put it somewhere else, what that costs, and which
#       harmless-looking lines make your program wait for the GPU.
#     minutes: 45
#     objectives:
#       - name a device, count the GPUs, and write code that takes one only if it is there
#       - say where a tensor lives, and create it in the right place
#       - move tensors, and say when a move copies and when it does not
#       - work out how much memory a tensor takes, and measure it
#       - carry few bytes between CPU and GPU, and find the lines where the CPU waits
#     prerequisites:
#       - "[Lesson 00](00_cpu_and_gpu.ipynb): what a CPU and a GPU are made of"
#       - "no GPU is needed: without one, you practice on a simulated one"
#     credits:
#       - >-
#         `try_gpu` and `try_all_gpus` follow the chapter on GPUs of
#         [Dive into Deep Learning](https://d2l.ai/chapter_builders-guide/use-gpu.html).
#       - >-
#         What is asynchronous, what waits and how memory is kept: PyTorch's
#         [notes on CUDA](https://docs.pytorch.org/docs/stable/notes/cuda.html) and its
#         [tutorial on pinned
#         memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html).
#       - "The T4's memory bandwidth and its bus: NVIDIA's product brief for the T4."
# ---

# %%
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import simulated_cuda
from helpers import lesson
from helpers.plots import devices as figures

# %% tags=["parameters"]
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# The box says which GPU you have. On a machine without one, it is a simulated GPU: a program that
# behaves as CUDA does, in what works, in what fails and in what is printed, while the CPU does the
# arithmetic. The outputs on this page are the same either way. What cannot be practiced is speed: a
# cell that measures time does so on a real GPU only, and says so.
#
# ## The name of a device (4 minutes)
#
# A tensor lies in the memory of one device, and what you compute with it is computed there. torch
# calls a device by its type and, where there can be several, a number that starts at 0.

# %%
torch.device("cpu"), torch.device("cuda"), torch.device("cuda:1"), torch.device("cuda", 1)

# %% [markdown]
# The last two are two spellings of one device. You can take it apart again:

# %%
second_gpu = torch.device("cuda:1")
second_gpu.type, second_gpu.index, str(second_gpu)

# %% [markdown]
# `cpu` means all the cores and the main memory of your machine, however many chips there are. The
# other types you may meet are `cuda` (GPUs of NVIDIA, and those of AMD too), `mps` (Apple), `xpu`
# (Intel) and `meta`, which stores nothing and is of use further down.
#
# **Think first:** you hardly have a hundred GPUs. Does `torch.device("cuda:99")` fail?

# %%
torch.device("cuda:99")

# %% [markdown]
# No. A `torch.device` is a name, and writing a name down touches no hardware. *Using* it does:

# %%
try:
    torch.zeros(3, device="cuda:99")
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# An *ordinal* is the number of a device. A type that does not exist is refused at once, with a list
# of those that torch knows:

# %%
try:
    torch.device("gpu")
except RuntimeError as error:
    print(error)

# %% [markdown]
# **Think first:** if you have one GPU, `cuda` and `cuda:0` are the same piece of hardware. Are they
# equal?

# %%
torch.device("cuda") == torch.device("cuda:0")

# %% [markdown]
# `cuda` without a number means *the current GPU*, whichever that is when the name is used. It is
# GPU 0 until you say otherwise. A tensor always says the number:

# %%
torch.zeros(1, device="cuda").device

# %% [markdown]
# So `x.device == torch.device("cuda")` is false for every tensor there is. Compare with a name that
# has a number, or ask for the type alone: `x.device.type == "cuda"`.

# %% [markdown]
# ## Which devices are there? (5 minutes)
#
# The next two cells ask torch. How many GPUs there are, and what they are called, is different on
# every machine; that at least one can be used is not, because `lesson.start` has seen to it.

# %% tags=["nbval-ignore-output"]
[torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]

# %%
torch.cuda.is_available(), torch.cuda.device_count() > 0, torch.cuda.current_device()

# %% [markdown]
# A program that others run cannot take a GPU for granted. Two small functions give you the GPU you
# ask for if it is there, and the CPU if it is not.


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

# %%
try_gpu(), try_gpu(99)

# %% tags=["nbval-ignore-output"]
try_all_gpus()

# %%
try_all_gpus()[0] == try_gpu() == device

# %% [markdown]
# `device` is what `lesson.start` has chosen at the top, and in this lesson that is `try_gpu()`. The
# same two functions are in `helpers.devices`, so that later lessons need not write them again:

# %%
from helpers.devices import try_all_gpus, try_gpu

try_gpu(), try_gpu(99)

# %% [markdown]
# They know of CUDA only. For a program that should also run on Apple's or Intel's GPUs, torch has a
# general name: an *accelerator*.

# %%
torch.accelerator.current_accelerator(check_available=True)

# %% [markdown]
# Where there is none, this is `None`, and your program falls back to the CPU.

# %% [markdown]
# ## Where a tensor lives (5 minutes)
#
# Every tensor knows. If you say nothing, it is made on the CPU.

# %%
x = torch.tensor([1.0, 2.0, 3.0])
x, x.device, x.is_cuda

# %%
X = torch.ones(2, 3, device=device)
X, X.device, X.is_cuda

# %% [markdown]
# When it is shown, a tensor on the GPU says where it is, and one on the CPU says nothing. `device=`
# is understood by every function that makes a tensor, and the functions that take another tensor
# for a model, such as `zeros_like`, take its device too:

# %%
made = [
    torch.zeros(2, device=device),
    torch.arange(3, device=device),
    torch.randn(2, 2, device=device),
    torch.zeros_like(X),
    X.new_tensor([1.0, 2.0]),
]
{tensor.device for tensor in made}

# %% [markdown]
# To save the word, say it once for a block. Everything made inside lies there:

# %%
with torch.device(device):
    y = torch.arange(3)
    Y = torch.eye(3)
y.device, Y.device, torch.arange(3).device

# %% [markdown]
# Making a tensor where it is needed is better than making it on the CPU and moving it: nothing has
# to be carried.
#
# **Think first:** `X` lies on `cuda:0`. Where do `X + 1`, the view `X[0]`, the single number
# `X.sum()` and the shape `X.shape` lie?

# %%
(X + 1).device, X[0].device, X.sum().device, X.shape

# %% [markdown]
# Results stay where their operands are, and a view lies where the whole lies. The sum stays, too:
# it is one number, but it is a tensor on the GPU. Only the shape is a plain Python object, which
# the CPU has at hand at any time. That difference becomes important at the end of this lesson.

# %% [markdown]
# ## Moving a tensor (8 minutes)
#
# `.to` moves. It takes a device, by name or as an object.

# %%
x = torch.arange(4)
y = x.to(device)
y

# %% [markdown]
# **Think first:** where is `x` now?

# %%
x.device, y.device

# %% [markdown]
# Where it was. A move is a copy: `.to` *returns* a new tensor and leaves the old one alone. To move
# `x` itself, you write `x = x.to(device)`; the line `x.to(device)` on its own does the work and
# throws the result away.

# %%
figures.draw_move()

# %% [markdown]
# The two tensors know nothing of each other. Change one, and the other keeps its numbers:

# %%
y += 10
x, y

# %% [markdown]
# There are shorter spellings, and all of them return a tensor:
#
# | you write | it goes to |
# |---|---|
# | `x.to(device)`, `x.to("cuda:0")` | the device you name |
# | `x.to(y)` | where `y` is, and it takes the data type of `y`, too |
# | `x.to(device, torch.float16)` | the device, with the data type changed on the way |
# | `x.cuda()`, `x.cuda(1)` | the current GPU, GPU 1 |
# | `x.cpu()` | the CPU |
#
# Prefer `.to(device)`. `.cuda()` fails on a machine without a GPU; `.to(device)` works wherever
# `device` came from `try_gpu()`.

# %%
x.to("cuda:0").device, x.to(y).device, x.cuda().device, y.cpu().device

# %%
x.to(device, torch.float16)

# %% [markdown]
# ### No copy when it is already there
#
# **Think first:** `y` is on `cuda:0` already. Does `y.to(device)` make a second copy there? And
# `x.cpu()`?

# %%
y.to(device) is y, y.cuda() is y, x.cpu() is x, y.cpu() is y

# %% [markdown]
# A move to where the tensor is already costs nothing: you get back the very same object. So write
# `.to(device)` wherever it may be needed, without an `if`. When you do want a second tensor, say
# so:

# %%
y.to(device, copy=True) is y, y.clone() is y

# %% [markdown]
# The saving has a price. Read this function and decide what it does to its caller's tensor.


# %%
def brighten(pixels, device):
    pixels = pixels.to(device)
    pixels += 10
    return pixels


# %% [markdown]
# **Think first:** after `brighten(dark, device)` on the GPU, what is in `dark`? After
# `brighten(dark, "cpu")`?

# %%
dark = torch.zeros(3)
brighten(dark, device)
dark

# %%
brighten(dark, "cpu")
dark

# %% [markdown]
# On the GPU the function works on a copy; on the CPU it overwrites what it was given. The same
# program, two results, and no error. The mending is to make a new tensor in any case:
# `pixels = pixels.to(device) + 10`.
#
# ### Two devices in one operation
#
# **Think first:** `x` is on the CPU and `y` on the GPU. Where will `x + y` be computed?

# %%
try:
    x + y
except RuntimeError as error:
    print(error)

# %% [markdown]
# Nowhere. torch does not move a tensor unless you say so, because a move costs time that you should
# know of. [Lesson 02](02_device_mismatch_errors.ipynb) is about this error and its relatives. The
# cure is a line you have seen:

# %%
x.to(y.device) + y

# %% [markdown]
# ## A second GPU (4 minutes)
#
# Two GPUs have two memories, as a CPU and a GPU have. This lesson simulates two; on a machine with
# one real GPU, `try_gpu(1)` gives you the CPU in place of the second, and every cell still runs.

# %% tags=["nbval-ignore-output"]
from helpers.devices import try_gpu

X = torch.ones(2, 3, device=device)
Z = torch.full((2, 3), 2.0, device=try_gpu(1))
Z

# %% [markdown]
# Either way `Z` lies somewhere else than `X`, and the two do not mix:

# %%
Z.device == X.device

# %% tags=["nbval-ignore-output"]
try:
    X + Z
except RuntimeError as error:
    print(error)

# %% [markdown]
# A move between two GPUs is written like any other, straight from one to the other:

# %%
X + Z.to(X.device)

# %% [markdown]
# Three ways to say which GPU you mean, from the narrowest to the widest:
#
# - `device="cuda:1"` puts this one tensor on GPU 1.
# - `with torch.cuda.device(1):` makes GPU 1 the current one in a block, so that `cuda` without a
#   number means it.
# - `CUDA_VISIBLE_DEVICES=1 python train.py` shows the program only GPU 1. The program counts what
#   it is shown, so it knows it as `cuda:0`.
#
# On a shared machine take the last one: your program cannot touch the others' GPUs by accident.
# What two GPUs can do together goes beyond this lesson.

# %% [markdown]
# ## How much memory a tensor takes (7 minutes)
#
# A GPU has memory of its own, mostly less than the machine around it, and when it is full, your
# program ends in an error. So it pays to know what a tensor takes: the number of its elements,
# times the bytes of one.

# %%
X = torch.ones(2, 3, device=device)
X.shape, X.numel(), X.element_size(), X.nbytes

# %% [markdown]
# **Think first:** a batch of 128 colour photographs of 224 by 224 pixels. How many megabytes is
# that as whole numbers of one byte (`uint8`)? As `float32`?
#
# Here is a way to find out that takes no memory at all. A tensor on the `meta` device has a shape
# and a data type and no numbers.

# %%
dtypes = (torch.uint8, torch.float16, torch.float32, torch.float64)
batch = {d: torch.empty(128, 3, 224, 224, dtype=d, device="meta").nbytes for d in dtypes}
batch

# %%
figures.plot_bytes(
    {str(d).removeprefix("torch."): size for d, size in batch.items()},
    title="The data type decides how many images fit",
    xlabel="128 images of 3 x 224 x 224 numbers",
)

# %% [markdown]
# A T4 has 16 GB, and there is more to store than the images: training keeps the output of nearly
# every layer for the backward pass, and that adds up to far more.
#
# Now measure. `torch.cuda.memory_allocated` says how many bytes of a GPU your tensors hold. How
# many more are they because of `big`?

# %%
before = torch.cuda.memory_allocated(device)
big = torch.zeros(1024, 1024, device=device)
with_big = torch.cuda.memory_allocated(device)
del big
with_big - before, torch.cuda.memory_allocated(device) - before

# %% [markdown]
# 1024 times 1024 numbers of 4 bytes: the arithmetic holds. The memory is given back as soon as no
# name leads to the tensor any more.
#
# **Think first:** here `row`, the first of the 1024 rows, outlives `big`. How many bytes does it
# hold?

# %%
before = torch.cuda.memory_allocated(device)
big = torch.zeros(1024, 1024, device=device)
row = big[0]
del big
with_row = torch.cuda.memory_allocated(device)
del row
with_row - before, torch.cuda.memory_allocated(device) - before

# %% [markdown]
# All of them. A view has no numbers of its own, so it keeps the whole alive. That is how a program
# that stores "one small result of each step" can fill a GPU: store `big[0].clone()` instead, or a
# plain number.
#
# A notebook has names that you did not write: it keeps what each cell has shown, in `Out`. A tensor
# that you have looked at stays in memory until you restart. In this lesson they are small.
#
# One thing more shows up with small tensors:


# %%
def allocated_by(numbers):
    before = torch.cuda.memory_allocated(device)
    tensor = torch.zeros(numbers, device=device)
    after = torch.cuda.memory_allocated(device)
    del tensor
    return after - before


{numbers: allocated_by(numbers) for numbers in (1, 128, 129, 1024)}

# %% [markdown]
# torch hands out GPU memory in pieces of 512 bytes, so a single number takes as much as 128 of
# them. For large tensors this is nothing.
#
# What you free goes back to torch, which keeps it for your next tensor, because asking the driver
# is slow. So `nvidia-smi` shows more than `memory_allocated`: it counts what torch keeps
# (`torch.cuda.memory_reserved`) and what CUDA itself needs. How full is your GPU, as the driver
# sees it?

# %% tags=["nbval-ignore-output"]
free, total = torch.cuda.mem_get_info(device)
f"{free / 2**30:.1f} GiB free of {total / 2**30:.1f} GiB"

# %% [markdown]
# And when it does not fit? Ask for 2⁴⁶ numbers:

# %%
try:
    torch.empty(2**46, device=device)
except torch.OutOfMemoryError as error:
    print(str(error).split(" GPU ")[0])

# %% [markdown]
# The message goes on with what your GPU has in all and what is in use. What helps, in this order:
# smaller batches, a smaller data type, and a look for tensors that are still held and no longer
# needed.

# %% [markdown]
# ## What a transfer costs (6 minutes)
#
# Between CPU memory and GPU memory lies a bus, and it is the narrow place. Take a T4: its own
# memory delivers up to 320 GB a second, says NVIDIA's product brief. The bus is PCI Express 3.0
# with 16 lanes, which carries a little less than 16 GB a second in one direction.
#
# **Think first:** how many times as long does it take to bring the batch of `float32` images to the
# GPU as to read it once when it is there?

# %%
bytes_of_batch = 128 * 3 * 224 * 224 * 4
bring, read = bytes_of_batch / 16e9, bytes_of_batch / 320e9
f"{1e6 * bring:,.0f} microseconds to bring, {1e6 * read:,.0f} to read: {bring / read:.0f} to 1"

# %% [markdown]
# At best, by the brief. Newer GPUs have a faster bus and still faster memory. So the rule is:
# **carry few bytes, and carry them once.** Three programs show what that is worth. All go ten times
# over a thousand small images, turn them into `float32` and add them up on the GPU. `Bus` counts
# the bytes they carry.


# %%
class Bus:
    def __init__(self):
        self.carried = 0

    def move(self, tensor, to):
        moved = tensor.to(to)
        if moved is not tensor:
            self.carried += tensor.nbytes
        return moved


images = torch.ones(1000, 3, 32, 32, dtype=torch.uint8)

# %% [markdown]
# Why the `if`? Because a move to where the tensor is already carries nothing. Now the programs.


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
# **Think first:** an image has 3,072 numbers. How many bytes does each program carry?

# %%
carried, results = {}, []
for program in (floats_in_every_pass, bytes_in_every_pass, bytes_once):
    bus = Bus()
    results.append(sum(program(bus)).item())
    carried[program.__name__.replace("_", " ")] = bus.carried
carried, results

# %%
figures.plot_bytes(
    carried,
    title="Forty times fewer bytes for the same result",
    xlabel="carried between CPU and GPU",
)

# %% [markdown]
# Converting on the GPU saves three bytes in four, because pixels are one byte until they are made
# `float32`. Keeping the images there saves nine passes in ten. What goes back is ten sums of 4
# bytes each. [Lesson 04](04_cifar10_on_gpu.ipynb) trains in the third way.
#
# Each transfer also has a cost that does not depend on its size, so a thousand small ones take much
# longer than one large one of the same total. On a real GPU the next cell measures how many bytes a
# second get through.


# %%
def gigabytes_a_second(numbers, pinned):
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
    print("Not timed: this GPU is simulated, and nothing is carried anywhere.")
else:
    print(torch.cuda.get_device_name(device))
    for numbers in (2**8, 2**14, 2**20, 2**24):
        plain, pinned = (gigabytes_a_second(numbers, pinned) for pinned in (False, True))
        print(f"{4 * numbers:>10,} bytes: {plain:.2f} GB/s, pinned {pinned:.2f} GB/s")

# %% [markdown]
# If the GPU is real, you see the speed rise with the size: small transfers are all fixed cost.
#
# *Pinned* is memory that the operating system promises not to move. The GPU can fetch from it by
# itself; from ordinary memory it cannot, so the driver first copies the data to a pinned place of
# its own. Pinned memory is also what `non_blocking=True` needs to have an effect: with both, `.to`
# returns at once, and the CPU goes on while the data is under way.

# %%
pinned = torch.arange(3).pin_memory()
pinned.is_pinned(), pinned.device, pinned.to(device, non_blocking=True)

# %% [markdown]
# From CPU to GPU that is safe: what the GPU does next waits for the data by itself. In the other
# direction it is a trap. After `y.to("cpu", non_blocking=True)` the CPU may read the numbers before
# they have arrived, and nothing warns you. Call `torch.cuda.synchronize()` in between, or leave
# `non_blocking` away. A `DataLoader(..., pin_memory=True)` does the pinning for you.

# %% [markdown]
# ## Hidden waiting (6 minutes)
#
# When you write `y = x @ x` on the GPU, the CPU puts a request into a queue and goes on with the
# next line. The GPU works the queue off. `y` is a tensor at once, with a shape, a type and a
# device; its numbers come later. Only when Python needs to *know* a number does the CPU have to
# wait until the GPU has got that far. This is called **synchronization**, and it hides in lines
# that do not look like it.
#
# A number goes from a tensor to Python through one operation of torch, whose name is
# `_local_scalar_dense`. The next cell makes a counter for it. Its details do not matter here;
# lesson 04 counts operations in the same way.


# %%
class CountFetches(TorchDispatchMode):
    fetched = 0

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        self.fetched += operation is torch.ops.aten._local_scalar_dense.default
        return operation(*arguments, **(options or {}))


def fetches(action):
    with CountFetches() as counter:
        action()
    return counter.fetched


# %% [markdown]
# **Think first:** `X` is on the GPU. Which of these six lines have to fetch a number?

# %%
X = torch.ones(2, 3, device=device)
{
    "X * 2 + 1": fetches(lambda: X * 2 + 1),
    "X.sum()": fetches(lambda: X.sum()),
    "len(X)": fetches(lambda: len(X)),
    "X.sum().item()": fetches(lambda: X.sum().item()),
    "f'{X.sum():.2f}'": fetches(lambda: f"{X.sum():.2f}"),
    "if X.sum() > 0": fetches(lambda: "yes" if X.sum() > 0 else "no"),
}

# %% [markdown]
# `len` and everything else about the shape is known to the CPU. `.item()` asks openly; the string
# and the `if` ask without saying so. The common ones:
#
# | you write | why the CPU waits |
# |---|---|
# | `loss.item()`, `float(loss)`, `int(count)`, `f"{loss:.3f}"` | Python gets a number |
# | `print(x)`, or `x` at the end of a cell | the numbers are to be shown |
# | `x.cpu()`, `x.tolist()`, `x.cpu().numpy()` | all the numbers are fetched |
# | `if`, `while`, `assert` with a tensor | Python must know which way to go |
# | `x[x > 0]`, `torch.nonzero(x)`, `x.unique()` | the size of the result depends on the numbers |
# | `x.to(device)`, unless `x` is pinned and you say `non_blocking=True` | the data has to arrive |
#
# Of these, the counter sees the ones that fetch a single number. It does not see `print`, because
# torch switches such counters off while it prints.
#
# `.numpy()` itself is refused. NumPy knows nothing of GPUs, and an array shares its memory with the
# tensor, so torch makes you say that there is a copy to be made:

# %%
try:
    X.numpy()
except TypeError as error:
    print(error)

# %%
X.cpu().numpy()

# %% [markdown]
# Waiting once does no harm. Waiting in every step of a loop does, because the GPU runs out of
# requests each time.

# %%
figures.draw_waiting()

# %% [markdown]
# The commonest case is adding up the loss. Here are a hundred losses and two ways to add them.
#
# **Think first:** how often does each of them wait?

# %%
losses = torch.ones(100, device=device)


def with_item():
    return sum(loss.item() for loss in losses)


def with_tensor():
    total = torch.zeros((), device=device)
    for loss in losses:
        total += loss
    return total.item()


with_item(), fetches(with_item), with_tensor(), fetches(with_tensor)

# %% [markdown]
# The same sum, and one wait instead of a hundred. In training, add up on the device and fetch the
# total now and then: the `train` of lesson 04 does that.
#
# ### The stopwatch that lies
#
# Since the CPU does not wait, a stopwatch around a line on the GPU measures how long it takes to
# *ask*. `torch.cuda.synchronize()` waits for everything that was asked so far. On a real GPU,
# compare the two times:

# %% tags=["nbval-ignore-output"]
if simulated_cuda.is_enabled():
    print("Not timed: this GPU is simulated, and its work is done when the line is.")
else:
    big = torch.ones(8192, 8192, device=device)
    big @ big  # the first product sets things up
    torch.cuda.synchronize()
    started = time.perf_counter()
    big @ big
    asked = time.perf_counter() - started
    torch.cuda.synchronize()
    done = time.perf_counter() - started
    del big
    print(f"{torch.cuda.get_device_name(device)}: asked in {asked:.6f} s, done in {done:.6f} s")

# %% [markdown]
# The first time hardly depends on the size of the matrices, the second grows with it. If someone
# tells you that a GPU multiplies matrices in no time, ask whether they have synchronized.

# %% [markdown]
# ## Summary
#
# - A device has a type and a number. A tensor says `cuda:0`, never `cuda`.
# - `try_gpu(i)` gives GPU `i` or the CPU; write `device` everywhere below it.
# - Make tensors where they are needed: `device=`, `zeros_like`, `with torch.device(device):`.
# - `.to(device)` returns a copy on the device, or the very same tensor if it is there already. It
#   never changes the tensor it is called on.
# - A tensor takes `numel()` times `element_size()` bytes, rounded up to 512 on the GPU, for as long
#   as a name or a view leads to it.
# - The bus between CPU and GPU is narrow. Carry small data types, and carry them once.
# - The CPU runs ahead of the GPU until a line asks for a number: `print`, `.item()`, `.cpu()`,
#   `if`. Keep such lines out of the inner loop, and synchronize before you read a clock.
#
# **To try:**
#
# 1. Write `mean_of(batches)`, which takes a list of tensors on the GPU and returns their overall
#    mean as a Python number. How few fetches can it do with? Check with `fetches`.
# 2. How much memory do the training images of CIFAR-10 take, 50,000 times 3 times 32 times 32, in
#    each of the four data types above? How many of them fit into your GPU's free memory?
