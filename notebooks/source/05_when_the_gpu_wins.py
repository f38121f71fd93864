# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: When the GPU wins
#     promise: >-
#       You find out what limits the speed of the classic classifier, and remove the causes one at a
#       time, with measurements that you can trust.
#     minutes: 60
#     objectives:
#       - time code on a GPU correctly, and say when two times are the same
#       - explain why a GPU needs large batches and wide layers to be faster than a CPU
#       - decide whether launches, memory or arithmetic limit an operation, and what would help
#       - find the part of a training step that takes the time
#       - feed a network so that it does not wait for data
#       - distinguish images per second from time to accuracy
#       - judge channels_last, bf16, fused optimizers, torch.compile and threads by measuring
#     prerequisites:
#       - "[Lesson 04](04_cifar10_on_gpu.ipynb): the classic classifier on the CPU and on the GPU"
#       - >-
#         no GPU is needed: without one you measure the CPU, and read measurements that others
#         published for GPUs
#     credits:
#       - >-
#         The classic network and script follow
#         [PyTorch's beginner
#         tutorial](https://docs.pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html); the
#         stopwatch follows [torch.utils.benchmark](https://pytorch.org/docs/stable/benchmark_utils.html).
#       - >-
#         The rule for the learning rate: Goyal et al.,
#         [Accurate, Large Minibatch SGD](https://arxiv.org/abs/1706.02677), 2017. The whole
#         dataset on the GPU: David Page,
#         [How to Train Your ResNet](https://github.com/davidcpage/cifar10-fast), 2018.
# ---

# %% [markdown]
# ## Set up

# %%
import math
import os
import time

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # hides the profiler's own log

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import simulated_cuda
from helpers import cifar10, lesson, records, timing
from helpers.devices import describe_device
from helpers.loaders import ResidentLoader, normalize
from helpers.networks import ClassicNet, ScaledClassicNet
from helpers.plots import speed as plots
from helpers.plots.style import show
from helpers.speedups import CLASSIC, Speedup, SpeedupStudy, time_to_accuracy
from helpers.steps import StepConfig, TrainingStep, classic_loader, cycle, truncate_to_full_batches
from helpers.training import train

# %% [markdown]
# With these settings, the measurements take a few minutes on two CPU cores.

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (real or an error), "synthetic", or a path
device: str = "auto"  # "auto", "cpu", "cuda:0", "mps", ...
seed: int = 0  # of every random number
rounds: int = 5  # runs of each variant in a comparison, at least 3; 3 on synthetic images
seconds: float = 0.2  # measured for each point of a curve, above 0; at most 0.05 if synthetic
largest_batch: int = 4096  # the last point of the batch curve, at least 4
with_compile: bool = False  # compile in the live measurement too: it takes up to a minute
rate_images: int = 8_000  # to compare learning rates on, at least 512; at most 1,024 synthetic ones

# %% tags=["nbval-ignore-output"]
device = lesson.start(device, seed=seed)
timing.raise_if_simulated(device)
if largest_batch < 4 or rate_images < 512:
    raise ValueError(
        "largest_batch must be at least 4 and rate_images at least 512, "
        f"not {largest_batch} and {rate_images}."
    )

# %% [markdown]
# **Without a GPU**, you measure all times on the CPU. You still learn how to measure, why small
# batches are slow, and which part of a step takes the time. [Lesson
# 08](08_mixed_precision_and_profiling.ipynb) has the published peak rates of some GPUs.

# %% tags=["nbval-ignore-output"]
dataset = cifar10.load(data)
lesson.show_data(dataset)
images, labels = dataset.train
if dataset.synthetic:  # short measurements are enough to try the code
    rounds, seconds = min(rounds, 3), min(seconds, 0.05)
    rate_images = min(rate_images, 1_024)
sizes = [1, 2] if dataset.synthetic else [1, 2, 4, 8]  # of networks

# %% [markdown]
# ## A stopwatch that lies (8 minutes)
#
# You measure a forward pass. The obvious way: read the clock, call, read the clock again. The
# network is the classic one with four times the channels; the batch has 16 images.

# %%
net = ScaledClassicNet(width=4).to(device)
batch = normalize(images[:16]).to(device)


@torch.no_grad()
def forward():
    return net(batch)


batch.shape  # the network has not been called yet

# %% [markdown]
# **Think first:** you measure 12 calls, one after the other. Will the times agree?
#
# <details><summary>Answer</summary>
#
# Probably not. The first call often takes longest, and other programs use the same machine.
#
# </details>

