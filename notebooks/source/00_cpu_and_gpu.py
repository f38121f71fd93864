# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: What a CPU does, and what a GPU does differently
#     promise: You find out why a GPU multiplies matrices so much faster than Python, from single
#       instructions to the memories of a real GPU.
#     minutes: 80
#     objectives:
#       - name the parts of a processor and the categories of its instructions
#       - count what a program costs, in instructions and in cycles
#       - explain when many lanes under one control unit are fast, and when they are not
#       - explain what 3D graphics and neural networks have in common
#       - predict from operations per byte whether memory or arithmetic limits a computation
#       - find out which GPU a machine has, and whether torch sees it
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
#       - "Latencies of a T4's memories: Z. Jia, M. Maggioni, J. Smith, D. P. Scarpazza, *Dissecting
#         the NVIDIA Turing T4 GPU via microbenchmarking*,
#         [arXiv 1903.07486](https://arxiv.org/abs/1903.07486), 2019."
#       - "The roofline: S. Williams, A. Waterman, D. Patterson, *Roofline: an insightful visual
#         performance model for multicore architectures*, Communications of the ACM 52, 2009,
#         [doi 10.1145/1498765.1498785](https://doi.org/10.1145/1498765.1498785)."
#       - "Times of single operations on GPUs: S. Lee, A. Phanishayee, D. Mahajan, *Forecasting GPU
#         performance for deep learning training and inference*, ASPLOS 2025,
#         [doi 10.1145/3669940.3707265](https://doi.org/10.1145/3669940.3707265)."
# ---

# %%
import shutil
import subprocess
import time
import timeit
from functools import partial

import torch
from torch.nn import functional as F

from helpers import lesson, records
from helpers.devices import describe_device
from helpers.plots import hardware
from helpers.plots import small_computer as figures
from helpers.plots.shapes import show_drawing
from helpers.small_computer import INSTRUCTION_SET, SmallComputer

# %% tags=["parameters"]
seed: int = 0  # seed of the random numbers that are timed
largest: int = 2048  # rows and columns of the largest matrix that is timed: 32 to 4096

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed)

# %% [markdown]
# ## A race (4 minutes)
#
# A network mostly multiplies matrices. Here is one product, of 6 billion multiplications and as
# many additions: in plain Python, with torch on your CPU, and on two GPUs. Two of the times are
# measured now: torch's, and Python's for one of the 3.3 million cells of the result, multiplied by
# their number. Those of the T4, which Google Colab lends for free, and of the larger A100 are
# *published* (NeuSight, 2025).
#
# A GPU lets Python continue at once, so the stopwatch must `synchronize`: wait until the GPU has
# finished. The *fastest* of three runs counts, because other programs only add time.


# %%
def clock():
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter()


def seconds(work):
    stopwatch = timeit.Timer(work, timer=clock)
    stopwatch.timeit(1)  # the first run is slower: it sets things up
    repeats = max(1, int(0.05 / stopwatch.timeit(1)))
    return min(stopwatch.repeat(3, repeats)) / repeats


# %%
published = records.published("operations")
shape = published["product"]
left = torch.randn(shape["rows"], shape["inner"])
right = torch.randn(shape["inner"], shape["columns"])
left.shape, right.shape

# %% [markdown]
# **Think first:** by what factor do the slowest and the fastest differ?
#
# <details><summary>Answer</summary>
#
# On most machines, by more than 100,000.
#
# </details>

# %% tags=["nbval-ignore-output"]
row, column = left[0].tolist(), right[:, 0].tolist()
one_cell = seconds(lambda: sum(a * b for a, b in zip(row, column, strict=True)))
race = {
    "Python (from one cell)": 1e3 * one_cell * shape["rows"] * shape["columns"],
    "torch on this CPU": 1e3 * seconds(lambda: left @ right),
    "T4 GPU (published)": shape["T4"] / 1e3,
    "A100 GPU (published)": shape["A100"] / 1e3,
}
if device.type != "cpu":
    on_gpu = left.to(device), right.to(device)
    race[f"this GPU, {device}"] = 1e3 * seconds(lambda: torch.matmul(*on_gpu))
factor = race["Python (from one cell)"] / race["A100 GPU (published)"]
hardware.plot_times(
    race, title=f"One product: the A100 is {float(f'{factor:.2g}'):,.0f} times faster than Python"
)

