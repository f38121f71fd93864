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

from helpers import lesson, records
from helpers.devices import describe_device
from helpers.plots import hardware
from helpers.plots import small_computer as figures
from helpers.small_computer import INSTRUCTION_SET, SmallComputer

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
# - **Registers**: slots that each hold one number, initially 0. A program uses the *visible* ones
#   by name (here A to E and I to K). *Internal* ones serve the control unit: the **program
#   counter** holds the number of the next cell to fetch, and the **flags** say whether the last
#   result of the ALU was negative (N) or zero (Z).
# - **Input and output**: keyboard, screen, disk, network. Each device has a *port*, an address at
#   which instructions such as `OUT` read or write its data.

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
# bits to the left or to the right. Real processors also **rotate**: the bits that leave the number
# at one end come back at the other.

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
# **Think first:** which three numbers does it send for x = 13?
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
# **Think first:** after two steps, what are the flags N and Z?
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
# **Think first:** for x = 5, how many steps does the program take, and which line does it skip?
#
# <details><summary>Answer</summary>
#
# Five steps instead of six. N is 0, so `JNN` sets the program counter to cell 4, and `SET A, 0` is
# never fetched. Every `if` works like this: a comparison sets flags, and a jump reads them. Our
# jumps are *absolute*: they contain the number of a cell. A *relative* jump contains a distance
# from the program counter, so that the program can be anywhere in memory.
#
# </details>

# %%
SmallComputer(relu, x=5, y=7).trace()

# %% [markdown]
# ## An instruction made for the task (5 minutes)
#
# A chip designer can build a circuit for ReLU. In two's complement, the highest bit of a negative
# number is 1. One NOT gate inverts this bit, and one AND gate for each bit of the number lets it
# pass or makes it 0. Such a circuit, like the ALU, depends only on its inputs (*combinational*).
# Registers are *sequential* circuits: they store bits from one cycle to the next. The instruction
# `RELU A` then replaces three.

# %%
relu_wired = """
        LOAD  A, x
        RELU  A         ; replaces CMP, JNN and SET
        STORE A, y
        HALT
"""

# %% [markdown]
# **Think first:** is the program then twice as fast?
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
# **Think first:** a layer turns a 32 x 32 color image into 6 feature maps of 28 x 28. How many
# parameters does a fully connected layer need, and how many a convolution with 5 x 5 windows?
#
# <details><summary>Answer</summary>
#
# 14 million versus 456. (`device="meta"` in the next cell creates layers without numbers in them,
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
# A GPU does not spend space on a powerful control unit for every few ALUs. Most programs need one,
# but matrix products do not.

# %% [markdown]
# ## Many lanes, one control unit (9 minutes)
#
# A layer applies ReLU to thousands of numbers. Start with a loop, on the same computer. Register
# `I` counts, `D` holds n, and `x[I]` is element I of the array `x`; the first is number 0. Two more
# registers, explained below, have fixed values here: `LANE` is 0, and `LANES` is 1.

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
# **Think first:** how many cycles do the 1,000 numbers take with 8 lanes?
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
# waits during the paths that are not its own. The next program counts in a loop how many times a
# number can be halved. Seven lanes get small numbers, and lane 6 gets 1,000.

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
# A **thread** is one execution of a program, with its own data. NVIDIA's GPUs execute threads in
# groups of 32, called **warps**. A warp executes one common instruction at a time. Since Volta
# (2017), each thread has its own program counter, which lets the paths take turns, but threads on
# different paths still wait for each other. Code for GPUs therefore avoids branches in which the
# threads of one warp take different paths.
#
# ### Many warps hide the time of memory
#
# A program starts its threads in **blocks** of up to 1,024. All warps of a block run on the same
# **SM** (streaming multiprocessor), which holds many more threads than it has lanes: on a T4, up to
# 1,024 threads for 64 lanes. So a lane does not belong to one thread. While a warp waits for
# memory, which takes hundreds of cycles, the control unit executes instructions of other warps.
# Switching costs nothing, because each warp keeps its own registers. **Occupancy** is the number of
# warps on an SM divided by the most that it can hold.
#
# The next cell simulates one control unit. Each warp runs the loop above for eight numbers per
# lane. Every access to memory takes 100 cycles, and in each cycle, the first warp that is not
# waiting executes one instruction.


# %%
trace = SmallComputer(relu_all, x=xs[:8], y=[0] * 8, n=8).trace()
waits = [100 if step.instruction.startswith(("LOAD", "STORE")) else 1 for step in trace.steps]


def cycles_with(warps):
    done, ready, cycle = [0] * warps, [0] * warps, 0
    while min(done) < len(waits):
        for warp in range(warps):
            if done[warp] < len(waits) and ready[warp] <= cycle:
                ready[warp] = cycle + waits[done[warp]]
                done[warp] += 1
                break  # one instruction per cycle
        cycle += 1
    return max(ready)


# %%
warps = [1, 2, 4, 8, 16, 32, 64, 128]
simulated = {
    "one warp after another": [n * cycles_with(1) for n in warps],
    "another warp while one waits": [cycles_with(n) for n in warps],
}
figures.plot_cycles(
    warps, simulated, title="Simulated: 16 warps take little longer than one", xlabel="warps"
)

