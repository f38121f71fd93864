# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Write your own kernel
#     promise: >-
#       You write GPU kernels in Python with Triton, see which program touches which elements, count
#       their bytes, and use them in PyTorch, with or without a GPU.
#     minutes: 90
#     objectives:
#       - write a kernel with program ids, blocks and masks, and launch it on a grid
#       - find an access out of bounds, a wrong stride and a race
#       - predict from bytes and launches what fusing kernels saves
#       - write a stable softmax, a tiled matrix product and an online softmax
#       - give a kernel a backward pass, check it with `gradcheck`, and register it as an operator
#       - read the kernels that `torch.compile` writes
#     prerequisites:
#       - "[Lesson 00](00_cpu_and_gpu.ipynb): threads, SMs, arithmetic intensity"
#       - "[Lesson 08](08_mixed_precision_and_profiling.ipynb): kernel launches, fusion"
#       - >-
#         Linux, WSL or Colab, because Triton's packages are for Linux; no GPU is needed: without
#         one, Triton interprets the kernels
#     credits:
#       - >-
#         Triton: P. Tillet, H. T. Kung, D. Cox, [Triton: An Intermediate Language and Compiler for
#         Tiled Neural Network Computations](https://doi.org/10.1145/3315508.3329973), 2019.
#       - >-
#         Roofline: S. Williams, A. Waterman, D. Patterson,
#         [Roofline](https://doi.org/10.1145/1498765.1498785), 2009.
#       - >-
#         Online softmax: M. Milakov, N. Gimelshein,
#         [Online normalizer calculation for softmax](https://arxiv.org/abs/1805.02867), 2018; in
#         attention: T. Dao et al., [FlashAttention](https://arxiv.org/abs/2205.14135), 2022.
#       - >-
#         The order of the first kernels follows [Triton's
#         tutorials](https://triton-lang.org/main/getting-started/tutorials/index.html).
# ---

# %% [markdown]
# ## Set up

# %%
import torch
from torch.nn import functional as F

import simulated_cuda
from helpers import kernels, lesson
from helpers.plots.hardware import plot_speeds
from helpers.plots.kernels import plot_accesses

# %% tags=["parameters"]
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
gpu = lesson.start(seed=seed, practice=True)
kernels.enable()  # without a GPU, kernels are interpreted; if Triton is missing, says what to do

# %%
import triton
from triton import language as tl

# %% [markdown]
# ## One program, one block (12 minutes)
#
# So far, every kernel came from a library. Now write one that adds two vectors.
#
# In Triton you write one *program*, and launch many copies of it. Each copy asks for its number,
# works on one *block* of elements, and knows nothing of the others. Inside a program there are no
# threads: `x` and `y` below are whole blocks, and the compiler distributes their elements over the
# threads of an SM. (A program runs as one block of threads, as in lesson 00, of 4 warps by default.
# In this lesson, a block is always one of elements. Blocks are small here so that you can read the
# figures; on a GPU, start with 1,024 elements.)


# %%
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


# %% [markdown]
# - A tensor arrives as a *pointer* to its first element. `x_ptr + offsets` is a block of pointers.
# - `tl.arange` needs a power of 2, known when the kernel is compiled: `tl.constexpr`.
# - The *mask* switches off the elements of the last block that do not exist. What a load returns
#   for them is undefined, unless you pass `other=`; here nothing uses it.
# - A kernel returns nothing: it stores. Functions of `torch` do not work in it, but Triton has
#   `tl.exp`, `tl.sqrt`, `tl.maximum(a, b)` and `tl.where(condition, a, b)` for elements, and
#   `tl.sum` and `tl.max` for blocks.
# - Program ids are int32, so offsets overflow above 2³¹ - 1: for such tensors write
#   `tl.program_id(0).to(tl.int64)`.
#
# **Think first:** 100 elements, blocks of 32. How many programs are there, and how many elements of
# the last block are switched off?
#
# <details><summary>Answer</summary>
#
# Four programs, 128 places: 28 are switched off. `triton.cdiv` divides and rounds up.
#
# </details>
#
# `kernel[grid](...)` launches. The *grid* is a tuple with the number of programs in each of one to
# three dimensions (on NVIDIA's GPUs, at most 65,535 in the second and third), and
# `tl.program_id(0)` counts along the first; messages always show three. `kernels.recording`, from
# this course, keeps a list of what every program reads and writes.