# %% [markdown]
# **Why?** The answer has three parts: one instruction, many lanes, and memory.

# %% [markdown]
# ## A computer you can watch (5 minutes)
#
# The **CPU** (central processing unit) is built for any program, the **GPU** (graphics processing
# unit) was built to draw pictures. Start with a computer that is simple enough to watch. It has the
# **von Neumann architecture** of 1945, as ordinary computers still do:
#
# - **Memory**: numbered cells that hold the data *and* the program.
# - **Control unit**: fetches one instruction after another and tells the other parts what to do.
# - **ALU** (arithmetic logic unit): adds, multiplies, compares, and works on bits.
# - **Registers**: slots for one number each, initially 0. A program uses the *visible* ones by name
#   (here A to E and I to K). *Internal* ones serve the control unit: the **program counter** holds
#   the number of the next cell to fetch, and the **flags** say whether the ALU's last result was
#   negative (N) or zero (Z).
# - **Input and output**: keyboard, screen, disk, network. Each device has a *port*, an address that
#   instructions such as `OUT` read or write.

# %%
show_drawing("computer")

# %% [markdown]
# The instructions that a processor understands are its **instruction set**: data movement,
# arithmetic, logic, control flow, and input/output. A *value* is a number or a register, and an
# *address* is a name in memory or `name[register]`. Only arithmetic and logic instructions set the
# flags, and each sets them again. The last two rows are special: our computer has them only if you
# ask for them with `special=`. Different designs can share an instruction set: Intel's Pentium and
# AMD's Athlon ran the same x86 programs with different circuits, at different speeds.
#
# A **cycle** is one tick of the processor's clock. In this model, memory and output take four
# cycles, and everything else takes one.

# %%
INSTRUCTION_SET

# %% [markdown]
# ## What the ALU computes (3 minutes)
#
# Negative numbers are in **two's complement**: flip all bits of the number, then add 1. The same
# circuit then adds positive and negative numbers. The lowest 8 bits of some numbers:


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
# **Think first:** which three numbers does this program send to the screen for x = 13?
#
# <details><summary>Answer</summary>
#
# 1, 104, and -13. `AND A, 1` keeps the lowest bit, 1 for an odd number. A shift to the left by 3
# multiplies by 8. `NOT` and `ADD A, 1` make the two's complement.
#
# </details>

# %%
computer = SmallComputer(bit_tricks, x=13)
computer.run()
computer.output

# %% [markdown]
# ## ReLU, one instruction at a time (6 minutes)
#
# Nearly every network applies **ReLU**: negative numbers become 0, all others stay as they are. The
# instruction set has no maximum, so the program compares with 0, and jumps over `SET` unless the
# number is negative. `keep:` is a **label**, a name for a cell; a comment follows `;`.

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
# counter, **decode** the instruction, and **execute** it. Run the rest:

# %%
computer.trace()

# %% [markdown]
# **Think first:** for x = 5, how many steps does the program take, and which line does it skip?
#
# <details><summary>Answer</summary>
#
# Five instead of six. N is 0, so `JNN` sets the program counter to cell 4, and `SET A, 0` is never
# fetched. Our jumps are *absolute*: they contain the number of a cell.
# A *relative* jump contains a distance from the program counter, so that the program can be
# anywhere in memory.
#
# </details>

# %%
trace = SmallComputer(relu, x=5, y=7).trace()
trace

# %% [markdown]
# The picture shows four of these steps. It moves once, for five seconds.

# %%
figures.animate_parts(trace)

# %% [markdown]
# ## An instruction made for the task (5 minutes)
#
# A chip designer can build a circuit for ReLU. The highest bit of a negative number is 1. A NOT
# gate inverts it, and one AND gate for each bit of the number lets that bit pass or makes it 0.
# Such a circuit, like the ALU, depends only on its inputs (*combinational*). Registers are
# *sequential* circuits: they store bits from one cycle to the next.

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
{name: {"cycles": cost.cycles, "instructions": cost.by_category} for name, cost in costs.items()}

