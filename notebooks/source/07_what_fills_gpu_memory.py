# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: What fills a GPU's memory
#     promise: >-
#       You predict to the byte what training keeps in a GPU's memory, read the out-of-memory
#       error, and make a training run fit.
#     minutes: 60
#     objectives:
#       - predict and measure the bytes of weights, gradients, optimizer states and activations
#       - draw the memory of one training step over time
#       - read an out-of-memory message number by number
#       - make training fit, and know each way's cost
#       - tell cached and fragmented memory from a leak
#     prerequisites:
#       - "[Lesson 01](01_tensors_and_devices.ipynb): the memory of a tensor, and `nvidia-smi`"
#       - "[Lesson 03](03_moving_a_network.ipynb): parameters, gradients, optimizer states"
#       - "[Lesson 04](04_cifar10_on_gpu.ipynb): a training loop"
#       - "no GPU is needed: without one, the lesson uses a simulated GPU of 1 GiB"
#     credits:
#       - >-
#         The rules of the memory allocator: PyTorch's notes on
#         [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management)
#         and its file `c10/cuda/CUDACachingAllocator.cpp`.
#       - >-
#         Activation checkpointing: T. Chen, B. Xu, C. Zhang, C. Guestrin,
#         [*Training Deep Nets with Sublinear Memory Cost*](https://arxiv.org/abs/1604.06174), 2016.
#       - >-
#         16 bytes per parameter: S. Rajbhandari, J. Rasley, O. Ruwase, Y. He,
#         [*ZeRO: Memory Optimizations Toward Training Trillion Parameter
#         Models*](https://arxiv.org/abs/1910.02054), 2020.
#       - >-
#         LoRA: E. Hu et al., [*LoRA: Low-Rank Adaptation of Large Language
#         Models*](https://arxiv.org/abs/2106.09685), 2021. 8-bit optimizers: T. Dettmers et al.,
#         [*8-bit Optimizers via Block-wise Quantization*](https://arxiv.org/abs/2110.02861), 2021.
# ---

# %% [markdown]
# ## Set up

# %%
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import simulated_cuda
from helpers import lesson
from helpers.memory import allocated_size, record_memory, saved_bytes_by_layer, warm_up
from helpers.plots import memory as figures

# %% tags=["parameters"]
seed: int = 0  # for all random numbers
gpu_memory: int = 1024  # in MiB; on a real GPU, PyTorch may use no more than this

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpu_memory=f"{gpu_memory} MiB")
warm_up(device)
how = "simulated" if simulated_cuda.is_enabled() else "measured"  # for the titles of figures

# %% [markdown]
# The simulated GPU computes on the CPU, but it manages its memory by the rules of PyTorch's CUDA
# allocator. On a real GPU, the libraries cuBLAS and cuDNN allocate *workspaces*, memory for their
# own calculations. `warm_up` uses both once, so that what cuBLAS keeps is not counted in
# differences. Numbers marked with ≈ may differ on a real GPU, mostly by workspaces.
#
# **Without a GPU, every number of allocated bytes in this lesson is simulated**: no GPU has checked
# it yet. The predictions follow the same rules, so they can only agree with it. Run the lesson on a
# GPU to test them.
#
# ## Weights (5 minutes)
#
# Here is a network that sorts texts into ten topics. A text is a sequence of 256 *tokens*, which
# are numbers below 2<sup>18</sup> that stand for words. The embedding is a table with a row of 128
# numbers for each token. Five blocks follow, and then the mean over the tokens.

# %%
TOKENS, WIDTH, TOPICS = 2**18, 128, 10


class TextNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.LayerNorm(WIDTH)) for _ in range(5)
        )
        self.out = nn.Linear(WIDTH, TOPICS)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.out(x.mean(dim=1))


def make_batch(texts):
    tokens = torch.randint(TOKENS, (texts, 256), device=device)
    return tokens, torch.randint(TOPICS, (texts,), device=device)


