# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CPU and GPU
#     promise: >-
#       You write programs for the small computer of the lesson, with one lane and with many, and
#       predict what they cost.
#     minutes: 50
#     objectives:
#       - write programs with comparisons, jumps and loops
#       - predict the cycles of a program before you run it
#       - divide a dot product among any number of lanes
#       - keep lanes from diverging
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
# In exercises 1, 2, 3 and 5 you write a function that returns the text of a program. This one
# doubles x:
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
# ## Exercise 1: the absolute value (2 points)
#
# `x` and `y` are numbers in memory. Write a program that stores the absolute value of `x` in `y`: 3
# for 3, and 3 for -3. `x` itself does not change.


# %% exercise=1
def absolute():
    """Return a program that stores the absolute value of x in y."""
    ### BEGIN SOLUTION
    return """
            LOAD  A, x
            CMP   A, 0
            JNN   save
            MUL   A, -1
    save:   STORE A, y
            HALT
    """
    ### END SOLUTION


# %% check=1 points=2
check.exercise_1(absolute)

# %% [markdown]
# ## Exercise 2: a clipped ReLU (2 points)
#
# Some networks for phones use a ReLU with an upper limit, so that its results fit into few bits:
# ReLU6, for example, has the limit 6. Write a program for any limit. It stores in `y`
#
# - 0, if `x` is negative;
# - the number in `limit`, if `x` is larger than that;
# - `x` otherwise.


# %% exercise=2
def clipped_relu():
    """Return a program that stores x in y, but at least 0 and at most `limit`."""
    ### BEGIN SOLUTION
    return """
            LOAD  A, x
            LOAD  B, limit
            CMP   A, 0
            JNN   upper
            SET   A, 0
    upper:  CMP   B, A
            JNN   save
            SET   A, B
    save:   STORE A, y
            HALT
    """
    ### END SOLUTION


# %% check=2 points=2
check.exercise_2(clipped_relu)

# %% [markdown]
# ## Exercise 3: the largest number (3 points)
#
# `x` is now a list of `n` numbers, at least one. Write a program that stores the largest of them in
# `y`. Use a register as the index: after `SET I, 2`, the instruction `LOAD A, x[I]` loads the third
# number.


# %% exercise=3
def largest():
    """Return a program that stores the largest of the n numbers in x in y."""
    ### BEGIN SOLUTION
    return """
            LOAD  B, n
            SET   I, 0
            LOAD  A, x[I]
    next:   ADD   I, 1
            CMP   I, B
            JZ    done
            LOAD  C, x[I]
            CMP   A, C
            JNN   next
            SET   A, C
            JUMP  next
    done:   STORE A, y
            HALT
    """
    ### END SOLUTION


# %% check=3 points=3
check.exercise_3(largest)

# %% [markdown]
# ## Exercise 4: predict the cost (3 points)
#
# This program adds up the squares of the `n` numbers in `x`. How many cycles does it take? Write
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


# %% exercise=4
def cycles(n):
    """Return how many cycles the program above takes for a list of n numbers."""
    ### BEGIN SOLUTION
    once = 4 + 1 + 1 + 4 + 1  # LOAD, SET, SET; STORE, HALT
    test = 1 + 1  # CMP, JZ: once more than there are numbers
    body = 4 + 1 + 1 + 1 + 1  # LOAD, MUL, ADD, ADD, JUMP
    return once + (n + 1) * test + n * body
    ### END SOLUTION


# %% check=4 points=3
check.exercise_4(cycles)

# %% [markdown]
# ## Exercise 5: a dot product on many lanes (4 points)
#
# The dot product of two lists `x` and `w` of `n` numbers is `x[0] * w[0] + x[1] * w[1] + ...`.
# Write a program that computes it on several lanes. Each lane adds up some of the products and
# stores its sum in `part[LANE]`; the sum of all parts is the dot product.
#
# Your program has to work for any number of lanes and for any `n`, even if `n` is smaller than the
# number of lanes, or not a multiple of it. A lane without products stores 0. All lanes should have
# about the same amount of work: up to `n` lanes, twice as many lanes take about half the cycles.
#
# Every lane can read two more registers: `LANE` is the number of the lane, 0 for the first one, and
# `LANES` is how many lanes there are. To try your program:
#
# ```python
# SmallComputer(dot_product(), lanes=2, x=[1, 2, 3], w=[4, 5, 6], n=3, part=[0, 0]).trace()
# ```


# %% exercise=5
def dot_product():
    """Return a program whose lanes store the parts of the dot product of x and w in `part`."""
    ### BEGIN SOLUTION
    return """
            LOAD  B, n
            SET   A, 0
            SET   I, LANE
    next:   CMP   I, B
            JNN   done
            LOAD  C, x[I]
            LOAD  D, w[I]
            MUL   C, D
            ADD   A, C
            ADD   I, LANES
            JUMP  next
    done:   STORE A, part[LANE]
            HALT
    """
    ### END SOLUTION


# %% check=5 points=4
check.exercise_5(dot_product)

# %% [markdown]
# ## Exercise 6: avoid divergence (2 points)
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


# %% exercise=6
def groups(x):
    """Return two lists with four of the eight numbers each, for the fewest cycles."""
    ### BEGIN SOLUTION
    by_sign = sorted(x)
    return by_sign[:4], by_sign[4:]
    ### END SOLUTION


# %% check=6 points=2
check.exercise_6(groups)
