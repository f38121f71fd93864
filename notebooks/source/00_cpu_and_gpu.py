# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: What a CPU does, and what a GPU does differently
#     promise: You watch a small computer execute ReLU instruction by instruction, give it more
#       lanes, and measure on your own machine how fast ReLU and matrix products are.
#     minutes: 60
#     objectives:
#       - name the parts of a processor and the categories of its instructions
#       - count what a program costs, in instructions and in cycles
#       - explain when many lanes under one control unit are fast, and when they are not
#       - explain what 3D graphics and neural networks have in common
#       - read the output of nvidia-smi, and find out why torch does not see a GPU
#     prerequisites:
#       - Python, a little PyTorch, and what a matrix product is
#       - no GPU is needed
#     credits:
#       - "The stored program: J. von Neumann, *First Draft of a Report on the EDVAC*, 1945."
#       - "Warps and their program counters: NVIDIA, *CUDA Programming Guide*, chapter
#         [Advanced Kernel Programming](https://docs.nvidia.com/cuda/cuda-programming-guide/03-advanced/advanced-kernel-programming.html)."
#       - "How diverging lanes meet again: C. Collange, *Stack-less SIMT reconvergence at low
#         cost*, [HAL hal-00622654](https://hal.science/hal-00622654), 2011."
#       - "GPGPU: [gpgpu.org, November 2007](http://gpgpu.org/2007/11/15/gpgpuorg-is-5-years-old)."
#       - "A network on a graphics card: K.-S. Oh, K. Jung, *GPU implementation of neural networks*,
#         Pattern Recognition 37, 2004,
#         [doi 10.1016/j.patcog.2004.01.013](https://doi.org/10.1016/j.patcog.2004.01.013)."
#       - "Networks on GPUs: R. Raina, A. Madhavan, A. Y. Ng, *Large-scale deep unsupervised
#         learning using graphics processors*, ICML 2009,
#         [doi 10.1145/1553374.1553486](https://doi.org/10.1145/1553374.1553486)."
#       - "A comparison with both sides optimized: V. W. Lee and others, *Debunking the 100X GPU
#         vs. CPU myth*, ISCA 2010, [doi 10.1145/1816038.1816021](https://doi.org/10.1145/1816038.1816021)."
#       - "A processor for networks: N. P. Jouppi and others, *In-datacenter performance analysis of
#         a Tensor Processing Unit*, ISCA 2017."
# ---

# %%
import shutil
import subprocess
import time
import timeit
from functools import partial

import torch

from helpers import lesson
from helpers.devices import describe_device
from helpers.plots import hardware
from helpers.plots import small_computer as figures
from helpers.small_computer import INSTRUCTION_SET, ProgramError, SmallComputer

# %% tags=["parameters"]
seed: int = 0  # seed of the random numbers that are timed at the end
largest: int = 2048  # rows and columns of the largest matrix that is timed: 32 to 4096

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed)

# %% [markdown]
# ## A computer you can watch (6 minutes)
#
# The **CPU** (central processing unit) runs your browser, your word processor, and this notebook:
# it is built for any program. The **GPU** (graphics processing unit) was built to draw pictures,
# and today it also trains neural networks. To see the difference, start with a processor that is
# simple enough to watch.
#
# It has the **von Neumann architecture**, which John von Neumann described in 1945 and which
# ordinary computers still have:
#
# - **Memory**: numbered cells that hold the data *and* the program.
# - **Control unit**: fetches one instruction after another and tells the other parts what to do.
# - **ALU** (arithmetic logic unit): adds, multiplies, compares, and works on bits.
# - **Registers**: places for a few numbers inside the processor, 0 at the start. A program uses the
#   *visible* ones by name (here A to E and I to K). *Internal* ones serve the control unit: the
#   **program counter** holds the number of the next cell to fetch, and the **flags** say whether
#   the last result of the ALU was negative (N) or zero (Z).
# - **Input and output**: keyboard, screen, disk, network.

# %%
hardware.draw_computer()

# %% [markdown]
# The instructions that a processor understands are its **instruction set**: data movement,
# arithmetic, logic, control flow, and input/output. Below, a *value* is a number or a register;
# data in memory must first be loaded into a register. The ALU executes arithmetic, logic, and
# special instructions, and only these set the flags: `LOAD` and `SET` do not. The last two rows are
# special instructions: our computer has them only if you ask for them with `special=`.
#
# Processors of different designs can have the same instruction set. Intel's Pentium and AMD's
# Athlon ran the same x86 programs with different circuits, at different speeds.
#
# A **cycle** is one tick of the processor's clock. In this model, memory and output take four
# cycles, and everything else takes one; on real machines, an access to main memory takes hundreds
# of cycles.