# %% [markdown]
# Real chips have such instructions: `MAXPS` on x86 computes the maximum of 4 pairs of numbers at a
# time, and Google's TPU (tensor processing unit) has a unit for ReLU. They take space on the chip
# that other programs never use.
#
# ### General purpose, special purpose
#
# A CPU runs any program, as a **multilayer perceptron** (MLP) with enough hidden units can
# approximate any continuous function on a closed, bounded region. A GPU is made for many equal
# computations, as a **convolutional network** (CNN) is for images: it uses the same weights at
# every position. The parameters of a layer of each, from a 32 x 32 color image to 6 channels of
# 28 x 28:

# %%
# On the device "meta", layers have shapes and no numbers, which is enough to count.
fully_connected = torch.nn.Linear(3 * 32 * 32, 6 * 28 * 28, device="meta")
convolution = torch.nn.Conv2d(3, 6, kernel_size=5, device="meta")
{
    "fully connected": f"{sum(p.numel() for p in fully_connected.parameters()):,}",
    "convolution": f"{sum(p.numel() for p in convolution.parameters()):,}",
}

# %% [markdown]
# ## Many lanes, one control unit (14 minutes)
#
# A layer applies ReLU to thousands of numbers. Start with a loop. Register `I` counts, `D` holds n,
# and `x[I]` is number I of the array `x`, from 0. Two more registers, explained below, have fixed
# values here: `LANE` is 0, and `LANES` is 1.

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
# About 8.5 instructions per number. Now give the control unit 8 **lanes**: ALUs with their
# own registers and flags. An instruction is fetched once, and all
# lanes execute it together. `LANE` is now the lane's own number, 0 to 7, and `LANES` is 8, so the
# same `LOAD A, x[I]` loads eight different numbers.
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
# *lanes busy*: on average, 94% of the lanes took part in an instruction; the others skipped
# `SET A, 0`.
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
# The third line bends at 8 lanes and approaches 1,000 cycles: 2,000 numbers are loaded or stored, 8
# at a time, in 250 accesses of 4 cycles each.
#
# ### When lanes diverge
#
# One control unit fetches one instruction, but `JNN keep` jumps in some lanes and not in others.
# Here are four lanes with the numbers 3, -1, 4 and -5. A filled dot is an active lane; look at step
# 8.

# %%
computer = SmallComputer(relu_all, lanes=4, x=[3, -1, 4, -5], y=[0] * 4, n=4)
computer.trace()

# %% [markdown]
# Steps 5 to 9; gray lanes wait:

# %%
computer.reset()
for _ in range(4):
    computer.step()
figures.animate_lanes(computer, steps=5)

# %% [markdown]
# This is **divergence**: the control unit executes one path after the other, and the other lanes
# wait. The next program counts how many times a number can be halved. Lane 6 gets 1,000.

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
# groups of 32, called **warps**, one common instruction at a time. Since Volta (2017), each thread
# has its own program counter, but threads on different paths still wait for each other.
#
# ## Many warps hide the time of memory (8 minutes)
#
# A program starts its threads in **blocks** of up to 1,024. A block runs on one **SM** (streaming
# multiprocessor), which holds many more threads than it has lanes: on a T4, up to 1,024 threads for
# 64 lanes. While a warp waits for memory, the control unit executes instructions of other warps.
# Switching costs nothing, because each warp keeps its own registers. **Occupancy** is the number of
# warps on an SM divided by the most that it can hold.
#
# How long an access takes, its **latency**, depends on where the number is:

# %%
latencies = records.published("t4_memory")["cycles"]
sizes = ("32 or 64 KiB per SM", "32 or 64 KiB per SM", "4 MiB", "15 GiB")
hardware.plot_times(
    {f"GPU: {name}, {size}": n for (name, n), size in zip(latencies.items(), sizes, strict=True)},
    title="A T4's memory answers after 296 cycles (published by Jia and others, 2019)",
    unit="cycles",
)

# %% [markdown]
# Registers, 256 KiB per SM, are read without this wait. The threads of a block exchange numbers in
# **shared memory**; a **cache** keeps what was used last.
#
# The next cell simulates one control unit. Each warp runs `relu_all` for eight numbers per lane.
# Every access to memory takes 296 cycles, and in each cycle, the first warp that is not waiting
# executes one instruction.