# %% [markdown]
# With few warps, the time hardly grows: the waiting times overlap. With many, an instruction is
# executed in every cycle, and more warps take longer. A GPU needs many more threads than lanes.

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
# - **2002**: ATI's Radeon 9700 computes pixels in **floating point**. Mark Harris starts a web page
#   about **GPGPU**, *general-purpose computation on GPUs*.
# - **2004**: Oh and Jung express a neural network's matrix products as graphics operations of a
#   Radeon 9700 Pro, and make their program 20 times faster.
# - **2007**: NVIDIA releases **CUDA** (Compute Unified Device Architecture): a compiler, libraries,
#   and tools to program its GPUs without graphics. PyTorch calls CUDA for you.
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
# **Think first:** from 4 x 4 to 8 x 8, the multiplications grow by a factor of 8, from 64 to 512.
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
# | lane | element of a vector register | *CUDA core*: an ALU that many threads share |
# | one run in one lane | element of a vector | *thread*; 32 of them are a *warp* |
# | whole processor | core | SM, with many warps |
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
# `Driver Version` is the installed driver, and `CUDA Version` is the newest CUDA that it supports,
# not what is installed. `Memory-Usage` is the memory in use and in total. `GPU-Util` is the part of
# the last sample in which a kernel was running: one small kernel after another shows 100 %, even if
# each uses only a few lanes. [Help](../docs/help.md#nvidia-smi) has the output of a T4, explains
# its fields, and says how to choose a GPU and what to do if torch does not see it.
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
# **Think first:** ReLU of a million numbers: a Python loop, torch with one CPU thread, with all CPU
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
# **Think first:** does a product of large matrices run at the same GFLOP/s as one of small
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
    {name: (sizes, values) for name, values in gflops.items()},
    title=f"Up to {max(gflops[best]):,.0f} GFLOP/s, with {best}\non {describe_device(device)}",
    xlabel="rows and columns of each matrix",
)

# %% [markdown]
# A small product is slow because starting it takes longer than the work itself. Distributing it to
# several threads takes additional time, so more threads can even be slower. (If torch uses one
# thread here, there is only one CPU line.) A GPU has the most lanes to fill, and starting work on
# it takes longest, so it needs the largest matrices.
#
# Now compare ReLU of the largest tensor with the largest product, both on one CPU thread:

# %% tags=["nbval-ignore-output"]
relu_speed, product_speed = relu_speeds[-1], gflops["1 CPU thread"][-1]
lesson.report(relu_speed=round(relu_speed, 2), product_speed=round(product_speed, 2))
f"ReLU: {relu_speed:.1f}, matrix product: {product_speed:.1f} billion operations per second"

# %% [markdown]
# The core and its lanes are the same, but the matrix product does many operations for each number
# that it moves, and ReLU does one operation for every two numbers.
#
# ### A real GPU: published times
#
# These are times of a T4, published by S. Lee, A. Phanishayee and D. Mahajan with
# [NeuSight](https://github.com/sitar-lab/NeuSight/tree/6945927) (ASPLOS 2025, MIT license). Each
# point is one call in torch 2.1, with 32-bit numbers.

# %%
t4 = records.published("t4_relu_and_products")
hardware.plot_speeds(
    {
        f"{name}, T4 GPU": ([n for n, _ in t4[name]], [n / us / 1e3 for n, us in t4[name]])
        for name in ("ReLU", "matrix product")
    },
    title="Published for a T4: 4,073 GFLOP/s for products, 29 for ReLU",
    xlabel="operations in one call",
)

# %% [markdown]
# On the left, every call takes 30 to 60 microseconds, however little it computes: launching and
# timing dominate. ReLU then stops at 29 GFLOP/s. It reads and writes 8 bytes for each operation, so
# it moves 231 GB/s; the memory's limit is 320 GB/s (data sheet). The product reaches 4,073 GFLOP/s,
# half of the data sheet's peak of 8,100.

# %% [markdown]
# ## Summary
#
# - A processor fetches, decodes, and executes one instruction after another, from the memory that
#   also holds the data.
# - A special instruction such as RELU saves work for one kind of program.
# - Lanes under one control unit divide the time by their number, if they take the same path, if
#   there is work for all of them, and if memory is fast enough.
# - A GPU holds many more threads than lanes: while one warp waits for memory, another computes.
# - 3D graphics and networks multiply many vectors by the same matrices. The cells of a matrix
#   product are independent, and larger products do more operations per number.
# - If torch finds no GPU, check the card, the driver (`nvidia-smi`), and the build of torch, in
#   that order.
#
# The [glossary](../docs/glossary.md) explains the terms of this course.
#
# **To try:**
#
# 1. Sort `xs` and run `relu_all` on it with 8 lanes. Why does it take fewer cycles?
# 2. Build the computer in `multiply` with `memory_width=4`. How many cycles do 16 x 16 matrices
#    take now, and what would help?
#
# <details><summary>Answers</summary>
#
# 1. More groups of eight have no negative number, and then all lanes skip `SET A, 0`.
# 2. 854 instead of 218. A wider memory helps. A cache does not: each number is already read only
#    once.
#
# </details>