# %%
INSTRUCTION_SET

# %% [markdown]
# ## What the ALU computes (3 minutes)
#
# An ALU works on bits. Negative numbers are in **two's complement**: flip all bits of the number,
# then add 1. The same circuit then adds positive and negative numbers. These are the lowest 8 bits
# of some numbers:


# %%
def bits(number):
    return format(number & 0b11111111, "08b")


{number: bits(number) for number in (5, 1, 0, -1, -5)}

# %% [markdown]
# The **logic** instructions combine two numbers bit by bit, and the **shift** instructions move all
# bits to the left or to the right.

# %%
a, b = 0b1100, 0b1010
{
    "AND": bits(a & b),
    "OR": bits(a | b),
    "XOR": bits(a ^ b),
    "NOT a": bits(~a),
    "a << 2": bits(a << 2),
}

# %% [markdown]
# This program sends three numbers to the screen:

# %%
bit_tricks = """
        LOAD  A, x      ; copy the cell x to register A
        AND   A, 1
        OUT   A
        LOAD  A, x
        SHL   A, 3
        OUT   A
        LOAD  A, x
        NOT   A
        ADD   A, 1
        OUT   A
        HALT
"""

# %% [markdown]
# **Think first.** Which three numbers does it send for x = 13?
#
# <details><summary>Answer</summary>
#
# 1, 104, and -13. `AND A, 1` keeps the lowest bit, which is 1 for an odd number. A shift to the
# left by 3 multiplies by 2 · 2 · 2 = 8. `NOT` and `ADD A, 1` make the two's complement.
#
# </details>

# %%
computer = SmallComputer(bit_tricks, x=13)
computer.run()
computer.output

# %% [markdown]
# ## ReLU, one instruction at a time (7 minutes)
#
# Nearly every network in this course applies **ReLU**: negative numbers become 0, all others stay
# as they are. In Python that is `max(x, 0)`. The instruction set has no instruction for the
# maximum, so the program compares with 0, and jumps over `SET` unless the number is negative.
# `keep:` is a **label**, a name for a cell; a comment follows `;`.

# %%
relu = """
        LOAD  A, x
        CMP   A, 0      ; the ALU computes A - 0 and sets its flags
        JNN   keep      ; if not negative, jump to keep
        SET   A, 0      ; negative: replace it with 0
keep:   STORE A, y      ; copy register A to the cell y
        HALT
"""
computer = SmallComputer(relu, x=-3, y=7)
computer

# %% [markdown]
# **Think first.** After two steps, what are the flags N and Z?
#
# <details><summary>Answer</summary>
#
# -3 - 0 is negative and not zero, so N is 1 and Z is 0. Register A does not change: `CMP` is a
# subtraction that keeps only the flags.
#
# </details>

# %%
computer.step()

# %%
computer.step()

# %% [markdown]
# Each step has the same parts: **fetch** the instruction at the program counter, advance the
# counter, **decode** the instruction, and **execute** it, in one or more cycles. Run the rest:

# %%
computer.trace()

# %% [markdown]
# **Think first.** For x = 5, how many steps does the program take, and which line does it skip?
#
# <details><summary>Answer</summary>
#
# Five steps instead of six. N is 0, so `JNN` sets the program counter to cell 4, and `SET A, 0` is
# never fetched. Every `if` works like this: a comparison sets flags, and a jump reads them.
#
# </details>

# %%
SmallComputer(relu, x=5, y=7).trace()

# %% [markdown]
# If you change the program or `x`, run the cells again from the one that builds the computer. If
# the computer cannot understand a program, it says why (line 1 is the empty one):

# %%
try:
    SmallComputer(relu.replace("STORE", "STOER"), x=-3, y=7)
except ProgramError as error:
    print(error)

# %% [markdown]
# **Your turn.** The program in the next cell doubles x. Change it so that y becomes 0 for x = 0,
# and 1 for any other x. How many steps does it take for each?
#
# <details><summary>Answer</summary>
#
# `LOAD A, x`, `CMP A, 0`, `JZ keep`, `SET A, 1`, `keep: STORE A, y`, `HALT`: five steps for 0, and
# six for any other x.
#
# </details>

# %%
yours = """
        LOAD  A, x
        ADD   A, A
        STORE A, y
        HALT
"""
SmallComputer(yours, x=-3, y=7).trace()

# %% [markdown]
# ## An instruction made for the task (5 minutes)
#
# A chip designer can build a circuit for ReLU: one instruction, `RELU A`, replaces three.

