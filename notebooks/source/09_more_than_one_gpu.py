# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: More than one GPU
#     promise: >-
#       You train one network on several GPUs, see that the result is that of one large batch, and
#       predict in arithmetic what it costs and how far it scales.
#     minutes: 60
#     objectives:
#       - train on two GPUs by hand, and say why the gradients are averaged
#       - explain what all-reduce does, and predict how many bytes each GPU sends
#       - start a program with `torchrun` and train with `DistributedDataParallel`
#       - recognize deadlocks and processes that died, and restart from a checkpoint
#       - choose between DDP, FSDP, tensor and pipeline parallelism by memory and bytes sent
#     prerequisites:
#       - "[Lesson 03](03_moving_a_network.ipynb): moving a network; `state_dict`"
#       - "[Lesson 04](04_cifar10_on_gpu.ipynb): a training loop, checkpoints"
#       - "[Lesson 07](07_what_fills_gpu_memory.ipynb): activations, optimizer states"
#       - "no GPU is needed: without two, the lesson uses simulated GPUs and processes on the CPU"
#     credits:
#       - >-
#         DDP: S. Li et al., [PyTorch Distributed: Experiences on Accelerating Data Parallel
#         Training](https://arxiv.org/abs/2006.15704), 2020.
#       - >-
#         Three ways to divide a step: S. Lee et al.,
#         [NeuSight](https://doi.org/10.1145/3669940.3707265), 2025. Sharding and tensor
#         parallelism: the papers linked in the text. Pipeline parallelism: Y. Huang et al.,
#         [GPipe](https://arxiv.org/abs/1811.06965), 2018.
#       - >-
#         Published scaling: [Lambda's benchmarks](https://github.com/lambdal/deeplearning-benchmark),
#         2020 to 2024; [Horovod's benchmarks](https://github.com/horovod/horovod/blob/master/docs/benchmarks.rst);
#         images per second of one GPU from [TensorFlow's
#         benchmarks](https://github.com/tensorflow/docs/blob/master/site/en/r1/guide/performance/benchmarks.md),
#         2017.
# ---

# %% [markdown]
# ## Set up

# %%
import runpy
from math import inf
from pathlib import Path

import torch
from IPython.display import Markdown
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, DistributedSampler

import helpers
from helpers import lesson, records
from helpers.launching import torchrun
from helpers.plots import parallel as figures
from helpers.plots.speed import plot_groups, plot_panels
from helpers.plots.style import show

# %% tags=["parameters"]
seed: int = 0  # for all random numbers
output: str = "output"  # folder for weights and checkpoints

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)
output = Path(output).resolve()
output.mkdir(parents=True, exist_ok=True)
programs = Path(helpers.__file__).resolve().parents[1] / "scripts" / "parallel"

# %% [markdown]
# Without a GPU, this notebook uses two simulated GPUs. With one real GPU, the CPU takes the place
# of the second.

# %%
gpus = [device, torch.device("cuda", 1) if torch.cuda.device_count() > 1 else torch.device("cpu")]

# %% [markdown]
# ## Two GPUs, one batch (8 minutes)
#
# A training step computes gradients from a batch. The gradient of a mean loss is the mean of the
# gradients of the examples, so two GPUs can share the work: each one gets a copy of the network and
# half of the batch. This is **data parallel** training.


# %%
def new_net():
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))


X = torch.randn(16, 10)
y = X[:, :3].argmax(dim=1)
replicas = [new_net().to(gpu) for gpu in gpus]
halves = [(X[:8].to(gpus[0]), y[:8].to(gpus[0])), (X[8:].to(gpus[1]), y[8:].to(gpus[1]))]

# %%
for net, (inputs, targets) in zip(replicas, halves, strict=True):
    F.cross_entropy(net(inputs), targets).backward()
[[f"{number:.3f}" for number in net[2].bias.grad.tolist()] for net in replicas]

# %% [markdown]
# **Think first:** the two replicas have the same weights and different gradients. What happens if
# each one takes an optimizer step now?
#
# <details><summary>Answer</summary>
#
# Their weights differ, and more with every step: you train two networks, each on half of the data.
# Before the step, both need the same gradient: the average.
#
# </details>


# %%
def average_gradients(replicas):
    for copies in zip(*(net.parameters() for net in replicas), strict=True):
        total = sum(parameter.grad.to(copies[0].device) for parameter in copies)
        for parameter in copies:
            parameter.grad = (total / len(copies)).to(parameter.device)


