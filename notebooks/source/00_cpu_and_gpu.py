# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: What a CPU does, and what a GPU does instead
#     promise: You watch a small computer execute ReLU instruction by instruction, give it more
#       lanes, and see on your own machine why matrix products belong on a GPU.
#     minutes: 60
#     objectives:
#       - Name the parts of a processor and the categories of its instructions.
#       - Count what a program costs, in instructions and in cycles.
#       - Say what many lanes under one control unit gain, and when they gain nothing.
#       - Explain why a matrix product splits into independent cells.
#       - Read nvidia-smi, and say what is missing where torch finds no GPU.
#     prerequisites:
#       - Python, and what a matrix product is. It helps to have met a convolutional network.
#       - No GPU is needed.
#     credits:
#       - "The stored program: J. von Neumann, *First Draft of a Report on the EDVAC*, 1945."
#       - "Lanes that part and meet again: C. Collange, *Stack-less SIMT reconvergence at low
#         cost*, [HAL hal-00622654](https://hal.science/hal-00622654), 2011."
#       - "Networks on GPUs: R. Raina, A. Madhavan, A. Y. Ng, *Large-scale deep unsupervised
#         learning using graphics processors*, ICML 2009,
#         [doi 10.1145/1553374.1553486](https://doi.org/10.1145/1553374.1553486)."
#       - "What is left when both sides are tuned: V. W. Lee and others, *Debunking the 100X GPU
#         vs. CPU myth*, ISCA 2010, [doi 10.1145/1816038.1816021](https://doi.org/10.1145/1816038.1816021)."
#       - "A processor for networks alone: N. P. Jouppi and others, *In-datacenter performance
#         analysis of a Tensor Processing Unit*, ISCA 2017."
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
from helpers.small_computer import INSTRUCTION_SET, MachineError, ProgramError, SmallComputer

# %% tags=["parameters"]
seed: int = 0  # seed of the random numbers that are timed at the end
largest: int = 2048  # rows and columns of the largest matrix that is timed: 32 to 4096

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed)

# %% [markdown]
# ## A computer you can see into (5 minutes)
#
# A real processor executes billions of instructions a second and shows none of them. So this lesson
# starts with a processor that you can watch. It is a toy, but its parts are those of the machine
# you sit at, and of the plan that John von Neumann wrote down in 1945, for a computer called EDVAC:
#
# - **Memory**: numbered cells. They hold the data *and* the program.
# - **Control unit**: fetches one instruction after the other and has it carried out. Its *program
#   counter* is the number of the cell it fetches next.
# - **ALU**, the arithmetic and logic unit: computes, and notes in its *flags* whether the result
#   was negative (N) or zero (Z).
# - **Registers**: the few numbers that the ALU can reach at once. Everything else waits in memory.

# %%
hardware.draw_computer()

# %% [markdown]
# The instructions that a processor understands are its **instruction set**. Real ones have
# hundreds, ours has 17, but they fall into the same categories: *data movement*, *arithmetic* (with
# logic and comparison) and *control flow*. The last two rows are *special*: made for one kind of
# program. Our computer is built without them until we ask.
#
# A *register* in the table is one of A to K, a *value* a number or a register, an *address* a name
# in memory, a *label* a place in the program.
#
# A **cycle** is one tick of the processor's clock. Look at the column of cycles: memory costs more
# than arithmetic. That 4 to 1 is a choice made for this toy; on real machines the gap is often far
# wider.

# %%
INSTRUCTION_SET

# %% [markdown]
# ## ReLU, one instruction at a time (7 minutes)
#
# Nearly every network in this course applies ReLU: negative numbers become 0, all others stay as
# they are. In Python that is `max(x, 0)`. The instruction set has no maximum. How would you write
# it?
#
# One way: compare with 0, and jump over the line that sets 0 unless the number is negative. Here
# `keep:` is a **label**, a name for a cell of the program, and what follows `;` is a comment.