# %% tags=["nbval-ignore-output"]
times = []
for _ in range(12):
    started = time.perf_counter()
    forward()
    times.append(time.perf_counter() - started)
first, *later = times
print(*(f"{1e3 * seconds_taken:.1f}" for seconds_taken in times), "ms")

# %% [markdown]
# **The first call includes work that happens only once**: it loads libraries and kernels, chooses
# an algorithm for each convolution and allocates memory. On a CPU this may be little. In a trace of
# AlexNet on an A100 that [HTA's
# authors](https://github.com/facebookresearch/HolisticTraceAnalysis/tree/main/tests/data/critical_path)
# published, the first forward pass takes 12.7 s, and a later one 0.04 s.
#
# **The clock does not wait for the GPU.** On a CPU, a call returns when it is done. On a GPU, it
# returns as soon as the work is in a *queue*. `simulated_cuda.estimate` models how long a function
# takes on a GPU that you do not have: it runs the function on shapes alone, and computes the time
# of each kernel with a formula that was fitted to published measurements ([how, and how wrong it
# is](../docs/the_clock.md)). Here is a T4 with 512 images:

# %%
many_images = torch.zeros(512, 3, 32, 32)


@torch.no_grad()
def forward_and_wait():
    net(many_images)
    torch.cuda.synchronize()  # waits until the queue is empty


queue = simulated_cuda.estimate(forward_and_wait, gpu="T4")
launched, done = 1e3 * queue.cpu_seconds, 1e3 * queue.seconds
print(
    f"T4, modelled: the call returns after {launched:.1f} ms, the GPU is done after {done:.1f} ms"
)
queue.timeline()

# %% [markdown]
# A stopwatch around `net(many_images)` shows the first number: the kernel launches, not the
# kernels. Before you read the clock, call `torch.accelerator.synchronize()`, which is like
# `torch.cuda.synchronize()` but works on any kind of GPU. Or record two events,
# `torch.cuda.Event(enable_timing=True)`, in the queue: when both are done,
# `start.elapsed_time(end)` returns the milliseconds between them.
#
# `timing.measure` calls the function first without timing it, waits for the device, repeats, and
# returns the median and the *interquartile range* (IQR), the width of the range with the middle
# half of all runs. A small IQR means that the runs of *this* measurement agree; a measurement taken
# a minute later may still differ.

# %% tags=["nbval-ignore-output"]
proper = timing.measure(forward, device, label="forward pass", runs=rounds, seconds=seconds)
show(
    plots.plot_timings(first, later, proper),
    alt="The time that a plain stopwatch shows for each of twelve calls, the first marked, and the "
    "median with quartiles of a proper measurement.",
)
print(proper)

# %% [markdown]
# ### Is it faster, or is it noise?
#
# A change makes your code 4% faster. Is that noise? `timing.compare` runs both variants
# alternately, so that a machine that slows down slows both. For each pair, it divides the old time
# by the new time, and takes the median of these ratios. It reports a difference only if the median
# is farther from 1 than the IQR of the ratios. With fewer than 8 pairs, all ratios must also agree
# on which variant is faster; with 3 or 4, it uses 1.5 times their range instead of the IQR. With
# this rule, two equal variants are called different in fewer than 1 of 20 comparisons.
#
# **Think first:** what should it say about a function compared with itself?
#
# <details><summary>Answer</summary>
#
# *No difference*, in at least 19 of 20 comparisons.
#
# </details>

# %% tags=["nbval-ignore-output"]
same = {"forward": forward, "the same": forward}
print(timing.compare(same, device, rounds=max(rounds, 9), seconds=seconds))

# %% [markdown]
# ## Larger batches (6 minutes)
#
# A batch of 4 images is too little work for a GPU's thousands of lanes, and needs as many kernel
# launches as a batch of 4,096. The next function measures one training step on a batch that is
# already on the device, and divides by the number of images.


# %%
def seconds_per_image(net, batch_size, where):
    net = net.to(where)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    inputs, targets = normalize(images[:batch_size]).to(where), labels[:batch_size].to(where)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()

    return timing.measure(step, where, runs=3, seconds=seconds).median / len(inputs)


cpu = torch.device("cpu")
places = [cpu] if device == cpu else [cpu, device]

# %% [markdown]
# If this machine has no GPU, the curve of the GPU comes from a recording.

