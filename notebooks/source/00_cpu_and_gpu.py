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
#       lanes, and measure on your own machine why matrix products belong on a GPU.
#     minutes: 60
#     objectives:
#       - Name the parts of a processor and the categories of its instructions.
#       - Count what a program costs, in instructions and in cycles.
#       - Explain when many lanes under one control unit are fast, and when they are not.
#       - Explain what 3D graphics and neural networks have in common.
#       - Read the output of nvidia-smi, and find out why torch does not see a GPU.
#     prerequisites:
#       - Python, and what a matrix product is. It helps to have seen a convolutional network.
#       - No GPU is needed.
#     credits:
#       - "The stored program: J. von Neumann, *First Draft of a Report on the EDVAC*, 1945."
#       - "Warps and their program counters: NVIDIA, *CUDA C++ Programming Guide*,
#         [section SIMT architecture](https://docs.nvidia.com/cuda/cuda-c-programming-guide/)."
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
# The **CPU** (central processing unit) is the processor that runs your browser, your word
# processor, and this notebook. It is built to run any program. The **GPU** (graphics processing
# unit) was built to draw pictures, and today it also trains neural networks. To see the difference,
# you start with a processor that is simple enough to watch.
#
# It is a toy, but it has the parts that John von Neumann described in 1945 and that ordinary
# computers still have. This plan is called the **von Neumann architecture**:
#
# - **Memory**: numbered cells that hold the data *and* the program.
# - **Control unit**: fetches one instruction after another and tells the other parts what to do.
# - **ALU** (arithmetic logic unit): adds, multiplies, compares, and works on bits.
# - **Registers**: a few numbers inside the processor. A program uses the *visible* ones by name (A
#   to K here). *Internal* ones serve the control unit: the **program counter** holds the number of
#   the next cell to fetch, and the **flags** say whether the last result was negative (N) or zero
#   (Z).
# - **Input and output**: keyboard, screen, disk, network.

# %%
hardware.draw_computer()

# %% [markdown]
# The instructions that a processor understands are its **instruction set**: data movement,
# arithmetic, logic, control flow, and input/output. The last two rows are special instructions for
# one kind of program; our computer has them only if we ask for them.
#
# One instruction set can have several designs. Intel's Pentium and AMD's Athlon both understood
# x86, so they ran the same programs, with different circuits and at different speeds.
#
# A **cycle** is one tick of the processor's clock. In this toy, memory takes four cycles and
# arithmetic one; on real machines, main memory takes hundreds.

# %%
INSTRUCTION_SET

# %% [markdown]
# ## What the ALU computes (3 minutes)
#
# An ALU works on bits. It stores negative numbers in **two's complement**: flip all bits of the
# number, then add 1. With that code, the same circuit adds positive and negative numbers. These are
# the lowest 8 bits of some numbers:


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
# **Think first.** The next program sends three numbers to the screen with `OUT`. What are they for
# x = 13?
#
# <details><summary>Answer</summary>
#
# 1, 104, and -13. `AND A, 1` keeps the lowest bit, which is 1 for an odd number. A shift to the
# left by 3 multiplies by 2 · 2 · 2 = 8. `NOT` and `ADD A, 1` make the two's complement.
#
# </details>

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
computer = SmallComputer(bit_tricks, x=13)
computer.run()
computer.output

# %% [markdown]
# ## ReLU, one instruction at a time (7 minutes)
#
# Nearly every network in this course applies **ReLU**: negative numbers become 0, all others stay
# as they are. In Python that is `max(x, 0)`. The instruction set has no maximum, so the program
# compares with 0 and jumps over the line that sets 0 unless the number is negative. `keep:` is a
# **label**, a name for a cell of the program; a comment follows `;`.

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
# The result will replace the 7 in `y`.
#
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
# Each step is the same: **fetch** the instruction at the program counter, advance the counter,
# **decode** the instruction, and **execute** it. Run the rest:

# %%
computer.trace()

# %% [markdown]
# **Think first.** For x = 5, how many steps does the program take, and which line does it skip?
#
# <details><summary>Answer</summary>
#
# Five steps instead of six. N is 0, so `JNN` sets the program counter to cell 4, and `SET A, 0` is
# never fetched. This is how every `if` works: a comparison sets flags, and a jump reads them.
#
# </details>

# %%
SmallComputer(relu, x=5, y=7).trace()

# %% [markdown]
# Change the program or `x` and run the cells again; you cannot break anything. If the computer
# cannot understand a program, it says why:

