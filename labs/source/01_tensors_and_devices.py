# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Tensors and devices
#     promise: >-
#       You write small functions that move tensors and as few bytes as possible, create tensors on
#       the right device, and fetch their numbers so that the CPU waits for the GPU only once.
#     minutes: 40
#     objectives:
#       - move tensors, and only those that have to move
#       - find the devices of any machine
#       - create a tensor where it is needed
#       - compute how much GPU memory a tensor takes
#       - fetch numbers from the GPU once, and as NumPy arrays
#       - move data once for many epochs
#       - keep a part of a tensor without the rest
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated GPU"
#     credits:
#       - >-
#         `try_gpu` and `try_all_gpus` follow the chapter on GPUs of
#         [Dive into Deep Learning](https://d2l.ai/chapter_builders-guide/use-gpu.html).
# ---

# %%
import torch

from helpers import lesson
from helpers.checks import lab_01 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: three short functions (3 points)
#
# - `move_all(tensors, device)` takes a list of tensors on any devices. It returns a new list with
#   the same tensors on `device`, in the same order and with the same data types. A tensor that is
#   already there is not copied, and the given list must not change.
# - `add_ramp(X)` takes a matrix and returns a new one, with the device and the data type of `X`:
#   `X` with 0 added to its first column, 1 to its second, 2 to its third, and so on. A row `5 5 5`
#   becomes `5 6 7`. **Nothing is copied from one device to another**: create what you add on the
#   device of `X`.
# - `to_numpy(X)` returns a NumPy array with the numbers of `X`, a tensor on any device, with or
#   without `requires_grad=True`. The array has its own memory: a change of the array does not
#   change `X`.


# %% exercise=1
def move_all(tensors, device):
    """Return a new list with all `tensors` on `device`."""
    ### BEGIN SOLUTION
    return [tensor.to(device) for tensor in tensors]
    ### END SOLUTION


def add_ramp(X):
    """Return X with 0, 1, 2, ... added to its columns, without a copy between devices."""
    ### BEGIN SOLUTION
    return X + torch.arange(X.shape[1], dtype=X.dtype, device=X.device)
    ### END SOLUTION


def to_numpy(X):
    """Return the numbers of X as a NumPy array that shares no memory with X."""
    ### BEGIN SOLUTION
    return X.detach().cpu().clone().numpy()
    ### END SOLUTION


# %% check=1 points=3
check.exercise_1(move_all, add_ramp, to_numpy)

# %% [markdown]
# ## Exercise 2: find the devices (3 points)
#
# Write the two functions from the lesson, without looking them up.
#
# - `try_gpu(i)` returns the device of GPU number `i`, such as `cuda:0`, if this machine has it, and
#   otherwise the CPU.
# - `try_all_gpus()` returns a list of all GPUs, or a list with only the CPU if there are none.
#
# The check simulates machines with no GPU, with one, and with several.


# %% exercise=2
def try_gpu(i=0):
    """Return GPU `i` if it exists, else the CPU."""
    ### BEGIN SOLUTION
    if i < torch.cuda.device_count():
        return torch.device("cuda", i)
    return torch.device("cpu")
    ### END SOLUTION


def try_all_gpus():
    """Return a list of all GPUs, or of the CPU if there are none."""
    ### BEGIN SOLUTION
    gpus = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return gpus if gpus else [torch.device("cpu")]
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(try_gpu, try_all_gpus)

# %% [markdown]
# ## Exercise 3: many epochs, few bytes (3 points)
#
# `images` is a tensor of bytes (`uint8`) on the CPU. A training function `step(X)` needs all of
# them in every epoch, as a `float32` tensor on `device`, normalized so that 0 becomes -1 and 255
# becomes 1.
#
# Write `run_epochs(images, device, epochs, step)`, which calls `step` once in each epoch and
# returns nothing. **In all epochs together, no more bytes move between the devices than `images`
# has.** Do not change `images`.


# %% exercise=3
def run_epochs(images, device, epochs, step):
    """Call `step` with the normalized images on `device`, once per epoch."""
    ### BEGIN SOLUTION
    resident = images.to(device)
    for _ in range(epochs):
        step((resident.float() / 255 - 0.5) / 0.5)
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(run_epochs)

# %% [markdown]
# ## Exercise 4: how much memory does it take? (2 points)
#
# Write `gpu_bytes(shape, dtype)`. It returns the bytes of a tensor of this shape and data type,
# rounded up to a multiple of 512, as torch does on a GPU. (Ignore the additional memory that a
# large tensor may get.) A shape is a tuple such as `(128, 3, 32, 32)`; the shape of a single number
# is `()`, and a tensor of shape `(0, 5)` takes 0 bytes. Some tensors in the check are too large for
# any memory, so do not allocate them; the `meta` device is allowed.


# %% exercise=4
def gpu_bytes(shape, dtype):
    """Return the bytes that a tensor of this shape and dtype takes on a GPU, as an int."""
    ### BEGIN SOLUTION
    size = torch.empty(shape, dtype=dtype, device="meta").nbytes
    blocks = -(-size // 512)
    return 512 * blocks
    ### END SOLUTION


# %% check=4 points=2
check.exercise_4(gpu_bytes)

# %% [markdown]
# ## Exercise 5: compute a mean and wait once (3 points)
#
# `batches` is a list of tensors on one device; the last one is smaller than the others. Write
# `compute_mean(batches)`, which returns the mean of all their numbers as a Python number. For any
# number of batches, **the CPU waits for the GPU only once**: call `.item()`, `.tolist()` or
# `.cpu()` once.


# %% exercise=5
def compute_mean(batches):
    """Return the mean of all numbers in all batches as a float, with one wait."""
    ### BEGIN SOLUTION
    total = torch.zeros((), device=batches[0].device)
    count = 0
    for batch in batches:
        total += batch.sum()
        count += batch.numel()
    return total.item() / count
    ### END SOLUTION


# %% check=5 points=3
check.exercise_5(compute_mean)

# %% [markdown]
# ## Exercise 6: a view that keeps memory (2 points)
#
# A program computes large matrices and keeps only the first row of each, and still the GPU's
# memory fills up. Fix `keep_rows(results)`: it returns a list with the same rows, on their device,
# but **they keep no more memory than their own numbers need**. Nothing is copied from one device to
# another.


# %% exercise=6 task="fix keep_rows"
def keep_rows(results):
    """Return the first row of each matrix in the list `results`."""
    ### BEGIN SOLUTION
    return [result[0].clone() for result in results]
    ### END SOLUTION
    ### BEGIN GIVEN
    # return [result[0] for result in results]
    ### END GIVEN


# %% check=6 points=2
check.exercise_6(keep_rows)