# %%
trace = SmallComputer(relu_all, x=xs[:8], y=[0] * 8, n=8).trace()
waits = [296 if step.instruction.startswith(("LOAD", "STORE")) else 1 for step in trace.steps]


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
    warps, simulated, title="Simulated: 32 warps take little longer than one", xlabel="warps"
)

# %% [markdown]
# With few warps, the time hardly grows: the waiting times overlap. With 128, an instruction is
# executed in four of five cycles, so more warps take longer again. A GPU needs many more threads
# than lanes. (A T4's control unit holds at most 8 warps, but a real warp can load several numbers
# before it waits.)

# %% [markdown]
# ## From 3D graphics to networks (5 minutes)
#
# Chips with many lanes were first built for games. A 3D scene is a list of points, and rotating it
# multiplies every point by the same small matrix:

# %%
cube = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)  # 8 corners, 3 coordinates each
angle = torch.tensor(0.6)
cos, sin = angle.cos().item(), angle.sin().item()
rotation = torch.tensor([[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]])
rotated = cube @ rotation
rotated

# %% [markdown]
# **Lighting**: the brightness of a face is the dot product of its normal (the direction it faces)
# and the direction of the light. If the product is negative, the face is turned away and gets 0.

# %%
normals = torch.cat([torch.eye(3), -torch.eye(3)]) @ rotation  # 6 faces
light = torch.tensor([0.6, 0.64, 0.48])
brightness = torch.relu(normals @ light)
hardware.draw_cubes(
    {"cube": cube, "cube @ rotation": rotated, "relu(normals @ light)": rotated},
    brightness.tolist(),
    title="Rotation and brightness are computed with matrix products",
)

# %% [markdown]
# `torch.relu(normals @ light)` is also a **layer of a neural network** without its bias.
# Millions of points and pixels run the same short program, and none needs the result of another. So
# graphics chips got many lanes, and networks can use them:
#
# - **2002**: ATI's Radeon 9700 computes in **floating point**. Mark Harris starts a web page about
#   **GPGPU**, *general-purpose computation on GPUs*.
# - **2004**: Oh and Jung write a network's matrix products as graphics operations: 20 times faster
#   than on a CPU.
# - **2007**: NVIDIA releases **CUDA** (Compute Unified Device Architecture): a compiler, libraries
#   and tools, later with wrappers for Python, Julia and others. PyTorch calls CUDA for you.
# - **2009**: Raina, Madhavan and Ng train deep belief networks **up to 70 times faster** than on a
#   dual-core CPU.
# - **2010**: Lee and others optimize the programs for both processors: the GPU is 2.5 times faster
#   on average.
# - **2012**: Krizhevsky, Sutskever and Hinton win the ImageNet challenge on two gaming GPUs.
# - **2017**: NVIDIA's V100 has *tensor cores*, which multiply small matrices in one operation.
#
# Both 70 and 2.5 are published measurements. For every speed-up, ask: compared with what?

# %% [markdown]
# ## A matrix product splits into independent cells (9 minutes)
#
# Cell (i, j) of `x @ w` is the dot product of row i of `x` and column j of `w`.

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
# On the small computer, each cell of the product gets its own lane. `MAC` (multiply and accumulate)
# is the other special instruction; chips for networks are built around it. Memory holds a matrix
# row after row. The function `multiply` below replaces SIZE and CELLS with n and n².

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
# Each number of `x` and `w` is used in n cells. If memory sends it once to all the lanes that need
# it, 3n² numbers are moved for 2n³ operations: the larger the matrices, the more operations per
# number. That is why large products wait little for memory, and ReLU waits most of the time.

# %% [markdown]
# ## CPU and GPU (3 minutes)
#
# A **CPU** has a few strong cores, each with a large control unit that predicts jumps and reorders
# instructions, and a large cache. A **GPU** has thousands of simple lanes, with a small control
# unit for every 16 or 32 of them.

# %%
show_drawing("processors")

# %% [markdown]
# | on the small computer | on a CPU | on an NVIDIA GPU |
# |---|---|---|
# | lane | part of a vector register | *CUDA core*: an ALU that many threads share |
# | one run in one lane | number in a vector | *thread*; 32 of them are a *warp* |
# | control unit with its lanes | core | a quarter of an SM: a control unit with 16 or 32 lanes |
# | program | function | *kernel* (not related to the kernel of this notebook) |
#
# A T4 has 40 SMs with 64 lanes each, 2,560 in all; an H100 (SXM) has 132 with 128, 16,896 in all.
# With 16 lanes, a warp's instruction takes two cycles.