# %% [markdown]
# A `float32` number takes 4 bytes, and PyTorch allocates GPU memory in multiples of 512 bytes, as
# [lesson 01](01_tensors_and_devices.ipynb) shows. `allocated_size` rounds up to such a multiple.
#
# **Think first:** how many MiB (2<sup>20</sup> bytes) does the embedding take? And how many bytes
# does `self.out` take?
#
# <details><summary>Answer</summary>
#
# The embedding has 2<sup>18</sup> · 2<sup>7</sup> numbers of 2<sup>2</sup> bytes: 2<sup>27</sup>
# bytes, which is 128 MiB. `self.out` has a weight of 10 · 128 · 4 = 5,120 bytes, a multiple of 512,
# and a bias of 10 · 4 = 40 bytes, for which 512 are allocated: 5,632 bytes.
#
# </details>
#
# `torch.cuda.memory_allocated()` returns the bytes of your program's tensors that are on the GPU
# now. It works the same on a real and on a simulated GPU.

# %%
net = TextNet()
predicted = sum(allocated_size(parameter.nbytes) for parameter in net.parameters())

before = torch.cuda.memory_allocated()
net.to(device)
allocated = torch.cuda.memory_allocated() - before
f"weights: {predicted:,} bytes predicted, {allocated:,} allocated"

# %%
del net
torch.cuda.memory_allocated() - before

# %% [markdown]
# ## Gradients and optimizer states (8 minutes)
#
# The backward pass creates a gradient for each parameter. The optimizer's first step creates its
# *states*, further tensors of the size of the parameters, which it keeps for the following steps:
#
# | optimizer | states of each parameter |
# |---|---|
# | SGD | none |
# | SGD with momentum | 1, the momentum buffer |
# | Adam, AdamW | 2, the running means of the gradient and of its square |
#
# **Think first:** call the bytes of the weights *w*. How many bytes are on the GPU after one step
# with each of the three optimizers?
#
# <details><summary>Answer</summary>
#
# With SGD 2*w*: weights and gradients. With momentum 3*w*, and with Adam 4*w*.
#
# </details>

# %%
tokens, labels = make_batch(4)
OPTIMIZERS = {
    "SGD": (lambda parameters: torch.optim.SGD(parameters, lr=0.1), 0),
    "momentum": (lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9), 1),
    "Adam": (torch.optim.Adam, 2),
}


def measure_parts(make_optimizer):
    marks = [torch.cuda.memory_allocated()]
    net = TextNet().to(device)
    marks.append(torch.cuda.memory_allocated())
    optimizer = make_optimizer(net.parameters())
    F.cross_entropy(net(tokens), labels).backward()
    marks.append(torch.cuda.memory_allocated())
    optimizer.step()
    marks.append(torch.cuda.memory_allocated())
    sizes = [after - before for before, after in pairwise(marks)]
    return dict(zip(("weights", "gradients", "states"), sizes, strict=True))


# %%
parts = {}
for name, (make_optimizer, states) in OPTIMIZERS.items():
    parts[name] = measure_parts(make_optimizer)
    total = sum(parts[name].values())
    print(f"{name:9} {(2 + states) * predicted:13,} bytes predicted, {total:13,} allocated")

# %%
figures.plot_parts(parts, title=f"With Adam, training keeps four times the weights ({how})")

# %% [markdown]
# The numbers agree to the byte. (A tensor of more than 1 MiB may get up to 1 MiB more, if it
# reuses a larger block. Adam's step counters are on the CPU.) `optimizer.zero_grad()` sets the
# gradients to `None`, which frees their memory until the next backward pass.
#
# ## Activations (12 minutes)
#
# To compute gradients, the backward pass needs results of the forward pass. *Activations* are the
# tensors that autograd keeps for this purpose. Their size depends on the batch.
#
# Each operation decides what it needs:
#
# | operation | what autograd keeps |
# |---|---|
# | `Embedding` | its input, the tokens |
# | `Linear`, convolution | its input (and the weight, which exists anyway) |
# | `ReLU` | its output |
# | `LayerNorm`, `BatchNorm` | its input, and two numbers per row or per channel |
# | `mean`, `sum`, `x + y` | nothing but shapes |
#
# A tensor that two operations need is kept once.
#
# **Think first:** for a batch of 64 texts, how many MiB is the output of the embedding? How many
# tensors of this size does autograd keep for the five blocks?
#
# <details><summary>Answer</summary>
#
# 64 · 256 · 128 · 4 bytes, which is 8 MiB. Ten tensors: in each block, the input of the `Linear`
# and the output of the `ReLU`, which is also the input of the `LayerNorm`. The output of a
# `LayerNorm` is the input of the next `Linear`. Nothing keeps the last one: a mean needs only the
# shape.
#
# </details>
#
# PyTorch's `saved_tensors_hooks` call a function for each tensor that autograd keeps.
# `saved_bytes_by_layer` uses them to add up the bytes for each layer. `requested` returns the
# allocator's count: the bytes that all tensors asked for, before rounding.