average_gradients(replicas)
for net in replicas:
    torch.optim.SGD(net.parameters(), lr=0.1).step()

# %% [markdown]
# Compare with one network that takes one step with the whole batch:

# %%
alone = new_net()
F.cross_entropy(alone(X), y).backward()
torch.optim.SGD(alone.parameters(), lr=0.1).step()


def largest_difference(one, other):
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max((a.cpu() - b.cpu()).abs().max().item() for a, b in pairs)


print(f"between the replicas: ≈ {largest_difference(*replicas):.9f}")
print(f"to the large batch:   ≈ {largest_difference(replicas[0], alone):.9f}")

# %% [markdown]
# The replicas are equal, and the step is that of the whole batch, up to rounding. This holds under
# three conditions.
#
# - Both halves have the same size. Only then is the mean of the means the mean of all.
# - The loss is a *mean* over the batch. With a sum, the gradients would have to be added.
# - No layer computes something from several examples. (With dropout, each GPU draws its own mask,
#   so the result differs.)
#
# **Think first:** does a network with batch normalization compute the same for two halves as for
# the whole batch?

# %%
norm = nn.BatchNorm1d(10)
whole = norm(X)
in_halves = torch.cat([norm(X[:8]), norm(X[8:])])
torch.allclose(whole, in_halves), f"largest difference ≈ {(whole - in_halves).abs().max():.2f}"

# %% [markdown]
# No: each GPU standardizes with the mean and the variance of its own examples. With many examples
# per GPU this hardly matters. With few, `nn.SyncBatchNorm.convert_sync_batchnorm(net)` computes the
# statistics over all GPUs, at the price of more communication.
#
# ## All-reduce: what it does and what it costs (9 minutes)
#
# `average_gradients` adds up and divides on one GPU, and sends the result back. An operation after
# which *every* process has the sum over all processes is called **all-reduce**.
#
# **Think first:** N GPUs have gradients of S bytes each. In `average_gradients`, how many bytes go
# in and out of the first GPU?
#
# <details><summary>Answer</summary>
#
# It receives S bytes from each of the N - 1 others and sends S bytes to each: (N - 1) S in each
# direction. The others send S bytes each. With more GPUs, the first one becomes the bottleneck.
#
# </details>
#
# The **ring** shares the work equally. Each GPU cuts its gradients into N chunks and sends only to
# its right neighbor.
#
# 1. *Reduce-scatter*, N - 1 rounds: each GPU sends a chunk, and its neighbor adds it to its own.
#    Then each GPU has one chunk with the complete sum.
# 2. *All-gather*, N - 1 rounds: the complete chunks go around the ring.
#
# In round t, GPU r sends chunk (r - t) mod N: from round 1 on, this is the one that it received in
# the round before. These are the chunks for three GPUs:
#
# | round | GPU 0 sends | GPU 1 sends | GPU 2 sends | the receiver |
# |---|---|---|---|---|
# | 0 | 0 | 1 | 2 | adds |
# | 1 | 2 | 0 | 1 | adds |
# | 2 | 1 | 2 | 0 | copies |
# | 3 | 0 | 1 | 2 | copies |


# %%
def ring_all_reduce(tensors):
    """Return the sum for every GPU, and the number of bytes that each GPU sent."""
    n = len(tensors)
    chunks = [list(tensor.clone().chunk(n)) for tensor in tensors]
    sent = [0] * n
    for t in range(2 * (n - 1)):
        moving = [(rank, (rank - t) % n) for rank in range(n)]
        # All GPUs send at the same time: copy all messages before any of them arrives.
        messages = [chunks[rank][chunk].clone() for rank, chunk in moving]
        for (rank, chunk), message in zip(moving, messages, strict=True):
            right = (rank + 1) % n
            adding = t < n - 1  # the first n - 1 rounds add; the others copy
            chunks[right][chunk] = chunks[right][chunk] + message if adding else message
            sent[rank] += message.nbytes
    return [torch.cat(each) for each in chunks], sent


# %% [markdown]
# Try it with four GPUs and 1,200 numbers, 4,800 bytes:

# %%
gradients = [torch.full((1200,), float(10**rank)) for rank in range(4)]
sums, sent = ring_all_reduce(gradients)
[each.unique().tolist() for each in sums], sent