# %% [markdown]
# ## What this machine has (4 minutes)
#
# To compute on a GPU, torch needs its **driver**, the software from its manufacturer, and a **build
# of torch** for GPUs, which includes CUDA's libraries. NVIDIA's driver includes the command
# `nvidia-smi`. Here, it prints:


# %% tags=["nbval-ignore-output"]
def ask_driver():
    if shutil.which("nvidia-smi") is None:
        return "There is no nvidia-smi here: probably there is no NVIDIA driver."
    answer = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=60)
    return answer.stdout or answer.stderr


print(ask_driver())

# %% [markdown]
# [Help](../docs/help.md#nvidia-smi) reads the output of a T4 line by line, and says how to
# reinstall torch and choose a GPU. Then ask torch. `torch.version.cuda` is the CUDA that torch was
# *built* for; `torch.accelerator` also finds the GPUs of Apple, Intel, and others.

# %% tags=["nbval-ignore-output"]
{
    "torch": torch.__version__,
    "torch.version.cuda": torch.version.cuda,
    "torch.cuda.is_available()": torch.cuda.is_available(),
    "torch.accelerator.is_available()": torch.accelerator.is_available(),
    "GPUs that torch can use": torch.accelerator.device_count(),
}

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
# Your CPU has lanes, too: `AVX2` means 8 numbers of 32 bits at a time, `AVX512` 16; on ARM chips,
# `DEFAULT` means 4 and `SVE256` 8.

# %% [markdown]
# ## Small work is slow (5 minutes)
#
# Speed is given in **GFLOP/s**, billions of floating-point operations per second: one operation per
# number for ReLU, 2n³ for a product of two n x n matrices. `torch.clamp` with `min=0` is ReLU;
# `out=` reuses memory.
#
# **Think first:** do small and large tensors run at the same speed?

# %%
all_threads = torch.get_num_threads()
sizes = [n for n in (32, 64, 128, 256, 512, 1024, 2048, 4096) if n <= largest]
matrices = [torch.randn(n, n) for n in sizes]
vectors = [torch.randn(2**k) for k in range(10, 25, 2)]
results = [torch.empty_like(x) for x in vectors]
relu = [partial(torch.clamp, x, min=0, out=y) for x, y in zip(vectors, results, strict=True)]
products = [partial(torch.matmul, m, m) for m in matrices]
relu_operations = [x.numel() for x in vectors]
product_operations = [2 * n**3 for n in sizes]


def speeds(calls, operations):
    return [n / seconds(call) / 1e9 for call, n in zip(calls, operations, strict=True)]


# %%
torch.set_num_threads(1)
curves = {"ReLU, one CPU thread": (relu_operations, speeds(relu, relu_operations))}
torch.set_num_threads(all_threads)
name = f"product, all CPU threads ({all_threads})"
curves[name] = (product_operations, speeds(products, product_operations))
t4 = records.published("t4_relu_and_products")
for name in ("ReLU", "matrix product"):
    operations, times = zip(*t4[name], strict=True)
    gflops = [n / us / 1e3 for n, us in zip(operations, times, strict=True)]
    curves[f"{name}, T4 GPU (published)"] = (operations, gflops)
speed = max(curves[f"product, all CPU threads ({all_threads})"][1])
hardware.plot_speeds(
    curves,
    title=f"Products: {max(gflops):,.0f} GFLOP/s on a T4, {speed:,.0f} on this CPU; ReLU: far less",
    xlabel="operations in one call",
)

# %% [markdown]
# On the left, a call takes the same time whatever its size: on the T4, 32 microseconds for ReLU and
# 56 for a product (published, measuring included). On the right, ReLU stops at 29 GFLOP/s on the
# T4: its lanes wait for memory. Where your CPU's ReLU gets slower, the tensors no longer fit into
# its cache.