# %%
def requested():
    return torch.cuda.memory_stats()["requested_bytes.all.current"]


# %%
net = TextNet().to(device)
tokens, labels = make_batch(64)

before = requested()
kept, scores = saved_bytes_by_layer(net, tokens)
in_allocator = requested() - before - scores.nbytes
f"kept: {sum(kept.values()):,} bytes in the hooks, {in_allocator:,} in the allocator's count"

# %%
figures.plot_layers(kept, title=f"Ten tensors of 8 MiB, two per block ({how})")

# %% [markdown]
# A tensor that two layers keep counts for the first one. So `LayerNorm` shows only the mean and the
# inverse of the standard deviation of each token: 64 · 256 · 4 bytes each, 128 KiB together. `out`
# keeps 32 KiB. So the sum is 10 · 8 MiB + 5 · 128 KiB + 32 KiB.
#
# ### Batch size, data type, and no gradients
#
# **Think first:** how do the kept bytes change with half the texts? With `bfloat16` numbers, which
# have 2 bytes? With `torch.no_grad()`?
#
# <details><summary>Answer</summary>
#
# The first two halve them: activations are proportional to the batch size and to the bytes of a
# number. Without gradients, nothing is kept. (On a real GPU, `LayerNorm` keeps its two numbers per
# token in `float32` even if the activations are `bfloat16`: 0.3 MiB more.)
#
# </details>


# %%
def activations(net, inputs):
    before = requested()
    scores = net(inputs)
    return requested() - before - scores.nbytes


print(f"64 texts:            {activations(net, tokens):12,} bytes")
print(f"32 texts:            {activations(net, tokens[:32]):12,} bytes")
with torch.no_grad():
    print(f"64 texts, no_grad:   {activations(net, tokens):12,} bytes")
print(f"64 texts, bfloat16: ≈ {activations(net.to(torch.bfloat16), tokens):,} bytes")

# %% [markdown]
# ### Image size
#
# In a convolutional network, activations grow with the number of pixels, and the weights do not.
# Twice the width and twice the height is nearly four times the memory:

# %%
convnet = nn.Sequential(
    nn.Conv2d(3, 16, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 10),
).to(device)

{
    f"{side} x {side} pixels": activations(convnet, torch.zeros(8, 3, side, side, device=device))
    for side in (32, 64, 128)
}

# %% [markdown]
# **What dominates depends on the network**: in `TextNet` with a small batch, it is the embedding
# with its gradient and its states. In a convolutional network, it is usually the activations.
#
# ## One training step over time (5 minutes)
#
# `record_memory` runs functions and notes `memory_allocated()` after every operation on the GPU.
#
# **Think first:** at which moment of a training step is the most memory in use?
#
# <details><summary>Answer</summary>
#
# Early in the backward pass: all activations are there, and the first gradients of activations
# come on top. Then each layer's activations are freed as soon as its gradients are computed.
#
# </details>

# %%
del scores, kept, convnet
net = TextNet().to(device)
optimizer = torch.optim.Adam(net.parameters())
F.cross_entropy(net(tokens[:1]), labels[:1]).backward()
optimizer.step()  # creates the states
optimizer.zero_grad()
losses = []

tokens, labels = make_batch(256)
samples = record_memory(
    {
        "forward": lambda: losses.append(F.cross_entropy(net(tokens), labels)),
        "backward": lambda: losses.pop().backward(),  # frees the loss too
        "optimizer": optimizer.step,
    }
)
figures.plot_timeline(samples, title=f"Memory is highest early in the backward pass ({how})")