# %% [markdown]
# **Think first:** each GPU sent 7,200 bytes. Find the formula for N GPUs and S bytes. What does it
# say about 1,000 GPUs?
#
# <details><summary>Answer</summary>
#
# There are 2 (N - 1) rounds, and in each of them a GPU sends a chunk of S / N bytes: 2 (N - 1) / N
# times S. Here 2 x 3 / 4 x 4,800 = 7,200. However many GPUs there are, each one sends less than 2
# S.
#
# </details>

# %%
for n in (2, 4, 8, 32):
    print(f"{n:2d} GPUs: {n - 1:2d} S through one GPU, {2 * (n - 1) / n:.2f} S in a ring")

# %% [markdown]
# Each of the 2 (N - 1) rounds costs time even for a few bytes. So libraries use other algorithms
# for small messages, such as trees, whose number of rounds grows with log N, and DDP sends many
# gradients in one message.
# [NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/overview.html) does all-reduce on
# NVIDIA GPUs, and gloo on CPUs.
#
# ## Processes and `torchrun` (7 minutes)
#
# Real programs use one **process** per GPU, because one Python process can hardly keep several GPUs
# busy. All processes run the same program. `torchrun` starts them and tells each one its number:
#
# | name | environment variable | meaning |
# |---|---|---|
# | rank | `RANK` | number of the process, from 0 |
# | world size | `WORLD_SIZE` | number of processes |
# | local rank | `LOCAL_RANK` | number of the process on its machine: its GPU |


# %%
def show_program(name):
    return Markdown(f"```python\n{(programs / name).read_text()}```")


show_program("all_reduce.py")

# %% [markdown]
# **Think first:** which numbers does each process print after `all_reduce`, and after `broadcast`,
# which sends the numbers of one process to all?
#
# <details><summary>Answer</summary>
#
# Both print the same. After `all_reduce`, each has the sum of [1, 2, 3] and [10, 20, 30]. After
# `broadcast`, each has the weights of rank 0.
#
# </details>
#
# In this notebook, the function `torchrun` starts PyTorch's launcher and prints the lines of the
# processes in the order of their ranks. In a terminal, you type the line after the `$`; the
# programs are in the course's folder `scripts/parallel`.

# %%
torchrun("--nproc-per-node 2", programs / "all_reduce.py")

# %% [markdown]
# `--standalone` means one machine: `torchrun` finds a free port by itself. Without a GPU for each
# process, all share the CPU and use gloo instead of NCCL. (The outputs in this lesson are from
# gloo: these programs have not been run with NCCL yet.)
#
# ### Which process gets which examples?
#
# Every process has the whole dataset and takes its share. `DistributedSampler` draws one order
# from the seed and the epoch, and gives rank r the entries r, r + N, r + 2N, ...

# %%
for epoch in (0, 1):
    for rank in range(2):
        sampler = DistributedSampler(range(7), num_replicas=2, rank=rank, seed=0)
        sampler.set_epoch(epoch)
        print(f"epoch {epoch}, rank {rank}: {list(sampler)}")

# %% [markdown]
# **Think first:** there are seven examples, and each rank gets four. Why? And what happens if you
# forget `set_epoch`?
#
# <details><summary>Answer</summary>
#
# All ranks must take the same number of steps, so the sampler repeats an example. Without
# `set_epoch`, every epoch is epoch 0, and the order is always the same: no error, and worse
# training.
#
# </details>
#
# ## Train with DDP (7 minutes)
#
# `DistributedDataParallel` (DDP) does what you did by hand. At the start, it sends the weights of
# rank 0 to all. In the backward pass, it all-reduces the gradients in *buckets* of about 25 MB, as
# soon as a bucket is complete, while the backward pass continues with earlier layers. Before each
# forward pass, it copies the buffers of rank 0, such as BatchNorm's running mean, to all.

# %%
show_program("ddp.py")

# %%
torchrun("--nproc-per-node 2", programs / "ddp.py", "--batch-size 8 --output", output / "ddp.pt")

# %% [markdown]
# The weights agree, and the losses differ: each is that of the process's own examples.
#
# **Think first:** only rank 0 saves. Why not both?
#
# <details><summary>Answer</summary>
#
# The weights are equal, and two processes that write one file at the same time can destroy it.
# Rank 0 saves `net.state_dict()`. In `ddp.state_dict()`, every name starts with
# `module.`, and the file would not fit the network without DDP.
#
# </details>
#
# Now the same training in this notebook: one process, batches of 16. Each batch has the examples of
# both processes. `runpy.run_path` returns the functions of a program.