# %% tags=["nbval-ignore-output"]
gpu_record = None if device.type == "cuda" else records.latest("batch_and_width", "cuda")
if device.type == "cuda":
    lesson.box("The GPU's curves are measured on this machine.")
elif gpu_record:
    lesson.box("The GPU's curves are recorded.", gpu_record.origin)
else:
    lesson.box("No GPU measurement has been recorded yet: you see this machine's CPU only.")


# %%
def with_recorded(kind, sizes, live):
    curves = [plots.Curve(f"{at}, measured now", at.type, sizes, live[at]) for at in places]
    return curves + ([plots.recorded_curve(gpu_record, kind)] if gpu_record else [])


batch_sizes = [size for size in (4, 16, 64, 256, 1024, 4096) if size <= largest_batch]
batch_sizes

# %% [markdown]
# **Think first:** a CPU has few cores. Will its time per image fall with the batch size too?
#
# <details><summary>Answer</summary>
#
# Yes. A step with four images spends most of its time on overhead, between Python and the
# arithmetic. The curve becomes flat where the arithmetic dominates, and may rise again when the
# data no longer fits in the caches. A single point that jumps is probably noise.
#
# </details>

# %%
by_batch = {
    at: [seconds_per_image(ClassicNet(), size, at) for size in batch_sizes] for at in places
}
show(
    plots.plot_curves(
        with_recorded("batch", batch_sizes, by_batch), "images per batch", unit="batch"
    ),
    alt="Training time per image against the batch size, logarithmic; one curve per device.",
)

# %% [markdown]
# If the figure has a GPU's curve, the GPU wins from the point where the two curves cross.
#
# ### On a GPU: published measurements
#
# NVIDIA measured the forward pass of ResNet-50, a larger network, on two GPUs, in fp32 and in
# *mixed precision*, which computes products and convolutions in 16 bits
# ([lesson 08](08_mixed_precision_and_profiling.ipynb)).
#
# **Think first:** a V100 has about twice the peak speed of a T4. How much sooner is it done with
# one image? Does mixed precision help?
#
# <details><summary>Answer</summary>
#
# Both need about 10 ms, so the GPU is not the limit: the CPU launches the kernels of about 170
# operations, one after another. Mixed precision takes longer, 13 ms: autocast adds operations that
# convert numbers, and each is one more launch.
#
# </details>

# %%
found = records.published("resnet50_inference")
show(
    plots.plot_panels(
        found["milliseconds"],
        ("images per batch", "time of a forward pass [ms]"),
        title="ResNet-50: batches of 1 to 4 take 10 to 13 ms; then the GPU is the limit",
        source=f"Tesla T4 and V100, {found['source']}",
    ),
    alt="Published by NVIDIA in 2021: the time of a forward pass of ResNet-50 against the batch "
    "size, in fp32 and mixed precision, on a T4 and a V100. All four curves are flat for small "
    "batches, at 10 to 13 ms, and then rise in proportion to the batch.",
)

# %% [markdown]
# In the rising part, twice the images take about twice the time. There the V100 is about three
# times as fast as the T4, more than the peaks promise: a T4, limited to 70 W, cannot run all of
# its units at full speed. At a batch of 256, mixed precision is 2.8 times as fast as fp32 on the T4
# and 2.5 times on the V100. **A network with small layers and small batches is in the flat part**,
# where a faster GPU does not help.
#
# ## Wider and deeper networks (6 minutes)
#
# **Think first:** with twice as many channels everywhere, how much more arithmetic is there?
#
# <details><summary>Answer</summary>
#
# Up to four times as much: each channel of one layer is combined with each channel of the next. It
# is less at the 3 input channels and the 10 outputs, which do not grow.
#
# </details>


# %%
def operations(width=1, depth=1):
    counter = FlopCounterMode(display=False)
    with counter:
        ScaledClassicNet(width, depth)(torch.zeros(1, 3, 32, 32))
    return counter.get_total_flops()


for n in (1, 2, 4, 8):
    wider, deeper = operations(width=n) / operations(), operations(depth=n) / operations()
    print(f"times the arithmetic: width {n} {wider:5.1f}, or depth {n} {deeper:5.1f}")

# %% [markdown]
# From one width to the next, the factor approaches four. With depth, the number of convolutions one
# after another, the arithmetic grows almost in proportion. Now measure, with 64 images per batch.