# %% [markdown]
# The curve starts with the weights and the states. The last jump of the backward pass is the
# gradient of the embedding. In the optimizer's step, memory rises once more: on CUDA, Adam
# processes all parameters together (`foreach`), with temporary tensors as large as the weights.
# `Adam(..., fused=True)` needs none.
#
# The *peak* is what has to fit. `torch.cuda.max_memory_allocated()` returns it, since the start of
# the program or since `reset_peak_memory_stats()`.

# %%
del net, optimizer, tokens, labels, samples
torch.cuda.reset_peak_memory_stats()

# %% [markdown]
# ## Out of memory (7 minutes)
#
# Now train with batches of 512 texts and Adam. **Think first:** on a GPU of 1024 MiB, does the
# first step work? Does the second?
#
# <details><summary>Answer</summary>
#
# Ten activations of 64 MiB are kept, and the weights take 128 MiB: 768 MiB. In the first step
# there are no states, and the embedding's gradient comes after the activations are freed. With
# about 130 MiB of temporary tensors, this fits. In the second step Adam's states are there too:
# 1024 MiB, with nothing left for temporary tensors. This does not fit. A program that completes its
# first step can still run out of memory in the second one.
#
# </details>


# %%
def training_step(net, optimizer, tokens, labels):
    optimizer.zero_grad()
    F.cross_entropy(net(tokens), labels).backward()
    optimizer.step()


before = torch.cuda.memory_allocated()
tokens, labels = make_batch(512)
net = TextNet().to(device)
optimizer = torch.optim.Adam(net.parameters())
for step in (1, 2):
    try:
        training_step(net, optimizer, tokens, labels)
        print(f"step {step}: works")
    except torch.OutOfMemoryError as error:
        print(f"step {step}: out of memory")
        message = str(error)

# %% tags=["nbval-ignore-output"]
for sentence in message.split(". "):
    print(sentence)

# %% [markdown]
# Read it number by number:
#
# - `Tried to allocate`: the tensor that failed, rounded up, often one activation. It is rarely the
#   cause.
# - `GPU 0 has a total capacity of`: the GPU's memory. Is it the GPU that you expect?
# - `of which ... is free`: what the driver could still give, without regard to a limit that the
#   program has set. Other processes use memory too.
# - `this process has` or `Process ... has` (only on a real GPU): this includes a few hundred MiB
#   for CUDA itself.
# - `... allowed` (only with a limit): the limit that the program has set with
#   `set_per_process_memory_fraction`, as this lesson does on a real GPU.
# - `is allocated by PyTorch`: the tensors of your program, **usually the number to reduce**.
# - `is reserved by PyTorch but unallocated`: memory that PyTorch keeps for reuse. If it is large,
#   the memory is fragmented: see below.
#
# Here nearly all allowed memory is allocated: the tensors themselves are too large together. After
# the error is caught, the failed step's tensors are freed, because no variable holds them. The
# weights and the states stay:

# %%
net_and_states = 3 * predicted
in_use = torch.cuda.memory_allocated() - before - tokens.nbytes - allocated_size(labels.nbytes)
f"{in_use:,} bytes are in use: weights and states are {net_and_states:,}"

# %% [markdown]
# ## Make it fit (13 minutes)
#
# Here are five ways. For each, the next function measures the peak of one training step, with the
# optimizer's states in place.


# %%
def peak_of(step, network=TextNet, make_optimizer=torch.optim.Adam, dtype=torch.float32):
    torch.cuda.empty_cache()
    net = network().to(device, dtype)
    optimizer = make_optimizer(net.parameters())
    F.cross_entropy(net(tokens[:1]), labels[:1]).backward()
    optimizer.step()  # creates the states
    torch.cuda.reset_peak_memory_stats()
    try:
        step(net, optimizer, tokens, labels)
    except torch.OutOfMemoryError:
        return None
    return torch.cuda.max_memory_allocated()


del net, optimizer
peaks = {"as it is": peak_of(training_step)}
peaks  # None: out of memory

# %% [markdown]
# ### 1. A smaller batch
#
# Half the batch is half the activations. The learning rate may have to change with the batch size,
# and a small batch may not keep a GPU busy ([lesson 05](05_when_the_gpu_wins.ipynb)).

# %%
peaks["batch of 256"] = peak_of(
    lambda net, optimizer, tokens, labels: training_step(net, optimizer, tokens[:256], labels[:256])
)