# %%
program = runpy.run_path(str(programs / "ddp.py"))
dataset = program["make_data"]()
sampler = DistributedSampler(dataset, num_replicas=1, rank=0, seed=0)
alone = program["make_net"]()
program["train"](alone, DataLoader(dataset, 16, sampler=sampler), torch.device("cpu"), epochs=1)

together = program["make_net"]()
together.load_state_dict(torch.load(output / "ddp.pt", map_location="cpu"))
print(f"largest difference of a weight after 20 steps: ≈ {largest_difference(alone, together):.9f}")

# %% [markdown]
# **Two processes with batches of B train like one with batches of 2B**, up to rounding. So
# everything about large batches in [lesson 05](05_when_the_gpu_wins.ipynb) applies: with N GPUs and
# the same batch per GPU, there are N times fewer steps, and the learning rate has to grow with the
# batch (for SGD, by the linear rule).
#
# `scripts/train_cifar10.py` of [lesson 04](04_cifar10_on_gpu.ipynb) uses the same parts:
#
# ```
# torchrun --nproc-per-node 2 scripts/train_cifar10.py --batch-size 32 --lr 0.016
# ```
#
# | in a program for one GPU | with DDP |
# |---|---|
# | nothing | `dist.init_process_group("nccl")`; at the end `dist.destroy_process_group()` |
# | `device = "cuda"` | `device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))` |
# | nothing | `torch.cuda.set_device(device)`: otherwise, some calls of every process use GPU 0 |
# | `net.to(device)` | then `ddp = DistributedDataParallel(net)` |
# | `shuffle=True` | `sampler=DistributedSampler(dataset)`, and `set_epoch` in each epoch |
# | `print`, `torch.save` | on rank 0 only |
# | accuracy | all-reduce the counts, then divide |
#
# ## Deadlocks and uneven batches (6 minutes)
#
# A *collective operation*, such as all-reduce, needs a call from every process. With gloo, the call
# itself waits. With NCCL, the call usually returns, the GPU waits, and the program stops at the
# next line that needs a result, such as `.item()`. A common mistake:

# %%
show_program("deadlock.py")

# %% [markdown]
# **Think first:** what does rank 1 do while rank 0 is in `all_reduce`? What does rank 0 do?
#
# <details><summary>Answer</summary>
#
# Rank 1 goes on. Rank 0 waits until the timeout, here 2 seconds.
#
# </details>

# %%
torchrun("--nproc-per-node 2", programs / "deadlock.py")

# %% [markdown]
# The default timeout is 30 minutes with gloo and [10 with
# NCCL](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group),
# which then ends the process. `monitored_barrier`, which needs gloo, names the process that is
# missing. Deadlocks come from lines that not all processes reach:
#
# - a collective operation inside `if rank == 0:`, often hidden in `evaluate` or `save`;
# - a `return` or an exception in one process only;
# - collective operations in a different order in two processes;
# - one more batch on one process than on the others.
#
# Here is the last one. Rank 0 has three batches and rank 1 has two. The backward pass of the third
# waits for gradients that never come:

# %%
show_program("uneven.py")

# %%
torchrun("--nproc-per-node 2", programs / "uneven.py")

# %% [markdown]
# `DistributedSampler` avoids this by repeating examples. If your data is uneven for another reason,
# `with ddp.join():` around the loop lets a process that has finished contribute zeros.
# The sum is still divided by the number of all processes.

# %%
torchrun("--nproc-per-node 2", programs / "uneven.py", "--join")

# %% [markdown]
# ## A process that dies (6 minutes)
#
# In this program, rank 1 is killed in step 6, without a
# message, as the system does when memory runs out.

# %%
show_program("restart.py")

# %% [markdown]
# **Think first:** what does rank 0 notice, and when?
#
# <details><summary>Answer</summary>
#
# It gets an error in its next collective operation: the connection is closed. (With NCCL, it often
# waits without an error.)
#
# </details>

# %% tags=["nbval-ignore-output"]
checkpoint = output / "restart.pt"
torchrun("--nproc-per-node 2", programs / "restart.py", checkpoint, expect_failure=True)

