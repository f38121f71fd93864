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
#       - say why attention needs memory quadratic in the length, and what SDPA changes
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
# it yet. The predictions follow the same rules, so they can only agree with it. The
# simulation agrees with eight of [twelve other programs whose memory was
# published](../docs/simulated_cuda.md#published-measurements-of-memory); two of the others differ
# by cuBLAS's workspace. Run the lesson on a GPU to test it.
#
# ## Weights (5 minutes)
#
# Here is a small GPT, a language model: for each *token*, a number below 2<sup>15</sup> that stands
# for a piece of a word, it predicts the next one. The embedding is a table with a row of 256
# numbers for each token. Blocks follow; in each, *attention* mixes the tokens of a sequence with
# those before them: it compares the *query* of a token with the *keys* of the tokens up to it, and
# adds up their *values*, weighted by the result; each of four *heads* does so with a quarter of the
# numbers. Two linear layers then transform each token. The last product compares the result with
# every row of the embedding: a score for each possible next token (a *logit*).

# %%
TOKENS, WIDTH, HEADS, LENGTH = 2**15, 256, 4, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.gelu = nn.GELU()
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        qkv = self.qkv(self.norm_1(x)).unflatten(-1, (3, HEADS, -1))
        queries, keys, values = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(self.gelu(self.up(self.norm_2(x))))