# %%
relu = """
        LOAD  A, x      ; copy the cell x to register A
        CMP   A, 0      ; the ALU computes A - 0 and sets its flags
        JNN   keep      ; not negative? then jump to keep
        SET   A, 0      ; negative: replace it with 0
keep:   STORE A, y      ; copy register A to the cell y
        HALT
"""
computer = SmallComputer(relu, x=-3, y=7)
computer

# %% [markdown]
# There it all is. Memory holds six instructions and, behind them, two numbers: `x` with -3, and `y`
# with a 7 that the answer is going to replace. The program counter points at cell 0.
#
# Two steps from now, after `CMP A, 0`, what will the flags N and Z say?

# %%
computer.step()

# %%
computer.step()

# %% [markdown]
# -3 - 0 is negative and not zero, so N is 1 and Z is 0. Register A is unchanged: a comparison is a
# subtraction that keeps nothing but the flags.
#
# Each of these steps is the same round: **fetch** the instruction at the program counter,
# **decode** it, **execute** it, move the counter on. Let the computer go on to the end by itself.

# %%
computer.trace()

# %%
computer["y"]

# %% [markdown]
# Now the same program with x = 5. Before you run it: how many steps will it take, and which line
# will it leave out?

# %%
SmallComputer(relu, x=5, y=7).trace()

# %% [markdown]
# Five steps instead of six. The flag N was 0, so `JNN` set the program counter to cell 4 and
# `SET A, 0` was never fetched. That is all an `if` is: a comparison that sets flags, and a jump
# that reads them.
#
# The program is a text. Change it, change `x`, run the cells again; you cannot break anything.
# Where the computer cannot go on, it says why:


# %%
def complaint(program):
    try:
        SmallComputer(program, x=-3, y=7).run()
    except (ProgramError, MachineError) as error:
        return str(error)


print(complaint(relu.replace("STORE", "STOER")))

# %%
print(complaint("again: JUMP again"))

# %% [markdown]
# Your turn. This program doubles x. Make it compute the absolute value of x instead, with the
# instructions in the table above. Does it take as many steps for 3 as for -3?

# %%
yours = """
        LOAD  A, x
        ADD   A, A
        STORE A, y
        HALT
"""
SmallComputer(yours, x=-3, y=7).trace()

# %% [markdown]
# ## An instruction made for the job (6 minutes)
#
# Suppose a chip designer knows that you will compute ReLU all day long, and wires it up: one
# instruction, `RELU A`, that puts 0 in the register if it is negative. Three lines go.
#
# What do you expect: how many of the six instructions are saved, and is the program twice as fast?

# %%
relu_wired = """
        LOAD  A, x
        RELU  A         ; in place of CMP, JNN and SET
        STORE A, y
        HALT
"""
SmallComputer(relu_wired, special=["RELU"], x=-3, y=7).trace()

# %%
costs = {
    "compare and jump, x = -3": SmallComputer(relu, x=-3, y=7).run(),
    "compare and jump, x = 5": SmallComputer(relu, x=5, y=7).run(),
    "RELU, any x": SmallComputer(relu_wired, special=["RELU"], x=-3, y=7).run(),
}
figures.plot_categories(costs, title="One RELU does the work of a comparison, a jump and a SET")

# %%
{name: cost.cycles for name, cost in costs.items()}

# %% [markdown]
# Four instructions instead of six, but 10 cycles instead of 12: eight of the ten are memory
# traffic, and RELU does nothing about that. Keep this in mind, it comes back at the end of the
# lesson. The other gain is quieter: the program takes the same path for every x. It has no jump
# left.
#
# Real chips have such instructions. ReLU is a maximum with 0, and common processors have an
# instruction for the maximum: `MAXPS` on x86 takes the maxima of 4, 8 or 16 pairs of numbers at a
# time. Google's TPU, built for networks alone, applies ReLU in a unit of its own, next to a matrix
# unit of 65,536 multipliers (Jouppi and others, 2017). Each of these takes room on the chip that a
# program without ReLU never uses.