# %%
relu_wired = """
        LOAD  A, x
        RELU  A         ; replaces CMP, JNN and SET
        STORE A, y
        HALT
"""

# %% [markdown]
# **Think first.** Is the program then twice as fast?
#
# <details><summary>Answer</summary>
#
# No. It needs four instructions instead of six, but 10 cycles instead of 12: eight of them move
# data to and from memory, and RELU does not change that.
#
# </details>

# %%
costs = {
    "compare and jump, x = -3": SmallComputer(relu, x=-3, y=7).run(),
    "compare and jump, x = 5": SmallComputer(relu, x=5, y=7).run(),
    "RELU, any x": SmallComputer(relu_wired, special=["RELU"], x=-3, y=7).run(),
}
figures.plot_categories(costs, title="One RELU replaces a comparison, a jump, and a SET")

# %%
{name: f"{cost.cycles} cycles" for name, cost in costs.items()}

# %% [markdown]
# Real chips have such instructions. `MAXPS` on x86 computes the maximum of 4 pairs of numbers at a
# time; its newer forms do so for 8 or 16. Google's TPU (tensor processing unit) has a unit for
# activation functions such as ReLU next to 65,536 multipliers for matrices (Jouppi and others,
# 2017). Such circuits take space on the chip that other programs never use.
#
# ### General purpose, special purpose
#
# Networks have the same trade-off. A **multilayer perceptron** (MLP) with enough hidden units can
# approximate any continuous function on a closed, bounded region, as a CPU can run any program. A
# **convolutional network** (CNN) is made for images: it looks at small windows and uses the same
# weights in all of them.
#
# **Think first.** A layer turns a 32 x 32 color image into 6 feature maps of 28 x 28. How many
# parameters does a fully connected layer need, and how many a convolution with 5 x 5 windows?
#
# <details><summary>Answer</summary>
#
# 14 million against 456. (`device="meta"` in the next cell creates layers without numbers in them,
# which is enough to count. Lesson 01 explains devices.)
#
# </details>

# %%
fully_connected = torch.nn.Linear(3 * 32 * 32, 6 * 28 * 28, device="meta")
convolution = torch.nn.Conv2d(3, 6, kernel_size=5, device="meta")
{
    "fully connected": f"{sum(p.numel() for p in fully_connected.parameters()):,}",
    "convolution": f"{sum(p.numel() for p in convolution.parameters()):,}",
}

# %% [markdown]
# | design | fits any task | made for one kind of task |
# |---|---|---|
# | network | MLP: a weight for each input and output | CNN: all windows share weights |
# | processor | CPU: few strong cores, large control units | GPU: many ALUs, few control units |
#
# A GPU does not have a powerful control unit for every few ALUs. Most programs need one, but
# matrix products do not.

# %% [markdown]
# ## Many lanes, one control unit (9 minutes)
#
# A layer applies ReLU to thousands of numbers. Start with a loop, on the same computer. Register
# `I` counts, `D` holds n, and `x[I]` is cell number I of the block `x`; the first is number 0. Two
# more registers, explained below, have fixed values here: `LANE` is 0, and `LANES` is 1.

# %%
relu_all = """
        SET   I, LANE       ; start at number LANE
        LOAD  D, n
next:   CMP   I, D          ; any numbers left?
        JNN   done
        LOAD  A, x[I]
        CMP   A, 0
        JNN   keep
        SET   A, 0
keep:   STORE A, y[I]
        ADD   I, LANES      ; advance by LANES numbers
        JUMP  next
done:   HALT
"""
xs = [(7 * i) % 19 - 9 for i in range(1000)]
SmallComputer(relu_all, x=xs, y=[0] * 1000, n=1000).run()

# %% [markdown]
# That is about 8.5 instructions per number, each fetched for one number only.
#
# So keep one control unit, and give it 8 **lanes**: 8 ALUs, each with its own registers and flags.
# An instruction is fetched once, and all lanes execute it together. `LANE` is now the lane's own
# number, 0 to 7, and `LANES` is 8, so the same `LOAD A, x[I]` loads eight different numbers.
#
# **Think first.** How many cycles do the 1,000 numbers take with 8 lanes?
#
# <details><summary>Answer</summary>
#
# About an eighth, with *the same program*: it does not say how many lanes there are.
#
# </details>

# %%
SmallComputer(relu_all, lanes=8, x=xs, y=[0] * 1000, n=1000).run()

