# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: What fills a GPU's memory
#     promise: >-
#       You predict to the byte what training keeps in a GPU's memory, read the out-of-memory
#       error, and make a training that does not fit run.
#     minutes: 60
#     objectives:
#       - predict and measure the bytes of weights, gradients, optimizer states and activations
#       - draw the memory of one training step over time
#       - read an out-of-memory message number by number
#       - make a training fit, with what each way costs
#       - tell cached and fragmented memory from a leak
#     prerequisites:
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
# ---

# %%
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from helpers import lesson
from helpers.memory import record_memory, rounded, warm_up
from helpers.plots import memory as figures

# %% tags=["parameters"]
seed: int = 0  # for all random numbers
gpu_memory: int = 1024  # in MiB; on a real GPU, PyTorch may use no more than this

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpu_memory=f"{gpu_memory} MiB")
warm_up(device)

# %% [markdown]
# The simulated GPU computes on the CPU, but it manages its memory by the rules of PyTorch's CUDA
# allocator. On a real GPU, the libraries cuBLAS and cuDNN allocate *workspaces*, memory for their
# own calculations. `warm_up` uses both libraries once, so that the workspaces that they keep are
# not counted below. Numbers marked with ≈ may be larger on a real GPU, because they include
# short-lived workspaces.
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
# [lesson 01](01_tensors_and_devices.ipynb) shows. `rounded` rounds up to such a multiple.
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

# %%
net = TextNet()
predicted = sum(rounded(parameter.nbytes) for parameter in net.parameters())

before = torch.cuda.memory_allocated()
net.to(device)
measured = torch.cuda.memory_allocated() - before
f"weights: {predicted:,} bytes predicted, {measured:,} measured"

# %% [markdown]
# `torch.cuda.memory_allocated()` returns the bytes of all tensors that are on the GPU now. It works
# the same on a real and on a simulated GPU.

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
tokens, labels = make_batch(4)
parts = {}
for name, (make_optimizer, states) in OPTIMIZERS.items():
    parts[name] = measure_parts(make_optimizer)
    total = sum(parts[name].values())
    print(f"{name:9} {(2 + states) * predicted:13,} bytes predicted, {total:13,} measured")

# %%
figures.plot_parts(parts, title="With Adam, training keeps four times the weights")

# %% [markdown]
# The prediction is right to the byte. (Adam also has step counters, but they are on the CPU unless
# you ask for a fused or capturable optimizer.) `optimizer.zero_grad()` sets the gradients to
# `None`, which frees their memory until the next backward pass.
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
# | `Linear`, convolution | its input (and the weight, which exists anyway) |
# | `ReLU` | its output |
# | `LayerNorm`, `BatchNorm` | its input, and two numbers per row or per channel |
# | `mean`, `sum`, `x + y` | nothing but shapes |
#
# A tensor that two operations need is kept once.
#
# **Think first:** for a batch of 64 texts, how many MiB has the output of the embedding? How many
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
# `saved_tensors_hooks` calls a function for each tensor that autograd keeps. The next function adds
# up their bytes for each layer. To compare them with the allocator's count, `requested` returns the
# bytes that all tensors asked for, before rounding.


# %%
def requested():
    return torch.cuda.memory_stats()["requested_bytes.all.current"]


def kept_by_layer(net, tokens):
    kept, running = {}, []
    seen = {tensor.untyped_storage().data_ptr() for tensor in (tokens, *net.parameters())}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            kept[running[-1]] = kept.get(running[-1], 0) + storage.nbytes()
        return tensor.detach()  # without its graph, which would refer to it in a circle

    for name, layer in net.named_modules():
        if not list(layer.children()):
            layer.register_forward_pre_hook(lambda *_, name=name: running.append(name))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = net(tokens)
    return kept, result


# %%
net = TextNet().to(device)
tokens, labels = make_batch(64)

before = requested()
kept, scores = kept_by_layer(net, tokens)
measured = requested() - before - scores.nbytes
f"kept: {sum(kept.values()):,} bytes in the hooks, {measured:,} measured"

# %%
names = {0: "Linear", 1: "ReLU", 2: "LayerNorm"}
figures.plot_layers(
    {
        f"block {layer[7]}: {names[int(layer[9])]}" if layer[0] == "b" else layer: size
        for layer, size in kept.items()
    },
    title="Linear and ReLU keep a tensor each; LayerNorm keeps two small ones",
)