# %%
try:
    SmallComputer(relu.replace("STORE", "STOER"), x=-3, y=7)
except ProgramError as error:
    print(error)

# %% [markdown]
# **Your turn.** This program doubles x. Make it compute the absolute value of x. Does it take as
# many steps for 3 as for -3?

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
# Suppose a chip designer knows that you compute ReLU all day, and builds a circuit for it: one
# instruction, `RELU A`, replaces three.
#
# **Think first.** Is the program then twice as fast?
#
# <details><summary>Answer</summary>
#
# No. It needs four instructions instead of six, but 10 cycles instead of 12: eight of them move
# data to and from memory, and RELU does not change that. A second gain: without a jump, the program
# takes the same path for every x.
#
# </details>

# %%
relu_wired = """
        LOAD  A, x
        RELU  A         ; replaces CMP, JNN and SET
        STORE A, y
        HALT
"""
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
# time, its newer forms of 8 or 16. Google's TPU (tensor processing unit) has a unit for activation
# functions such as ReLU next to 65,536 multipliers for matrices (Jouppi and others, 2017). Such
# circuits take space on the chip that other programs never use.
#
# ### General purpose, special purpose
#
# Networks show the same trade-off. A **multilayer perceptron** (MLP) with enough hidden units can
# approximate any continuous function, as a CPU can run any program. A **convolutional network**
# (CNN) is made for images: it looks at small windows and uses the same weights in all of them.
#
# **Think first.** A layer turns a 32 x 32 color image into 6 feature maps of 28 x 28. How many
# parameters does a fully connected layer need, and how many a convolution with 5 x 5 windows?
#
# <details><summary>Answer</summary>
#
# 14 million against 456. (`device="meta"` in the next cell creates layers without numbers in them,
# which is enough to count.)
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
# | network | MLP: each pair of numbers has its own weight | CNN: all windows share weights |
# | processor | CPU: few strong cores with large control units | GPU: many lanes that share a few |
#
# A GPU gives up what most programs need and matrix products do not: a powerful control unit for
# every few numbers.

# %% [markdown]
# ## Many lanes, one control unit (9 minutes)
#
# A layer applies ReLU to thousands of numbers. First with a loop, on the computer we have.
# Registers `I` and `D` count, and `x[I]` is cell number I of the block `x`. Two names are new:
# `LANE` is 0 and `LANES` is 1 until we build a computer with more lanes.

# %%
relu_all = """
        SET   I, LANE       ; the first number of this lane
        LOAD  D, n
next:   CMP   I, D          ; any numbers left?
        JNN   done
        LOAD  A, x[I]
        CMP   A, 0
        JNN   keep
        SET   A, 0
keep:   STORE A, y[I]
        ADD   I, LANES      ; the next number of this lane
        JUMP  next
done:   HALT
"""
xs = [(7 * i) % 19 - 9 for i in range(1000)]
SmallComputer(relu_all, x=xs, y=[0] * 1000, n=1000).run()

# %% [markdown]
# That is about 8.5 instructions per number, and half of them only drive the loop. Every instruction
# is fetched and decoded for a single number.
#
# So keep one control unit, and give it 8 **lanes**: 8 ALUs, each with its own registers and flags.
# An instruction is fetched once, and all lanes execute it together. `LANE` is a lane's own number,
# 0 to 7, so the same `LOAD A, x[I]` loads eight different numbers.
#
# **Think first.** How many cycles do the 1,000 numbers take with 8 lanes?
#
# <details><summary>Answer</summary>
#
# About an eighth, from *the same program*, because the program does not say how many lanes there
# are. "Lanes busy" is below 100 % because `SET A, 0` is fetched as soon as *one* of eight numbers
# is negative, and the other lanes wait.
#
# </details>

# %%
SmallComputer(relu_all, lanes=8, x=xs, y=[0] * 1000, n=1000).run()

# %% [markdown]
# Now every power of two up to 1,024 lanes, with and without RELU. A third computer has a memory
# that delivers at most 8 numbers at a time.


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
# - Twice the lanes, about half the cycles, until every number has its own lane.
# - RELU saves a constant share. Lanes save a factor that keeps growing.
# - The third line leaves the others after 8 lanes and becomes flat. ReLU needs memory for every
#   number, so memory sets the limit. A computation that does *more work per number it loads* is
#   less limited by memory: you will see one.
#
# ### When lanes diverge
#
# One control unit fetches one instruction, but `JNN keep` jumps in some lanes and not in others.
# Here are four lanes with the numbers 3, -1, 4 and -5. A filled dot is a lane that takes part; look
# at step 8.