# %% [markdown]
# Not all lanes are busy: `SET A, 0` is fetched as soon as *one* of eight numbers is negative, and
# the other lanes wait.
#
# Now use every power of two up to 1,024 lanes, with and without RELU. A third computer also has
# RELU, but its memory delivers at most 8 numbers at a time (`memory_width=8`): a `LOAD` in 16 lanes
# takes 8 cycles instead of 4. A cell that several lanes read counts once.


# %%
relu_all_wired = relu_all.replace("CMP   A, 0", "RELU  A")
relu_all_wired = relu_all_wired.replace("JNN   keep", "").replace("SET   A, 0", "")


def cycles(program, lanes, **options):
    computer = SmallComputer(program, lanes=lanes, x=xs, y=[0] * 1000, n=1000, **options)
    return computer.run().cycles


# %%
lanes = [2**k for k in range(11)]
wired = {"special": ["RELU"]}
narrow = {"special": ["RELU"], "memory_width": 8}
counted = {
    "compare and jump": [cycles(relu_all, n) for n in lanes],
    "RELU": [cycles(relu_all_wired, n, **wired) for n in lanes],
    "RELU, 8 numbers at a time": [cycles(relu_all_wired, n, **narrow) for n in lanes],
}
figures.plot_cycles(lanes, counted, title="Lanes divide the time until memory is the limit")

# %% [markdown]
# - With twice the lanes, a program takes about half the cycles, until every number has its own
#   lane.
# - RELU saves 9 to 13 % of the cycles, with any number of lanes.
# - The third line bends at 8 lanes and approaches 1,000 cycles: 2,000 numbers are loaded or stored,
#   8 at a time, in 250 accesses of 4 cycles each. A computation with *more work per number*, such
#   as the matrix product below, is less limited by memory.
#
# ### When lanes diverge
#
# One control unit fetches one instruction, but `JNN keep` jumps in some lanes and not in others.
# Here are four lanes with the numbers 3, -1, 4 and -5. A filled dot is an active lane; look at step
# 8.

# %%
SmallComputer(relu_all, lanes=4, x=[3, -1, 4, -5], y=[0] * 4, n=4).trace()

# %% [markdown]
# This is called **divergence**: the control unit executes one path after the other, and each lane
# waits during the paths that are not its own. The next program counts in a loop how often a number
# can be halved. Seven lanes get small numbers, and lane 6 gets 1,000.

# %%
halvings = """
        LOAD  A, x[LANE]
again:  CMP   A, 2
        JN    done
        DIV   A, 2
        ADD   C, 1      ; C is 0 at the start
        JUMP  again
done:   STORE C, y[LANE]
        HALT
"""
computer = SmallComputer(halvings, lanes=8, x=[1, 1, 2, 1, 3, 1, 1000, 1], y=[0] * 8)
figures.plot_lanes(computer.trace(), title="One slow lane makes seven wait")

# %% [markdown]
# A **thread** is one execution of a program, in one lane, with its own data. NVIDIA's GPUs execute
# threads in groups of 32, called **warps**. A warp executes one common instruction at a time. Since
# Volta (2017), each thread has its own program counter, which lets the paths take turns, but
# threads on different paths still wait for each other. Code for GPUs therefore avoids branches in
# which the threads of one warp take different paths.

# %% [markdown]
# ## From 3D graphics to networks (6 minutes)
#
# Chips with many lanes were first built for games. A 3D scene is a list of points, and rotating it
# multiplies every point by the same small matrix. This is a cube, and the same cube rotated:

# %%
cube = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)  # 8 corners, 3 coordinates each
angle = torch.tensor(0.6)
cos, sin = angle.cos().item(), angle.sin().item()
rotation = torch.tensor([[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]])
rotated = cube @ rotation
hardware.draw_cubes(
    {"cube": cube, "cube @ rotation": rotated}, title="A rotation is a matrix product"
)

# %% [markdown]
# **Lighting**: a face is bright if it faces the light. Its brightness is the dot product of two
# vectors, its normal (the direction it faces) and the direction of the light. If the product is
# negative, the face is turned away and gets 0.

# %%
normals = torch.cat([torch.eye(3), -torch.eye(3)]) @ rotation  # 6 faces
light = torch.tensor([0.6, 0.64, 0.48])
torch.relu(normals @ light)