# %% [markdown]
# A `LayerNorm` keeps the mean and the inverse of the standard deviation of each token: 64 · 256 · 4
# bytes each, 128 KiB together.
#
# ### Batch size, data type, and no gradients
#
# **Think first:** how do the kept bytes change with half the texts? With `bfloat16` numbers, which
# have 2 bytes? With `torch.no_grad()`?


# %%
def activations(net, inputs):
    before = requested()
    scores = net(inputs)
    return requested() - before - scores.nbytes


print(f"64 texts:            {activations(net, tokens):12,} bytes")
print(f"32 texts:            {activations(net, tokens[:32]):12,} bytes")
print(f"64 texts, bfloat16: ≈ {activations(net.to(torch.bfloat16), tokens):,} bytes")
with torch.no_grad():
    print(f"64 texts, no_grad:   {activations(net, tokens):12,} bytes")

# %% [markdown]
# <details><summary>Answer</summary>
#
# The first two halve them: activations are proportional to the batch size and to the bytes of a
# number. Without gradients, nothing is kept. (On a real GPU, `LayerNorm` keeps its two numbers per
# token in `float32` even if the activations are `bfloat16`: 0.3 MiB more.)
#
# </details>
#
# ### Image size
#
# In a convolutional network, activations grow with the number of pixels, and the weights do not.
# Twice the width and twice the height is four times the memory:

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
# So **what dominates depends on the network**: in `TextNet` with a small batch, it is the embedding
# with its gradient and its states. In a convolutional network, it is nearly always the activations.
#
# ## One training step over time (5 minutes)
#
# `record_memory` runs functions and notes `memory_allocated()` after every operation on the GPU.
#
# **Think first:** at which moment of a training step is the most memory in use?

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
        "backward": lambda: losses.pop().backward(),
        "optimizer": optimizer.step,
    }
)
figures.plot_timeline(samples, title="Memory climbs in the forward pass, then falls")

# %% [markdown]
# <details><summary>Answer</summary>
#
# At the start of the backward pass: all activations are there, and the first gradients of
# activations come on top. Then each layer's activations are freed as soon as its gradients are
# computed. The last jump of the backward pass is the gradient of the embedding.
#
# </details>
#
# In the optimizer's step, memory rises once more for a short time: on CUDA, optimizers process all
# parameters together (`foreach`), which needs temporary tensors. `Adam(..., fused=True)` needs
# none.
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
# One activation has 64 MiB, and ten are kept: 640 MiB. The weights have 128 MiB. In the first step
# there are no states yet: 768 MiB, and some temporary tensors. This fits. In the second step Adam's
# states are there too: 1024 MiB without any temporary tensor. This does not fit. A program that
# completes its first step can still run out of memory in the second one.
#
# </details>


# %%
def training_step(net, optimizer, tokens, labels):
    optimizer.zero_grad()
    F.cross_entropy(net(tokens), labels).backward()
    optimizer.step()


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
# - `Tried to allocate`: the request that failed, rounded up, often the size of one activation. It
#   is rarely the cause.
# - `GPU 0 has a total capacity of`: the GPU's memory. Is it the GPU that you expect?
# - `of which ... is free`: what the driver could still give. Other processes use memory too.
# - `Including non-PyTorch memory, this process has` (only on a real GPU): with CUDA itself, which
#   takes some hundred MiB.
# - `... allowed` (only on a real GPU): the limit that the program has set, as this lesson does.
# - `is allocated by PyTorch`: the tensors of your program, **usually the number to reduce**.
# - `is reserved by PyTorch but unallocated`: memory that PyTorch keeps for reuse. If it is large,
#   the memory is fragmented: see below.
#
# Here nearly everything is allocated, and little is free or unallocated: the tensors themselves are
# too large together. After the error, the tensors of the failed step are freed, because no variable
# holds them any longer. The weights and the states stay:

# %%
net_and_states = 3 * predicted
in_use = torch.cuda.memory_allocated() - tokens.nbytes - rounded(labels.nbytes)
f"{in_use:,} bytes are in use: weights and states are {net_and_states:,}"

# %% [markdown]
# ## Make it fit (13 minutes)
#
# Five ways follow. For each, the next function measures the peak of one training step, with the
# optimizer's states in place.


