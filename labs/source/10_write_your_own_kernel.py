# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Write your own kernel
#     promise: >-
#       You write six kernels in Triton: a sum of matrices with strides, a fused bias and ReLU,
#       LayerNorm, a tiled matrix product, a histogram without a race, and an online softmax.
#     minutes: 75
#     objectives:
#       - compute addresses from strides, and mask what is outside a tensor
#       - fuse two operations, and count the bytes that this saves
#       - reduce a row whose length is not a power of 2
#       - reuse what was read, in a tile of a matrix product
#       - find and remove a race between programs
#       - compute a softmax in one pass over a row that does not fit in a block
#     prerequisites:
#       - "Linux, WSL or Colab, because Triton's packages are for Linux; no GPU is needed"
#     credits:
#       - >-
#         Exercise 6 follows [Milakov and Gimelshein](https://arxiv.org/abs/1805.02867), 2018.
# ---

# %%
import torch

from helpers import kernels, lesson
from helpers.checks import lab_10 as check

# %% tags=["parameters"]
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
gpu = lesson.start(seed=seed, practice=True)
kernels.enable()  # without a GPU, kernels are interpreted; if Triton is missing, says what to do

# %%
import triton
from triton import language as tl

# %% [markdown]
# ## Exercise 1: add two matrices (2 points)
#
# `add(X, Y)` returns the sum of two float32 matrices of the same shape. Its grid has one program
# per row and block of 16 columns. Write the kernel.
#
# The matrices may be transposed, or be parts of larger ones. So the kernel gets the strides of
# each: element (i, j) of `X` is at `x_ptr + i * x_row + j * x_column`. The number of columns need
# not be a multiple of 16: nothing outside a matrix may be read or written. Each element is read
# once.