# %% [markdown]
# ### 2. Gradient accumulation
#
# Split the batch into parts, call `backward` for each, and step once: `backward` *adds* to the
# gradients. If all parts have the same size, the batch's mean is the mean of the parts' means, so
# each part's loss is divided by the number of parts.


# %%
def accumulating_step(net, optimizer, tokens, labels, parts=4):
    optimizer.zero_grad()
    for some_tokens, some_labels in zip(tokens.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(net(some_tokens), some_labels) / parts
        loss.backward()
    optimizer.step()


peaks["accumulation"] = peak_of(accumulating_step)

# %% [markdown]
# The gradients are those of the whole batch, except for rounding. **Unless the network has batch
# normalization**: it uses the mean and the variance of the images that it gets at once, and these
# are now those of a part. The next cell compares the gradients of one batch with those of four
# accumulated parts, relative to the largest gradient:


# %%
def small_net(norm):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), norm, nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 10)
    ).to(device)


def gradients(net, images, labels, parts):
    net.zero_grad()
    for some, their_labels in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        (F.cross_entropy(net(some), their_labels) / parts).backward()
    return torch.cat([parameter.grad.flatten() for parameter in net.parameters()])


images = torch.randn(16, 3, 8, 8, device=device)
topics = torch.randint(10, (16,), device=device)
for name, norm in (("GroupNorm", nn.GroupNorm(2, 8)), ("BatchNorm", nn.BatchNorm2d(8))):
    small = small_net(norm)
    whole, accumulated = (gradients(small, images, topics, parts) for parts in (1, 4))
    difference = (whole - accumulated).abs().max() / whole.abs().max()
    print(f"{name}: ≈ {100 * difference:.1f} % difference")

# %% [markdown]
# `GroupNorm` and `LayerNorm` normalize each example on its own, so accumulation changes nothing.
#
# ### 3. Activation checkpointing
#
# `checkpoint(block, x)` keeps only the input of the block. In the backward pass, it runs the
# block's forward pass again to get the rest.


# %%
class CheckpointedTextNet(TextNet):
    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            # PyTorch recommends use_reentrant=False, which also works if x needs no gradient.
            x = checkpoint(block, x, use_reentrant=False)
        return self.out(x.mean(dim=1))


peaks["checkpointing"] = peak_of(training_step, network=CheckpointedTextNet)

# %% [markdown]
# **Think first:** how much more does a step compute? Count floating-point operations: a backward
# pass has twice as many as a forward pass.
#
# <details><summary>Answer</summary>
#
# 4 instead of 3 times the operations of a forward pass: a third more, and about a third more time
# if the GPU is busy. You get the same gradients. But `BatchNorm` runs twice, and so updates its
# running mean and variance twice.
#
# </details>

# %%
from torch.utils.flop_counter import FlopCounterMode


def operations(network_class):
    net = network_class().to(device)
    with FlopCounterMode(display=False) as counter:
        net(tokens[:8]).sum().backward()
    return counter.get_total_flops()


plain, again = operations(TextNet), operations(CheckpointedTextNet)
f"{plain / 1e6:.0f} million operations, with checkpointing {again / 1e6:.0f} million"

# %% [markdown]
# ### 4. Lower precision
#
# With `bfloat16` everywhere, weights, gradients, states and activations take half the memory. But a
# `bfloat16` number has only 8 significant bits, so that small updates of a weight are rounded away.
# In practice, *mixed precision* keeps weights, gradients and states in `float32` and halves some
# activations: that is [lesson 08](08_mixed_precision_and_profiling.ipynb).

# %%
peaks["bfloat16"] = peak_of(training_step, dtype=torch.bfloat16)


def autocast_step(net, optimizer, tokens, labels):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(net(tokens), labels)
    loss.backward()
    optimizer.step()


peaks["autocast"] = peak_of(autocast_step)
f"autocast: {'out of memory' if peaks['autocast'] is None else 'fits'}"

