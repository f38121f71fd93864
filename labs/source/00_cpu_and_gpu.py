# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CPU and GPU
#     promise: >-
#       You write programs for the small computer of the lesson, with one lane and with many,
#       predict what they cost, and find out why three machines cannot use their GPU.
#     minutes: 50
#     objectives:
#       - compute with bits instead of jumps
#       - predict the cycles of a program before you run it
#       - compute a matrix product with one lane per cell
#       - keep lanes from diverging
#       - compute how many warps hide the latency of memory
#       - read what the driver and torch say about a machine
#     prerequisites:
#       - "no GPU is needed: the small computer is a program"
#     credits:
#       - >-
#         The rule by which lanes meet again after a branch follows Collange, [Stack-less SIMT
#         reconvergence at low cost](https://hal.science/hal-00622654), 2011.
# ---

# %%
from helpers import lesson
from helpers.checks import lab_00 as check
from helpers.small_computer import INSTRUCTION_SET, SmallComputer

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed)

# %% [markdown]
# The small computer has these instructions. In this lab, it does not have the last two, RELU and
# MAC. A *value* is a number or a register: to use data in memory, LOAD them first. All numbers in
# this lab are whole numbers.

# %%
INSTRUCTION_SET

# %% [markdown]
# In exercises 1 and 3 you write a function that returns the text of a program. This one doubles x:
#
# ```python
# def double():
#     return """
#             LOAD  A, x
#             ADD   A, A
#             STORE A, y
#             HALT
#     """
# ```
#
# To see each step of a program, run it in a new cell: `SmallComputer(double(), x=-3, y=0).trace()`.
#
# ## Exercise 1: ReLU without jumps (3 points)
#
# The lesson's ReLU jumps, so lanes with different numbers diverge. Compilers for GPUs avoid such
# jumps. Write a program that stores the ReLU of `x` in `y`, 0 for a negative `x` and `x` otherwise,
# **without any jump**: the only instruction of the category *control flow* is HALT. `x` and `y` are
# numbers in memory. `x` has at most 32 bits and must not change.
#
# A register has 64 bits, and the highest one, on the left, is 1 for a negative number. `SHR` moves
# all bits to the right and fills up with copies of that highest bit: -3 shifted by 1 is -2.


# %% exercise=1
def relu_without_jumps():
    """Return a program that stores the ReLU of x in y and never jumps."""
    ### BEGIN SOLUTION
    return """
            LOAD  A, x
            SET   B, A
            SHR   B, 63
            NOT   B
            AND   A, B
            STORE A, y
            HALT
    """
    ### END SOLUTION


# %% check=1 points=3
check.exercise_1(relu_without_jumps)

# %% [markdown]
# ## Exercise 2: predict the cost (3 points)
#
# This program adds up the squares of the `n` numbers in `x`: with `I` = 2, `x[I]` is the third one.
# How many cycles does it take? Write
# `cycles(n)`, a Python function that computes the answer for any `n` from 0 up. Predict the answer
# for n = 3 on paper, and then run the program with `.run()`, which shows the cycles. (For n = 0,
# run it with `x=[0]`: a list in memory has at least one number.)

# %%
sum_of_squares = """
        LOAD B, n
        SET  A, 0
        SET  I, 0
next:   CMP  I, B
        JZ   done
        LOAD C, x[I]
        MUL  C, C
        ADD  A, C
        ADD  I, 1
        JUMP next
done:   STORE A, y
        HALT
"""
SmallComputer(sum_of_squares, x=[3, 1, 2], n=3, y=0)


# %% exercise=2
def cycles(n):
    """Return how many cycles the program above takes for a list of n numbers."""
    ### BEGIN SOLUTION
    once = 4 + 1 + 1 + 4 + 1  # LOAD, SET, SET; STORE, HALT
    test = 1 + 1  # CMP, JZ: once more than there are numbers
    body = 4 + 1 + 1 + 1 + 1  # LOAD, MUL, ADD, ADD, JUMP
    return once + (n + 1) * test + n * body
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(cycles)

# %% [markdown]
# ## Exercise 3: a matrix product, one lane per cell (4 points)
#
# The matrix X has `m` rows and `k` columns, and W has `k` rows and `n` columns. Write a program
# that computes the matrix product Y = X @ W, which has `m` rows and `n` columns. In memory, `x`,
# `w` and `y` hold the three matrices, row by row, and `m`, `k` and `n` are numbers, at least 1. The
# lesson's program `matmul` does this for square matrices only, and with MAC.
#
# **Each lane computes one cell of Y.** Cell (i, j) is the sum of `k` products: the numbers in row i
# of X times those in column j of W. Lane 0 computes the first cell of Y, lane 1 the next one, and
# so on, row by row: store the sum in `y[LANE]`. The register `LANE` is the number of
# the lane, from 0, and `LANES` is how many lanes there are. A program can read both, but not change
# them.
#
# GPUs start threads in whole warps. Here, the number of cells is rounded up to a multiple of 4, and
# that is the number of lanes. So up to three lanes have no cell: they have to reach HALT without
# reading or writing outside the matrices.
#
# The same program has to work for all shapes; about 20 instructions are enough. To try it, with 2
# cells on 4 lanes:
#
# ```python
# X, W = [[1, 2, 3], [4, 5, 6]], [[1], [0], [2]]
# computer = SmallComputer(matrix_product(), lanes=4, x=X, w=W, m=2, k=3, n=1, y=[0, 0])
# computer.run()
# computer["y"]  # should be [7, 16]
# ```
#
# To find a mistake, trace lane 0 alone, with `lanes=1` and `.trace()`; after an error, `computer`
# in a cell of its own shows the registers of all lanes.