# %%
def peak_of(training_step, make_optimizer=torch.optim.Adam, dtype=torch.float32):
    torch.cuda.empty_cache()
    net = TextNet().to(device, dtype)
    optimizer = make_optimizer(net.parameters())
    F.cross_entropy(net(tokens[:1]), labels[:1]).backward()
    optimizer.step()  # creates the states
    torch.cuda.reset_peak_memory_stats()
    try:
        training_step(net, optimizer, tokens, labels)
    except torch.OutOfMemoryError:
        return None
    return torch.cuda.max_memory_allocated()


del net, optimizer
peaks = {"as it is": peak_of(training_step)}
peaks

# %% [markdown]
# ### 1. A smaller batch
#
# This is the first thing to try. Half the batch is half the activations. The learning rate may have
# to change with the batch size, and a small batch may not keep a GPU busy
# ([lesson 05](05_when_the_gpu_wins.ipynb)).

# %%
peaks["batch of 256"] = peak_of(
    lambda net, optimizer, tokens, labels: training_step(net, optimizer, tokens[:256], labels[:256])
)

# %% [markdown]
# ### 2. Gradient accumulation
#
# Split the batch into parts, call `backward` for each, and step once: `backward` *adds* to the
# gradients. A mean over the batch is the mean of the parts' means, so each part's loss is divided
# by the number of parts.


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
    print(f"{name}: ≈ {difference:.1%} difference".replace("%", " %"))

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
            x = checkpoint(block, x, use_reentrant=False)
        return self.out(x.mean(dim=1))


def checkpointed_step(net, optimizer, tokens, labels):
    net.__class__ = CheckpointedTextNet  # the same weights, another forward
    training_step(net, optimizer, tokens, labels)


peaks["checkpointing"] = peak_of(checkpointed_step)

# %% [markdown]
# **Think first:** how much more does a step compute? Count floating-point operations: a backward
# pass has twice as many as a forward pass.

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
# <details><summary>Answer</summary>
#
# 4 instead of 3 times the operations of a forward pass: a third more, and about a third more time
# if the GPU is busy. You get the same gradients. (Dropout draws the same random numbers again.)
#
# </details>
#
# ### 4. Lower precision
#
# With `bfloat16` everywhere, weights, gradients, states and activations take half the memory. But a
# `bfloat16` number has only 8 significant bits, so that small updates of a weight are rounded away.
# In practice, *mixed precision* keeps the weights and the states in `float32` and halves only the
# activations: that is lesson 08.

# %%
peaks["bfloat16"] = peak_of(training_step, dtype=torch.bfloat16)

# %% [markdown]
# ### 5. Fewer states
#
# SGD without momentum has none. But Adam may need fewer steps, so this changes the training most.
# Optimizers with 8-bit states and Adafactor are between the two.

# %%
for name in ("momentum", "SGD"):
    peaks[f"{name} instead of Adam"] = peak_of(training_step, OPTIMIZERS[name][0])

# %%
figures.plot_against_limit(
    peaks,
    gpu_memory * 2**20,
    title="Five ways fit into 1 GiB; momentum instead of Adam does not",
)

# %%
for name, peak in peaks.items():
    print(f"{name:22}", "out of memory" if peak is None else f"≈ {peak / 2**20:.0f} MiB")

# %% [markdown]
# | way | costs | the result is the same? |
# |---|---|---|
# | smaller batch | more steps per epoch | no: another batch size |
# | accumulation | more and smaller kernels | yes, without `BatchNorm` |
# | checkpointing | about a third more computing | yes |
# | lower precision | digits | nearly |
# | fewer states | perhaps more steps | no: another optimizer |
#
# A good order: first look for leaks (next section), then mixed precision, then accumulation, then
# checkpointing.
#
# ## Cache, fragments and leaks (7 minutes)
#
# ### The cache
#
# Asking the driver for memory is slow, so PyTorch keeps freed memory. `memory_reserved()` is all
# that PyTorch has from the driver, and `nvidia-smi` shows this number plus what CUDA itself needs.

# %%
del tokens, labels, images, topics, small, whole, accumulated
torch.cuda.empty_cache()

before = torch.cuda.memory_reserved()
x = torch.zeros(100 * 2**18, device=device)
del x
kept = torch.cuda.memory_reserved() - before
torch.cuda.empty_cache()
left = torch.cuda.memory_reserved() - before
f"{kept >> 20} MiB kept after del, {left >> 20} after empty_cache"