# %%
by_width = {
    at: [seconds_per_image(ScaledClassicNet(width), 64, at) for width in sizes] for at in places
}
show(
    plots.plot_curves(
        with_recorded("width", sizes, by_width),
        "width: multiple of the classic network's channels",
        unit="width",
    ),
    alt="Training time per image against the width of the network; one curve per device.",
)

# %%
by_depth = {
    at: [seconds_per_image(ScaledClassicNet(1, depth), 64, at) for depth in sizes] for at in places
}
show(
    plots.plot_curves(
        with_recorded("depth", sizes, by_depth), "depth: convolutions per block", unit="depth"
    ),
    alt="Training time per image against the depth of the network; one curve per device.",
)

# %% [markdown]
# Width 1 and depth 1 are the same network: if their times differ, that is noise. If the time grows
# less than the arithmetic, the small network left part of the machine idle; if it grows more, the
# added arithmetic is less efficient. Width suits a GPU: one large product instead of a small one.
# Depth suits it less: each layer adds kernel launches, and waits for the layer before it.
#
# ## What limits the GPU? (8 minutes)
#
# Ask this before every optimization, because each limit needs another remedy.
#
# | limit | how you recognize it | what helps |
# |---|---|---|
# | **launches** | launches take longer than kernels | larger batches, fused kernels, CUDA graphs |
# | **memory** | bytes per second are near the bandwidth | fewer bits per number, fused kernels |
# | **compute** | operations per second are near the peak | tensor cores, less arithmetic |
# | **copies** | the GPU waits for images from the CPU | pinned memory, fewer bytes, workers |
# | **waits** | the CPU often waits for a result, and launches nothing | read it less often |
#
# The operations per second of products and convolutions, divided by the peak of the data sheet, are
# the *model FLOP utilization* (MFU). Published training runs of large language models reach 30 to
# 60% ([lesson 09](09_more_than_one_gpu.ipynb)). CUDA graphs are in [lesson
# 08](08_mixed_precision_and_profiling.ipynb).
#
# **Think first:** take the second convolution and the first linear layer of the classic network,
# and LayerNorm and GELU, two operations of transformers, on a T4. What limits each with 4 images,
# and with 4,096?
#
# <details><summary>Answer</summary>
#
# With 4 images, launches: each kernel takes less time than the CPU needs to launch it, which is
# modelled as 58 µs (fitted to published measurements with CPUs of 2018; newer ones need less). With
# 4,096, arithmetic limits the convolution and the linear layer, and memory limits the other two,
# which do a few operations per number.
#
# </details>

# %%
layers = {"convolution": ClassicNet().conv2, "linear": ClassicNet().fc1}
layers |= {"LayerNorm": torch.nn.LayerNorm(400), "GELU": torch.nn.GELU()}
print("T4: 320 GB/s and 8.1 TFLOP/s in fp32 at the peak (data sheet); modelled:")
for name, layer in layers.items():
    for size in (4, 4096):
        shape = (400,) if name in ("linear", "LayerNorm") else (6, 14, 14)
        cost = simulated_cuda.estimate(layer, torch.zeros(size, *shape), gpu="T4")
        moved = sum(kernel.work.bytes for kernel in cost.kernels) / cost.seconds / 1e9
        print(
            f"{name:12s}{size:5d} images: {1e6 * cost.seconds:5.0f} µs, {moved:4.0f} GB/s, "
            f"MFU {cost.mfu:4.0%}, limited by {cost.limit}"
        )

# %% [markdown]
# "Limited by compute" does not mean that the peak is reached: small products fill only part of the
# T4's 40 multiprocessors. Sizes also matter: in 16 bits, tensor cores work best with [multiples of
# 8](https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html),
# and the first convolution has six channels. Now the whole training step, on a GPU of 2018 and one
# of 2022:


# %%
def classic_step(net, optimizer, inputs, targets):
    optimizer.zero_grad()
    F.cross_entropy(net(inputs), targets).backward()
    optimizer.step()


def modelled_step(width, batch_size, gpu):
    net = ScaledClassicNet(width)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    batch = torch.zeros(batch_size, 3, 32, 32), torch.zeros(batch_size, dtype=torch.int64)
    return simulated_cuda.estimate(classic_step, net, optimizer, *batch, gpu=gpu, launch_us=32)