# %% exercise=3
def matrix_product():
    """Return a program in which each lane stores one cell of X @ W in `y`."""
    ### BEGIN SOLUTION
    return """
            LOAD  B, n
            LOAD  C, k
            LOAD  D, m
            SET   I, LANE
            DIV   I, B          ; the row of this lane's cell
            CMP   I, D
            JNN   done          ; this lane has no cell
            MUL   I, C          ; where the row starts in x
            SET   K, LANE
            MOD   K, B          ; the column, and where it starts in w
    next:   LOAD  D, x[I]
            LOAD  E, w[K]
            MUL   D, E
            ADD   A, D          ; A is 0 at the start
            ADD   I, 1          ; the next number of the row
            ADD   K, B          ; the next number of the column
            SUB   C, 1
            JNZ   next          ; any products left?
            STORE A, y[LANE]
    done:   HALT
    """
    ### END SOLUTION


# %% check=3 points=4
check.exercise_3(matrix_product)

# %% [markdown]
# ## Exercise 4: avoid divergence (2 points)
#
# On four lanes, this program computes one thing for negative numbers and another for all others.
# While some lanes execute one branch, the others wait, so a group of four numbers takes more cycles
# if its lanes take both branches.

# %%
two_ways = """
        LOAD A, x[LANE]
        CMP  A, 0
        JNN  keep
        MUL  A, 10
        ADD  A, 1
        SUB  A, 3
        JUMP save
keep:   MUL  A, 3
        ADD  A, 2
        MUL  A, A
save:   STORE A, y[LANE]
        HALT
"""
SmallComputer(two_ways, lanes=4, x=[5, -2, 8, -6], y=[0] * 4).trace()

# %% [markdown]
# You have eight numbers, none of them 0, and four lanes, so you need two runs. Some of the numbers
# may be equal. Write `groups(x)`. It splits the list of eight numbers into two lists of four so
# that both runs together take as few cycles as possible.


# %% exercise=4
def groups(x):
    """Return two lists with four of the eight numbers each, for the fewest cycles."""
    ### BEGIN SOLUTION
    by_sign = sorted(x)
    return by_sign[:4], by_sign[4:]
    ### END SOLUTION


# %% check=4 points=2
check.exercise_4(groups)

# %% [markdown]
# ## Exercise 5: how many warps? (2 points)
#
# On a GPU, a warp executes a loop. Each pass has one LOAD, which takes `latency` cycles, and
# `others`: that many other instructions of one cycle each. A warp starts an instruction when its
# previous one is done. In each cycle, the control unit starts one instruction, of any warp that is
# not waiting for its LOAD.
#
# Write `warps_needed(latency, others)`: the smallest number of warps with which the control unit
# can start an instruction in *every* cycle, if their waiting times overlap as well as possible. For
# a latency of 24 cycles and 3 other instructions, it is 7.


# %% exercise=5
def warps_needed(latency, others):
    """Return the smallest number of warps that keep the control unit busy, as an int."""
    ### BEGIN SOLUTION
    cycles = latency + others  # of a pass of one warp
    instructions = 1 + others
    return -(-cycles // instructions)
    ### END SOLUTION


# %% check=5 points=2
check.exercise_5(warps_needed)

# %% [markdown]
# ## Exercise 6: three machines (2 points)
#
# On three machines, a program that should run on a T4 does not. Each owner sends you the output of
# `nvidia-smi`, of which you see the important lines, and then `torch.__version__`,
# `torch.version.cuda` and `torch.cuda.is_available()`. The owner of B also sends an error. (The
# outputs were written for this exercise.)
#
# **Machine A**
#
#     | NVIDIA-SMI 580.82.07              Driver Version: 580.82.07      CUDA Version: 13.0     |
#     |   0  Tesla T4                       Off |   00000000:00:04.0 Off |                    0 |
#     | N/A   41C    P8              9W /   70W |       0MiB /  15360MiB |      0%      Default |
#     |  No running processes found                                                             |
#
#     2.12.0+cpu None False
#
# **Machine B**
#
#     | NVIDIA-SMI 580.82.07              Driver Version: 580.82.07      CUDA Version: 13.0     |
#     |   0  Tesla T4                       Off |   00000000:00:04.0 Off |                    0 |
#     | N/A   66C    P0             69W /   70W |   14905MiB /  15360MiB |    100%      Default |
#     |    0   N/A  N/A            1401      C   /usr/bin/python3                     14902MiB |
#
#     2.12.0+cu130 13.0 True
#     torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 640.00 MiB.
#
# **Machine C**
#
#     | NVIDIA-SMI 570.86.15              Driver Version: 570.86.15      CUDA Version: 12.8     |
#     |   0  Tesla T4                       Off |   00000000:00:04.0 Off |                    0 |
#     | N/A   38C    P8              9W /   70W |       0MiB /  15360MiB |      0%      Default |
#     |  No running processes found                                                             |
#
#     2.12.0+cu130 13.0 False
#
# Write `diagnose()`. It returns a dictionary with one of these causes for each of `"A"`, `"B"` and
# `"C"`:
#
# | cause | what it means |
# |---|---|
# | `"no driver"` | the machine has no working driver |
# | `"old driver"` | the driver is too old for the CUDA that torch was built for |
# | `"CPU build"` | torch was installed without CUDA's libraries |
# | `"memory in use"` | another program uses the GPU's memory |
# | `"no GPU"` | the machine has no NVIDIA GPU |


# %% exercise=6
def diagnose():
    """Return {"A": cause, "B": cause, "C": cause}."""
    ### BEGIN SOLUTION
    return {"A": "CPU build", "B": "memory in use", "C": "old driver"}
    ### END SOLUTION


# %% check=6 points=2
check.exercise_6(diagnose)