# %% [markdown]
# `empty_cache()` returns unused memory to the driver, where *other programs* can use it. It gives
# your own program nothing: before an out-of-memory error, PyTorch returns its unused memory itself
# and tries again.
#
# ### Fragments
#
# PyTorch requests memory in *segments* and divides them into blocks: tensors below 10 MiB share
# segments of 20 MiB (tensors up to 1 MiB share segments of 2 MiB). Only a segment without a used
# block can be returned. The next cell fills 800 MiB with tensors of 5 MiB, and frees every second
# one.

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
    torch.cuda.memory_snapshot(), title="400 MiB are unused, but no two neighbors of them"
)

# %% [markdown]
# The message of the error says so: *reserved by PyTorch but unallocated* is large. It also names
# a fix, the environment variable `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, which lets
# segments grow instead. Sizes that change from batch to batch cause fragments; batches of a fixed
# size avoid them.
#
# ### Leaks
#
# In Python, memory leaks when something still refers to a tensor. **Think first:** which of these
# two loops keeps the most memory, and why?

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
# <details><summary>Answer</summary>
#
# The first. Each loss refers to its graph, and the graph to the activations. After `backward()`,
# the activations are gone, and a kept loss costs only its own 512 bytes on the GPU, and its graph
# in the CPU's memory. Without `backward()`, as in validation, everything stays. Keep numbers
# (`.item()`) or detached tensors (`loss.detach()`), and validate under `torch.no_grad()`.
#
# </details>
#
# An exception keeps memory too: its traceback refers to the frames of all functions that were
# running, with their local variables.


# %%
def fails():
    scratch = torch.zeros(50 * 2**18, device=device)
    raise ValueError(f"something is wrong with {scratch.shape}")


before = torch.cuda.memory_allocated()
try:
    fails()
except ValueError as error:
    kept_error = error
held = torch.cuda.memory_allocated() - before
del kept_error
f"{held >> 20} MiB kept by the error, {(torch.cuda.memory_allocated() - before) >> 20} without it"

# %% [markdown]
# Python deletes `error` at the end of the `except` block, so an error is a problem only if you keep
# it. A notebook does keep one: the last error that a cell did not catch. So after an out-of-memory
# error in a notebook, restart the kernel, or let another small error (`1 / 0`) take its place.
#
# ## Seven billion parameters (3 minutes)
#
# The same arithmetic tells what a language model of 7 billion parameters needs, before any
# activation:

# %%
bytes_per_parameter = {
    "use it, bfloat16": 2,
    "train it, float32, Adam (4 weight + 4 gradient + 8 states)": 16,
    "train it, mixed precision, Adam (2 + 2 + 4 float32 weight + 8)": 16,
    "train it, mixed precision, gradients in float32": 18,
}
for what, each in bytes_per_parameter.items():
    print(f"{7e9 * each / 1e9:4.0f} GB  {what}")

# %% [markdown]
# A GPU with 80 GB can use such a model, and cannot train it with Adam: 112 GB do not fit. Mixed
# precision does not help here, because it halves activations and not the sum of the rest. What
# follows:
#
# - **Divide it among GPUs**: weights, gradients and states in equal shares (FSDP, ZeRO). On 8 GPUs,
#   112 GB become 14 GB for each: lesson 09.
# - **Train fewer parameters**: LoRA trains small added matrices, so that only those have gradients
#   and states.
# - **Smaller states**: 8-bit optimizers need 2 bytes instead of 8.

# %% [markdown]
# ## Summary
#
# - Four things fill the memory: weights, gradients, optimizer states, activations. Adam keeps four
#   times the weights; activations grow with the batch and the number of pixels.
# - The peak has to fit, and it is at the start of the backward pass or in the optimizer's step.
# - `memory_allocated` is your tensors, `memory_reserved` includes the cache, and
#   `max_memory_allocated` is the peak.
# - Smaller batches, accumulation, checkpointing, lower precision and fewer states make a training
#   fit; only accumulation and checkpointing leave the result as it is.
# - `empty_cache` does not help your own program. Keep numbers, not losses.
#
# **To try:**
#
# 1. Predict, and then measure: the peak of a step with `torch.optim.Adam(..., fused=True)` and a
#    batch of 1. Why does it differ from the peak without `fused`?
# 2. Checkpoint all five blocks together, as one function. What is the peak now? Why is that not
#    better?
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