costs = {
    f"width {width}, batch {size:,}": {
        gpu: modelled_step(width, size, gpu) for gpu in ("T4", "H100")
    }
    for width, size in ((1, 4), (1, 512), (8, 512), (8, 4096))
}
print("modelled:")
for name, by_gpu in costs.items():
    print(f"{name:20s}", *(f"{gpu}: MFU {c.mfu:5.1%}, {c.limit:9s}" for gpu, c in by_gpu.items()))

# %%
times = {gpu: {name: 1e3 * by[gpu].seconds for name, by in costs.items()} for gpu in ("T4", "H100")}
show(
    plots.plot_groups(
        times,
        "time of a training step [ms]",
        title="With little work, a faster GPU does not help: the CPU launches at the same speed",
        source="modelled with simulated_cuda.estimate, 32 µs per launch",
        text="{:,.1f}".format,
    ),
    alt="Modelled time of a training step on a T4 and an H100 for four settings: equal with "
    "batches of 4, where launches are the limit; with width 8 and 4,096 images, the H100 is many "
    "times as fast.",
)

# %% [markdown]
# On your own GPU, the same question has the same answers. Time your loop, and then feed the same
# batch, already on the GPU, in every step: if that is faster, the input pipeline is the limit. Then
# time the step at two batch sizes: if the times are equal, launches are the limit, or waits. If
# not, a high MFU means compute, and a low one memory. Without a GPU, `python -m simulated_cuda
# --gpu T4 --steps 4 train.py` models a program's limit, waits and memory, but not the loading of
# images.
#
# NumPy's numbers are float64, which a T4 computes 32 times as slowly as float32: convert them.
#
# ## Where a step's time goes (8 minutes)
#
# Find out what is slow before you make anything faster. `torch.profiler` logs when each operation
# starts and ends; `record_function` names a part of your code. `TrainingStep` does one step, with
# `with part("forward"):` and so on around its parts; `truncate_to_full_batches` leaves out the
# images that do not fill a batch. On a GPU, each part ends by waiting for the device, because
# otherwise a kernel's time would count in a later part.


# %%
from contextlib import contextmanager

from torch.profiler import ProfilerActivity, profile, record_function


@contextmanager
def part(name):
    with record_function(name):
        yield
        if device.type != "cpu":
            torch.accelerator.synchronize(device)


# %%
def parts_of(config, steps):
    step = TrainingStep(
        config, *truncate_to_full_batches(images, labels, config.batch_size), device
    )
    for _ in range(3):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(steps):
            step(part)
    total = {event.key: event.cpu_time_total / 1e6 for event in profiler.key_averages()}
    names = ("data", "forward", "backward", "optimizer")
    return {name: total[name] / (steps * config.batch_size) for name in names}


CLASSIC  # the configuration of the classic script

# %% [markdown]
# Three configurations: the classic script as in most copies (4 images per batch, two workers);
# *resident* data, with all images on the device from the start; and resident data with 512 images
# per batch. The other fields of `StepConfig` are changes of the section *Cumulative speed-up*.
#
# **Think first:** which part shrinks by the largest factor from the first configuration to the
# second, and which from the second to the third?
#
# <details><summary>Answer</summary>
#
# From the first to the second: data, the time that a step *waits* for its images. The workers also
# compete with the network for a CPU's cores. From the second to the third: all the other parts,
# because more images share the overhead of each operation. The optimizer shrinks most, since its
# work does not depend on the number of images.
#
# </details>

# %%
parts = {
    "classic, batch 4": parts_of(CLASSIC, 60),
    "resident data, batch 4": parts_of(StepConfig(resident=True), 60),
    "resident data, batch 512": parts_of(StepConfig(resident=True, batch_size=512), 3),
}
show(
    plots.plot_step_parts(parts),
    alt="For three configurations, the time per image of the four parts of a training step: data, "
    "forward, backward, optimizer; one stacked bar each.",
)

# %% [markdown]
# The profiler adds time to each operation, so the bars of batch 4 are too long. Each bar is a
# single measurement: trust only large differences, and compare bars of this figure, not with times
# elsewhere on this page.
#
# ## The input pipeline (6 minutes)
#
# The classic script turns each of four PIL images into a tensor, normalizes it, and stacks the
# four. Or take four images at once from a tensor that is on the device. Do both give the same
# values? (`classic_loader` is the `DataLoader` of lesson 04, and `cycle` repeats its epochs.)

# %%
photos = classic_loader(images[:64], labels[:64], 64, workers=0).dataset
one_by_one = torch.stack([photos[i][0] for i in range(64)])
at_once = normalize(images[:64])
torch.testing.assert_close(one_by_one, at_once, rtol=0, atol=1e-6)  # an error if they differ
f"{tuple(at_once.shape)}: no value differs by more than 0.000001"

