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
#       - predict memory per GPU, time per step and MFU of a large training run
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
#         2020 to 2024. Published training runs:
#         [GPT-NeoX-20B](https://arxiv.org/abs/2204.06745), 2022 (computed from 1,830 hours for
#         150,000 steps; its 117 TFLOP/s count the repeated forward pass);
#         [OLMo-core 1.2.0](https://pypi.org/project/ai2-olmo-core/1.2.0), 2024 (47 to 48%, on "a
#         cluster"; 8 GPUs are its script's default);
#         [torchtitan](https://github.com/pytorch/torchtitan/blob/main/docs/performance.md), 2024;
#         [Llama 3](https://arxiv.org/abs/2407.21783), 2024.
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
import simulated_cuda
from helpers import lesson, records
from helpers.launching import torchrun
from helpers.plots.memory import plot_memory_per_gpu
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
# Without a GPU, you use two simulated ones. With one, the CPU takes the place of the second.

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
# The replicas are equal, and the step is that of the whole batch, up to rounding, if:
#
# - both halves have the same size: only then is the mean of the means the mean of all;
# - the loss is a *mean* over the batch: with a sum, the gradients would have to be added;
# - no layer computes something from several examples, or draws random numbers, as dropout does.
#
# **Think first:** does a network with batch normalization compute the same for two halves as for
# the whole batch?

# %%
norm = nn.BatchNorm1d(10)
whole = norm(X)
in_halves = torch.cat([norm(X[:8]), norm(X[8:])])
torch.allclose(whole, in_halves), f"largest difference ≈ {(whole - in_halves).abs().max():.2f}"

# %% [markdown]
# No: each GPU uses the mean and the variance of its own examples. If each has few,
# `nn.SyncBatchNorm.convert_sync_batchnorm(net)` computes mean and variance over all GPUs.
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
# Each of the 2 (N - 1) rounds costs time even for a few bytes. So DDP sends many gradients in one
# message, and libraries use other algorithms, such as trees, for small messages.
# [NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/overview.html) does this on GPUs,
# and gloo on CPUs.
#
# ## Processes and `torchrun` (7 minutes)
#
# Real programs use one **process** per GPU. All run the same program. `torchrun` starts them and
# tells each one its number:
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
# After `all_reduce`, each has the sum of [1, 2, 3] and [10, 20, 30]. After
# `broadcast`, each has the weights of rank 0.
#
# </details>
#
# Here, the function `torchrun` prints the lines of the processes in the order of their ranks. In a
# terminal, you type the line after the `$`; the programs are in the folder `scripts/parallel`.

# %%
torchrun("--nproc-per-node 2", programs / "all_reduce.py")

# %% [markdown]
# `--standalone` means one machine. Without a GPU for each process, all share the CPU and use gloo.
# (The outputs here are from gloo: nobody has run these programs with NCCL yet.)
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
# forward pass, it copies the buffers of rank 0, such as BatchNorm's running mean, to all. (Avoid
# the older `nn.DataParallel`: one process serves all GPUs and copies the network in every step.)

# %%
show_program("ddp.py")

# %%
torchrun("--nproc-per-node 2", programs / "ddp.py", "--batch-size 8 --output", output / "ddp.pt")

# %% [markdown]
# The weights agree; each loss is that of the process's own examples.
#
# **Think first:** only rank 0 saves. Why not both?
#
# <details><summary>Answer</summary>
#
# The weights are equal, and two processes that write one file at the same time can destroy it. In
# `ddp.state_dict()`, every name would start with `module.`.
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
# [lesson 05](05_when_the_gpu_wins.ipynb) applies: with N GPUs and the same batch per GPU, there are
# N times fewer steps, and the learning rate has to grow (for SGD, by the linear rule).
#
# `scripts/train_cifar10.py` of [lesson 04](04_cifar10_on_gpu.ipynb) uses the same parts:
#
# ```
# torchrun --nproc-per-node 2 scripts/train_cifar10.py --data course --batch-size 32 --lr 0.016
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
# | accuracy | all-reduce both counts, then divide |
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
# Rank 1 goes on. Rank 0 waits for 2 seconds.
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
# `DistributedSampler` avoids this by repeating examples. Otherwise, `with ddp.join():` around the
# loop lets a process that has finished contribute zeros. The sum is still divided by the number of
# all processes.