# %% [markdown]
# The last line is also a **layer of a neural network** without its bias: `torch.relu(x @ w)`.
# **Textures** are similar: the color of a pixel is a weighted sum of the nearest points of an
# image, as in a convolution. Millions of points and pixels run the same short program, and none
# needs the result of another. So graphics chips got many lanes, and networks can use them.
#
# ### How graphics cards came to train networks
#
# Early graphics chips computed colors with fixed-point numbers, usually 8 bits per color channel:
# too coarse for science.
#
# - **2002**: ATI's Radeon 9700 computes pixels in **floating point**. Mark Harris starts a web page
#   about **GPGPU**, *general-purpose computation on GPUs*.
# - **2004**: Oh and Jung express a neural network's matrix products as graphics operations of a
#   Radeon 9700 Pro, and make their program 20 times faster.
# - **2007**: NVIDIA releases **CUDA** (Compute Unified Device Architecture): a compiler, libraries,
#   and tools to program its GPUs without graphics. C and C++ came first; wrappers exist for Python,
#   Fortran, Java, Julia, and more. PyTorch calls CUDA for you.
# - **2009**: Raina, Madhavan and Ng train large deep belief networks on a GPU, **up to 70 times
#   faster** than on a dual-core CPU.
# - **2010**: Lee and others optimize both the CPU and the GPU version of each program. On average,
#   the GPU is 2.5 times faster.
# - **2012**: Krizhevsky, Sutskever and Hinton win the ImageNet challenge with a CNN trained on two
#   gaming GPUs.
# - **2017**: NVIDIA's V100 has *tensor cores*, which multiply small matrices in one operation.
#
# Both 70 and 2.5 were measured, but with different programs and with differently optimized CPU
# versions. Whenever you read a speedup, ask: compared with what?

# %% [markdown]
# ## A matrix product splits into independent cells (6 minutes)
#
# A network mostly computes matrix products. Cell (i, j) of `x @ w` is the dot product of row i of
# `x` and column j of `w`.

# %%
hardware.draw_matrix_product()

# %% [markdown]
# No cell needs another cell of the result, so the order does not matter. This loop computes the
# cells in random order:

# %%
x = torch.arange(16).reshape(4, 4)
w = torch.arange(16).reshape(4, 4) - 5
product = torch.zeros_like(x)
for number in torch.randperm(16).tolist():
    i, j = divmod(number, 4)
    product[i, j] = x[i] @ w[:, j]
product

# %% [markdown]
# That is `x @ w`. On the small computer, each cell of the product gets its own lane. `MAC`
# (multiply and accumulate) is the other special instruction; chips for networks are built around
# it. Memory holds a matrix row after row. SIZE and CELLS are not registers: the function `multiply`
# below replaces them with n and n².

# %%
matmul = """
        SET   J, LANE
        DIV   J, SIZE
        MUL   J, SIZE       ; J: start of this lane's row in x
        SET   K, LANE
        MOD   K, SIZE       ; K: start of its column in w
term:   LOAD  A, x[J]
        LOAD  B, w[K]
        MAC   C, A, B       ; C, which is 0 at the start, becomes C + A * B
        ADD   J, 1          ; the next number of the row
        ADD   K, SIZE       ; the next number of the column
        CMP   K, CELLS      ; below the last row of w?
        JN    term
        STORE C, y[LANE]
        HALT
"""


# %%
def multiply(x, w):
    size = len(x)
    program = matmul.replace("SIZE", str(size)).replace("CELLS", str(size**2))
    return SmallComputer(program, lanes=size**2, special=["MAC"], x=x, w=w, y=[0] * size**2)


computer = multiply(x, w)
computer.run()
torch.tensor(computer["y"]).reshape(4, 4)

# %% [markdown]
# **Think first.** From 4 x 4 to 8 x 8, the multiplications grow by a factor of 8, from 64 to 512.
# By what factor do the cycles grow if every cell has its own lane?
#
# <details><summary>Answer</summary>
#
# By about 2: the cycles follow the length of a row, not the number of cells.
#
# </details>

# %%
ones = {n: torch.ones(n, n, dtype=torch.int64) for n in (2, 4, 8, 16)}
{f"{n} x {n}": f"{n**3} MACs, {multiply(ones[n], ones[n]).run().cycles} cycles" for n in ones}

# %% [markdown]
# And memory? Each number of `x` and `w` is used in n cells of the product. If memory sends it once
# to all the lanes that need it, n² numbers of `x`, n² of `w`, and n² results are moved, for n³
# multiplications and n³ additions. The number of operations per number moved is called the
# **arithmetic intensity** (usually given per byte).

# %%
intensity = {f"matrix product, {n} x {n}": 2 * n**3 / (3 * n**2) for n in (8, 64, 1024)}
{"ReLU": 0.5} | {name: round(value, 1) for name, value in intensity.items()}

# %% [markdown]
# ReLU reads one number and writes one for a single operation: 0.5 for any size. The intensity of a
# matrix product grows with its size, as long as the numbers stay in fast memory close to the lanes,
# which GPUs have.