# %% [markdown]
# **Think first:** mixed precision (`autocast`) does not fit here. Which activations does it halve,
# and which not?
#
# <details><summary>Answer</summary>
#
# The input of each `Linear` and the output of each `ReLU` are kept in `bfloat16`. But `LayerNorm`
# computes in `float32`, so a third tensor of each block is kept: a `float32` copy of its input. In
# total, as many bytes as before, and 16-bit copies of the weights. Where convolutions, `ReLU` and
# `BatchNorm` follow each other, autocast keeps nearly half of the bytes.
#
# </details>

# %% [markdown]
# ### 5. Fewer states
#
# SGD without momentum has none. But Adam may need fewer steps, so this changes the training most.
# Optimizers with 8-bit states need memory between SGD and Adam.

# %%
peaks["SGD instead of Adam"] = peak_of(training_step, make_optimizer=OPTIMIZERS["SGD"][0])

# %%
figures.plot_against_limit(
    peaks,
    gpu_memory * 2**20,
    title=f"Five ways fit into 1 GiB; autocast does not, in this network ({how})",
)

# %%
for name, peak in peaks.items():
    print(f"{name:19}", "out of memory" if peak is None else f"≈ {peak / 2**20:.0f} MiB")

# %% [markdown]
# Accumulation keeps the gradients of the earlier parts, and checkpointing keeps the inputs of all
# blocks, so both save less than you may expect.
#
# | way | costs | same result? |
# |---|---|---|
# | smaller batch | more steps per epoch | no: another batch size |
# | accumulation | more and smaller operations | yes, without `BatchNorm` |
# | checkpointing | about a third more computing | yes, without `BatchNorm` |
# | `bfloat16` everywhere | small updates are lost | no |
# | mixed precision | saves only some activations | nearly |
# | fewer states | perhaps more steps | no: another optimizer |
#
# A good order for a batch size that you want to keep: first look for leaks (next section), then
# mixed precision if it saves memory in your network, accumulation, checkpointing.
#
# ## Cache, fragments and leaks (7 minutes)
#
# ### The cache
#
# Asking the driver for memory is slow, so PyTorch keeps freed memory. `memory_reserved()` is all
# memory that PyTorch has gotten from the driver. `nvidia-smi` shows this number plus what CUDA
# itself needs.

# %%
del tokens, labels, images, topics, small, whole, accumulated
torch.cuda.empty_cache()

before = torch.cuda.memory_reserved()
x = torch.zeros(100 * 2**18, device=device)  # 4 bytes each: 100 MiB
del x
kept = torch.cuda.memory_reserved() - before
torch.cuda.empty_cache()
left = torch.cuda.memory_reserved() - before
f"{kept >> 20} MiB kept after del, {left >> 20} after empty_cache"

# %% [markdown]
# `empty_cache()` returns unused memory to the driver, where *other programs* can use it. It gives
# PyTorch no more memory: before an out-of-memory error, PyTorch returns its unused memory itself
# and tries again.
#
# ### Fragments
#
# PyTorch gets memory from the driver in *segments* and divides them into blocks: tensors below
# 10 MiB share segments of 20 MiB (tensors up to 1 MiB share segments of 2 MiB). Only a segment
# without a used block can be returned. The next cell fills 800 of 1024 MiB with tensors of 5 MiB,
# and frees every second one.

# %%
many = [torch.empty(5 * 2**20, dtype=torch.uint8, device=device) for _ in range(160)]
del many[::2]
try:
    torch.empty(400 * 2**20, dtype=torch.uint8, device=device)
except torch.OutOfMemoryError:
    unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    print(f"no 400 MiB, although ≈ {unused / 2**20:.0f} MiB are reserved and unused")

# %%
figures.draw_segments(
    torch.cuda.memory_snapshot(), title=f"400 MiB are unused, but no segment is empty ({how})"
)

# %% [markdown]
# In the error's message, *reserved by PyTorch but unallocated* is large. The message also names the
# environment variable `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, which lets segments grow
# (the variable's newer name is `PYTORCH_ALLOC_CONF`).
# This helps if sizes change from batch to batch, but not here: such a segment grows by pages of 20
# MiB, and only an empty page can be returned. Fixed batch sizes reduce fragmentation.
#
# ### Leaks
#
# A leak is a reference to a tensor that you no longer need. **Think first:** a validation
# loop collects the losses in a list. Does it matter whether it collects `loss` or `loss.item()`?
#
# <details><summary>Answer</summary>
#
# Yes. Each loss refers to its graph, and the graph to the activations. After `backward()`, the
# activations are gone, and a kept loss costs only its own 512 bytes on the GPU. Without
# `backward()`, as in validation, everything stays. Keep numbers (`.item()`) or detached tensors
# (`loss.detach()`), and validate under `torch.no_grad()`.
#
# </details>