# %%
n = 100
x, y = torch.randn(n).to(gpu), torch.randn(n).to(gpu)
out = torch.empty_like(x)
grid = (triton.cdiv(n, 32),)
with kernels.recording() as launches:
    add_kernel[grid](x, y, out, n, BLOCK=32)
torch.testing.assert_close(out, x + y)
added = launches[0]
added.programs, added.bytes_read, added.bytes_written

# %%
plot_accesses(
    added,
    ["out_ptr"],
    columns=32,
    title="Four programs write 100 elements; the last block is short",
)

# %% [markdown]
# Two vectors of 400 bytes were read and one was written. These numbers, and all figures of
# programs in this lesson, come from the kernel's own accesses.
#
# **Where does it run?** On a GPU, the first launch compiles the kernel, once for each combination
# of dtypes, constants, and some properties of the arguments (an integer that is 1 or a multiple of
# 16); `recording` also interprets it, on copies. With several GPUs, launch inside
# `with torch.cuda.device(x.device):`. Without a GPU, kernels are only interpreted: the programs run
# as Python, one after another, with NumPy's arithmetic. (Outside this course, set
# `TRITON_INTERPRET=1` before the first import of Triton. Nothing is checked then: a missing mask
# changes other memory of the process.) Results are right, up to rounding, but times mean nothing,
# and five things differ:
#
# - bfloat16 is silently wrong in the interpreter, which stores it in integers and adds those
#   (1 + 1 gives 1.7e38). `kernels` refuses it: use fp32, or fp16. (`tl.exp` and `tl.sigmoid` take
#   only fp32 and fp64: write `x.to(tl.float32)` after the load.)
# - Only one program runs at a time, so races between programs do not show.
# - `triton.autotune` and `triton.testing.do_bench` need a GPU.
# - The interpreter accepts code that the compiler refuses: dictionaries, `break`, global variables
#   that are not `tl.constexpr`, a variable whose type changes in a loop, tiles that are too large,
#   and products (`tl.dot`) over fewer than 8 numbers in fp32, or 16 in fp16.
# - The interpreter takes every block for true, without an error: `a and b` gives `b`,
#   `max(x, 0.0)` gives 0, and `if x < 0:` is always taken. Write `a & b`, `tl.maximum(x, 0.0)` and
#   `tl.where(x < 0, 0.0, x)`.
#
# ### Without the mask


# %%
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, 2 * x)


try:
    with kernels.recording():
        double_kernel[grid](x, out, n, BLOCK=32)
except kernels.OutOfBounds as error:
    print(error)

# %% [markdown]
# The message comes from this course. Triton itself checks nothing: on a GPU, such a store does
# nothing visible (PyTorch rounds allocations up to 512 bytes), changes another tensor, or ends in
# "an illegal memory access was encountered", often many operations later. NVIDIA's tool finds it:
# `PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer python program.py`; without this setting, it
# sees one large allocation.
#
# Read the message from the left: which program, which argument, which element. The first bad
# element is 100, the length of the tensor, so the mask is missing or wrong.
#
# ## What a launch costs (7 minutes)
#
# How large must a tensor be before its kernel is worth a launch? The course's clock
# ([how it works, and how wrong it is](../docs/the_clock.md)) models a T4, Colab's free GPU: the
# time that the CPU needs to start one operation of PyTorch, and the time of its kernel.