# %%
SmallComputer(relu_all, lanes=4, x=[3, -1, 4, -5], y=[0] * 4, n=4).trace()

# %% [markdown]
# This is called **divergence**: the control unit executes one path after the other, and each lane
# waits during the paths that are not its own. In a loop it can cost a lot. The next program counts
# how often a number can be halved. Seven lanes get small numbers, lane 6 gets 1,000.

# %%
halvings = """
        LOAD  A, x[LANE]
again:  CMP   A, 2
        JN    done
        DIV   A, 2
        ADD   C, 1
        JUMP  again
done:   STORE C, y[LANE]
        HALT
"""
computer = SmallComputer(halvings, lanes=8, x=[1, 1, 2, 1, 3, 1, 1000, 1], y=[0] * 8)
figures.plot_lanes(computer.trace(), title="One slow lane makes seven wait")

# %% [markdown]
# NVIDIA's GPUs execute instructions for groups of 32 threads, called **warps**. A warp executes one
# common instruction at a time. Since Volta (2017), each thread has its own program counter, which
# lets the paths take turns, but threads on different paths still wait for each other (NVIDIA's CUDA
# C++ Programming Guide). Code for GPUs therefore avoids branches that depend on the data. ReLU as a
# maximum has none.

# %% [markdown]
# ## From 3D graphics to networks (6 minutes)
#
# Chips with many lanes existed before anyone trained networks on them, because of games. A 3D scene
# is a list of points, and moving, rotating, and projecting it multiplies every point by the same
# small matrix. This is a cube, and the same cube rotated:

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
# vectors, its normal (the direction it faces) and the direction of the light. For faces that are
# turned away the product is negative, and graphics replaces it with 0.

# %%
normals = torch.cat([torch.eye(3), -torch.eye(3)]) @ rotation  # 6 faces
light = torch.tensor([0.6, 0.64, 0.48])
torch.relu(normals @ light)

# %% [markdown]
# Read that line again. A matrix product followed by ReLU is a **layer of a neural network**:
# `torch.relu(x @ w)`. **Textures** are similar: the color of a pixel is a weighted sum of the
# nearest points of an image, as in a convolution. There are millions of points and pixels, each
# runs the same short program, and none needs the result of another. So chips for graphics got many
# lanes, and networks can use them.
#
# ### How graphics cards came to train networks
#
# Early graphics chips computed colors with fixed-point numbers (integers with a fixed scale),
# usually 8 bits per color channel: too coarse for science. And anyone who wanted another
# computation had to disguise it as a picture.
#
# - **2002**: ATI's Radeon 9700 computes pixels in **floating point**, and NVIDIA's GeForce FX
#   follows in 2003. Mark Harris starts a web page about **GPGPU**, *general-purpose computation on
#   GPUs*.
# - **2004**: Oh and Jung run a neural network's matrix products on a Radeon 9700 Pro, as graphics,
#   and their program becomes 20 times faster.
# - **2007**: NVIDIA releases **CUDA** (Compute Unified Device Architecture): a compiler, libraries,
#   and tools to program its GPUs without any picture. C and C++ came first; wrappers exist for
#   Python, Fortran, Java, Julia, and more. PyTorch calls CUDA for you.
# - **2009**: Raina, Madhavan and Ng train large deep belief networks on a GPU, **up to 70 times
#   faster** than on a dual-core CPU. A network with 100 million parameters takes about a day
#   instead of several weeks.
# - **2010**: Lee and others optimize both sides. Over their set of programs, the GPU is 2.5 times
#   faster on average.
# - **2012**: Krizhevsky, Sutskever and Hinton win the ImageNet challenge with a CNN trained on two
#   gaming GPUs.
# - **2017**: NVIDIA's V100 has *tensor cores*, which multiply small matrices in one operation, and
#   Google describes its TPU.
#
# 70 times or 2.5 times? Both were measured. A speedup says as much about the program it is compared
# with as about the GPU. Whenever you read one, ask: compared with what?

# %% [markdown]
# ## A matrix product splits into independent cells (6 minutes)
#
# Most of the work of a network is matrix products. Cell (i, j) of `x @ w` is the dot product of row
# i of `x` and column j of `w`.

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
# That is `x @ w`. Not everything is like that: a loop that computes a running total needs each
# entry for the next one.
#
# On the small computer, each cell of the product gets its own lane. `MAC` (multiply and accumulate)
# is the other special instruction, the one that chips for networks are built around. Memory holds a
# matrix row after row.