# %% [markdown]
# Rank 0's message is not the cause. Look for the process that failed *first*: here the line starts
# with `torchrun:`, and in a terminal it is under "Root Cause". Exit code -9 means signal 9,
# SIGKILL.
#
# When one process fails, `torchrun` ends the others. With `--max-restarts`, it then starts all of
# them again from the beginning of the program. `TORCHELASTIC_RESTART_COUNT` counts the restarts. If
# it is above 0, this program continues from its checkpoint; at 0, it deletes an older one.
#
# **Think first:** how many steps of the next run are computed twice?
#
# <details><summary>Answer</summary>
#
# One: the checkpoint was written after step 4, and step 5 was done and lost.
#
# </details>

# %%
torchrun("--nproc-per-node 2 --max-restarts 1", programs / "restart.py", checkpoint)

# %% [markdown]
# Three details make this safe. Rank 0 writes to another file and renames it, so that a crash leaves
# the old checkpoint. The barrier makes every process wait until the file is complete. And every
# process loads the file, because each needs the number of the step. With momentum or Adam, the
# checkpoint also needs the optimizer's state.
#
# ## Two machines (2 minutes)
#
# On several machines, you start `torchrun` once on each, with the address of machine 0 and its
# own `--node-rank`. Here both launchers run on this machine, with an empty `CUDA_VISIBLE_DEVICES`
# that hides its GPUs: otherwise both processes would use GPU 0, which NCCL refuses.

# %%
torchrun("--nproc-per-node 1", programs / "all_reduce.py", nodes=2)

# %% [markdown]
# The local rank is 0 twice: each machine has its own GPU 0. On a cluster, replace `localhost` by
# the name of machine 0 and PORT by an open port, and write checkpoints to storage that all can
# read. With `--max-restarts`, use `--rdzv-backend c10d --rdzv-endpoint machine0:29400 --rdzv-id
# job` (`rdzv` is short for *rendezvous*) instead of the address and the port: without them, one
# machine does not notice a restart of another.
#
# ## How far does it scale? (5 minutes)
#
# A step takes t seconds to compute, and all-reduce takes c seconds: bytes sent divided by
# bandwidth. If they come one after the other, the **scaling efficiency** is t / (t + c). DDP
# overlaps all-reduce with the backward pass, which takes about two thirds of t. So the efficiency
# is usually between two numbers that you can compute before you rent a machine.


# %%
def predicted(parameters, batch, images_per_second, gigabits_per_second):
    compute = batch / images_per_second
    transfer = 2 * 4 * parameters / (gigabits_per_second * 1e9 / 8)  # 4 bytes each, large N
    overlapped = compute / 3 + max(2 * compute / 3, transfer)
    return compute / (compute + transfer), compute / overlapped


# %% [markdown]
# The next cell predicts three published runs on 256 or 512 GPUs of the Pascal generation (2016).
# Two used Horovod, a library for data parallel training; for these we assume P100s and batches of
# 64, as in its example. The images per second of one P100 are from other measurements. The
# bandwidth is that of one machine's network card, because the ring enters and leaves each machine
# once. [Goyal et al.](https://arxiv.org/abs/1706.02677) had 50 Gbit/s for each machine of 8 P100s,
# and report a scaling efficiency of about 90 % from 8 to 256 GPUs.

# %%
runs = {
    "VGG-16, 512 GPUs (Horovod)": predicted(138.4e6, 64, 154, 25),
    "Inception V3, 512 GPUs (Horovod)": predicted(23.8e6, 64, 142, 25),
    "ResNet-50, 256 GPUs (Goyal et al.)": predicted(25.6e6, 32, 195, 50),
}
published = dict(zip(runs, (0.68, 0.90, 0.90), strict=True))
for name, (low, high) in runs.items():
    print(f"{name:35s} predicted {low:.0%} to {high:.0%}, published {published[name]:.0%}")

# %% [markdown]
# And inside one machine? Lambda measured training on 1 to 8 GPUs with the same batch per GPU.