# %% [markdown]
# **Think first:** can two workers, on other cores, make up for the slower way?
#
# <details><summary>Answer</summary>
#
# Not here. With four images per batch they can even be slower than none: sending a batch from one
# process to another costs more than preparing it. Larger batches and more free cores help.
#
# </details>


# %%
def take(loader, count):
    batches = cycle(loader)  # one epoch after another

    def prepare():
        for _ in range(count):
            next(batches)[0].to(device)

    return prepare


# %%
def speeds_at(batch_size):
    subset = truncate_to_full_batches(images, labels, batch_size)
    loaders = {
        "PIL, 2 workers": classic_loader(*subset, batch_size, workers=2),
        "PIL, no workers": classic_loader(*subset, batch_size, workers=0),
        "resident batches": ResidentLoader(*subset, batch_size, device=device),
    }
    # ResidentLoader prepares many batches at once, so take at least 4,096 of its images.
    counts = {name: max(8, 4096 // batch_size) if "resident" in name else 2 for name in loaders}
    calls = {name: take(loader, counts[name]) for name, loader in loaders.items()}
    found = timing.compare(calls, device, rounds=3, seconds=seconds)
    return {name: counts[name] * batch_size / found[name].median for name in loaders}


# %%
at_batch = {size: speeds_at(size) for size in (4, 64, 512)}
speeds = {name: {size: at_batch[size][name] for size in at_batch} for name in at_batch[4]}
show(
    plots.plot_pipelines(speeds),
    alt="Images prepared per second by three ways to feed a network, for batches of 4, 64 and 512.",
)

# %% [markdown]
# This figure times the *loaders alone*; a training step gains far less.
#
# If the data does not fit on the device, every batch has to be copied. Then:
#
# - use workers, as many as there are free CPU cores (`num_workers` is 0 by default), and keep them
#   for the next epoch with `persistent_workers=True`; `prefetch_factor` is the number of batches
#   that each prepares ahead (2 by default);
# - each worker seeds `torch`, `random` and `np.random` differently. But it gets a copy of the
#   dataset: from a `np.random.default_rng(0)` in it, all workers draw the same numbers;
# - decode the image files once, before training; copy bytes, and convert them to floats on the
#   device: 512 images are 1.6 MB as uint8 and 6.3 MB as float32;
# - set `pin_memory=True` and copy with `non_blocking=True` ([lesson
#   01](01_tensors_and_devices.ipynb)). On a second *stream* (queue of the GPU), the next batch is
#   copied while the kernels of this one run:


# %%
def prefetch(batches):
    copies, ready = torch.cuda.Stream(), None
    for batch in batches:
        with torch.cuda.stream(copies):
            following = batch.to("cuda", non_blocking=True)
        if ready is not None:
            yield ready  # here, the caller launches the kernels of this batch
        torch.cuda.current_stream().wait_stream(copies)  # the GPU waits, not the CPU
        following.record_stream(torch.cuda.current_stream())  # keep the memory until it is used
        ready = following
    if ready is not None:
        yield ready


def one_queue(batches):
    return (batch.to("cuda", non_blocking=True) for batch in batches)


# %%
def one_pass(net, feed):
    for batch in feed([torch.zeros(4096, 3, 32, 32).pin_memory() for _ in range(4)]):
        net(batch).sum().backward()
    torch.cuda.synchronize()


for feed in (one_queue, prefetch):
    cost = simulated_cuda.estimate(one_pass, ScaledClassicNet(2), feed, gpu="T4")
    print(f"{feed.__name__:9s} {1e3 * cost.seconds:.0f} ms for 4 batches, T4, modelled")

# %% [markdown]
# ## The learning rate of a larger batch (8 minutes)
#
# A larger batch takes fewer steps for the same images, so each step has to go farther: the *linear
# scaling rule* says that the learning rate grows in proportion to the batch size, until training
# becomes unstable. For this network the course stops at 0.1.
#
# The rule was found for SGD with momentum and a *warm-up*, in which the learning rate rises during
# the first epochs. For Adam, the square root of the batch size is a common choice ([Malladi et
# al.](https://arxiv.org/abs/2205.10287), 2022).


# %%
def scaled_lr(batch_size):
    return min(0.001 * batch_size / 4, 0.1)


for size in (4, 16, 64, 256, 512):
    steps = math.ceil(50_000 / size)  # the last batch of a pass may be smaller
    print(f"batch {size:3d}: {steps:6,} steps per pass, rate {scaled_lr(size):g}")

# %% [markdown]
# **Think first:** what happens to the loss if you enlarge the batch to 64 and keep the learning
# rate of 0.001?
#
# <details><summary>Answer</summary>
#
# There are 16 times fewer steps, each as small as before, so the network learns much less.
#
# </details>


# %%
# A random choice, because a copy of CIFAR-10 may be sorted by class.
chosen = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))[:rate_images]