# %%
matmul = """
        SET   J, LANE
        DIV   J, SIZE
        MUL   J, SIZE       ; J: start of this lane's row in x
        SET   K, LANE
        MOD   K, SIZE       ; K: start of its column in w
term:   LOAD  A, x[J]
        LOAD  B, w[K]
        MAC   C, A, B       ; C becomes C + A * B
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
# And memory? Two matrices are read and one is written, 3n² numbers, for n³ multiplications and as
# many additions. The number of operations per number moved is called the **arithmetic intensity**
# (usually given per byte).

# %%
intensity = {f"matrix product, {n} x {n}": 2 * n**3 / (3 * n**2) for n in (8, 64, 1024)}
{"ReLU": 0.5} | {name: round(value, 1) for name, value in intensity.items()}

# %% [markdown]
# ReLU reads one number and writes one for a single operation: 0.5, whatever the size. The intensity
# of a matrix product grows with its size, as long as the numbers stay in fast memory close to the
# lanes. GPUs have such memory.

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
# | lanes under one control unit | vector instruction: 8 numbers with AVX2 | *warp*: 32 threads |
# | whole processor | core | *streaming multiprocessor* (SM), with many warps |
# | program | function | *kernel* (not related to the kernel of this notebook) |
# | waiting lanes | masked elements | *divergence* |
#
# How many? Laptop CPUs have about 4 to 24 cores, and AMD's EPYC for servers up to 192. The T4, a
# GPU that Colab lends, has 40 SMs with 64 lanes each, 2,560 in all; an H100 (SXM) has 132 SMs with
# 128 lanes each, 16,896. A CPU core is much faster than one of these lanes, so a GPU wins only if
# thousands of lanes have something to do.

# %% [markdown]
# ## What this machine has (6 minutes)
#
# Four layers must fit together before torch computes on a GPU: a **GPU**; its **driver**, part of
# the operating system; a **build of torch** for GPUs, which brings CUDA's libraries along; and a
# program that asks for the GPU. The driver comes with a command, `nvidia-smi`. On this machine it
# says:


# %% tags=["nbval-ignore-output"]
def ask_driver():
    if shutil.which("nvidia-smi") is None:
        return "There is no nvidia-smi here, so there is no NVIDIA driver."
    answer = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=60)
    return answer.stdout or answer.stderr


print(ask_driver())

# %% [markdown]
# If there is no GPU here, read this one: a T4 in Colab on June 17, 2026, right after a network was
# trained (published in chapter 16 of [neuqes-101](https://github.com/yoon-gu/neuqes-101)).
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
# | `0  Tesla T4` | GPU number 0 and its name; torch calls it `cuda:0` |
# | `61C`, `P0` | temperature, and performance state; P0 is the fastest |
# | `38W / 70W` | power in use, and the limit |
# | `2195MiB / 15360MiB` | memory in use, and in total |
# | `61%` (`GPU-Util`) | the part of the last second or less in which a kernel was running |
# | `0` (`Volatile Uncorr. ECC`) | uncorrected memory errors since the driver was loaded |
# | last line | process ID, `C` for *compute*, and its memory |
#
# **Think first.** How much memory is free? Can this driver run a torch that was built for CUDA
# 13.0? Does 61 % mean that 61 % of the lanes are busy?
#
# <details><summary>Answers</summary>
#
# 15360 - 2195 = 13,165 MiB, about 12.9 GiB. Yes, and builds for older versions of CUDA too. No:
# one small kernel after another also shows 100 %, even if each uses a few lanes only.
#
# </details>
#
# Then ask torch. `torch.version.cuda` is the CUDA that torch was *built* for, and says nothing
# about this machine. `torch.cuda.is_available()` is about NVIDIA's and AMD's GPUs;
# `torch.accelerator.is_available()` also finds those of Apple, Intel, and others.

# %% tags=["nbval-ignore-output"]
{
    "torch": torch.__version__,
    "built for CUDA": torch.version.cuda or "no: this build is for CPUs, or for AMD or Apple",
    "torch.cuda.is_available()": torch.cuda.is_available(),
    "torch.accelerator.is_available()": torch.accelerator.is_available(),
    "GPUs that torch can use": torch.accelerator.device_count(),
}

# %% [markdown]
# | `nvidia-smi` | `torch.version.cuda` | `torch.cuda.is_available()` | what to do |
# |---|---|---|---|
# | shows a GPU | a version | `True` | nothing: torch can use it |
# | shows a GPU | `None` | `False` | install a build of torch for CUDA |
# | shows a GPU | a version | `False` | update the driver, or install a build for an older CUDA |
# | is missing | any | `False` | no NVIDIA GPU, or no driver: this lesson measures the CPU |
#
# The page [Help](../docs/help.md) says how to check each layer and how to reinstall torch. To
# borrow a GPU, open this notebook in Colab and choose *Runtime > Change runtime type > T4 GPU*.
# Without one, nothing is wrong: the next three lessons use a simulated GPU.

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
# lanes, too.

# %% [markdown]
# ## Measure it (7 minutes)
#
# From here on, everything runs on the real hardware. The stored times are those of the machine
# named above each figure; yours will differ. Without a GPU, you see what the lanes of a CPU do. How
# much faster a GPU is can only be measured on one.
#
# A GPU accepts work and lets Python continue at once, so a stopwatch must `synchronize`: wait until
# the GPU has finished. The *fastest* of five runs counts, because other programs only add time.


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
    stopwatch = timeit.Timer(work, timer=clock)
    stopwatch.timeit(1)  # the first run is slower: it sets things up
    repeats = max(1, int(0.05 / stopwatch.timeit(1)))
    fastest = min(stopwatch.repeat(5, repeats)) / repeats
    torch.set_num_threads(all_threads)
    return fastest


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
# Python's interpreter executes many instructions to find out what `max(v, 0.0)` means, again for
# each number; torch finds it out once, and then uses the lanes.
#
# ### Does ReLU wait for memory?
#
# If it does, its speed depends on the size: small tensors stay in the CPU's cache, and large ones
# come from main memory. `out=` reuses the memory of the result.

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
    f"{relu_speeds[-1]:.1f} for the largest tensor",
)

# %% [markdown]
# The instructions per number are the same at every point. On the left, the fixed cost of a call
# dominates. Where your line drops to the right, the lanes wait for memory.
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


def speeds(on, threads):
    matrices = [torch.randn(size, size, device=on) for size in sizes]
    times = [seconds(lambda m=m: m @ m, threads) for m in matrices]
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
# A small product is finished before the lanes are busy: starting the work, and distributing it to
# the threads, takes as long as the work itself. A GPU has the most lanes to fill, and starting work
# on it takes longest, so it needs the largest matrices. If you see only CPU lines, run this
# notebook once on a GPU and compare. For orientation: NVIDIA's data sheet gives a T4 a peak of
# 8,100 GFLOP/s in 32-bit floating point (published, not measured here).
#
# Now compare ReLU of the largest tensor with the largest product, both on one CPU thread:

# %% tags=["nbval-ignore-output"]
relu_speed, product_speed = relu_speeds[-1], gflops["1 CPU thread"][-1]
lesson.report(relu_speed=round(relu_speed, 2), product_speed=round(product_speed, 2))
f"ReLU: {relu_speed:.1f}, matrix product: {product_speed:.1f} billion operations per second"

# %% [markdown]
# The same core with the same lanes: the matrix product does many operations for each number that it
# moves, and ReLU does one for every two.

# %% [markdown]
# ## Summary
#
# - A processor fetches, decodes, and executes one instruction after another, from the memory that
#   also holds the data. Instructions move data, compute, work on bits, jump, or do input and
#   output.
# - A special instruction such as RELU saves work for one kind of program: special purpose instead
#   of general purpose, as a CNN instead of an MLP.
# - Lanes under one control unit divide the time by their number, if they take the same path, if
#   there is work for all of them, and if memory can feed them.
# - 3D graphics and networks multiply many vectors by the same matrices. The cells of a matrix
#   product are independent, and larger products do more operations per number.
# - `nvidia-smi` asks the driver, `torch.accelerator.is_available()` asks torch. If torch finds no
#   GPU, check the card, the driver, and the build of torch, in that order.
#
# The [glossary](../docs/glossary.md) explains the terms of this course in one place.
#
# **To try:**
#
# 1. Which special instruction would make `halvings` faster?
# 2. Sort `xs` and run `relu_all` on it with 8 lanes. Why does it take fewer cycles?
# 3. Build the computer in `multiply` with `memory_width=4`. How many cycles do 16 x 16 matrices
#    take now, and what would help?