# %%
torchrun("--nproc-per-node 2", programs / "uneven.py", "--join")

# %% [markdown]
# ## A process that dies (6 minutes)
#
# In this program, rank 1 is killed in step 6, without a message, as when memory runs out.

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
# Rank 0's message is not the cause. Look for the process that failed *first*: in a terminal, under
# "Root Cause". Exit code -9 means signal 9, SIGKILL.
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
# Rank 0 writes to another file and renames it, so that a crash leaves the old checkpoint. With
# momentum or Adam, the checkpoint also needs the optimizer's state.
#
# ## Two machines (2 minutes)
#
# On several machines, start `torchrun` once on each, with the address of machine 0 and its own
# `--node-rank`. Here both launchers run on this machine, with an empty `CUDA_VISIBLE_DEVICES`
# that hides its GPUs: otherwise both processes would use GPU 0, which NCCL refuses.

# %%
torchrun("--nproc-per-node 1", programs / "all_reduce.py", nodes=2)

# %% [markdown]
# The local rank is 0 twice: each machine has its own GPU 0. On a cluster, `localhost` is the name
# of machine 0, and checkpoints go to storage that all can read. With `--max-restarts`, use a
# *rendezvous* instead of address and port: otherwise, one machine does not notice another's
# restart. Under Slurm, a cluster's scheduler, `srun` starts one launcher per machine:
#
# ```
# srun --ntasks-per-node 1 torchrun --nnodes $SLURM_NNODES --nproc-per-node 8 \
#     --rdzv-backend c10d --rdzv-endpoint MACHINE0:29400 --rdzv-id $SLURM_JOB_ID train.py
# ```
#
# When a run hangs or is slow, look here:
#
# | tool | what it shows |
# |---|---|
# | `py-spy dump --pid PID` | the line at which a process waits; it pauses for a moment |
# | `TORCH_NCCL_DUMP_ON_TIMEOUT=1`, then `torchfrtrace` | the collective that a rank missed |
# | `nvidia-smi` | in a hang, 100% utilization: NCCL's kernels poll until the others arrive |
# | `NCCL_DEBUG=INFO` | which network NCCL uses |
# | `nvidia-smi topo -m` | whether two GPUs are linked by NVLink or by PCIe |
#
# One slow process slows all of them. It is the *others* whose profiles show a long all-reduce,
# because they wait. So compare the parts of a step between the ranks.
#
# ## How far does it scale? (3 minutes)
#
# A step takes t seconds to compute, and all-reduce takes c seconds: bytes sent divided by
# bandwidth. If they come one after the other, the **scaling efficiency** is t / (t + c). DDP
# overlaps all-reduce with the backward pass, about two thirds of t, so the efficiency is higher.
# Between machines, the bandwidth is that of a machine's network cards: a ring enters and leaves
# each machine once. Inside one machine, Lambda measured training on 1 to 8 GPUs with the same batch
# per GPU:

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
list(speedups["GNMT"])  # the scaling efficiency

# %%
show(
    plot_panels(
        speedups,
        ("GPUs", "speed, as a multiple of one GPU's"),
        ticks=(1, 2, 4, 8),
        title="Scaling efficiency with 8 GPUs: 51% to 99%",
        source=f"fp16; V100 16 GB, A100 80 GB and H100 80 GB, {found['source']}",
    ),
    alt="Published by Lambda: the training speed of ResNet-50, BERT large and GNMT on 1 to 8 GPUs, "
    "relative to one GPU. ResNet-50 reaches 90% or more of 8 times the speed on every GPU; the two "
    "language networks do so only on the H100, and reach 51% to 63% on V100 and A100.",
)