# %% exercise=1
@triton.jit
def add_kernel(
    x_ptr, y_ptr, out_ptr, columns, x_row, x_column, y_row, y_column, out_row, out_column,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Add one block of one row."""
    ### BEGIN SOLUTION
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * x_row + column * x_column, mask=mask)
    y = tl.load(y_ptr + row * y_row + column * y_column, mask=mask)
    tl.store(out_ptr + row * out_row + column * out_column, x + y, mask=mask)
    ### END SOLUTION


def add(X, Y):
    """Return X + Y."""
    out = torch.empty(X.shape, device=X.device)
    rows, columns = X.shape
    grid = (rows, triton.cdiv(columns, 16))
    add_kernel[grid](X, Y, out, columns, *X.stride(), *Y.stride(), *out.stride(), BLOCK=16)
    return out


# %% check=1 points=2
check.exercise_1(add)

# %% [markdown]
# ## Exercise 2: fuse a bias and ReLU (2 points)
#
# Write `bias_relu(X, bias)`, which returns `torch.relu(X + bias)`. `X` is a contiguous float32
# matrix, and `bias` has an entry for each of its columns.
#
# Two kernels would move 5 numbers per element: the first reads `X` and `bias` and writes the sum,
# the second reads the sum and writes the result. Move only 3, with one launch: each program reads
# its elements of `X` and `bias` once, and writes its elements of the result once. The check counts
# the bytes. Several programs share the work.


# %% exercise=2
@triton.jit
def bias_relu_kernel(x_ptr, bias_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    """Add the bias to one block of one row, and set its negative elements to 0."""
    ### BEGIN SOLUTION
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=mask)
    bias = tl.load(bias_ptr + column, mask=mask)
    tl.store(out_ptr + row * columns + column, tl.maximum(x + bias, 0.0), mask=mask)
    ### END SOLUTION


def bias_relu(X, bias):
    """Return relu(X + bias), with one kernel launch."""
    ### BEGIN SOLUTION
    out = torch.empty_like(X)
    rows, columns = X.shape
    bias_relu_kernel[(rows, triton.cdiv(columns, 32))](X, bias, out, columns, BLOCK=32)
    return out
    ### END SOLUTION


# %% check=2 points=2
check.exercise_2(bias_relu)

# %% [markdown]
# ## Exercise 3: LayerNorm (3 points)
#
# Write `layer_norm(X, weight, bias, eps)`. It returns what
# `torch.nn.functional.layer_norm(X, (columns,), weight, bias, eps)` returns: each row of `X` minus
# its mean, divided by √(variance + `eps`), times `weight`, plus `bias`. The variance is the mean of
# the squared differences from the mean.
#
# All tensors are contiguous and float32. Each program computes one row and reads it only once. A
# block has as many elements as the next power of 2 (`triton.next_power_of_2`), so most rows do not
# fill it.


# %% exercise=3
@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    """Normalize one row."""
    ### BEGIN SOLUTION
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + tl.program_id(0) * columns + column, mask=mask, other=0.0)
    difference = tl.where(mask, x - tl.sum(x) / columns, 0.0)
    variance = tl.sum(difference * difference) / columns
    weight = tl.load(weight_ptr + column, mask=mask)
    bias = tl.load(bias_ptr + column, mask=mask)
    y = difference / tl.sqrt(variance + eps) * weight + bias
    tl.store(out_ptr + tl.program_id(0) * columns + column, y, mask=mask)
    ### END SOLUTION


def layer_norm(X, weight, bias, eps):
    """Return X with each row normalized, times `weight`, plus `bias`."""
    ### BEGIN SOLUTION
    out = torch.empty_like(X)
    rows, columns = X.shape
    block = triton.next_power_of_2(columns)
    layer_norm_kernel[(rows,)](X, weight, bias, out, columns, eps, BLOCK=block)
    return out
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(layer_norm)

# %% [markdown]
# ## Exercise 4: a matrix product in tiles (4 points)
#
# Write `matmul(A, B)`, which returns `A @ B` for contiguous float32 matrices. A program computes a
# tile of 16 rows and 16 columns of the result: in steps of 16, it reads a tile of `A` and a tile of
# `B`, and adds their product (`tl.dot`) to a block of sums. It writes this block once, at the end.
# No size of a matrix need be a multiple of 16.
#
# So each element of `A` is read once per column of tiles, and each element of `B` once per row of
# tiles.


# %% exercise=4
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, TILE: tl.constexpr):
    """Compute one tile of C = A @ B; A has M rows and K columns, B has K rows and N columns."""
    ### BEGIN SOLUTION
    row = (tl.program_id(0) * TILE + tl.arange(0, TILE))[:, None]
    column = (tl.program_id(1) * TILE + tl.arange(0, TILE))[None, :]
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, K, TILE):
        k = start + tl.arange(0, TILE)
        a_mask, b_mask = (row < M) & (k[None, :] < K), (k[:, None] < K) & (column < N)
        a = tl.load(a_ptr + row * K + k[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + column, mask=b_mask, other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + row * N + column, total, mask=(row < M) & (column < N))
    ### END SOLUTION


def matmul(A, B):
    """Return A @ B."""
    ### BEGIN SOLUTION
    (M, K), N = A.shape, B.shape[1]
    C = torch.empty(M, N, device=A.device)
    matmul_kernel[triton.cdiv(M, 16), triton.cdiv(N, 16)](A, B, C, M, N, K, TILE=16)
    return C
    ### END SOLUTION


# %% check=4 points=4
check.exercise_4(matmul)

# %% [markdown]
# ## Exercise 5: find the races (3 points)
#
# `histogram(values, bins)` counts how often each of the integers 0, 1, ..., `bins` - 1 occurs in
# `values` (int32), which has no others. Each program counts a block of values, and adds its counts
# to those of the others.
#
# In the interpreter, the given kernel counts right as long as its programs run in order. On a GPU
# they run at the same time, in no fixed order, and the counts are wrong: it has **two**
# races. Find and remove them. Several programs still share the work.


# %% exercise=5
@triton.jit
def histogram_kernel(values_ptr, counts_ptr, n, bins, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """Add the counts of one block of values to `counts`."""
    ### BEGIN SOLUTION
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values_ptr + i, mask=i < n, other=-1)
    number = tl.arange(0, BINS)
    found = tl.sum((value[:, None] == number[None, :]).to(tl.int32), axis=0)
    tl.atomic_add(counts_ptr + number, found, mask=number < bins)
    ### END SOLUTION
    ### BEGIN GIVEN
    # i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # value = tl.load(values_ptr + i, mask=i < n, other=-1)
    # number = tl.arange(0, BINS)
    # found = tl.sum((value[:, None] == number[None, :]).to(tl.int32), axis=0)
    # if tl.program_id(0) == 0:  # counting starts at 0
    #     tl.store(counts_ptr + number, 0, mask=number < bins)
    # count = tl.load(counts_ptr + number, mask=number < bins)
    # tl.store(counts_ptr + number, count + found, mask=number < bins)
    ### END GIVEN


def histogram(values, bins):
    """Return an int32 tensor with the number of times that each integer below `bins` occurs."""
    ### BEGIN SOLUTION
    counts = torch.zeros(bins, dtype=torch.int32, device=values.device)
    ### END SOLUTION
    ### BEGIN GIVEN
    # counts = torch.empty(bins, dtype=torch.int32, device=values.device)
    ### END GIVEN
    n, block = len(values), triton.next_power_of_2(bins)
    grid = (triton.cdiv(n, 32),)
    histogram_kernel[grid](values, counts, n, bins, BLOCK=32, BINS=block)
    return counts


# %% check=5 points=3
check.exercise_5(histogram)

# %% [markdown]
# ## Exercise 6: online softmax (4 points)
#
# Write `softmax(X)`, which returns `torch.softmax(X, dim=1)` for a contiguous float32 matrix. One
# program computes one row, but a row is too long for one block: the program reads 16 elements at a
# time. In a first pass over the row, it updates both the largest element so far and the sum of
# exp(x - largest). In a second pass, it reads the row again and writes the result. So each element
# is read twice.
#
# When a block has a new largest element, what was added up before is too large: by which factor?
# The elements may be large (1,000), or all far below 0.


# %% exercise=6
@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    """Compute the softmax of one row, `BLOCK` elements at a time."""
    ### BEGIN SOLUTION
    first = tl.program_id(0) * columns
    largest = -3.4e38  # finite: a block may have only minus infinity
    total = 0.0
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + first + i, mask=i < columns, other=-float("inf"))
        new = tl.maximum(largest, tl.max(x))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new))
        largest = new
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + first + i, mask=i < columns)
        tl.store(out_ptr + first + i, tl.exp(x - largest) / total, mask=i < columns)
    ### END SOLUTION


def softmax(X):
    """Return the softmax of each row."""
    ### BEGIN SOLUTION
    out = torch.empty_like(X)
    softmax_kernel[(X.shape[0],)](X, out, X.shape[1], BLOCK=16)
    return out
    ### END SOLUTION


# %% check=6 points=4
check.exercise_6(softmax)
