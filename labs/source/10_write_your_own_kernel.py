# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Write your own kernel
#     promise: >-
#       You write six kernels in Triton: a sum of matrices with strides, a fused bias and ReLU,
#       LayerNorm, a linear layer in tiles, a histogram without a race, and attention in one pass.
#     minutes: 75
#     objectives:
#       - compute addresses from strides, and mask what is outside a tensor
#       - fuse two operations, and count the bytes that this saves
#       - reduce a row whose length is not a power of 2
#       - reuse what was read, in a tile of a matrix product
#       - find and remove a race between programs
#       - compute attention in one pass over a row that does not fit in a block
#     prerequisites:
#       - "Linux, WSL or Colab, because Triton's packages are for Linux; no GPU is needed"
#     credits:
#       - >-
#         Exercise 6 follows [Milakov and Gimelshein](https://arxiv.org/abs/1805.02867), 2018, and
#         [FlashAttention](https://arxiv.org/abs/2205.14135), 2022.
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
# A GPU's compiler is stricter than the interpreter: a variable that changes in a loop must keep its
# shape, so a block of sums starts with `tl.zeros`, and a number from outside a kernel is a
# parameter of it. In the interpreter, `print` shows a block.
#
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
# matrix, and `bias` has an entry for each of its columns. All numbers are finite. (`tl.maximum`
# would turn NaN into 0, and `torch.relu` would not.)
#
# Two kernels would move 5 numbers per element: the first reads `X` and `bias` and writes the sum,
# the second reads the sum and writes the result. Move only 3, with one launch: a program reads
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
# ## Exercise 4: a linear layer in tiles (4 points)
#
# Write `linear(X, weight, bias)`, which returns `X @ weight.T + bias`, as `torch.nn.Linear` does,
# for contiguous float32 tensors: `weight` has a row per output, `bias` a number. A program computes
# a tile of 16 rows and 32 columns of the result: in steps of 16, it reads a tile of `X` and a tile
# of `weight`, and adds their product (`tl.dot`) to a block of sums. It writes this block once, at
# the end. No size of a tensor need be a multiple of 16.
#
# So each element of `X` is read once per column of tiles, and each element of `weight` once per row
# of tiles.


# %% exercise=4
@triton.jit
def linear_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, M, N, K,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Compute one tile; X has M rows and K columns, `weight` has N rows and K columns."""
    ### BEGIN SOLUTION
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, K, STEP):
        k = start + tl.arange(0, STEP)
        x_mask, w_mask = (row < M) & (k[None, :] < K), (k[:, None] < K) & (column < N)
        x = tl.load(x_ptr + row * K + k[None, :], mask=x_mask, other=0.0)
        w = tl.load(weight_ptr + column * K + k[:, None], mask=w_mask, other=0.0)
        total = tl.dot(x, w, total, input_precision="ieee")
    total += tl.load(bias_ptr + column, mask=column < N)
    tl.store(out_ptr + row * N + column, total, mask=(row < M) & (column < N))
    ### END SOLUTION


def linear(X, weight, bias):
    """Return X @ weight.T + bias."""
    ### BEGIN SOLUTION
    (M, K), N = X.shape, len(bias)
    out = torch.empty(M, N, device=X.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 32))
    linear_kernel[grid](X, weight, bias, out, M, N, K, ROWS=16, COLUMNS=32, STEP=16)
    return out
    ### END SOLUTION


# %% check=4 points=4
check.exercise_4(linear)

# %% [markdown]
# ## Exercise 5: find the races (3 points)
#
# `histogram(values, bins)` counts how often each of the integers 0, 1, ..., `bins` - 1 occurs in
# `values` (int32), which has no others. Each program counts a block of values, and adds its counts
# to those of the others.
#
# In the interpreter, the given kernel counts right as long as its programs run in order. On a GPU
# they run at the same time, in no fixed order, and the counts can be wrong: it has **two** races.
# Find and remove them. Several programs still share the work.


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
# ## Exercise 6: attention in one pass (4 points)
#
# Write `attend(scores, V)`, which returns `torch.softmax(scores, dim=1) @ V`, the last step of
# attention, for contiguous float32 matrices. `V` has 8 columns. One program computes one row, but a
# row of scores is too long for one block: the program reads 16 scores and 16 rows of `V` at a time.
# In one pass, it updates the largest score so far, the sum of exp(score - largest), and the sum of
# the rows of `V` with these weights. So it reads each score once, and stores no softmax.
#
# When a block has a new largest score, what was added up before is too large: by which factor? The
# scores may be large (1,000), or all far below 0 (-1,000,000).


# %% exercise=6
@triton.jit
def attend_kernel(scores_ptr, v_ptr, out_ptr, n, BLOCK: tl.constexpr, COLUMNS: tl.constexpr):
    """Compute one row of the result from `n` scores, `BLOCK` at a time."""
    ### BEGIN SOLUTION
    column = tl.arange(0, COLUMNS)
    largest = -3.4e38  # finite: a block may have only minus infinity
    total = 0.0
    mean = tl.zeros((COLUMNS,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(scores_ptr + tl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
        v_place = i[:, None] * COLUMNS + column[None, :]
        v = tl.load(v_ptr + v_place, mask=i[:, None] < n, other=0.0)
        new = tl.maximum(largest, tl.max(x))
        factor, weights = tl.exp(largest - new), tl.exp(x - new)
        total = total * factor + tl.sum(weights)
        mean = mean * factor + tl.sum(weights[:, None] * v, axis=0)
        largest = new
    tl.store(out_ptr + tl.program_id(0) * COLUMNS + column, mean / total)
    ### END SOLUTION


def attend(scores, V):
    """Return softmax(scores) @ V, with one program per row."""
    ### BEGIN SOLUTION
    out = torch.empty(len(scores), 8, device=scores.device)
    attend_kernel[(len(scores),)](scores, V, out, len(V), BLOCK=16, COLUMNS=8)
    return out
    ### END SOLUTION


# %% check=6 points=4
check.exercise_6(attend)