# %% [markdown]
# ### General purpose, special purpose
#
# Networks show the same trade. A multilayer perceptron (MLP) with enough hidden units can
# approximate any reasonable function (Hornik, Stinchcombe and White, 1989), as a CPU can run any
# program. A convolutional network (CNN) assumes that its input is an image: it looks at small
# windows, and uses the same weights in every one.
#
# Take a 32x32 colour image to 6 feature maps of 28x28. How many parameters does a fully connected
# layer need for that, and how many does a convolution with 5x5 windows need?

# %%
fully_connected = torch.nn.Linear(3 * 32 * 32, 6 * 28 * 28, device="meta")
convolution = torch.nn.Conv2d(3, 6, kernel_size=5, device="meta")
{
    "fully connected": sum(p.numel() for p in fully_connected.parameters()),
    "convolution": sum(p.numel() for p in convolution.parameters()),
}

# %% [markdown]
# Fourteen million against 456. (`device="meta"` makes layers without numbers in them, enough to
# count.) The convolution is no better at *everything*; it gives up what images do not need.
#
# | level | fits any task | made for one kind of task |
# |---|---|---|
# | network | MLP: each pair of numbers has its own weight | CNN: all windows share their weights |
# | processor | CPU: each ALU has its own control unit | GPU: all lanes share their instructions |
#
# **CPU is to MLP as GPU is to CNN.** A GPU gives up what most programs need and matrix products do
# not: a control unit for every ALU. The next section builds one.

# %% [markdown]
# ## Many lanes, one control unit (8 minutes)
#
# A layer applies ReLU to thousands of numbers at once. First with what we have: a loop. Registers
# `I` and `D` count, `x[I]` is the I-th cell of the block `x`.
#
# Two new names appear. `LANE` is 0 and `LANES` is 1, until we build a computer with more lanes.

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
        ADD   I, LANES      ; on to the next number of this lane
        JUMP  next
done:   HALT
"""

# %%
xs = [(7 * i) % 19 - 9 for i in range(1000)]
xs[:12]

# %%
computer = SmallComputer(relu_all, x=xs, y=[0] * 1000, n=1000)
computer.run()

# %% [markdown]
# About 8.5 instructions a number: four that do the work (LOAD, CMP, JNN, STORE), four that drive
# the loop, and a SET for every negative number. Half of the instructions only drive the loop, and
# all of them are fetched and decoded for one number at a time.
#
# So change the processor. Keep one control unit, and give it 8 **lanes**: 8 ALUs, each with
# registers and flags of its own. An instruction is fetched once, and all lanes execute it together.
# `LANE` is a lane's own number, 0 to 7, so the same `LOAD A, x[I]` loads eight different numbers.
#
# How many cycles will the 1,000 numbers take with 8 lanes? And with 1,000?

# %%
computer = SmallComputer(relu_all, lanes=8, x=xs, y=[0] * 1000, n=1000)
computer.run()

# %%
computer["y"] == [max(x, 0) for x in xs]

# %% [markdown]
# Nearly an eighth of the cycles, with the right answer, from *the same program*: it never says how
# many lanes there are. "Lanes busy" is the share of the lanes that take part in an instruction, on
# average. Why is it not 100 %? `SET A, 0` is fetched as soon as *one* of eight numbers is negative,
# and the other lanes wait. The next section looks at that.
#
# Now every power of two up to 1,024 lanes, with and without RELU. And because all those lanes want
# numbers from memory, a third computer whose memory delivers at most 8 numbers at a time.


# %%
relu_all_wired = relu_all.replace("CMP   A, 0", "RELU  A")
relu_all_wired = relu_all_wired.replace("JNN   keep", "").replace("SET   A, 0", "")


def cycles(program, lanes, **built_with):
    computer = SmallComputer(program, lanes=lanes, x=xs, y=[0] * 1000, n=1000, **built_with)
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
figures.plot_cycles(lanes, counted, title="Lanes divide the time, until memory cannot feed them")

# %% [markdown]
# Three things to see:
#
# - Twice the lanes, half the cycles, over a long way: from 14,482 to 23. With 1,024 lanes every
#   number has a lane of its own and the loop runs once; more lanes than numbers gain nothing.
# - RELU saves a constant share. Lanes save a factor, and go on saving.
# - The third line bends at 8 lanes and then lies flat: memory hands out 8 numbers at a time,
#   whoever asks. On real hardware ReLU lives on that flat part, because it does one operation for
#   every number it reads. What would a computation need to profit from a thousand lanes all the
#   same?

# %% [markdown]
# ## When lanes disagree (5 minutes)
#
# One control unit fetches one instruction. But `JNN keep` jumps in some lanes and not in others.
# Here are four lanes and four numbers, of which -1 and -5 are negative. A filled dot is a lane that
# takes part. Which lanes will take part in `SET A, 0`, and what do the others do meanwhile?

# %%
SmallComputer(relu_all, lanes=4, x=[3, -1, 4, -5], y=[0] * 4, n=4).trace()

# %% [markdown]
# In step 8 the lanes with 3 and 4 have jumped ahead to `keep` and wait there, idle, until the
# others arrive. This is called **divergence**: where lanes disagree, the control unit takes one
# path after the other, and each lane sits out the paths that are not its own.
#
# Here it costs one step. A loop can cost far more. This program counts how often a number can be
# halved, and its loop ends early for small numbers. Seven lanes get a small one, lane 6 gets 1,000.

# %%
halvings = """
        LOAD  A, x[LANE]
        SET   C, 0