# %%
print(f"{'elements':>11s} {'the CPU launches':>17s} {'the kernel runs':>16s}   (modelled, T4)")
for size in (1, 10_000, 1_000_000, 10_000_000, 100_000_000):
    a = torch.empty(size)
    cost = simulated_cuda.estimate(torch.add, a, a, gpu="T4")
    print(f"{size:11,d} {1e6 * cost.cpu_seconds:14.0f} us {1e6 * cost.gpu_seconds:13.0f} us")

# %% [markdown]
# In this model, even the smallest kernel takes 6 µs of the GPU's time, and the operation around it
# much more of the CPU's. Up to a million elements, this addition is limited by launches. Triton's
# own launch, which is partly Python, takes time too. (58 µs is a CPU of 2018; with a newer one,
# which took 32 µs, the limit is below a million.)
#
# Inside a launch, the programs have to fill the GPU. A T4 has 40 SMs, and each holds up to 32 warps
# ([Turing tuning guide](https://docs.nvidia.com/cuda/turing-tuning-guide/)). By default, a Triton
# program is 4 warps (`num_warps`).
#
# **Think first:** how many programs does a T4 run at the same time, at most? How many elements is
# that with `BLOCK=1024`?

# %%
sms, warps_per_sm, num_warps = 40, 32, 4
at_once = sms * warps_per_sm // num_warps
at_once, at_once * 1024

# %% [markdown]
# With fewer than 320 programs, or programs that need so many registers that fewer fit, the GPU may
# have too few loads in flight to hide the time that each takes. Many more programs are fine: they
# wait for a place.
#
# ## Fuse a bias and GELU (12 minutes)
#
# GELU, the activation of many transformers, has two popular approximations. CLIP uses the shorter
# one, $z \cdot \sigma(1.702\,z)$. Written out in PyTorch, each operation is a kernel that reads its
# inputs from the GPU's memory and writes its result back.


# %%
def bias_gelu(x, bias):
    z = x + bias
    return z * torch.sigmoid(1.702 * z)


# %% [markdown]
# **Think first:** count the kernels, and the tensors of `x`'s size that they read and write. How
# many are necessary?
#
# <details><summary>Answer</summary>
#
# Four kernels: a sum, two products, a sigmoid. They read 5 such tensors (the sum reads one, because
# the bias is small; the last product reads two) and write 4, in all 9. One read and one write are
# necessary.
#
# </details>
#
# One kernel that does everything between a single load and a single store is a *fused* kernel:


# %%
@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, n, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    z = tl.load(x_ptr + offsets, mask=mask)
    z += tl.load(bias_ptr + offsets % columns, mask=mask)
    tl.store(out_ptr + offsets, z * tl.sigmoid(1.702 * z), mask=mask)


# %%
def fused_bias_gelu(x, bias):
    out, n = torch.empty_like(x), x.numel()
    bias_gelu_kernel[(triton.cdiv(n, 256),)](x, bias, out, n, len(bias), BLOCK=256)
    return out


# %%
x, bias = torch.randn(30, 40).to(gpu), torch.randn(40).to(gpu)
with kernels.recording() as launches:
    out = fused_bias_gelu(x, bias)
torch.testing.assert_close(out, bias_gelu(x, bias))
fused = launches[0]
plot_accesses(
    fused, ["out_ptr"], title="Blocks of 256 elements do not follow the rows of 40 columns"
)

# %% [markdown]
# The kernel sees a row of 1,200 numbers. `offsets % columns` finds the bias. Count the bytes:

# %%
tensor_bytes = x.numel() * x.element_size()
print("written out:", 9 * tensor_bytes)
print("fused, counted:", fused.bytes_read + fused.bytes_written)
print("of these, the bias:", fused.bytes_read - tensor_bytes)

# %% [markdown]
# Every program loads a bias for each of its elements. Only 160 of these 4,800 bytes are different,
# so on a GPU nearly all come from a cache. The rest is one read and one write.
#
# Predict the gain for a large tensor: bytes / bandwidth gives 4.5 times less. The clock, with the
# library's `gelu` in place of our kernel, because both read and write one tensor:

