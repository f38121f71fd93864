# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Tensors and devices
#     promise: >-
#       You write six small functions that move tensors, make them in the right place, and bring
#       numbers back without making the CPU wait more than once.
#     minutes: 40
#     objectives:
#       - move tensors, and only those that have to move
#       - find the devices of any machine
#       - make a tensor where it is needed
#       - work out what a tensor takes of the GPU's memory
#       - fetch numbers from the GPU once, and as NumPy arrays
#     prerequisites:
#       - "no GPU is needed: without one, you practice on a simulated one"
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
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: move them all (2 points)
#
# Write `move_all(tensors, device)`. It takes a list of tensors, each of them anywhere, and returns
# a new list with the same tensors on `device`, in the same order and with the same types. A tensor
# that is there already is not copied, and the list that was handed in stays as it is.


# %% exercise=1
def move_all(tensors, device):
    """Return a new list with all `tensors` on `device`."""
    ### BEGIN SOLUTION
    return [tensor.to(device) for tensor in tensors]
    ### END SOLUTION


# %% check=1 points=2
check.exercise_1(move_all)

# %% [markdown]
# ## Exercise 2: find the devices (3 points)
#
# Write the two functions that the lesson shows, without looking them up.
#
# - `try_gpu(i)` returns the device of GPU number `i`, such as `cuda:0`, if this machine has it, and
#   the CPU if it has not.
# - `try_all_gpus()` returns a list of all GPUs, or a list with the CPU alone where there is none.
#
# The check runs them on machines with several numbers of GPUs, none among them.


# %% exercise=2
def try_gpu(i=0):
    """Return GPU `i` if there is one, else the CPU."""
    ### BEGIN SOLUTION
    if i < torch.cuda.device_count():
        return torch.device("cuda", i)
    return torch.device("cpu")
    ### END SOLUTION


def try_all_gpus():
    """Return all GPUs, or the CPU alone if there is none."""
    ### BEGIN SOLUTION
    gpus = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return gpus if gpus else [torch.device("cpu")]
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(try_gpu, try_all_gpus)

# %% [markdown]
# ## Exercise 3: make it where it is needed (2 points)
#
# `X` is a matrix of floating-point numbers on some device. Write `add_ramp(X)`, which returns a new
# matrix: `X` with 0 added to its first column, 1 to its second, 2 to its third, and so on. For
#
#     5 5 5
#     7 7 7
#
# that is
#
#     5 6 7
#     7 8 9
#
# The result has the type of `X` and is where `X` is, and **nothing is carried from one device to
# another**: what you add is made where `X` is. `X` itself stays as it was.


# %% exercise=3
def add_ramp(X):
    """Return X plus 0, 1, 2, ... along its columns, without carrying anything."""
    ### BEGIN SOLUTION
    return X + torch.arange(X.shape[1], dtype=X.dtype, device=X.device)
    ### END SOLUTION


# %% check=3 points=2
check.exercise_3(add_ramp)

# %% [markdown]
# ## Exercise 4: what does it take? (2 points)
#
# Write `gpu_bytes(shape, dtype)`: how many bytes of a GPU's memory does torch hand out for a tensor
# of this shape and type? Remember in which pieces it does so. A shape is a tuple such as `(128, 3,
# 32, 32)`; `()` is that of a single number. Some shapes that the check asks for fit into no memory,
# so do not make the tensor.


# %% exercise=4
def gpu_bytes(shape, dtype):
    """Return the bytes that a tensor of this shape and dtype takes on a GPU, as an int."""
    ### BEGIN SOLUTION
    size = torch.empty(shape, dtype=dtype, device="meta").nbytes
    pieces = -(-size // 512)
    return 512 * pieces
    ### END SOLUTION


# %% check=4 points=2
check.exercise_4(gpu_bytes)

# %% [markdown]
# ## Exercise 5: one mean, one wait (3 points)
#
# `batches` is a list of tensors on one device; the last one is smaller than the others. Write
# `mean_of(batches)`, which returns the mean of all their numbers as a Python number. However many
# batches there are, **numbers are fetched from the GPU once**.


# %% exercise=5
def mean_of(batches):
    """Return the mean of all numbers in all batches as a float, with one fetch."""
    ### BEGIN SOLUTION
    total = torch.zeros((), device=batches[0].device)
    count = 0
    for batch in batches:
        total += batch.sum()
        count += batch.numel()
    return total.item() / count
    ### END SOLUTION


# %% check=5 points=3
check.exercise_5(mean_of)

# %% [markdown]
# ## Exercise 6: over to NumPy (2 points)
#
# Write `to_numpy(X)`, which returns a NumPy array with the numbers of `X`. It works for a tensor on
# any device, for one that needs a gradient (`requires_grad=True`) and for one that does not. The
# array is the caller's own: writing into it leaves `X` as it was.


# %% exercise=6
def to_numpy(X):
    """Return the numbers of X as a NumPy array that shares no memory with X."""
    ### BEGIN SOLUTION
    return X.detach().cpu().clone().numpy()
    ### END SOLUTION


# %% check=6 points=2
check.exercise_6(to_numpy)