# %%
found = records.published("training_throughput")
speedups = {
    name: {
        f"{gpu}: {speeds['8'] / speeds['1'] / 8:.0%} with 8": {
            count: speed / speeds["1"] for count, speed in speeds.items()
        }
        for gpu, speeds in found["per_second"]["fp16"][name].items()
    }
    for name in ("ResNet-50", "BERT large", "GNMT")
}
show(
    plot_panels(
        speedups,
        ("GPUs", "speed, as a multiple of one GPU's"),
        ticks=(1, 2, 4, 8),
        title="Scaling efficiency with 8 GPUs: 51% to 99%",
        source=f"fp16; V100 16 GB, A100 80 GB, H100 80 GB, {found['source']}",
    ),
    alt="Published by Lambda: the training speed of ResNet-50, BERT large and GNMT on 1 to 8 GPUs, "
    "relative to one GPU. ResNet-50 reaches 90% or more of 8 times the speed on every GPU; the two "
    "language networks do so only on the H100, and 51% to 63% on V100 and A100.",
)

# %% [markdown]
# **Think first:** VGG-16 has six times the parameters of Inception V3 and about the same time per
# image. What could you change so that it scales better?
#
# <details><summary>Answer</summary>
#
# More compute per byte sent: a larger batch per GPU, or several batches per step with accumulated
# gradients (`with ddp.no_sync():` skips the all-reduce for all but the last of them). Fewer bytes:
# gradients in 16 bits. Or a faster network: NVLink inside one machine, InfiniBand between machines.
#
# </details>
#
# ## When memory is the limit (6 minutes)
#
# DDP needs memory for the *whole* model on every GPU. Training with Adam in mixed precision takes
# 16 bytes per parameter: 2 for the weight in bf16, 2 for its gradient, and 12 for Adam's two states
# and a copy of the weight in `float32`. With **ZeRO**, each of N GPUs keeps only a share, a
# *shard*: of Adam's states (ZeRO-1), also of the gradients (ZeRO-2), also of the weights (ZeRO-3),
# which it gathers when they are needed. PyTorch's **FSDP** (fully sharded data parallel) is like
# ZeRO-3.


# %%
def memory_per_gpu(parameters, n):
    """Return gigabytes per GPU of weights, gradients and Adam's state, without activations."""
    sharded = {
        "DDP": (1, 1, 1, 1),
        "ZeRO-1": (1, 1, n, inf),
        "ZeRO-2": (1, n, n, inf),
        "ZeRO-3, FSDP": (n, n, n, inf),
    }
    parts = {"weights": 2, "gradients": 2, "Adam's state": 12, "DDP's buckets": 2}
    return {
        name: {
            part: size * parameters / shards / 1e9
            for (part, size), shards in zip(parts.items(), divisors, strict=True)
        }
        for name, divisors in sharded.items()
    }


# %% [markdown]
# **Think first:** 7.5 billion parameters on 64 GPUs. How many gigabytes per GPU with DDP, and with
# everything sharded?

# %%
figures.plot_memory(
    memory_per_gpu(7.5e9, 64), memory=80, title="Sharding makes a model fit that DDP cannot hold"
)

# %% [markdown]
# Without the buckets, these are the numbers of the [ZeRO paper](https://arxiv.org/abs/1910.02054).
# DDP keeps a second copy of the gradients in its buckets, unless you set
# `gradient_as_bucket_view=True`. Activations come on top. FSDP gathers the weights for the forward
# and again for the backward pass, and reduce-scatters the gradients. Each of these three sends half
# of what an all-reduce sends, so FSDP sends 1.5 times the bytes of DDP.
#
# Here is FSDP with two processes. In each, DDP would need 133.1 kB for the weights of this network,
# as much for the gradients and for its buckets, and twice that for Adam's state:

# %%
show_program("fsdp.py")

# %%
torchrun("--nproc-per-node 2", programs / "fsdp.py")

# %% [markdown]
# Each process has half of everything, and the weights are those of training without FSDP.
#
# The network is created on the device `meta`, which stores shapes and no numbers. `fully_shard`
# divides it, `to_empty` allocates this process's share, and only then is the share initialized. So
# no GPU ever has to hold the whole network. (`baseline` does, for the comparison.)
#
# The other two ways split the *computation* of the network. **Pipeline parallelism** gives each GPU
# some of the layers and sends activations to the next one. **Tensor parallelism** splits each
# matrix product over the GPUs. In a layer of a *transformer*, the network of language models, it
# all-reduces activations twice in the forward and twice in the backward pass
# ([Megatron-LM](https://arxiv.org/abs/1909.08053)). Count the bytes per GPU and step for this
# example:
#
# - a transformer with 32 layers of width 4,096, 6.4 billion parameters, on 8 GPUs;
# - a batch of 32 sequences of 2,048 tokens. DDP and FSDP give each GPU 4 sequences. With tensor and
#   pipeline parallelism, all 32 pass through every GPU.