# %% [markdown]
# ## CPU and GPU (4 minutes)
#
# A **CPU** has a few strong cores. Each has a large control unit that predicts jumps and reorders
# instructions, and a large **cache**, fast memory for what was used last. A **GPU** has thousands
# of simple lanes, with a small control unit for every 16 or 32 of them.

# %%
hardware.draw_processors()

# %% [markdown]
# | on the small computer | on a CPU | on an NVIDIA GPU |
# |---|---|---|
# | lane | element of a vector register | *CUDA core*, which executes a *thread* |
# | lanes under one control unit | vector instruction | *warp*: 32 threads |
# | whole processor | core | *streaming multiprocessor* (SM), with many warps |
# | program | function | *kernel* (not related to the kernel of this notebook) |
# | waiting lanes | elements that are switched off | diverging threads |
#
# Laptop CPUs have about 4 to 24 cores, and AMD's EPYC 9965 for servers has 192. The T4, a GPU that
# Colab lends, has 40 SMs with 64 lanes each, 2,560 in all; an H100 (SXM) has 132 SMs with 128 lanes
# each, 16,896. A T4 has 16 lanes per control unit, so an instruction takes two cycles for a warp. A
# CPU core is much faster than one of these lanes, so a GPU needs work for thousands of lanes.

# %% [markdown]
# ## What this machine has (6 minutes)
#
# Before torch computes on a GPU, four things must fit together: a **GPU**; its **driver**, the
# software from its manufacturer that controls it; a **build of torch** for GPUs, which includes
# CUDA's libraries; and a program that asks for the GPU. NVIDIA's driver includes a command,
# `nvidia-smi`. On this machine, it prints:


# %% tags=["nbval-ignore-output"]
def ask_driver():
    if shutil.which("nvidia-smi") is None:
        return "There is no nvidia-smi here: probably there is no NVIDIA driver."
    answer = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=60)
    return answer.stdout or answer.stderr


print(ask_driver())

# %% [markdown]
# If there is no GPU here, read this output from a T4 in Colab on June 17, 2026, right after a
# network was trained (published in chapter 16 of
# [neuqes-101](https://github.com/yoon-gu/neuqes-101)).
#
# ```text
# +-----------------------------------------------------------------------------------------+
# | NVIDIA-SMI 580.82.07              Driver Version: 580.82.07      CUDA Version: 13.0     |
# +-----------------------------------------+------------------------+----------------------+
# | GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
# | Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
# |                                         |                        |               MIG M. |
# |=========================================+========================+======================|
# |   0  Tesla T4                       Off |   00000000:00:04.0 Off |                    0 |
# | N/A   61C    P0             38W /   70W |    2195MiB /  15360MiB |     61%      Default |
# |                                         |                        |                  N/A |
# +-----------------------------------------+------------------------+----------------------+
#
# +-----------------------------------------------------------------------------------------+
# | Processes:                                                                              |
# |  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
# |        ID   ID                                                               Usage      |
# |=========================================================================================|
# |    0   N/A  N/A            1401      C   /usr/bin/python3                       2192MiB |
# +-----------------------------------------------------------------------------------------+
# ```
#
# | where | what it says |
# |---|---|
# | `Driver Version` | the installed driver |
# | `CUDA Version` | the newest CUDA that this driver supports, not what is installed |
# | `0  Tesla T4` | GPU number 0 and its name; if it is the only GPU, torch calls it `cuda:0` |
# | `61C`, `P0` | temperature, and performance state; P0 is the fastest |
# | `38W / 70W` | power in use, and the limit |
# | `2195MiB / 15360MiB` | memory in use, and in total; 1 MiB is 2^20 bytes, and 1 MB is 10^6 |
# | `61%` (`GPU-Util`) | part of the last sample (up to 1 second) in which a kernel was running |
# | `0` (`Volatile Uncorr. ECC`) | uncorrected memory errors since the driver was loaded |
# | last line | process ID, `C` for *compute*, and its memory |
#
# **Think first.**
#
# 1. How much memory is free?
# 2. Can this driver run a torch built for CUDA 13.0?
# 3. Does 61 % mean that 61 % of the lanes are busy?
#
# <details><summary>Answers</summary>
#
# 1. At most 15360 - 2195 = 13,165 MiB, about 12.9 GiB. The driver reserves a part of the total.
# 2. Yes, and builds for older versions of CUDA too. Builds for a later 13.x usually run as well.
# 3. No: one small kernel after another also shows 100 %, even if each uses only a few lanes.
#
# </details>
#
# Then ask torch. `torch.version.cuda` is the CUDA that torch was *built* for, and says nothing
# about this machine; it is `None` if torch was built for CPUs, AMD, or Apple.
# `torch.cuda.is_available()` is about NVIDIA's and AMD's GPUs; `torch.accelerator.is_available()`
# also finds those of Apple, Intel, and others.