# %%
large, large_bias = torch.empty(4096, 4096), torch.empty(4096)
separate = simulated_cuda.estimate(bias_gelu, large, large_bias, gpu="T4")
one = simulated_cuda.estimate(F.gelu, large, gpu="T4")
for name, cost in (("written out", separate), ("one kernel", one)):
    milliseconds = 1e3 * cost.seconds
    print(f"{name}: {len(cost.kernels)} kernels, {milliseconds:.2f} milliseconds (modelled, T4)")
print(f"{2 * large.nbytes / 320e9 * 1e3:.2f} milliseconds: its bytes at the T4's 320 GB/s")

# %% [markdown]
# The memory limits both, so time follows bytes. (320 GB/s is the data sheet's bandwidth, which no
# kernel reaches.) Fusing helps when intermediate results are large; it cannot help a kernel that
# already reads and writes everything once.
#
# ## Softmax of a row (10 minutes)
#
# Softmax needs a *reduction*, the sum of a row. The simplest plan: one program per row, and a block
# as long as the row. `tl.max` and `tl.sum` reduce the block. As $e^{89}$ overflows in fp32,
# subtract the row's maximum first; this changes nothing in the result.


# %%
@triton.jit
def softmax_kernel(x_ptr, out_ptr, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * row_stride + column, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + column, e / tl.sum(e, axis=0), mask=mask)


# %%
def softmax(x):
    out = torch.empty(x.shape, device=x.device)
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    softmax_kernel[(rows,)](x, out, x.stride(0), columns, BLOCK=block)
    return out


# %% [markdown]
# **Think first:** `other` is the value of switched-off elements. Why minus infinity, and not 0?
#
# <details><summary>Answer</summary>
#
# $e^{-\infty} = 0$ adds nothing to the sum, and minus infinity is never the maximum. A 0 would add
# $e^{0 - \max}$ for each switched-off element.
#
# </details>

# %%
x = torch.randn(8, 20).to(gpu) + 100  # without subtracting the maximum: inf / inf
with kernels.recording() as launches:
    out = softmax(x)
torch.testing.assert_close(out, x.softmax(dim=1))
plot_accesses(launches[0], ["x_ptr", "out_ptr"], title="Each program reads and writes one row")

# %% [markdown]
# ### A wrong stride
#
# In memory, a tensor is a row of numbers; its *strides* say how far apart neighbors are. Now pass a
# transposed tensor:

# %%
x = torch.randn(12, 8).to(gpu).t()
with kernels.recording() as launches:
    out = softmax(x)
print("shape", tuple(x.shape), "strides", x.stride())
print("largest error:", round((out - x.softmax(dim=1)).abs().max().item(), 2))
plot_accesses(
    launches[0], ["x_ptr"], program=0, title="Program 0 reads down the columns, not along row 0"
)

# %% [markdown]
# There was no error message: all these elements exist. The kernel assumed that neighbors in a row
# are next to each other, a column stride of 1; here it is 8. The picture shows what it did instead.
# To fix it, multiply `column` by a column stride, or call `x.contiguous()` first. (The former reads
# numbers that are far apart, and a GPU fetches 32 bytes for each; the latter costs one more
# kernel.)
#
# If you pass the number of columns as the row stride of a slice, programs can leave the view, and
# the recording stops them:

# %%
wide = torch.randn(4, 16).to(gpu)
view = wide[:, :6]  # strides (16, 1)
try:
    with kernels.recording():
        out = torch.empty(4, 6, device=gpu)
        softmax_kernel[(4,)](view, out, row_stride=6, columns=6, BLOCK=8)  # wrong: it is 16
except kernels.OutOfBounds as error:
    print(error)

# %% [markdown]
# ## A race (5 minutes)
#
# A histogram: every program counts its block of digits. These tensors are on the CPU, so that the
# programs run one after another everywhere. (Only in this course: Triton itself refuses CPU tensors
# when it compiles.)