again:  CMP   A, 2
        JN    done
        DIV   A, 2
        ADD   C, 1
        JUMP  again
done:   STORE C, y[LANE]
        HALT
"""
computer = SmallComputer(halvings, lanes=8, x=[1, 1, 2, 1, 3, 1, 1000, 1], y=[0] * 8)
figures.plot_lanes(computer.trace(), title="One slow lane keeps seven waiting")

# %%
computer["y"], f"lanes busy: {computer.cost.lanes_busy:.0%}"

# %% [markdown]
# The answers are right; most of the lanes did nothing most of the time. Eight separate processors
# would not wait for each other. That is the price of sharing a control unit, and NVIDIA's GPUs pay
# it too: 32 lanes, called a *warp*, share their instructions. Code for GPUs therefore avoids
# branches that depend on the data. ReLU as a maximum has none.

# %% [markdown]
# ## A matrix product falls into independent cells (8 minutes)
#
# The heart of every layer is a matrix product. Cell (i, j) of `x @ w` is row i of `x` times column
# j of `w`, summed up.

# %%
hardware.draw_matrix_product()


# %%
def product_cell(x, w, i, j):
    return sum(x[i, k] * w[k, j] for k in range(x.shape[1]))


x = torch.arange(16).reshape(4, 4)
w = torch.arange(16).reshape(4, 4) - 5
product_cell(x, w, 1, 3), (x @ w)[1, 3]

# %% [markdown]
# No cell reads another cell of the result. So does it matter in which order they are computed? Let
# us compute them in a shuffled order.

# %%
product = torch.zeros_like(x)
for number in torch.randperm(16).tolist():
    i, j = divmod(number, 4)
    product[i, j] = product_cell(x, w, i, j)
torch.equal(product, x @ w)

# %% [markdown]
# The order does not matter, so all cells can be computed at the same time. Not everything is like
# that. In a running total each entry needs the one before it. What happens if it is shuffled?

# %%
values = [3, 1, 4, 1, 5]
total = list(values)
for i in (4, 2, 1, 3):
    total[i] += total[i - 1]
{"shuffled": total, "in order": torch.tensor(values).cumsum(0).tolist()}

# %% [markdown]
# Wrong. (Running totals *can* be split over many lanes, with a cleverer program. A matrix product
# needs no cleverness.)
#
# On the small computer each cell of the product gets a lane, as on a GPU it gets a thread. Memory
# has no rows and columns: a matrix lies there row after row, so lane 7 of a 4x4 product finds its
# row with `DIV` and its column with `MOD`. `SIZE` and `CELLS` stand for numbers that are put in
# before the program is read.

# %%
matmul = """
        SET   J, LANE
        DIV   J, SIZE
        MUL   J, SIZE       ; J: where this lane's row begins in x
        SET   K, LANE
        MOD   K, SIZE       ; K: where its column begins in w