# %%
many.clear()
net = TextNet().to(device)
tokens, labels = make_batch(16)


def growth(loop):
    before = torch.cuda.memory_allocated()
    kept = loop()
    return f"{len(kept)} results keep {torch.cuda.memory_allocated() - before:,} bytes"


def validation_losses():
    return [F.cross_entropy(net(tokens), labels) for _ in range(4)]


def validation_numbers():
    return [F.cross_entropy(net(tokens), labels).item() for _ in range(4)]


growth(validation_losses), growth(validation_numbers)

# %% [markdown]
# An exception keeps memory too: its traceback refers to the local variables of all functions that
# were running. Python deletes `error` at the end of an `except` block, but a notebook keeps the
# last error that a cell did not catch. So after an out-of-memory error in a notebook, restart the
# kernel, or let a small error (`1 / 0`) take its place.
#
# ## Seven billion parameters (3 minutes)
#
# The same arithmetic tells what a language model of 7 billion parameters needs, before any
# activation:

# %%
bytes_per_parameter = {
    "inference, bfloat16": 2,
    "training, float32, Adam (4 weight + 4 gradient + 8 states)": 16,
    "training, mixed precision, Adam (4 + 4 + 8)": 16,
}
for what, each in bytes_per_parameter.items():
    print(f"{7e9 * each / 1e9:4.0f} GB  {what}")

# %% [markdown]
# During a step, autocast also keeps 16-bit copies of the weights for the backward pass: 14 GB more.
#
# A GPU with 80 GB can use such a model, but cannot train it with Adam. Ways out:
#
# - **Divide it among GPUs**: weights, gradients and states in equal shares (FSDP, ZeRO). On 8 GPUs,
#   112 GB become 14 GB for each: [lesson 09](09_more_than_one_gpu.ipynb).
# - **Train fewer parameters**: LoRA freezes the weights and trains the product of two thin matrices
#   beside each: at rank 16, 2 · 16 · 4,096 numbers for a weight of 4,096 x 4,096, 1/128 of them.
#   The frozen weights take 14 GB in `bfloat16`, and 16 bytes for each trained number are 0.9 GB
#   more.
# - **Smaller states**: 8-bit optimizers need about 2 bytes instead of 8.

# %% [markdown]
# ## Summary
#
# - Weights, gradients, optimizer states and activations fill the memory. With Adam, the first three
#   are four times the weights. Activations grow with the batch and the number of pixels.
# - The peak has to fit. It is usually early in the backward pass or in the optimizer's step.
# - `memory_allocated` is your tensors, `memory_reserved` includes the cache, and
#   `max_memory_allocated` is the peak.
# - Smaller batches, accumulation, checkpointing, lower precision and fewer states make training
#   fit; without `BatchNorm`, accumulation and checkpointing leave the result as it is.
# - A leak raises `memory_allocated` at each step; the cache and fragments raise only
#   `memory_reserved`.
#
# **To try:**
#
# First free the network of the last section with `del net`. `peak_of` uses the variables `tokens`
# and `labels`.
#
# 1. Set `tokens, labels = make_batch(1)`. Predict, and then measure, the peak of a step with
#    `make_optimizer=lambda parameters: torch.optim.Adam(parameters, fused=True)`. Why does it
#    differ from the peak with `torch.optim.Adam(parameters)`? (Do not compare with `fused=False`,
#    which also turns off `foreach`.)
# 2. Set `tokens, labels = make_batch(256)`, and checkpoint all five blocks together, as one
#    function. What is the peak now? Why is that not better?
#
# <details><summary>Answers</summary>
#
# 1. Without `fused`, temporary tensors of the size of all weights come on top of weights, gradients
#    and states: five times the weights instead of four.
# 2. The forward pass keeps almost nothing. But the backward pass runs all five blocks again and
#    then keeps all of their activations at once: the peak is that of the network without
#    checkpointing.
#
# </details>