# %% [markdown]
# ## The roof (9 minutes)
#
# The **arithmetic intensity** of a computation is the number of operations per byte that it moves
# to and from memory. A T4 does at most 8,100 GFLOP/s in float32 and moves at most 320 GB/s (data
# sheet). So its speed is at most the *smaller* of 8,100 and (320 · intensity): the
# **roofline**. Below 8,100 / 320 = 25 operations per byte, memory is the limit.
#
# **Think first:** with 4 bytes per number, predict the operations per byte of ReLU; of LayerNorm,
# which normalizes each row (about 8 operations per number); of a convolution of 17 images of
# 35 x 35 pixels from 51 to 293 channels with 3 x 3 weights; and of the product in the race. Which
# are limited by memory?
#
# <details><summary>Answer</summary>
#
# ReLU and LayerNorm read 4 bytes and write 4 for each number: 1 / 8 and 8 / 8. By the roofline,
# memory limits both. The convolution does 2 · 51 · 9 operations for each number of its result, 192
# per byte. The product does 304. Arithmetic limits both.
#
# </details>


# %%
def random(name):
    return torch.randn(published[name]["rows"], published[name]["columns"])


x, y = random("ReLU"), random("LayerNorm")
images, weights = torch.randn(17, 51, 35, 35), torch.randn(293, 51, 3, 3)
convolve = partial(F.conv2d, images, weights, padding=1)
maps, product = convolve(), left @ right
work = {  # the call, its operations, and the tensors that it reads and writes
    "ReLU": (partial(torch.clamp_, x, min=0), x.numel(), [x, x]),
    "LayerNorm": (partial(F.layer_norm, y, y.shape[1:]), 8 * y.numel(), [y, y]),
    "convolution": (convolve, 2 * 51 * 9 * maps.numel(), [images, weights, maps]),
    "product": (
        partial(torch.matmul, left, right),
        2 * 1845 * product.numel(),
        [left, right, product],
    ),
}
intensity = {name: n / sum(t.nbytes for t in tensors) for name, (_, n, tensors) in work.items()}
{name: round(value, 3) for name, value in intensity.items()}

# %%
points = {
    f"{name}, T4 GPU": (intensity[name], n / published[name]["T4"] / 1e3)
    for name, (_, n, _) in work.items()
}
for name, (call, n, _) in work.items():
    points[f"{name}, CPU"] = (intensity[name], n / seconds(call) / 1e9)
measured = [points[f"{name}, CPU"] for name in work]
peak = max(
    *curves[f"product, all CPU threads ({all_threads})"][1], *(speed for _, speed in measured)
)
one_thread = 8 * curves["ReLU, one CPU thread"][1][-1]  # 8 bytes per operation
bandwidth = max(one_thread, *(speed / at for at, speed in measured[:2]))  # ReLU and LayerNorm


def roof(peak, bandwidth):
    return [1 / 16, peak / bandwidth, 512], [bandwidth / 16, peak, peak]


# %%
roofs = {
    "roof of a T4 GPU (data sheet); dots: published": roof(8100, 320),
    "roof of this CPU (its best speeds in this lesson); dots: measured": roof(peak, bandwidth),
}
title = "On a T4, memory limits ReLU and LayerNorm, arithmetic the other two"
hardware.plot_speeds(roofs, points=points, title=title, xlabel="operations per byte")

# %% [markdown]
# The CPU's roof is drawn through its best measurements. A dot far below its roof is limited by
# something else: starting the work, allocating memory for the result, code that leaves lanes idle,
# the card's power limit, or other programs. **To be fast, move fewer bytes for the same
# operations.**

# %% tags=["nbval-ignore-output"]
lesson.report(bandwidth=round(bandwidth, 1), product_speed=round(peak, 1))
f"This CPU: {bandwidth:.0f} GB/s, and products at {peak:.0f} GFLOP/s"

# %% [markdown]
# ## Summary
#
# Why does the GPU win the race?
#
# - Lanes under one control unit divide the time by their number, if they take the same path and
#   memory is fast enough. A T4 has 160 control units with 16 lanes each, and many more threads:
#   while one warp waits for memory, another computes.
# - 3D graphics and networks multiply many vectors by the same matrices. The cells of a product are
#   independent, and larger products do more operations per byte.
# - Small work is slow everywhere, because starting it takes time.
#
# The [glossary](../docs/glossary.md) explains the terms.
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
# 2. 854 instead of 218. A wider memory helps.
#
# </details>