# %%
n, weights = 8, 2 * 6.4e9
activation = 2 * 32 * 2048 * 4096  # bytes of one layer's output in bf16
all_reduce = 2 * (n - 1) / n
sent = {
    "DDP, ZeRO-1, ZeRO-2": all_reduce * weights,
    "ZeRO-3, FSDP": 1.5 * all_reduce * weights,
    "tensor parallel": 4 * 32 * all_reduce * activation,
    "pipeline parallel": 2 * activation,  # one forward, one backward
}
{name: f"{size / 1e9:.1f} GB" for name, size in sent.items()}

# %% [markdown]
# The last three keep 1/N of the weights and states on each GPU.
#
# A pipeline cuts each batch into m smaller *microbatches*, so that its p GPUs can work on different
# ones at the same time. At the start, the last GPU waits for p - 1 microbatches; at the end, the
# first one does. So each GPU waits (p - 1) / (m + p - 1) of the time.
#
# **Choose in this order:** DDP if the model fits; FSDP if it does not; tensor parallelism if one
# layer is too large or the batch per GPU too small, and only inside a machine with NVLink, because
# it sends so much; pipeline parallelism between machines with a slow network. Very large models
# combine them.
#
# Here is one step of GPT-2 large with four sequences, published for four A100s. The pipeline has
# only one microbatch, so its GPUs work one after another:

# %%
found = records.published("parallelism")
show(
    plot_groups(
        {"step": found["milliseconds"]},
        "time of a step [ms]",
        text="{:,.0f}".format,
        title="A pipeline with one microbatch takes 3.5 times as long as data parallelism",
        source=found["source"],
    ),
    alt="Published in 2025 (NeuSight): a step of GPT-2 large on four A100 takes 452 ms with "
    "data parallelism, 485 ms with tensor parallelism, and 1,598 ms as a pipeline.",
)

# %% [markdown]
# ## A network on two GPUs (4 minutes)
#
# The smallest pipeline has two parts. You write it yourself: the first half of the layers is on GPU
# 0, the second half on GPU 1, and the activations move in between.


# %% tags=["nbval-ignore-output"]
class TwoParts(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Linear(10, 32), nn.ReLU()).to(gpus[0])
        self.back = nn.Linear(32, 3).to(gpus[1])

    def forward(self, x):
        return self.back(self.front(x).to(gpus[1]))


net = TwoParts()
scores = net(X.to(gpus[0]))
scores.shape, scores.device

# %% [markdown]
# The scores are on GPU 1, so the targets have to move there too:

# %% tags=["nbval-ignore-output"]
loss = F.cross_entropy(scores, y.to(scores.device))
loss.backward()
{name: str(parameter.grad.device) for name, parameter in net.named_parameters()}

# %% [markdown]
# The backward pass crosses the devices by itself, because autograd recorded the `.to`. Each
# gradient is beside its parameter, so one optimizer can update both parts.
#
# While GPU 1 computes, GPU 0 waits, and the other way around: each of them waits half of the time
# (p = 2, m = 1). With 16 microbatches, it would be 1/17.
#
# ## Summary
#
# - Data parallel: each GPU has the network and a share of the batch; averaged gradients make the
#   step that of the whole batch. In a ring, each GPU sends 2 (N - 1) / N times its gradients'
#   bytes.
# - `torchrun` starts one process per GPU; DDP averages the gradients; `DistributedSampler` shares
#   the data and needs `set_epoch`.
# - Collective operations need every process. If one is missing, the others wait; if one has died,
#   look for the first failure. Restarts need checkpoints.
# - DDP if the model fits, FSDP if not, tensor parallelism inside a machine, pipelines between.
#
# **To try:**
#
# 1. Run `ddp.py` with four processes and a batch size that gives the same weights.
# 2. Copy `deadlock.py` to the folder `output`, move `all_reduce` and `print` out of the first `if`,
#    and call `torchrun("--nproc-per-node 2", output / "deadlock.py")`. Which number do both
#    processes print? (The second part still reports the missing process.)
#
# <details><summary>Answers</summary>
#
# 1. `--nproc-per-node 4` and `--batch-size 4`: together 16 again.
# 2. 1.5, the mean of 1 and 2.
#
# </details>