# %% [markdown]
# **Think first:** the language networks scale worse. What could you change?
#
# <details><summary>Answer</summary>
#
# More compute per byte sent: a larger batch per GPU, or several batches per step with accumulated
# gradients (`with ddp.no_sync():` skips the all-reduce for all but the last of them). Fewer bytes:
# gradients in 16 bits. Or a faster link; but NVLink alone does not explain this figure: an A100's
# is twice as fast as a V100's (600 and 300 GB/s, data sheets), and its efficiency is lower.
#
# </details>
#
# ## When memory is the limit (6 minutes)
#
# DDP needs memory for the *whole* model on every GPU. Training with Adam in mixed precision takes
# 16 bytes per parameter: 2 for the weight in bf16, 2 for its gradient, and 12 for Adam's two states
# and a copy of the weight in `float32`. (With autocast, as in lesson 07, they are 4, 4 and 8.) With
# **ZeRO**, each of N GPUs keeps only a share, a *shard*: of Adam's states (ZeRO-1), also of the
# gradients (ZeRO-2), also of the weights (ZeRO-3), which it gathers when they are needed. PyTorch's
# **FSDP** (fully sharded data parallel) is like ZeRO-3.


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
plot_memory_per_gpu(
    memory_per_gpu(7.5e9, 64),
    memory=80,
    title="Computed: sharding makes a model fit that DDP cannot hold",
)

# %% [markdown]
# Without the buckets, these are the numbers of the [ZeRO paper](https://arxiv.org/abs/1910.02054).
# DDP's buckets are a second copy of the gradients, unless you set `gradient_as_bucket_view=True`.
# Activations come on top. FSDP gathers the weights for the forward and again for the backward pass,
# and reduce-scatters the gradients. Each of the three sends half of what an all-reduce sends, so
# FSDP sends 1.5 times the bytes of DDP.
#
# Here is FSDP with two processes. In each, DDP would need 133.1 kB for the weights of this network,
# as much for the gradients and for DDP's buckets, and twice that for Adam's state:

# %%
show_program("fsdp.py")

# %%
torchrun("--nproc-per-node 2", programs / "fsdp.py")

# %% [markdown]
# Each process has half of everything, and the weights are those of training without FSDP.
#
# The network is created on the device `meta`, which stores shapes and no numbers. `fully_shard`
# divides it, `to_empty` allocates this process's share, and only then is the share initialized. So
# no GPU ever has to hold the whole network. For large runs:
#
# - `fully_shard(..., mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16,
#   reduce_dtype=torch.float32))` keeps the shares in 32 bits, gathers and computes in 16, and adds
#   gradients in 32;
# - with `torch.distributed.checkpoint`, all ranks save their shares at the same time, and another
#   number of GPUs can load them.
#
# The other two ways split the *computation* of the network. **Tensor parallelism** splits each
# matrix product over the GPUs. In a layer of a *transformer*, the network of language models, it
# all-reduces activations twice in the forward and twice in the backward pass
# ([Megatron-LM](https://arxiv.org/abs/1909.08053)): once for attention, and once for this:

# %%
show_program("tensor.py")

# %%
torchrun("--nproc-per-node 2", programs / "tensor.py")

# %% [markdown]
# **Pipeline parallelism** gives each GPU some of the layers and sends activations to the next one,
# far fewer bytes. It cuts each batch into m smaller *microbatches*, so that its p GPUs can work on
# different ones at the same time. At the start, the last GPU waits for p - 1 microbatches; at the
# end, the first one does. So each GPU waits (p - 1) / (m + p - 1) of the time.
#
# **Choose in this order:** DDP if the model fits; FSDP if it does not; tensor parallelism if one
# layer is too large or the batch per GPU too small, inside a machine with NVLink; pipeline
# parallelism between machines with a slow network. Very large models combine them.
#
# A published step of GPT-2 large; the pipeline has one microbatch:

# %%
found = records.published("parallelism")
show(
    plot_groups(
        {"one step": found["milliseconds"]},
        "time of a step [ms]",
        text="{:,.0f}".format,
        title="A pipeline with one microbatch takes 3.5 times as long as data parallelism",
        source=found["source"],
    ),
    alt="Published in 2025 (NeuSight): a step of GPT-2 large on four A100 takes 452 ms with "
    "data parallelism, 485 ms with tensor parallelism, and 1,598 ms as a pipeline.",
)

# %% [markdown]
# ## Plan a large run (6 minutes)
#
# A model and a cluster go in; memory, time and MFU come out. Start with a layer as in Llama, its
# heads and its feed-forward part divided among `share` GPUs (several heads share one of `kv_heads`
# keys and values):


# %%
class Layer(nn.Module):
    def __init__(self, width, hidden, heads, kv_heads, share):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads // share, kv_heads // share, width // heads
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.qkv = nn.Linear(width, (self.heads + 2 * self.kv_heads) * self.size, bias=False)
        self.out = nn.Linear(self.heads * self.size, width, bias=False)
        self.gate_and_up = nn.Linear(width, 2 * hidden // share, bias=False)
        self.down = nn.Linear(hidden // share, width, bias=False)

    def forward(self, x):
        qkv = self.qkv(self.norms[0](x)).unflatten(-1, (-1, self.size)).transpose(1, 2)
        q, k, v = qkv.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        gate, up = self.gate_and_up(self.norms[1](x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


def forward_and_backward(net, x):
    net(x).sum().backward()


# %% [markdown]
# `simulated_cuda.estimate` models its time ([lesson 05](05_when_the_gpu_wins.ipynb)):


# %%
def through_all_layers(shape, layers, tokens, gpu, *, tensor, micro, recompute, link):
    """Return the seconds for one microbatch, divided among `tensor` GPUs, and the card."""
    width, vocabulary = shape[0], shape[4]
    with torch.device("meta"):
        nets = Layer(*shape[:4], tensor), nn.Linear(width, vocabulary // tensor, bias=False)
        x = torch.zeros(micro, tokens, width, dtype=torch.bfloat16, requires_grad=True)
    layer, scores = (
        simulated_cuda.estimate(forward_and_backward, net.bfloat16(), x, gpu=gpu) for net in nets
    )
    # Tensor parallelism all-reduces activations.
    exchange = (4 + 2 * recompute) * 2 * (tensor - 1) / tensor * x.nbytes / link
    repeated = 1 + recompute / 3  # checkpointing: the forward pass again, in this share of layers
    return layers * (layer.seconds * repeated + exchange) + scores.seconds, layer.card


# %%
def plan(model, gpu, gpus, sequences, *, tensor=1, pipeline=1, micro=1, rounds=1, recompute=1,
         link=300e9):  # fmt: skip
    """Return gigabytes per GPU, seconds per step, and the MFU."""
    shape, parameters, layers, tokens = model
    data = gpus // (tensor * pipeline)  # groups that see different sequences
    batches = sequences // (data * micro)  # microbatches per step and group
    layout = {"tensor": tensor, "micro": micro, "recompute": recompute, "link": link}
    seconds, card = through_all_layers(shape, layers, tokens, gpu, **layout)
    # At the ends, the pipeline waits; less if it passes each GPU several times, in `rounds`.
    step = seconds / pipeline * (batches + (pipeline - 1) / rounds)
    kept = (34 - 32 * recompute) * micro * tokens * shape[0] / tensor * layers / pipeline
    states = 16 * parameters / (tensor * pipeline * data)  # sharded: FSDP
    # 6 operations per parameter and token, plus attention
    flops = (6 * parameters + 12 * layers * shape[0] * tokens) * sequences * tokens
    memory = (states + kept * min(batches, pipeline)) / 1e9
    return memory, step, flops / (gpus * step * 1e12 * card.peak_tflops("bf16"))


# %% [markdown]
# With tensor parallelism, a GPU waits for its all-reduces; all other communication is assumed to
# overlap. A layer is assumed to keep 34 bytes per token and channel ([Korthikanti et
# al.](https://arxiv.org/abs/2205.05198), with fused attention; a gated layer such as Llama's keeps
# about 40), or 2 with checkpointing; the logits are left out. Memory is computed as if weights,
# gradients and states were all sharded.
#
# **Think first:** Llama 3 with 405 billion parameters, 16 million tokens per step. From 8,192 to
# 16,384 GPUs, each pipeline gets 16 microbatches instead of 32. What happens to the MFU?
#
# <details><summary>Answer</summary>
#
# It falls: the pipeline waits as long as before at the ends, for half as much work. Published: from
# 43% to 41%.
#
# </details>

# %%
llama_8b, llama_70b = (4096, 14336, 32, 8, 128256), (8192, 28672, 64, 8, 128256)
llama_405b, neox = (16384, 53248, 128, 8, 128256), (6144, 16384, 64, 64, 50432)
olmo_7b = (4096, 11008, 32, 32, 100352)
models = {
    "GPT-NeoX 20B": (neox, 20.6e9, 44, 2048),
    "OLMo 7B": (olmo_7b, 7.3e9, 32, 4096),
    "Llama 3 8B": (llama_8b, 8e9, 32, 8192),
    "Llama 3 70B": (llama_70b, 70.6e9, 80, 8192),
    "Llama 3 405B": (llama_405b, 405e9, 126, 8192),
}

# %%
large = {"tensor": 8, "pipeline": 16, "rounds": 8, "recompute": 0, "link": 450e9}
clusters = [  # GPUs, sequences per step, and the published MFU
    ("GPT-NeoX 20B", "A100 SXM 40GB", 96, 1536, {"tensor": 2, "pipeline": 4, "micro": 4}, 0.31),
    ("OLMo 7B", "H100 SXM", 8, 1024, {"micro": 2, "recompute": 0}, 0.475),
    ("Llama 3 8B", "A100 SXM 80GB", 64, 64, {"recompute": 0.5}, 0.568),
    ("Llama 3 70B", "A100 SXM 80GB", 64, 64, {}, 0.517),
    ("Llama 3 405B", "H100 SXM", 8192, 2048, large, 0.43),
    ("Llama 3 405B", "H100 SXM", 16384, 2048, large, 0.41),
]

# %%
mfu = {"modelled": {}, "published": {}}
for name, gpu, gpus, sequences, layout, known in clusters:
    memory, step, found = plan(models[name], gpu, gpus, sequences, **layout)
    where = f"{name:13s} {gpus:6,} x {gpu:14s}"
    print(f"{where}{memory:3.0f} GB per GPU, {step:4.1f} s per step, modelled")
    for kind, value in (("modelled", found), ("published", known)):
        mfu[kind][f"{name}\n{gpus:,} {gpu[:4]}"] = 100 * value

# %%
show(
    plot_groups(
        mfu,
        "MFU [%]",
        title="Five of six plans are right within 7%",
        source="modelled with simulated_cuda.estimate; published: see the credits",
        text="{:.0f}".format,
    ),
    alt="Modelled and published model FLOP utilization of GPT-NeoX 20B, Llama 3 8B and 70B on "
    "A100s, and of OLMo 7B and Llama 3 405B on H100s.",
)

# %% [markdown]
# The clock is fitted to large products and attention of the A100 and the H100, on MosaicML's runs.
# Five plans are right within 7%. That of GPT-NeoX is 32% too high: its software of early 2022 had
# no fused attention, and the plan leaves out the optimizer, and communication where it does not
# overlap. Use such plans to compare layouts; before you rent 16,384 GPUs, measure on 16.
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
# - DDP if the model fits, FSDP if not, tensor parallelism inside a machine, pipelines between. Plan
#   memory, time and MFU before you rent.
#
# **To try:** copy `deadlock.py` to the folder `output`, move `all_reduce` and `print` out of the
# first `if`, and call `torchrun("--nproc-per-node 2", output / "deadlock.py")`. Which number do
# both processes print?
#
# <details><summary>Answer</summary>
#
# 1.5, the mean of 1 and 2.
#
# </details>