term:   LOAD  A, x[J]
        LOAD  B, w[K]
        MAC   C, A, B       ; C becomes C + A * B
        ADD   J, 1          ; one to the right in x
        ADD   K, SIZE       ; one down in w
        CMP   K, CELLS      ; below the last row of w?
        JN    term
        STORE C, y[LANE]
        HALT
"""

# %% [markdown]
# `MAC`, multiply and accumulate, is the other special instruction, and the one that chips for
# networks are built around. NVIDIA's go further: since 2017 their *Tensor Cores* multiply and add
# whole 4x4 matrices.


# %%
def multiply(x, w):
    size = len(x)
    program = matmul.replace("SIZE", str(size)).replace("CELLS", str(size**2))
    return SmallComputer(program, lanes=size**2, special=["MAC"], x=x, w=w, y=[0] * size**2)


computer = multiply(x, w)
computer.run()

# %%
computer["y"] == (x @ w).flatten().tolist()

# %% [markdown]
# From 4x4 to 8x8 the multiplications grow from 64 to 512, eight times as many. How many times as
# many cycles, if every cell has its lane? The next line shows (multiplications, cycles).

# %%
ones = {n: torch.ones(n, n, dtype=torch.int64) for n in (2, 4, 8, 16)}
{f"{n}x{n}": (n**3, multiply(ones[n], ones[n]).run().cycles) for n in ones}

# %% [markdown]
# About twice as many. The cycles follow the length of a row, not the number of cells.
#
# And memory? Two matrices go in and one comes out, 3n² numbers, for n³ multiplications.

# %%
{f"{n}x{n}": f"{n**3 / (3 * n**2):.1f} multiplications a number" for n in (8, 64, 1024, 8192)}

# %% [markdown]
# This is the answer to the question of two sections ago. ReLU does one operation for a number,
# whatever the size of the layer. A matrix product does the more for each number the larger it is,
# provided the numbers are kept close to the lanes that share them. GPUs have fast memory next to
# their lanes for that.

# %% [markdown]
# ## CPU and GPU (7 minutes)
#
# Take four small computers, and give each a control unit that guesses which way a jump will go, and
# a large cache, a fast memory for what was used last: that is a CPU, a few cores that each do
# anything fast. Take thousands of lanes instead, with a small control unit for every few of them:
# that is a GPU, many simple cores that are fast together.

# %%
hardware.draw_processors()

# %% [markdown]
# The words change with the machine. CPUs have lanes, too: their *vector instructions* compute with
# several numbers at a time, 8 of them on chips with AVX2. And a GPU's *kernel* is a program, no
# relation of the kernel that runs this notebook.
#
# | on the small computer | on a CPU | on an NVIDIA GPU |
# |---|---|---|
# | a lane | an element of a vector register | a *CUDA core*, and the *thread* that runs on it |
# | lanes under one control unit | a vector: 8 numbers with AVX2 | a *warp*: 32 threads |
# | the whole processor | a core | a *streaming multiprocessor* (SM), with several warps |
# | a program | a function | a *kernel* |
# | lanes that wait | masked elements | *divergence* |
#
# In numbers: the T4, a GPU that Colab lends out, has 40 SMs of 64 lanes, 2,560 in all; an H100 has
# 132 SMs of 128 lanes, 16,896 (NVIDIA's data sheets). One CPU core is much faster than one of these
# lanes, so a GPU wins only where thousands of lanes have something to do.
#
# ### How graphics cards came to train networks
#
# Graphics needs the same small program run for every pixel. For years that was all these chips
# could do, and people who wanted something else from them disguised it as a picture.
#
# - **2002**: Mark Harris founds the site GPGPU.org. The word is his: *general-purpose computation
#   on GPUs*.
# - **2004**: Oh and Jung have a GPU do a network's matrix products as graphics, 20 times as fast as
#   before.
# - **2006**: NVIDIA announces **CUDA**: programs in C for the 128 cores of its newest GPUs, with no
#   picture involved. **2007**: CUDA 1.0 is released.
# - **2009**: Raina, Madhavan and Ng train deep belief networks on a GPU, for large ones **up to 70
#   times as fast** as on a dual-core CPU. A network of 100 million parameters takes around a day
#   instead of several weeks.
# - **2010**: Lee and others tune both sides. Over their set of programs a GPU is then 2.5 times as
#   fast as a CPU, on average.
# - **2012**: Krizhevsky, Sutskever and Hinton win the ImageNet challenge with a CNN that they train
#   on two GPUs made for games.
# - **2017**: NVIDIA's V100 has Tensor Cores, and Google describes its TPU.
#
# 70 times or 2.5 times? Both were measured. A speed-up is a fraction, and it says as much about the
# program in the denominator as about the GPU: how well the CPU was used, how large the task was,
# whether it was a matrix product. Whenever you read one, ask: compared with what? You measure your
# own below.

# %% [markdown]
# ## What this machine has (6 minutes)
#
# Four layers have to fit together before torch computes on a GPU:
#
# 1. a **GPU** that is there;
# 2. its **driver**, part of the operating system, which comes with the command `nvidia-smi`;
# 3. a **build of torch** made for GPUs: it brings CUDA's libraries along, so you do not install
#    those;
# 4. your program, which asks for the GPU.
#
# `nvidia-smi` asks the driver. In its table you find the *driver version*; a *CUDA version*, the
# newest that this driver can serve, not what is installed; and for each GPU its name, temperature,
# power, the memory in use and in all, how busy it is, and the processes on it.


# %% tags=["nbval-ignore-output"]
def ask_driver():
    if shutil.which("nvidia-smi") is None:
        return "There is no nvidia-smi here, so there is no NVIDIA driver."
    answer = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=60)
    return answer.stdout or answer.stderr


print(ask_driver())

# %% [markdown]
# Then torch. `torch.version.cuda` is what the build was *made for*, and says nothing about this
# machine. `torch.cuda.is_available()` is the answer that counts; `torch.accelerator.device_count()`
# counts the GPUs that torch can use, of any make. What they mean together:


# %%
def meaning(made_for, driver, gpus):
    if gpus > 0:
        return "torch can compute on a GPU"
    if made_for is None:
        return "this torch is made for CPUs: install a build for GPUs, if there is one here"
    if not driver:
        return "torch is ready, but there is no GPU here, or its driver is missing"
    return "torch and driver do not fit: update the driver, or see whether the GPU is in use"


cases = [("13.0", True, 1), (None, True, 0), ("13.0", False, 0), ("13.0", True, 0)]
[meaning(*case) for case in cases]

# %% tags=["nbval-ignore-output"]
made_for = torch.version.cuda or torch.version.hip
driver = shutil.which("nvidia-smi") is not None
gpus = torch.accelerator.device_count()
{
    "torch": torch.__version__,
    "made for": made_for or "CPUs only",
    "NVIDIA driver": "found" if driver else "none",
    "GPUs": gpus,
    "which means": meaning(made_for, driver, gpus),
}

# %% [markdown]
# **If there is no GPU here**, nothing is wrong. This lesson measures the CPU alone, and the next
# three lessons practice on a simulated GPU. To borrow a real one: open this notebook in Colab and
# choose *Runtime, Change runtime type, T4 GPU*. (On Apple or Intel chips `torch.accelerator` finds
# the GPU without CUDA; AMD's cards answer to the name `cuda`.)
#
# How many lanes are there? A CPU's cores each have vector lanes, a GPU's SMs each have warps.

# %% tags=["nbval-ignore-output"]
lanes_here = {
    "device": describe_device(device),
    "CPU threads torch uses": torch.get_num_threads(),
    "CPU vector instructions": torch.backends.cpu.get_cpu_capability(),
}
if device.type == "cuda":
    properties = torch.cuda.get_device_properties(device)
    lanes_here["GPU multiprocessors"] = properties.multi_processor_count
    lanes_here["threads in a warp"] = properties.warp_size
    lanes_here["GPU memory"] = f"{properties.total_memory / 2**30:.0f} GiB"
lanes_here

# %% [markdown]
# `AVX2` means 8 numbers of 32 bits at a time, `AVX512` 16, `NEON` 4. Your CPU is a small computer
# with lanes, too. Whatever is printed above, this holds on every machine:

# %%
device.type == "cpu" or gpus > 0

# %% [markdown]
# ## Measure it (8 minutes)
#
# No toy from here on: everything below runs on the real hardware, and is timed there. The times
# stored in this page are those of the machine named above each figure; yours will differ.
#
# One trap has to be avoided first. A GPU accepts work and lets Python go on at once, so an ordinary
# stopwatch stops before the GPU has finished. `synchronize` waits until it has.

# %%
all_threads = torch.get_num_threads()


def clock():
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter()


# %%
def seconds(work, threads=1):
    torch.set_num_threads(threads)
    stopwatch = timeit.Timer(work, timer=clock)
    stopwatch.timeit(1)  # the first run is slower: it sets things up
    repeats = max(1, int(0.05 / stopwatch.timeit(1)))
    fastest = min(stopwatch.repeat(5, repeats)) / repeats
    torch.set_num_threads(all_threads)
    return fastest


# %% [markdown]
# Why the *fastest* of five? Whatever else the machine is doing can only add to the time.
#
# ReLU of a million numbers: a Python loop, one CPU thread, all CPU threads, and the GPU if there is
# one. By what factor do the slowest and the fastest differ? Write down a guess.

# %% tags=["nbval-ignore-output"]
x = torch.randn(1_000_000)
values = x.tolist()
relu_times = {
    "Python loop": seconds(lambda: [max(v, 0.0) for v in values]),
    "torch, 1 thread": seconds(lambda: torch.relu(x)),
    f"torch, {all_threads} threads": seconds(lambda: torch.relu(x), all_threads),
}
if device.type != "cpu":
    x_on_gpu = x.to(device)
    relu_times[f"torch on {device}"] = seconds(lambda: torch.relu(x_on_gpu))
{name: f"{1e3 * value:.3g} ms" for name, value in relu_times.items()}

# %%
factor = relu_times["Python loop"] / min(relu_times.values())
hardware.plot_times(
    relu_times,
    title=f"ReLU of a million numbers: {factor:,.0f} times from slowest to fastest\n"
    f"({describe_device(device)})",
)

# %% [markdown]
# The loop and torch compute the same numbers. Python's interpreter executes a long row of
# instructions to find out what `max(v, 0.0)` means, once for each number; torch finds out once for
# all of them, and then uses the lanes. On every machine:

# %%
same = torch.equal(torch.relu(x.to(device)).cpu(), torch.tensor([max(v, 0.0) for v in values]))
same, relu_times["torch, 1 thread"] < relu_times["Python loop"]

# %% [markdown]
# Now the matrix product of two 64x64 matrices: cell by cell in Python, and torch on one CPU thread.

# %% tags=["nbval-ignore-output"]
small = torch.randn(64, 64)
rows, columns = small.tolist(), small.T.tolist()


def python_cell(row, column):
    return sum(p * q for p, q in zip(row, column, strict=True))


def python_product():
    return [[python_cell(row, column) for column in columns] for row in rows]


python_time, torch_time = seconds(python_product), seconds(lambda: small @ small)
f"Python {1e3 * python_time:.3g} ms, torch {1e3 * torch_time:.3g} ms"

# %%
same = torch.allclose(torch.tensor(python_product()), small @ small, atol=1e-3)
same, torch_time < python_time

# %% [markdown]
# ### The larger, the better
#
# Speed can be given in GFLOP/s, billions of floating-point operations a second. A product of two n
# x n matrices takes 2n³ of them, a multiplication and an addition for each step along a row. Will a
# product of large matrices run at the same GFLOP/s as one of small matrices?

# %% tags=["nbval-ignore-output"]
sizes = [size for size in (32, 64, 128, 256, 512, 1024, 2048, 4096) if size <= largest]


def speeds(on, threads):
    matrices = [torch.randn(size, size, device=on) for size in sizes]
    times = [seconds(lambda m=m: m @ m, threads) for m in matrices]
    return [2 * n**3 / taken / 1e9 for n, taken in zip(sizes, times, strict=True)]


gflops = {"1 CPU thread": speeds("cpu", 1)}
gflops[f"{all_threads} CPU threads"] = speeds("cpu", all_threads)
if device.type != "cpu":
    gflops[str(device)] = speeds(device, 1)
{name: [f"{value:.3g}" for value in row] for name, row in gflops.items()}

# %%
best = max(gflops, key=lambda name: max(gflops[name]))
hardware.plot_speeds(
    sizes,
    gflops,
    title=f"Up to {max(gflops[best]):,.0f} GFLOP/s, with {best}\n({describe_device(device)})",
)

# %% [markdown]
# A small product is over before the lanes are busy: starting the work, and sharing it out to the
# threads, takes as long as the work. So at the left end many threads gain little over one, or lose.
# A GPU has the most lanes to fill and the longest way to get the work there, so it needs the
# largest matrices. If you see only CPU lines, run this notebook once on a GPU and compare.
#
# And ReLU? It does one operation for each number. Compare its speed with that of the largest
# product, both on one CPU thread:

# %% tags=["nbval-ignore-output"]
relu_speed = len(x) / relu_times["torch, 1 thread"] / 1e9
product_speed = gflops["1 CPU thread"][-1]
lesson.report(relu_speed=round(relu_speed, 2), product_speed=round(product_speed, 2))
f"ReLU {relu_speed:.1f}, matrix product {product_speed:.1f} billion operations a second"

# %%
product_speed > relu_speed

# %% [markdown]
# The same lanes, the same clock: the matrix product keeps them busy, ReLU waits for memory. It is
# the flat line of the small computer, on real hardware.

# %% [markdown]
# ## Summary
#
# - A processor fetches, decodes and executes one instruction after the other from the memory that
#   also holds the data. Instructions move data, compute, or decide what comes next.
# - A special instruction such as RELU saves a share of the work for one kind of program. That is
#   the trade of general purpose against special purpose: CPU to GPU as MLP to CNN.
# - Lanes under one control unit divide the time by their number, as long as they agree on the path,
#   there is work for each, and memory can feed them.
# - The cells of a matrix product need nothing from each other, and the product does the more for
#   each number the larger it is. Networks are made of matrix products, so they fit GPUs. CUDA made
#   that usable in 2007, and from 2009 on networks were trained with it.
# - A GPU is usable when `torch.cuda.is_available()` says so. If not, look for the card, the driver
#   and the build of torch, in that order.
#
# To try by yourself:
#
# 1. Write a special-purpose version of `halvings`: which instruction would you have wired?
# 2. Sort `xs` and run `relu_all` on it again with 8 lanes. Why is it cheaper?
# 3. Build the computer in `multiply` with `memory_width=4`. How many cycles do 16x16 matrices take
#    now, and what would help?