# %% tags=["nbval-ignore-output"]
{
    "torch": torch.__version__,
    "torch.version.cuda": torch.version.cuda,
    "torch.cuda.is_available()": torch.cuda.is_available(),
    "torch.accelerator.is_available()": torch.accelerator.is_available(),
    "GPUs that torch can use": torch.accelerator.device_count(),
}

# %% [markdown]
# | `nvidia-smi` | `torch.version.cuda` | `torch.cuda.is_available()` | what to do |
# |---|---|---|---|
# | shows a GPU | a version | `True` | nothing if `torch.ones(1, device="cuda") + 1` works |
# | shows a GPU | `None` | `False` | install a build of torch for CUDA |
# | shows a GPU | a version | `False` | update the driver, or install a build for an older CUDA |
# | shows an error | any | `False` | restart the computer, or reinstall the driver |
# | is missing | any | `False` | no NVIDIA GPU, or no driver: this lesson measures the CPU |
#
# The page [Help](../docs/help.md) says how to check each of them and how to reinstall torch. Builds
# for CUDA 13 need a GPU of the Turing generation (2018, for example the T4) or newer. With an older
# one, the first operation fails with `no kernel image is available`: install a build for CUDA 12.6
# (the builds for CUDA 12.8 do not support these GPUs either).
# In Colab, *Runtime > Change runtime type > T4 GPU* gives you a GPU. You do not need one: the next
# three lessons use a simulated GPU.

# %% tags=["nbval-ignore-output"]
lanes_here = {
    "device": describe_device(device),
    "CPU threads that torch uses": torch.get_num_threads(),
    "CPU vector instructions": torch.backends.cpu.get_cpu_capability(),
}
if device.type == "cuda":
    properties = torch.cuda.get_device_properties(device)
    lanes_here["GPU multiprocessors"] = properties.multi_processor_count
    lanes_here["threads in a warp"] = properties.warp_size
    lanes_here["GPU memory"] = f"{properties.total_memory / 2**30:.0f} GiB"
lanes_here

# %% [markdown]
# `AVX2` means 8 numbers of 32 bits at a time, and `AVX512` means 16. `DEFAULT` is torch's baseline;
# on 64-bit ARM chips, such as Apple's, torch then uses NEON instructions with 4. Your CPU has
# lanes, too. A *CPU thread*, unlike a thread of a GPU, executes its instructions independently of
# other threads.

# %% [markdown]
# ## Measure it (7 minutes)
#
# From here on, everything runs on real hardware. The title of each figure names the machine on
# which the times were measured.
#
# A GPU accepts work and lets Python continue at once, so a stopwatch must `synchronize`: wait until
# the GPU has finished. Each run repeats short work, and the *fastest* of five runs counts, because
# other programs only add time.


# %%
all_threads = torch.get_num_threads()
cpu_threads = {"1 CPU thread": 1}
if all_threads > 1:
    cpu_threads[f"all CPU threads ({all_threads})"] = all_threads


def clock():
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter()


def seconds(work, threads=1):
    torch.set_num_threads(threads)
    try:
        stopwatch = timeit.Timer(work, timer=clock)
        stopwatch.timeit(1)  # the first run is slower: it sets things up
        repeats = max(1, int(0.05 / stopwatch.timeit(1)))
        return min(stopwatch.repeat(5, repeats)) / repeats
    finally:
        torch.set_num_threads(all_threads)


# %% [markdown]
# **Think first.** ReLU of a million numbers: a Python loop, torch with one CPU thread, with all CPU
# threads, and on the GPU if there is one. By what factor do the slowest and the fastest differ?

# %%
x = torch.randn(1_000_000)
values = x.tolist()
relu_times = {"Python loop": seconds(lambda: [max(v, 0.0) for v in values])}
for name, threads in cpu_threads.items():
    relu_times[name] = seconds(lambda: torch.relu(x), threads)
if device.type != "cpu":
    x_on_gpu = x.to(device)
    relu_times[str(device)] = seconds(lambda: torch.relu(x_on_gpu))
factor = relu_times["Python loop"] / min(relu_times.values())
hardware.plot_times(
    relu_times,
    title=f"ReLU of a million numbers: the fastest way is {factor:,.0f} times faster than a loop\n"
    f"on {describe_device(device)}",
)