# %%
@triton.jit
def histogram_kernel(x_ptr, counts_ptr, n, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    digit = tl.load(x_ptr + offsets, mask=mask)
    if ATOMIC:
        tl.atomic_add(counts_ptr + digit, 1, mask=mask)
    else:
        count = tl.load(counts_ptr + digit, mask=mask)
        tl.store(counts_ptr + digit, count + 1, mask=mask)


# %%
def histogram(digits, atomic):
    counts = torch.zeros(4, dtype=torch.int32)
    with kernels.recording() as launches:
        histogram_kernel[(2,)](digits, counts, len(digits), BLOCK=32, ATOMIC=atomic)
    return counts.tolist(), launches[0]


# %%
digits = torch.randint(4, (64,), device="cpu", generator=torch.Generator().manual_seed(seed))
for atomic in (False, True):
    counts, launch = histogram(digits, atomic)
    print(f"atomic={atomic}: {counts}, expected {digits.bincount().tolist()}")
    print(*launch.races(), sep="\n")
plot_accesses(
    launch, ["x_ptr", "counts_ptr"], columns=16, title="Both programs use all four counters (gray)"
)

# %% [markdown]
# In the interpreter, all loads of a block come before all its stores, so each block adds only 1 per
# digit. On a GPU, not even that is certain: the elements of a larger block belong to several warps,
# which do not wait for each other here, and both programs run at once. They may read the same old
# count: then one block's counts are lost, and every run can give another result. `tl.atomic_add`
# reads, adds and writes in one step that nothing can interrupt.
#
# An interpreter cannot show such a loss between programs. But `races()` finds every element that
# one program writes and another one uses, unless both are atomic. Another test:
# `kernels.recording(order="reversed")` runs the programs in reverse; a correct kernel gives the
# same result, except for rounding in floating-point atomics.
#
# ## A matrix product in tiles (14 minutes)
#
# Each element of `C = A @ B` needs a row of A and a column of B. If one program computed one
# element, it would load 2K numbers for 2K operations. Instead, let a program compute a *tile* of C,
# and use every number that it loads for a whole row or column of the tile.


# %%
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inner = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        k = start + inner
        a_mask = (row < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (column < N)
        a = tl.load(a_ptr + row * K + k[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + column, mask=b_mask, other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + row * N + column, total, mask=(row < M) & (column < N))


# %%
def matmul(a, b, block):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    grid = (triton.cdiv(M, block), triton.cdiv(N, block))
    matmul_kernel[grid](a, b, c, M, N, K, BLOCK=block)
    return c


# %% [markdown]
# `[:, None]` makes a column and `[None, :]` a row, as in NumPy; together they are a tile of
# offsets. The grid has two dimensions now. On GPUs with TF32, `tl.dot` rounds fp32 to TF32 by
# default; `input_precision="ieee"` does not.

# %%
a, b = torch.randn(40, 36).to(gpu), torch.randn(36, 48).to(gpu)
with kernels.recording() as launches:
    c = matmul(a, b, 16)
torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)
plot_accesses(
    launches[0],
    ["a_ptr", "b_ptr", "c_ptr"],
    program=4,
    title="Program 4 needs 16 rows of A and 16 columns of B for its tile of C",
)

# %% [markdown]
# **Think first:** with square tiles of side B, how many bytes does a program load per operation?
#
# <details><summary>Answer</summary>
#
# Per step of its loop, it loads 2 B² numbers of 4 bytes, and does 2 B³ operations: 4 / B bytes per
# operation, or B / 4 operations per byte.
#
# </details>
#
# Count it:

# %%
a = b = torch.ones(128, 128).to(gpu)
operations = 2 * 128**3
intensity = {}
for block in (16, 32, 64):
    with kernels.recording() as launches:
        matmul(a, b, block)
    count = launches[0]
    intensity[f"tiles of {block}"] = operations / (count.bytes_read + count.bytes_written)
    print(f"tiles of {block}: {count.programs:2d} programs, {count.bytes_read:9,d} bytes read")

# %% [markdown]
# Doubling the tile halves the bytes. The *roofline* says what this is worth: a kernel is limited by
# its arithmetic or by its bytes, so its speed is at most the smaller of the peak and bandwidth
# times operations per byte. For a T4, with its data sheet's 8.1 TFLOP/s (fp32, without tensor
# cores) and 320 GB/s:

# %%
intensity["vector add"] = n / (added.bytes_read + added.bytes_written)
intensity["fused GELU"] = 4 * 1200 / (fused.bytes_read + fused.bytes_written)
plot_speeds(
    {"roof of a T4 GPU (data sheet)": ([0.01, 8100 / 320, 1000], [3.2, 8100, 8100])},
    points={f"{name}, T4 GPU": (x, min(8100, 320 * x)) for name, x in intensity.items()},
    title="Each doubling of the tile nearly doubles a product's roof on a T4",
    xlabel="operations per byte",
)

# %% [markdown]
# This assumes that every load goes to memory. Caches help: the T4's L2 cache of 4 MB serves
# programs that load the same tile. Real kernels use tiles of C with sides of 64 to 256, but step
# through K by only 16 to 64, so that the tiles fit into shared memory: with `BLOCK=128`, the kernel
# above needs 128 KB, and a T4 has 64 KB per SM (`OutOfResources`). Triton's compiler puts the tiles
# there, and on GPUs from Ampere on it loads the next ones while it multiplies (`num_stages`). This
# takes more, 256 KB, and an A100 allows 163. `triton.autotune` tries tile sizes on a GPU.
#
# Triton officially supports GPUs from compute capability 8.0 on (Ampere). On a T4 (7.5) these
# kernels compile, but Triton 3.8's `tl.dot` does not use its tensor cores.
#
# ## Online softmax (7 minutes)
#
# A row of 100,000 is too long for one block. A thread has at most 255 registers, so a program of 4
# warps has about 32,000, and a block of 32,768 elements is spilled to slow memory. With
# `num_warps=16`, longer rows fit, up to the 65,536 registers of an SM. With smaller
# blocks, two passes over the row find maximum and sum, a third one writes. *Online* softmax finds
# both in one pass: when a larger maximum m' turns up, it corrects the sum so far,
# $s \leftarrow s \cdot e^{m - m'} + \sum e^{x - m'}$.
#
# The maximum starts from a finite number, about the most negative of fp32: a first block of only
# minus infinity, as from an attention mask, would otherwise give $-\infty - (-\infty)$, which is
# NaN.


# %%
@triton.jit
def online_softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    start_of_row = tl.program_id(0) * columns
    maximum, total = -3.4e38, 0.0
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start_of_row + column, mask=column < columns, other=-float("inf"))
        larger = tl.maximum(maximum, tl.max(x, axis=0))
        total = total * tl.exp(maximum - larger) + tl.sum(tl.exp(x - larger), axis=0)
        maximum = larger
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        x = tl.load(x_ptr + start_of_row + column, mask=mask)
        tl.store(out_ptr + start_of_row + column, tl.exp(x - maximum) / total, mask=mask)


# %%
x = torch.randn(3, 1000).to(gpu)
out = torch.empty_like(x)
with kernels.recording() as launches:
    online_softmax_kernel[(3,)](x, out, 1000, BLOCK=64)
torch.testing.assert_close(out, x.softmax(dim=1))
row_bytes = launches[0].bytes_read / x.nbytes, launches[0].bytes_written / x.nbytes
print("times that x is read: {:g}, that out is written: {:g}".format(*row_bytes))

# %% [markdown]
# This is the idea of FlashAttention. Attention multiplies softmax(Q Kᵀ) by V. Its scores are a
# square matrix with a row and a column per token, far larger than Q, K and V. FlashAttention
# computes them tile by tile, keeps the maximum, the sum and the weighted sum of V's rows, corrects
# all of them when the maximum grows, and never writes the scores to memory. In PyTorch,
# `F.scaled_dot_product_attention` uses it, or a similar kernel, if GPU and dtype allow it.
#
# ## A kernel with a gradient (8 minutes)
#
# Autograd does not see inside a kernel. A `torch.autograd.Function` says which kernel computes the
# gradient. With $s = \sigma(1.702\,z)$, the derivative of $z\,s$ is $s + 1.702\,z\,s\,(1 - s)$.


# %%
@triton.jit
def backward_kernel(x_ptr, bias_ptr, grad_ptr, out_ptr, n, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    z = tl.load(x_ptr + offsets, mask=mask)
    z += tl.load(bias_ptr + offsets % columns, mask=mask)
    s = tl.sigmoid(1.702 * z)
    slope = s + 1.702 * z * s * (1 - s)
    grad = tl.load(grad_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, grad * slope, mask=mask)


# %%
class BiasGELU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.save_for_backward(x, bias)
        return fused_bias_gelu(x, bias)

    @staticmethod
    def backward(ctx, grad):
        x, bias = ctx.saved_tensors
        grad_x, n, grid = torch.empty_like(x), x.numel(), (triton.cdiv(x.numel(), 256),)
        backward_kernel[grid](x, bias, grad.contiguous(), grad_x, n, len(bias), BLOCK=256)
        return grad_x, grad_x.sum(dim=0)


# %% [markdown]
# It saves `x` and `bias`, and computes $z$ and $s$ again: arithmetic is cheaper than memory here.
# (Both kernels assume a contiguous `x`; a library would check that. It would also mark `backward`
# with `once_differentiable`: a second derivative would be wrong.) `gradcheck` compares these
# gradients with finite differences, in float64. Also try a wrong one:

# %%
inputs = [
    torch.randn(shape, dtype=torch.float64).to(gpu).requires_grad_() for shape in ((3, 5), (5,))
]
print("gradients are right:", torch.autograd.gradcheck(BiasGELU.apply, inputs))


class WrongBiasGELU(BiasGELU):
    @staticmethod
    def backward(ctx, grad):
        grad_x, grad_bias = BiasGELU.backward(ctx, grad)
        return grad_x, grad_bias / len(grad)  # a mean instead of a sum


try:
    torch.autograd.gradcheck(WrongBiasGELU.apply, inputs)
except RuntimeError as error:
    print("wrong:", str(error).splitlines()[0])

# %% [markdown]
# ## A kernel as an operator, and kernels by torch.compile (12 minutes)
#
# `torch.compile` should know about your kernel, so that it can fuse what is around it. `triton_op`
# registers an operator, and `wrap_triton` shows its kernel to the compiler. On a GPU, the operator
# works with `torch.compile` and `torch.export`, and everywhere on tensors without data (`meta`).
# `register_autograd` gives it a gradient. Without it, `backward()` raises an error: this operator
# has none yet.

# %%
from torch.library import triton_op, wrap_triton


@triton_op("gpu_course::bias_gelu", mutates_args={})
def bias_gelu_op(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    out, n = torch.empty_like(x), x.numel()
    kernel = wrap_triton(bias_gelu_kernel)
    kernel[(triton.cdiv(n, 256),)](x, bias, out, n, len(bias), BLOCK=256)
    return out


# %%
x, bias = torch.randn(30, 40).to(gpu), torch.randn(40).to(gpu)
torch.testing.assert_close(torch.ops.gpu_course.bias_gelu(x, bias), bias_gelu(x, bias))
torch.ops.gpu_course.bias_gelu.default._schema

# %% [markdown]
# But you did not need to write this kernel. `torch.compile(bias_gelu)` writes one too, and on a GPU
# `TORCH_LOGS=output_code python program.py` prints it (with tensors on a CPU, C++). The next cell
# is what torch 2.14.1 generated from the function `bias_gelu` above, for a T4 and tensors of (30,
# 40) and (40), without the decorator that has its settings. (Neither generating nor compiling this
# code needs a GPU; running it compiled does.)


# %%
@triton.jit
def triton_poi_fused_add_mul_sigmoid_0(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xnumel = 1200
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x2 = xindex
    x0 = xindex % 40
    tmp0 = tl.load(in_ptr0 + (x2), xmask)
    tmp1 = tl.load(in_ptr1 + (x0), xmask, eviction_policy="evict_last")
    tmp2 = tmp0 + tmp1
    tmp3 = tl.full([1], 1.702, tl.float32)
    tmp4 = tmp2 * tmp3
    tmp5 = tl.sigmoid(tmp4)
    tmp6 = tmp2 * tmp5
    tl.store(out_ptr0 + (x2), tmp6, xmask)


# %% [markdown]
# Read it line by line, next to `bias_gelu_kernel`:
#
# - the name: `poi` is pointwise (`red` and `per` are reductions), `fused`, the operations, and
#   kernel number 0;
# - `xnumel = 1200`: sizes are written into the code; for another size, it is generated again, or
#   with a variable size;
# - `xoffset`, `xindex`, `xmask`: first offset, offsets, mask;
# - `x2` is the index into `x`, `x0` the column, for the bias;
# - `tmp0`, `tmp1`: the loads. `evict_last` asks the cache to keep the bias, which every row needs;
# - `tmp2` to `tmp6`: your four operations, in registers, and a constant;
# - one store.
#
# It is a kernel like yours, so it runs like yours:

# %%
out = torch.empty_like(x)
with kernels.recording() as launches:
    triton_poi_fused_add_mul_sigmoid_0[(5,)](x, bias, out, 1200, XBLOCK=256)
torch.testing.assert_close(out, bias_gelu(x, bias))
generated = launches[0]
(
    generated.bytes_read == fused.bytes_read,
    generated.elements("out_ptr0") == fused.elements("out_ptr"),
)

# %% [markdown]
# ## When not to write a kernel (3 minutes)
#
# - The profile does not show it near the top: a kernel with 3% of the time can save 3%.
# - `torch.compile` already writes it: element-wise chains, reductions, and both fused.
# - A library has it: products and convolutions (cuBLAS, cuDNN), attention
#   (`F.scaled_dot_product_attention`, FlexAttention).
# - Launches are the limit: use larger batches or a CUDA graph
#   ([lesson 08](08_mixed_precision_and_profiling.ipynb)).
#
# Write one when intermediate results are large and the compiler cannot fuse them away: a new
# attention, a loss over a huge vocabulary, an unusual format. Then keep the slow version in PyTorch
# as a test.
#
# ## Summary
#
# - A program works on one block: program id, offsets, mask, load, compute, store.
# - Memory and launches set the time of most kernels: count bytes. Fusing removes those of
#   intermediate results.
# - Tiles reuse what they load: operations per byte grow with the tile's side, up to the roofline.
# - Online softmax corrects its sum when the maximum grows, so rows need not fit.
# - An access out of bounds, a wrong stride and a race often raise no error: test odd sizes,
#   transposed inputs, and several orders.
# - `autograd.Function` adds a gradient, `gradcheck` tests it, `triton_op` registers the operator.
#
# **To try:**
#
# 1. Change `softmax_kernel` to take a column stride, and pass it the transposed tensor again.
# 2. In `histogram`, change `(2,)` to `(64,)` and `BLOCK=32` to `BLOCK=1`. What does it return
#    without atomics? Why is it right here, and still a race?
#
# <details><summary>Answers</summary>
#
# 1. `column * column_stride` in the load; the store stays, because `out` is contiguous. The figure
#    shows one row per program again.
# 2. The right counts: the programs run one after another, and each adds one digit. `races()` still
#    lists all four counters: on a GPU, programs run at the same time.
#
# </details>