# %%
class GPT(nn.Module):
    def __init__(self, blocks=4):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.norm = nn.LayerNorm(WIDTH)

    def features(self, tokens):
        x = self.embedding(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = self.apply_block(block, x)
        return self.norm(x)

    def apply_block(self, block, x):
        return block(x)

    def forward(self, tokens):
        return F.linear(self.features(tokens), self.embedding.weight)


# %%
def loss_of(net, tokens):
    return F.cross_entropy(net(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def make_batch(sequences):
    return torch.randint(TOKENS, (sequences, LENGTH + 1), device=device)


# %% [markdown]
# A `float32` number takes 4 bytes, and PyTorch allocates GPU memory in multiples of 512 bytes, as
# [lesson 01](01_tensors_and_devices.ipynb) shows. `allocated_size` rounds up to such a multiple.
#
# **Think first:** how many MiB (2<sup>20</sup> bytes) do the embedding and the linear layers of a
# block take?
#
# <details><summary>Answer</summary>
#
# The embedding has 2<sup>15</sup> · 2<sup>8</sup> numbers of 2<sup>2</sup> bytes: 2<sup>25</sup>
# bytes, which is 32 MiB. A block has (3 + 1 + 4 + 4) · 256 · 256 numbers: 3 MiB.
#
# </details>
#
# `torch.cuda.memory_allocated()` returns the bytes of your program's tensors that are on the GPU
# now. It works the same on a real and on a simulated GPU.

# %%
net = GPT()
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
# | AdamW | 2, the running means of the gradient and of its square |
#
# AdamW also shrinks weights a little in each step (*weight decay*). Usually only matrices are
# decayed, not norms and biases, so the parameters are divided into two `groups`.
#
# **Think first:** call the bytes of the weights *w*. How many bytes are on the GPU after one step
# with each of the three optimizers?
#
# <details><summary>Answer</summary>
#
# With SGD 2*w*: weights and gradients. With momentum 3*w*, and with AdamW 4*w*.
#
# </details>

# %%
tokens = make_batch(1)
OPTIMIZERS = {
    "SGD": (lambda parameters: torch.optim.SGD(parameters, lr=0.1), 0),
    "momentum": (lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9), 1),
    "AdamW": (lambda parameters: torch.optim.AdamW(groups(parameters), lr=3e-4), 2),
}


def groups(parameters):
    parts = [[], []]  # norms, matrices
    for parameter in parameters:
        parts[parameter.dim() > 1].append(parameter)
    return [{"params": parts[0], "weight_decay": 0.0}, {"params": parts[1], "weight_decay": 0.1}]


# %%
def measure_parts(make_optimizer):
    marks = [torch.cuda.memory_allocated()]
    net = GPT().to(device)
    marks.append(torch.cuda.memory_allocated())
    optimizer = make_optimizer(net.parameters())
    loss_of(net, tokens).backward()
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
figures.plot_parts(parts, title=f"With AdamW, training keeps four times the weights ({how})")

# %% [markdown]
# The numbers agree to the byte. (A tensor of more than 1 MiB may get up to 1 MiB more, if it
# reuses a larger block. Adam's step counters are on the CPU.) `optimizer.zero_grad()` sets the
# gradients to `None`, which frees their memory until the next backward pass.
#
# ## Activations (12 minutes)
#
# To compute gradients, the backward pass needs results of the forward pass. *Activations* are the
# tensors that autograd keeps for this purpose. Their size depends on the batch. Each operation
# decides what it needs:
#
# | operation | what autograd keeps |
# |---|---|
# | `Embedding` | its input, the tokens |
# | `Linear`, convolution | its input (and the weight, which exists anyway) |
# | `GELU` | its input |
# | `LayerNorm`, `BatchNorm` | its input, and two numbers per row or per channel |
# | attention | queries, keys, values, its output, and a number per query and head |
# | cross-entropy | the logarithms of the probabilities: as large as the logits |
# | `mean`, `sum`, `x + y` | nothing but shapes |
#
# A tensor that two operations need is kept once.
#
# **Think first:** call a tensor of `WIDTH` numbers for each token a *unit*. How many units does a
# block keep? How many MiB are they for 8 sequences of 256 tokens?
#
# <details><summary>Answer</summary>
#
# The inputs of the two norms, of `qkv` and of `up`: 4 units. Queries, keys and values: 3. The
# output of attention, which is also the input of `out`: 1. The inputs of `gelu` and of `down`: 4
# each. In total 16. A unit is 8 · 256 · 256 · 4 bytes, 2 MiB, so a block keeps 32 MiB.
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
net = GPT(blocks=1).to(device)
tokens = make_batch(8)

before = requested()
kept, scores = saved_bytes_by_layer(net, tokens[:, :-1])
in_allocator = requested() - before - scores.nbytes
f"kept: {sum(kept.values()):,} bytes in the hooks, {in_allocator:,} in the allocator's count"

# %%
figures.plot_layers(kept, title=f"A block keeps 16 units of 2 MiB ({how})")

# %% [markdown]
# A tensor that two layers keep counts for the first one, and what attention keeps counts for `qkv`.
#
# ### Batch size, data type, and no gradients
#
# **Think first:** how do the kept bytes change with half as many sequences? With `bfloat16`
# numbers, which have 2 bytes? With `torch.no_grad()`?
#
# <details><summary>Answer</summary>
#
# The first two halve them: activations are proportional to the batch size and to the bytes of a
# number. Without gradients, nothing is kept.
#
# </details>


# %%
def activations(function, inputs):
    before = requested()
    result = function(inputs)
    return requested() - before - result.nbytes


net, inputs = GPT().to(device), tokens[:, :-1]
print(f"8 sequences:            {activations(net, inputs):12,} bytes")
print(f"4 sequences:            {activations(net, inputs[:4]):12,} bytes")
with torch.no_grad():
    print(f"8 sequences, no_grad:   {activations(net, inputs):12,} bytes")
print(f"8 sequences, bfloat16: ≈ {activations(net.to(torch.bfloat16), inputs):,} bytes")

# %% [markdown]
# ### Attention and the length of the sequence
#
# Written as two products, attention has a matrix of LENGTH x LENGTH weights for each head.
# `F.scaled_dot_product_attention` (SDPA) computes them in tiles and never stores the matrix
# ([FlashAttention](https://arxiv.org/abs/2205.14135)).
#
# **Think first:** how do the kept bytes of both grow if the sequence is twice as long?
#
# <details><summary>Answer</summary>
#
# Written out, they become four times as many: the weights are quadratic in the length. With SDPA
# they double.
#
# </details>


# %%
def two_products(x):
    weights = x @ x.transpose(-1, -2) / x.shape[-1] ** 0.5
    mask = torch.ones_like(weights, dtype=torch.bool).triu(1)
    return weights.masked_fill(mask, float("-inf")).softmax(dim=-1) @ x


def tiles(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


for length in (256, 512, 1024, 2048):
    x = torch.zeros(1, HEADS, length, WIDTH // HEADS, device=device, requires_grad=True)
    written_out, sdpa = activations(two_products, x) / 2**20, activations(tiles, x) / 2**20
    print(f"{length:5d} tokens: {written_out:6.2f} MiB written out, ≈ {sdpa:.2f} MiB with SDPA")

# %% [markdown]
# SDPA falls back to the matrix if you pass a mask of your own and no fast kernel accepts it: on a
# GPU, `with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION):`
# raises an error instead. (Flash attention accepts neither `float32` nor a mask.)
#
# ## One training step over time (5 minutes)
#
# `record_memory` runs functions and notes `memory_allocated()` after every operation on the GPU.
#
# **Think first:** at which moment of a training step is the most memory in use?
#
# <details><summary>Answer</summary>
#
# Early in the backward pass: all activations are there, and the gradients of the logits come on
# top. Then each layer's activations are freed as soon as its gradients are computed.
#
# </details>

# %%
del scores, kept, x, inputs
net = GPT().to(device)
optimizer = torch.optim.AdamW(groups(net.parameters()))
loss_of(net, tokens[:1]).backward()
optimizer.step()  # creates the states
optimizer.zero_grad()
tokens, losses = make_batch(4), []

samples = record_memory(
    {
        "forward": lambda: losses.append(loss_of(net, tokens)),
        "backward": lambda: losses.pop().backward(),  # frees the loss too
        "optimizer": optimizer.step,
    }
)
figures.plot_timeline(samples, title=f"Memory is highest early in the backward pass ({how})")

# %% [markdown]
# The curve starts with the weights and the states. The peak is the gradient of the logits. The last
# jump of the backward pass is the embedding's gradient, which is added to the one from the logits,
# because the weight is used twice. In the optimizer's step, memory rises once more: on CUDA, AdamW
# processes all parameters together (`foreach`), with temporary tensors as large as the weights.
# `AdamW(..., fused=True)` needs none.
#
# The *peak* is what has to fit. `torch.cuda.max_memory_allocated()` returns it, since the start of
# the program or since `reset_peak_memory_stats()`.

# %%
del net, optimizer, tokens, samples
torch.cuda.reset_peak_memory_stats()

# %% [markdown]
# ## Out of memory (7 minutes)
#
# Now train with AdamW and batches of 8 sequences. A step also *clips* the gradients: if their norm
# is larger than 1, they are scaled down to 1, so that one bad batch does little harm.
#
# **Think first:** on a GPU of 1024 MiB, does the first step work? Does the second? (The logits of 8
# sequences take 8 · 256 · 2<sup>15</sup> · 4 bytes, 256 MiB. Cross-entropy keeps as much, and its
# backward pass needs two more tensors of this size.)
#
# <details><summary>Answer</summary>
#
# Weights take 44 MiB, the blocks keep 8 · 16 MiB, and cross-entropy takes 768 MiB: 940 MiB. In the
# first step there are no states, so this fits. In the second step, AdamW's 88 MiB are there too. A
# program that completes its first step can still run out of memory in the second one.
#
# </details>


# %%
def training_step(net, optimizer, tokens):
    optimizer.zero_grad()
    loss_of(net, tokens).backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()


before = torch.cuda.memory_allocated()
tokens = make_batch(8)
net = GPT().to(device)
optimizer = torch.optim.AdamW(groups(net.parameters()))
message = "both steps work: this GPU has more memory"
for step in (1, 2):
    try:
        training_step(net, optimizer, tokens)
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
# Here 777 MiB are allocated and 256 more are needed: the tensors themselves are too large together.
# After the error is caught, the failed step's tensors are freed, because no variable holds them.
# The weights and the states stay:

# %%
net_and_states = 3 * predicted
in_use = torch.cuda.memory_allocated() - before - allocated_size(tokens.nbytes)
f"{in_use:,} bytes are in use: weights and states are {net_and_states:,}"

# %% [markdown]
# ## Make it fit (13 minutes)
#
# Here are six ways. For each, the next function measures the peak of one training step, with the
# optimizer's states in place.


# %%
def peak_of(step, network=GPT, make_optimizer=OPTIMIZERS["AdamW"][0], dtype=torch.float32):
    torch.cuda.empty_cache()
    net = network().to(device, dtype)
    optimizer = make_optimizer(net.parameters())
    loss_of(net, tokens[:1]).backward()
    optimizer.step()  # creates the states
    torch.cuda.reset_peak_memory_stats()
    try:
        step(net, optimizer, tokens)
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
peaks["batch of 4"] = peak_of(
    lambda net, optimizer, tokens: training_step(net, optimizer, tokens[:4])
)

# %% [markdown]
# ### 2. Gradient accumulation
#
# Split the batch into parts, call `backward` for each, and step once: `backward` *adds* to the
# gradients. The batch's mean is the mean of the parts' means, weighted by their sizes.


# %%
def accumulating_step(net, optimizer, tokens, size=4):
    optimizer.zero_grad()
    for part in tokens.split(size):
        (loss_of(net, part) * len(part) / len(tokens)).backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()


peaks["accumulation"] = peak_of(accumulating_step)

# %% [markdown]
# The gradients are those of the whole batch, except for rounding, **unless the network has batch
# normalization**: it uses the mean and the variance of the examples that it gets at once.
# `GroupNorm` and `LayerNorm` normalize each example on its own.
#
# ### 3. Activation checkpointing
#
# `checkpoint(block, x)` keeps only the input of the block. In the backward pass, it runs the
# block's forward pass again to get the rest.


# %%
class CheckpointedGPT(GPT):
    def apply_block(self, block, x):
        # PyTorch recommends use_reentrant=False, which also works if x needs no gradient.
        return checkpoint(block, x, use_reentrant=False)


peaks["checkpointing"] = peak_of(training_step, network=CheckpointedGPT)

# %% [markdown]
# **Think first:** how much more does a step compute? Count floating-point operations: a backward
# pass has twice as many as a forward pass.
#
# <details><summary>Answer</summary>
#
# For the blocks, 4 instead of 3 times the operations of a forward pass: a third more, and about a
# third more time in them, if the GPU is busy. The product with the embedding is not repeated. You
# get the same gradients. But `BatchNorm` would update its running mean and variance twice.
#
# </details>

# %%
from torch.utils.flop_counter import FlopCounterMode


def operations(network):
    net = network().to(device)
    with FlopCounterMode(display=False) as counter:
        loss_of(net, tokens[:1]).backward()
    return counter.get_total_flops()


plain, again = operations(GPT), operations(CheckpointedGPT)
f"{plain / 1e9:.1f} billion operations, with checkpointing {again / 1e9:.1f} billion"

# %% [markdown]
# ### 4. Lower precision
#
# With `bfloat16` everywhere, weights, gradients, states and activations take half the memory. But a
# `bfloat16` number has only 8 significant bits, so that small updates of a weight are rounded away.
# In practice, *mixed precision* keeps weights, gradients and states in `float32` and halves some
# activations: that is [lesson 08](08_mixed_precision_and_profiling.ipynb).

# %%
peaks["bfloat16"] = peak_of(training_step, dtype=torch.bfloat16)


def autocast_step(net, optimizer, tokens):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = loss_of(net, tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()


peaks["autocast"] = peak_of(autocast_step)

# %% [markdown]
# **Think first:** mixed precision (`autocast`) saves little here. Which tensors does it halve, and
# which not?
#
# <details><summary>Answer</summary>
#
# Linear layers, GELU and attention keep 16-bit numbers. But `LayerNorm` and cross-entropy compute
# in `float32`: the logits exist in 16 bits, and then three more times in 32 bits. And autocast
# keeps 16-bit copies of the weights. Where convolutions, `ReLU` and `BatchNorm` follow each other,
# it keeps only about half of the bytes.
#
# </details>

# %% [markdown]
# ### 5. Fewer states
#
# SGD without momentum has none. But AdamW may need fewer steps, so this changes the training most.

# %%
peaks["SGD"] = peak_of(training_step, make_optimizer=OPTIMIZERS["SGD"][0])

# %% [markdown]
# ### 6. A loss in parts
#
# In a small GPT, the logits are the largest tensor. Compute logits and loss for a few sequences at
# a time, and checkpoint each part:


# %%
def loss_in_parts(net, tokens, size=2):
    def part_loss(features, targets):
        logits = F.linear(features, net.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")

    parts = zip(net.features(tokens[:, :-1]).split(size), tokens[:, 1:].split(size), strict=True)
    losses = [checkpoint(part_loss, *part, use_reentrant=False) for part in parts]
    return sum(losses) / tokens[:, 1:].numel()


def step_with_parts(net, optimizer, tokens):
    optimizer.zero_grad()
    loss_in_parts(net, tokens).backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()


peaks["loss in parts"] = peak_of(step_with_parts)

# %%
figures.plot_against_limit(
    peaks, gpu_memory * 2**20, title=f"A loss in parts saves most in a small GPT ({how})"
)

# %%
for name, peak in peaks.items():
    print(f"{name:14}", "out of memory" if peak is None else f"≈ {peak / 2**20:.0f} MiB")

# %% [markdown]
# Accumulation keeps the gradients of the earlier parts, and checkpointing keeps the inputs of all
# blocks. Here checkpointing saves little, because the logits are the largest part.
#
# | way | costs | same result? |
# |---|---|---|
# | smaller batch | more steps per epoch | no: another batch size |
# | accumulation | more and smaller operations | yes, without `BatchNorm` |
# | checkpointing | blocks: a third more computing; here 6% more in all | yes, without `BatchNorm` |
# | `bfloat16` everywhere | small updates are lost | no |
# | mixed precision | saves only some activations | nearly |
# | fewer states | perhaps more steps | no: another optimizer |
# | loss in parts | one product twice | yes |
#
# A good order for a batch size that you want to keep: first look for leaks (next section), then a
# loss in parts (it saves most here, but is slow), mixed precision, accumulation, checkpointing. The
# speed of each:

# %%
for name, step, network in (
    ("as it is", training_step, GPT),
    ("accumulation", accumulating_step, GPT),
    ("checkpointing", training_step, CheckpointedGPT),
    ("autocast", autocast_step, GPT),
    ("loss in parts", step_with_parts, GPT),
):
    net = network()
    cost = simulated_cuda.estimate(
        step, net, OPTIMIZERS["AdamW"][0](net.parameters()), tokens, gpu="A100 SXM 80GB"
    )
    speed = len(tokens) * LENGTH / cost.seconds
    print(f"{name:14}{speed:8,.0f} tokens per second on an A100, modelled")

# %% [markdown]
# ## Cache, fragments and leaks (7 minutes)
#
# ### The cache
#
# Asking the driver for memory is slow, so PyTorch keeps freed memory. `memory_reserved()` is all
# memory that PyTorch has gotten from the driver. `nvidia-smi` shows this number plus what CUDA
# itself needs.

# %%
del tokens, net, cost
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
# and tries again. Both cost time, because the next step asks the driver again: near the limit, or
# with fragments, a program can be slow without an error.
# `torch.cuda.memory_stats()["num_alloc_retries"]` counts these attempts.
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
net = GPT().to(device)
tokens = make_batch(2)


def growth(loop):
    before = torch.cuda.memory_allocated()
    kept = loop()
    return f"{len(kept)} results keep {torch.cuda.memory_allocated() - before:,} bytes"


def validation_losses():
    return [loss_of(net, tokens) for _ in range(4)]


def validation_numbers():
    return [loss_of(net, tokens).item() for _ in range(4)]


growth(validation_losses), growth(validation_numbers)

# %% [markdown]
# On a real GPU, find out which lines hold memory: call `torch.cuda.memory._record_memory_history()`
# at the start and `torch.cuda.memory._dump_snapshot("snapshot.pickle")` later, and open the file at
# [pytorch.org/memory_viz](https://pytorch.org/memory_viz).
#
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
#   beside each: at rank 16, 2 · 16 · 4,096 numbers for a weight of 4,096 x 4,096, 1/128 as many as
#   it has. The frozen weights take 14 GB in `bfloat16`, and 16 bytes for each trained number are
#   0.9 GB more.
# - **Smaller states**: 8-bit optimizers need about 2 bytes instead of 8.

# %% [markdown]
# ## Summary
#
# - Weights, gradients, optimizer states and activations fill the memory. With Adam, the first three
#   are four times the weights. Activations grow with the batch and the length of the
#   sequences.
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
# First free the network of the last section with `del net`. `peak_of` uses the variable `tokens`.
#
# 1. Set `tokens = make_batch(1)`. Predict, and then measure, the peak of a step with
#    `make_optimizer=lambda parameters: torch.optim.AdamW(parameters, fused=True)`. Why does it
#    differ from the peak with `torch.optim.AdamW(parameters)`? (Do not compare with `fused=False`,
#    which also turns off `foreach`.)
# 2. Set `tokens = make_batch(6)`, and checkpoint all four blocks together, as one function. Why is
#    the peak not lower than with each block on its own?
#
# <details><summary>Answers</summary>
#
# 1. Without `fused`, temporary tensors of the size of all weights come on top of weights, gradients
#    and states: five times the weights instead of four.
# 2. The forward pass keeps almost nothing. But the backward pass runs all four blocks again and
#    then keeps all of their activations at once.
#
# </details>