# %% [markdown]
# For each number, Python's interpreter executes many instructions to find out what `max(v, 0.0)`
# means; torch finds it out once, and then uses the lanes.
#
# ### Does ReLU wait for memory?
#
# If it does, its speed depends on the size: small tensors stay in the CPU's cache, and large ones
# come from main memory. `torch.clamp` with `min=0` is ReLU, and accepts `out=`, which reuses the
# memory of the result.

# %%
lengths = [2**k for k in range(12, 26)]


def billions_per_second(length):
    x, y = torch.randn(length), torch.empty(length)
    return length / seconds(lambda: torch.clamp(x, min=0, out=y)) / 1e9


relu_speeds = [billions_per_second(length) for length in lengths]
hardware.plot_relu(
    lengths,
    relu_speeds,
    title=f"ReLU on one CPU thread: {max(relu_speeds):.1f} billion numbers/s at best, "
    f"{relu_speeds[-1]:.1f} for the largest tensor\non {describe_device(torch.device('cpu'))}",
)

# %% [markdown]
# The work per number is the same at every point. On the left, few numbers share the fixed cost of a
# call. Where your line falls, on the right, the tensors no longer fit into a cache, and the lanes
# wait for memory.
#
# ### Small matrices are slow
#
# Speed is often given in **GFLOP/s**, billions of floating-point operations per second. A product
# of two n x n matrices takes 2n³ of them.
#
# **Think first.** Does a product of large matrices run at the same GFLOP/s as one of small
# matrices?

# %%
sizes = [size for size in (32, 64, 128, 256, 512, 1024, 2048, 4096) if size <= largest]


def speeds(on_device, threads):
    matrices = [torch.randn(size, size, device=on_device) for size in sizes]
    times = [seconds(partial(torch.matmul, m, m), threads) for m in matrices]
    return [2 * n**3 / taken / 1e9 for n, taken in zip(sizes, times, strict=True)]


gflops = {name: speeds("cpu", threads) for name, threads in cpu_threads.items()}
if device.type != "cpu":
    gflops[str(device)] = speeds(device, 1)
best = max(gflops, key=lambda name: max(gflops[name]))
hardware.plot_speeds(
    sizes,
    gflops,
    title=f"Up to {max(gflops[best]):,.0f} GFLOP/s, with {best}\non {describe_device(device)}",
)

# %% [markdown]
# A small product is slow because starting it takes longer than the work itself. Distributing it to
# several threads takes additional time, so more threads can even be slower. (If torch uses one
# thread here, there is only one CPU line.) A GPU has the most lanes to fill, and starting work on
# it takes longest, so it needs the largest matrices. Run this notebook once on a GPU and compare:
# NVIDIA's data sheet gives a T4 a peak of 8,100 GFLOP/s in 32-bit floating point (not measured
# here).
#
# Now compare ReLU of the largest tensor with the largest product, both on one CPU thread:

# %% tags=["nbval-ignore-output"]
relu_speed, product_speed = relu_speeds[-1], gflops["1 CPU thread"][-1]
lesson.report(relu_speed=round(relu_speed, 2), product_speed=round(product_speed, 2))
f"ReLU: {relu_speed:.1f}, matrix product: {product_speed:.1f} billion operations per second"

# %% [markdown]
# The core and its lanes are the same, but the matrix product does many operations for each number
# that it moves, and ReLU does one operation for every two numbers.

# %% [markdown]
# ## Summary
#
# - A processor fetches, decodes, and executes one instruction after another, from the memory that
#   also holds the data.
# - A special instruction such as RELU saves work for one kind of program.
# - Lanes under one control unit divide the time by their number, if they take the same path, if
#   there is work for all of them, and if memory is fast enough.
# - 3D graphics and networks multiply many vectors by the same matrices. The cells of a matrix
#   product are independent, and larger products do more operations per number.
# - If torch finds no GPU, check the card, the driver (`nvidia-smi`), and the build of torch, in
#   that order.
#
# The [glossary](../docs/glossary.md) explains the terms of this course.
#
# **To try:**
#
# 1. Which special instruction would make `halvings` faster?
# 2. Sort `xs` and run `relu_all` on it with 8 lanes. Why does it take fewer cycles?
# 3. Build the computer in `multiply` with `memory_width=4`. How many cycles do 16 x 16 matrices
#    take now, and what would help?
#
# <details><summary>Answers</summary>
#
# 1. One that finds the highest 1 bit of a number, such as `BSR` on x86.
# 2. More groups of eight have no negative number, and then all lanes skip `SET A, 0`.
# 3. 854 instead of 218. A wider memory helps. A cache does not: each number is already read only
#    once.
#
# </details>