def trained(batch_size, rate):
    torch.manual_seed(seed)
    net = ClassicNet().to(device)
    loader = ResidentLoader(images[chosen], labels[chosen], batch_size, device=device, seed=seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    return train(net, loader, optimizer, epochs=2)


f"≈ {len(chosen):,} images, two passes each"

# %%
histories = {
    "batch 4, rate 0.001": trained(4, 0.001),
    "batch 64, rate 0.001": trained(64, 0.001),
    "batch 64, rate 0.016": trained(64, scaled_lr(64)),
}
show(
    plots.plot_loss_against_time(histories),
    alt="Training loss against training time for batches of 4, and for batches of 64 with the "
    "learning rate of batch 4 and with the matching one; all see the same number of images.",
)

# %% [markdown]
# On the real images, the scaled learning rate brings the loss of the large batch down to about that
# of the small one. For much larger batches that is not enough, because there are far fewer updates.
#
# So **images per second are not time to accuracy**: compare how long two ways to train take to the
# accuracy that you want. The next table has recordings from one quiet computer: test accuracy from
# full runs, and training time computed from the time per image.

# %%
accuracies = records.read("large_batches")[0]
times_per_image = records.latest("speedups", accuracies.kind)
time_to_accuracy(accuracies, times_per_image)

# %% [markdown]
# In the recording of November 2026, a batch of 512 processes four to five times as many images per
# second (4.4 in a direct comparison: see the last figure of the next section), yet after one pass
# it is *behind*. But five passes take about as long as one with batches of 4, and end at a higher
# accuracy.
#
# ## Cumulative speed-up (10 minutes)
#
# Now change the classic script one thing at a time, and keep each change that helps. The
# result is the *cumulative* speed-up. Resident data and a larger batch you have seen; here are the
# others.
#
# **Loss on the device.** The classic script calls `loss.item()` in each step, which waits until the
# GPU has finished the step; meanwhile, the CPU launches nothing. Instead, add up the losses in a
# tensor on the device, and read it once per epoch. On a CPU, there is nothing to wait for. Here are
# three steps, all with 512 images per batch. The classic script waits for each copy and for each
# loss, and with resident data, only for the losses:


# %%
def three_steps(net, at, read):
    images, labels = torch.zeros(512, 3, 32, 32, device=at), torch.zeros(512, dtype=int, device=at)
    optimizer, total = torch.optim.SGD(net.parameters(), lr=0.001), 0
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images.to("cuda")), labels.to("cuda"))
        loss.backward()
        optimizer.step()
        total += loss.item() if read else loss.detach()
    torch.cuda.synchronize()


# %%
from helpers.plots.devices import plot_timelines

variants = {
    "classic script": ("cpu", True),
    "resident data": ("cuda", True),
    "loss on device": ("cuda", False),
}
modelled = {
    name: simulated_cuda.estimate(three_steps, ClassicNet(), at, read, gpu="T4")
    for name, (at, read) in variants.items()
}
plot_timelines(modelled, title="Modelled for a T4: each change removes waits of the CPU")

# %% [markdown]
# **`channels_last`** keeps the channels of a pixel next to each other in memory, which many
# convolution kernels prefer. The shape stays, but the *strides* change: how far apart in memory the
# neighbors along each dimension are.

# %%
nchw = torch.zeros(4, 3, 32, 32)
nhwc = nchw.to(memory_format=torch.channels_last)
nchw.shape, nhwc.shape, nchw.stride(), nhwc.stride()

# %% [markdown]
# **bf16 autocast** runs products and convolutions in bfloat16 (bf16), with 16 bits per number
# instead of 32; the weights stay in 32 bits. GPUs from the Ampere generation on (A100, RTX 30,
# 2020) compute bf16 in *tensor cores*, units that multiply small matrices. On a T4, PyTorch
# emulates bf16, which is slow, as on many CPUs; [lesson 08](08_mixed_precision_and_profiling.ipynb)
# has more.

# %%
net = ClassicNet()
with torch.autocast("cpu", torch.bfloat16):
    output = net(normalize(images[:4]))
output.dtype, net.fc3.weight.dtype

# %% [markdown]
# **A fused optimizer**, `SGD(..., fused=True)`, updates many parameters in one kernel. Without it,
# each operation of the formula needs at least one.
#
# **`torch.compile`** generates kernels that combine several operations. It needs time in the first
# step, and a C++ compiler on a CPU, or a C compiler and Triton, a compiler for GPU kernels, on a
# GPU.
#
# **One thread**, on a CPU: with little work, waking a second thread costs more than it saves.
# (Lesson 04 uses one thread from the start; here the classic script has all.)
#
# **Think first:** which of them help a network this small? Each change is compared with the
# configuration that has everything that helped before; *what helped* and *everything* are compared
# with the classic script. Do not divide the times of two rows: they were measured minutes apart.

# %% tags=["nbval-ignore-output"]
skip = {} if with_compile else {"torch.compile": "skipped; with_compile = True measures it"}
changes, best = SpeedupStudy(
    images, labels, device, rounds=rounds, seconds=seconds, skip=skip
).measure_cumulative()
for change in changes:
    per_image = "" if change.note else f"{1e6 * change.seconds_per_image:7.0f} µs per image, "
    print(f"{change.name:16s} {per_image}{change.note or 'speed-up ' + change.summary}")
best  # the configuration with everything that helped

# %% tags=["nbval-ignore-output"]
show(
    plots.plot_speedups(changes, where=describe_device(device)),
    alt="One bar per change: the speed-up of training with it, on top of the changes that helped "
    "before; gray if it does not help. The last two bars are all changes that helped and "
    "everything at once, compared with the classic script.",
)

# %% [markdown]
# The line on a bar shows the quartiles. Each comparison can be wrong: with eight changes that have
# no effect, a false gain or loss appears in about 3 of 10 runs, and more often on a busy
# computer. Measure a change again before you keep it.
#
# Does the order matter? The recording also has every change *alone*, on the classic script. (It is
# older than *loss on device*, which its *resident data* includes.)

# %%
for kind in ("cuda", "cpu"):
    record = records.latest("speedups", kind)
    if record is None:
        device_name = {"cuda": "GPU", "cpu": "CPU"}[kind]
        lesson.box(f"No speed-ups have been recorded on a {device_name} yet.")
        continue
    in_turn, alone = (
        [Speedup(**each) for each in record.results[n]] for n in ("cumulative", "alone")
    )
    show(
        plots.plot_speedups(in_turn, alone, where=record.origin),
        alt="The recorded speed-ups: on the left each change alone on the classic script, on the "
        "right on top of the changes that helped.",
    )

# %% [markdown]
# The order matters. In the CPU's recording of November 2026, *one thread* alone makes the classic
# script 1.4 times as fast; on top of resident data and the large batch, training slows down to 0.6
# of its speed. So find the part that takes the time, fix it, and measure again.

# %% tags=["nbval-ignore-output"]
lesson.report(
    microseconds_per_image_at_batch_4=round(1e6 * by_batch[device][0], 1),
    microseconds_per_image_at_largest_batch=round(1e6 * by_batch[device][-1], 1),
    loaders_alone_ratio_at_batch_4=round(
        speeds["resident batches"][4] / speeds["PIL, 2 workers"][4], 1
    ),
    cumulative_speedup=round(changes[-2].ratio, 1),
)

# %% [markdown]
# ## Summary
#
# - Warm up, wait for the device, repeat, alternate. A difference within the spread is not a
#   difference.
# - A GPU wins when there is enough to do at once: large batches, wide layers.
# - Launches, memory, compute, copies or waits: find the limit before you choose a remedy.
# - Find out where the time goes first. The effect of a change depends on the changes before it.
# - A larger batch needs a larger learning rate, and still makes fewer updates: compare time to
#   accuracy, not images per second.
#
# **To try:** set `rounds = 9`; the measurements take up to twice as long. Which of the
# speed-ups change?
#
# <details><summary>Answer</summary>
#
# That depends on your machine. Changes with a ratio near 1 may become *no difference*, or no
# longer be. Large gains, such as those of resident data and of the larger batch, should stay.
#
# </details>
