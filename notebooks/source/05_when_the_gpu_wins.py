# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: When the GPU wins
#     promise: >-
#       You find out why the classic classifier gains so little from a GPU, and remove the causes
#       one at a time, with measurements that you can trust.
#     minutes: 60
#     objectives:
#       - time code on a GPU correctly, and say when two times are the same
#       - explain, and with a GPU measure, from which batch size and width a GPU is worth using
#       - find the part of a training step that takes the time
#       - feed a network so that it does not wait for data
#       - tell images per second from time to accuracy
#       - judge channels_last, bf16, fused optimizers, torch.compile and threads by measuring each
#     prerequisites:
#       - "[Lesson 04](04_cifar10_on_gpu.ipynb): the classic classifier on the CPU and on the GPU"
#       - >-
#         no GPU is needed: without one you measure the CPU, and the GPU's curves come from a
#         recording, if the course has one
#     credits:
#       - >-
#         The classic network and script follow
#         [PyTorch's beginner
#         tutorial](https://pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html); the
#         stopwatch uses [torch.utils.benchmark](https://pytorch.org/docs/stable/benchmark_utils.html).
#       - >-
#         The rule for the learning rate: Goyal et al.,
#         [Accurate, Large Minibatch SGD](https://arxiv.org/abs/1706.02677), 2017. The whole data
#         set on the GPU: David Page,
#         [How to Train Your ResNet](https://github.com/davidcpage/cifar10-fast), 2018.
# ---

# %% [markdown]
# ## Set up

# %%
import os
import time

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # hides the profiler's own log

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from helpers import cifar10, lesson, records, timing
from helpers.devices import describe_device
from helpers.ladder import CLASSIC, LARGE_BATCH, Ladder, Rung
from helpers.loaders import ResidentLoader, normalize, worker_loader
from helpers.networks import ClassicNet, ScaledClassicNet
from helpers.plots import ladder as ladder_plot
from helpers.plots import speed as plots
from helpers.plots.style import show
from helpers.steps import Setting, TrainingStep, matching_rate, photo_loader, whole_batches
from helpers.training import train

# %% [markdown]
# The next cell holds everything you may want to change. With the defaults, the measurements of the
# whole lesson take a few minutes on two CPU cores. More rounds (in comparisons and in the ladder)
# and more seconds make them more reliable.

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (the real ones or an error), "drawn", or a path
device: str = "auto"  # "auto", "cpu", "cuda:0", "mps", ...
seed: int = 0  # of every random number
rounds: int = 5  # runs of each variant in a comparison, at least 3
seconds: float = 0.2  # measured for each point of a curve, above 0
largest_batch: int = 4096  # the last point of the batch curve, at least 4
with_compile: bool = False  # compile in the live ladder too: it takes up to a minute
rate_images: int = 8_000  # to compare learning rates on, at least 512

# %% tags=["nbval-ignore-output"]
device = lesson.start(device, seed=seed)
timing.refuse_simulated(device)
for name, value, least in (
    ("rounds", rounds, 3),
    ("largest_batch", largest_batch, 4),
    ("rate_images", rate_images, 512),
):
    if type(value) is not int or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}.")
if type(with_compile) is not bool:
    raise ValueError(f"with_compile must be True or False, not {with_compile!r}.")
if type(seconds) not in (int, float) or not seconds > 0:
    raise ValueError(f"seconds must be a number above 0, not {seconds!r}.")

# %% [markdown]
# ### What this page can show you
#
# If the box above names a CPU, every time on this page is a CPU's. It still shows you how to
# measure, why small batches are slow, and which part of a step takes the time. It cannot show where
# a GPU begins to win: that takes a GPU, or a recording of one. For orientation, here are the peak
# values that NVIDIA publishes, *not* measured here
# ([T4](https://www.nvidia.com/en-us/data-center/tesla-t4/),
# [A100](https://www.nvidia.com/en-us/data-center/a100/),
# [H100](https://www.nvidia.com/en-us/data-center/h100/); the pages also quote twice the tensor
# core rates, for matrices with half of their values zero):
#
# | published peak | T4 (2018) | A100 80 GB SXM (2020) | H100 SXM (2022) |
# |---|---|---|---|
# | float32 | 8.1 TFLOP/s | 19.5 TFLOP/s | 67 TFLOP/s |
# | float16 on tensor cores | 65 TFLOP/s | 312 TFLOP/s | 989 TFLOP/s |
# | bfloat16 on tensor cores | not available | 312 TFLOP/s | 989 TFLOP/s |
# | memory bandwidth | 0.3 TB/s | 2.0 TB/s | 3.35 TB/s |
#
# One TFLOP/s is 10^12 floating-point operations per second. A *tensor core* is a unit of the GPU
# that multiplies small matrices.
#
# The images are those of lesson 04.

# %% tags=["nbval-ignore-output"]
dataset = cifar10.load(data)
lesson.show_data(dataset)
images, labels = dataset.train

# %% [markdown]
# ## A stopwatch that lies
#
# You measure a network's forward pass. The obvious way: read the clock, call, read the clock again.
# The network is the classic one with four times as many channels everywhere; the batch has 16
# images.

# %%
net = ScaledClassicNet(width=4).to(device)
batch = normalize(images[:16]).to(device)


@torch.no_grad()
def forward():
    return net(batch)


forward().shape  # 16 images, 10 logits each

# %% [markdown]
# **Think first:** you call it 12 times, one after the other, and note each time. Will they agree?
#
# <details><summary>Answer</summary>
#
# No. The first call usually takes longest, because it includes work that is done only once. The
# others differ too, because other programs use the same machine.
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
# Two things go wrong with such a stopwatch.
#
# **It includes what happens only once.** The first call loads libraries, chooses an algorithm for
# each convolution and allocates memory. On a GPU it also loads the code of each kernel.
#
# **It does not wait for the GPU.** A call to the GPU returns as soon as the work is in a *queue*.
# The clock then shows how long the CPU took to launch the kernels, not how long the GPU takes to
# run them. Read the clock after `torch.accelerator.synchronize()`, which waits until the queue is
# empty (`torch.cuda.synchronize()` for any kind of GPU). On a CPU a call returns
# when it is done, so there you see the first mistake only.
#
# And a single number does not tell you how far to trust it. `timing.measure` calls the function
# without timing it first, waits for the device, repeats, and returns the median and the
# *interquartile range* (IQR), the width of the range that holds the middle half of all runs. It
# uses `torch.utils.benchmark.Timer`.

# %% tags=["nbval-ignore-output"]
proper = timing.measure(forward, device, label="forward pass", runs=rounds, seconds=seconds)
show(
    plots.stopwatch(first, later, proper),
    alt="The time that a plain stopwatch shows for each of twelve calls, the first marked, and the "
    "median with quartiles of a proper measurement.",
)
print(proper)

# %% [markdown]
# ### Is it faster, or is it noise?
#
# You change something, measure again, and the second number is 4 % smaller. To know what that
# means, run both variants alternately, so that a machine that slows down slows both, and look at
# the ratio of each pair: old time divided by new time, so 2 is twice as fast. `timing.compare` does
# this, and says *no difference* if the median ratio is not farther from 1 than the spread of the
# ratios (their IQR), or, with fewer than 8 pairs, if they do not all agree on which variant is
# faster. The rule calls two equal variants different in fewer than 1 of 20 cases.
#
# **Think first:** what should it say about a function compared with itself?
#
# <details><summary>Answer</summary>
#
# *No difference*, in at least 19 of 20 cases.
#
# </details>

# %% tags=["nbval-ignore-output"]
same = {"forward": forward, "the same": forward}
print(timing.compare(same, device, rounds=max(rounds, 9), seconds=seconds))

# %% [markdown]
# Now a gain of 4 %, twice: once with pairs that range from 6 % slower to 12 % faster, and once with
# pairs that hardly vary.

# %%
scattered = timing.Ratio("new", "old", (0.94, 1.04, 1.12, 1.06, 0.97, 1.01, 1.08))
steady = timing.Ratio("new", "old", (1.03, 1.04, 1.04, 1.05, 1.04, 1.03, 1.04))
print(scattered, steady, sep="\n")

# %% [markdown]
# ## Larger batches
#
# A GPU has thousands of cores, and each kernel launch takes time. A batch of 4 images keeps few
# cores busy, and needs as many launches as a batch of 4096.
#
# The function below measures one training step on a batch that is already on the device: forward,
# backward, optimizer. Divided by the number of images in the batch, this is the time per image.


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
# Without a GPU in this machine, the GPU's curve comes from a recorded measurement, if there is one;
# the legend then names the device and the date.

# %% tags=["nbval-ignore-output"]
gpu_record = None if device.type == "cuda" else records.newest("batch_and_width", "cuda")
if device.type == "cuda":
    lesson.box("The GPU's curves are measured on this machine.")
elif gpu_record:
    lesson.box("The GPU's curves are recorded.", gpu_record.origin)
else:
    lesson.box(
        "No GPU measurement has been recorded yet.",
        "The figures below show this machine's CPU only. In a clone of the course on a machine "
        "with a GPU, `make gpu-record` records the rest.",
    )


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
# arithmetic, and only four images share it. The curve becomes flat where the arithmetic takes most
# of the time. For even larger batches, the data no longer fits in the caches, and the curve may
# rise again. A single point that jumps is probably noise.
#
# </details>

# %%
by_batch = {
    at: [seconds_per_image(ClassicNet(), size, at) for size in batch_sizes] for at in places
}
show(
    plots.curves(with_recorded("batch", batch_sizes, by_batch), "images per batch", unit="batch"),
    alt="Training time per image against the batch size, logarithmic; one curve per device.",
)

# %% [markdown]
# On a GPU, expect the flat part to start much later. As long as cores are idle, a larger batch
# takes hardly longer than a small one, so the time per image keeps falling. But each operation has
# more overhead there, the kernel launch, so with small batches a GPU may be slower than the CPU. It
# begins to win where the curves cross.
#
# ## Wider and deeper networks
#
# The other way to give a GPU more work is a larger network.
#
# **Think first:** with twice as many channels everywhere, how much more arithmetic is there?
#
# <details><summary>Answer</summary>
#
# Up to four times as much: each channel of one layer is combined with each channel of the next. It
# is less where one side does not grow: the first layer always has 3 input channels, and the last
# always has 10 outputs. In a wide network these two hardly count.
#
# </details>


# %%
def operations(width=1, depth=1):
    counter = FlopCounterMode(display=False)
    with counter:
        ScaledClassicNet(width, depth)(torch.zeros(1, 3, 32, 32))
    return counter.get_total_flops()


{
    f"width {width}": f"{operations(width) / operations():.1f} times the arithmetic"
    for width in (1, 2, 4, 8)
}

# %% [markdown]
# The factor from one width to the next approaches four. With depth, that is with more convolutions
# one after another, the arithmetic grows almost in proportion:

# %%
{
    f"depth {depth}": f"{operations(depth=depth) / operations():.1f} times the arithmetic"
    for depth in (1, 2, 4, 8)
}

# %% [markdown]
# Now measure, with 64 images per batch.

# %%
widths = [1, 2, 4, 8]
by_width = {
    at: [seconds_per_image(ScaledClassicNet(width), 64, at) for width in widths] for at in places
}
show(
    plots.curves(
        with_recorded("width", widths, by_width),
        "width: multiple of the classic network's channels",
        unit="width",
    ),
    alt="Training time per image against the width of the network; one curve per device.",
)

# %%
depths = [1, 2, 4, 8]
by_depth = {
    at: [seconds_per_image(ScaledClassicNet(1, depth), 64, at) for depth in depths] for at in places
}
show(
    plots.curves(
        with_recorded("depth", depths, by_depth), "depth: convolutions per block", unit="depth"
    ),
    alt="Training time per image against the depth of the network; one curve per device.",
)

# %% [markdown]
# Width 1 and depth 1 are the same network: if their times differ, that is noise, and you should
# trust no smaller effect. Now compare the factors in the titles with those of the arithmetic. If
# the time grows less, the small network left part of the machine idle; if it grows more, the added
# layers compute less efficiently. Width suits a GPU: one large product instead of a small one.
# Depth suits it less: each layer adds kernel launches, and has to wait for the layer before it.
#
# ## Where a step's time goes
#
# Before you make anything faster, find out what is slow. `torch.profiler` logs when each operation
# starts and ends; `record_function` names a part of your code. `TrainingStep` does one step, with
# `with part("forward"):` and so on around its parts. On a GPU, each part ends by waiting for the
# device. Otherwise a kernel's time would count in a later part.


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
def parts_of(setting, steps):
    step = TrainingStep(setting, *whole_batches(images, labels, setting.batch_size), device)
    for _ in range(3):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(steps):
            step(part)
    total = {event.key: event.cpu_time_total / 1e6 for event in profiler.key_averages()}
    names = ("data", "forward", "backward", "optimizer")
    return {name: total[name] / (steps * setting.batch_size) for name in names}


CLASSIC  # the settings of the classic script

# %% [markdown]
# Three settings: the classic script with 4 images per batch (two worker processes prepare the
# images one by one); the same with *resident* data, that is, with all images on the device from the
# start; and resident data with 512 images per batch.
#
# **Think first:** which part do you expect to shrink most from the first setting to the second, and
# which from the second to the third?
#
# <details><summary>Answer</summary>
#
# From the first to the second: data, the time that a step *waits* for its images. On a CPU, the
# workers also compete with the network for the cores, so the other parts may become shorter too.
# From the second to the third: all the other parts, per image, because more images share the
# overhead of each operation. In proportion the optimizer shrinks most, since its work does not
# depend on the number of images.
#
# </details>

# %%
parts = {
    "classic, batch 4": parts_of(CLASSIC, 60),
    "resident data, batch 4": parts_of(Setting(resident=True), 60),
    "resident data, batch 512": parts_of(Setting(resident=True, batch_size=512), 3),
}
show(
    plots.step_parts(parts),
    alt="For three settings, the time per image of the four parts of a training step: data, "
    "forward, backward, optimizer; one stacked bar per setting.",
)

# %% [markdown]
# The profiler adds time to each operation, so the bars of batch 4, with more operations per image,
# are somewhat too long. And each bar is a single measurement: on a busy computer, believe large
# differences only.
#
# ## The input pipeline
#
# Feed the network as the classic script does: for each of four images, make a PIL image (of the
# Python package Pillow), turn it into a tensor and normalize it; then stack the four. Or take four
# images at once from a tensor that is on the device. Do both give the same values?

# %%
photos = photo_loader(images[:64], labels[:64], 64, workers=0).dataset
one_by_one = torch.stack([photos[i][0] for i in range(64)])
at_once = normalize(images[:64])
torch.testing.assert_close(one_by_one, at_once, rtol=0, atol=1e-6)  # an error if they differ
f"{tuple(at_once.shape)}: no value differs by more than 0.000001"

# %% [markdown]
# **Think first:** the worker processes run in parallel to the training, on other cores. Can two
# workers make up for the slower way?
#
# <details><summary>Answer</summary>
#
# At best, two workers are twice as fast as one, which is not enough here. With four images per
# batch they can even be slower than none: sending a batch from one process to another then costs
# more than preparing it. The larger the batch and the more free cores, the more workers help.
#
# </details>
#
# The figure has a fourth way too, *tensors*: images that are tensors already, but normalized one by
# one.


# %%
from helpers.steps import endless


def take(loader, count):
    batches = endless(loader)  # one epoch after another

    def prepare():
        for _ in range(count):
            next(batches)[0].to(device)

    return prepare


# %%
def speeds_at(batch_size):
    part = whole_batches(images, labels, batch_size)
    loaders = {
        "PIL, 2 workers": photo_loader(*part, batch_size, workers=2),
        "PIL, no workers": photo_loader(*part, batch_size, workers=0),
        "tensors, no workers": worker_loader(*part, batch_size, workers=0),
        "resident batches": ResidentLoader(*part, batch_size, device=device),
    }
    # ResidentLoader normalizes 512 images or more at once: count all of that work.
    counts = {name: max(8, 4096 // batch_size) if "resident" in name else 2 for name in loaders}
    calls = {name: take(loader, counts[name]) for name, loader in loaders.items()}
    found = timing.compare(calls, device, rounds=3, seconds=seconds)
    return {name: counts[name] * batch_size / found[name].median for name in loaders}


# %%
at_batch = {size: speeds_at(size) for size in (4, 64, 512)}
speeds = {name: {size: at_batch[size][name] for size in at_batch} for name in at_batch[4]}
show(
    plots.pipelines(speeds),
    alt="Images prepared per second by four ways to feed a network, for batches of 4, 64 and 512.",
)
list(speeds)

# %% [markdown]
# This figure times the *loaders alone*. A training step also has to compute, so it gains far less;
# the ladder below shows how much.
#
# The resident images need no workers: one operation gathers hundreds of images, and a few more
# convert them to floats. That works as long as the data fits on the device. If it does not, keep
# the workers, set `pin_memory=True` and `persistent_workers=True`, and decode the image files once,
# before training.
#
# ## The ladder
#
# Now climb a *ladder*: change the classic script one thing at a time, and keep each change (a
# *rung*) that helps for the ones after it. First, what the changes are.
#
# **Resident data** you have seen. **A larger batch** takes fewer steps for the same images, so each
# step has to go farther: the *linear scaling rule* says that the learning rate grows in proportion
# to the batch size, up to the point where training becomes unstable. For this network the course
# stops at 0.1.

# %%
for size in (4, 16, 64, 256, 512):
    print(f"batch {size:3d}: {50_000 // size:6,} steps per pass, rate {matching_rate(size):g}")

# %% [markdown]
# **Think first:** what happens to the loss if you enlarge the batch to 64 and keep the learning
# rate of 0.001?
#
# <details><summary>Answer</summary>
#
# There are 16 times fewer steps, each as small as before. After the same number of images, the
# network has hardly begun to learn, and the loss is still near 2.30, the loss of guessing among ten
# classes.
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


f"{len(chosen):,} images, two passes each"

# %%
histories = {
    "batch 4, rate 0.001": trained(4, 0.001),
    "batch 64, rate 0.001": trained(64, 0.001),
    "batch 64, rate 0.016": trained(64, matching_rate(64)),
}
show(
    plots.loss_against_time(histories),
    alt="Training loss against training time for batches of 4, and for batches of 64 with the "
    "learning rate of batch 4 and with the matching one; all see the same number of images.",
)

# %% [markdown]
# All three see the same images, twice each. On the real images, the matching rate brings the loss
# of the large batch down to about that of the small one. For much larger batches that is no longer
# enough, because there are far fewer updates for the same number of images.
#
# So **images per second are not time to accuracy**. To compare two ways to train, compare how long
# they take to the accuracy that you want. The next table does so with recordings from one quiet
# computer: test accuracy from full runs, and training time computed from the ladder's time per
# image (with resident data).

# %% tags=["nbval-ignore-output"]
learned = next(iter(records.read("large_batches")), None)
climbed = learned and records.newest("ladder", learned.kind)
if not climbed:
    lesson.box("No accuracy with large batches has been recorded yet.")
else:
    rungs = {rung["name"]: rung["seconds_per_image"] for rung in climbed.figures["climb"]}
    per_image = {"batch 4": rungs["resident data"], "batch 512": rungs[f"batch of {LARGE_BATCH}"]}
    print(f"{learned.origin}, {learned.figures['data']}")
    print(f"{'images/s':>9s} {'training':>9s} {'test accuracy':>14s}")
    for name, accuracy in learned.figures["accuracy"].items():
        one = per_image[name.split(",")[0]]
        passes = int(name.split(", ")[-1].split()[0])
        print(f"{1 / one:9,.0f} {one * 50_000 * passes:7.1f} s {accuracy:13.1%}   {name}")

# %% [markdown]
# In the recording of November 2026, a batch of 512 processes five times as many images per second,
# yet after one pass it is *behind*, even with the matching learning rate. What you gain is time for
# more passes: five of them take about as long as one pass with batches of 4, and end at a higher
# accuracy.
#
# **`channels_last`** keeps the channels of a pixel next to each other in memory, which many
# convolution kernels prefer. The shape stays, but the *strides* change: how far apart in memory the
# neighbors along each dimension are. The dimensions are image, channel, row, column.

# %%
nchw = torch.zeros(4, 3, 32, 32)
nhwc = nchw.to(memory_format=torch.channels_last)
nchw.shape, nhwc.shape, nchw.stride(), nhwc.stride()

# %% [markdown]
# **bf16 autocast** runs products and convolutions in bfloat16 (bf16), with 16 bits per number
# instead of 32; the weights stay in 32 bits. That halves the memory traffic of inputs and outputs,
# and GPUs from the Ampere generation on (A100, RTX 30, 2020) compute bf16 in tensor cores. A T4 is
# older: its tensor cores compute float16 (fp16) but not bf16, which it emulates slowly. Many CPUs
# have no bf16 arithmetic either. fp16 has more digits but a smaller range than bf16: small
# gradients become zero, so it needs a
# [`GradScaler`](https://docs.pytorch.org/docs/stable/amp.html).

# %%
net = ClassicNet()
with torch.autocast("cpu", torch.bfloat16):
    output = net(normalize(images[:4]))
output.dtype, net.fc3.weight.dtype

# %% [markdown]
# **A fused optimizer**, `SGD(..., fused=True)`, does the whole update of many parameters in one
# kernel. Without it, PyTorch updates one parameter after another on a CPU, and on a GPU many
# parameters per kernel but with one kernel for each operation of the formula.
#
# **`torch.compile`** generates kernels for your network that combine several operations. It needs
# time in the first step, and a C++ compiler on a CPU or the GPU compiler Triton on a GPU.
#
# **One thread**, on a CPU: with little work, waking a second thread costs more than it saves. (The
# loops of lesson 04 use one thread from the start; here the classic script has all.)
#
# **Think first:** which of them help a network this small? Write down your guess, then read the
# ladder. Each change is compared with the setting that has everything that helped before, and is
# kept if it is faster; *what helped* and *everything* are compared with the classic script. Do not
# divide the times of two rows: they were measured minutes apart.

# %% tags=["nbval-ignore-output"]
skip = {} if with_compile else {"torch.compile": "skipped; with_compile = True measures it"}
climb, top = Ladder(images, labels, device, rounds=rounds, seconds=seconds, skip=skip).climb()
for rung in climb:
    per_image = "" if rung.note else f"{1e6 * rung.seconds_per_image:7.0f} µs per image, "
    print(f"{rung.name:16s} {per_image}{rung.note or 'speed-up ' + rung.finding}")
top  # the setting with everything that helped

# %% tags=["nbval-ignore-output"]
show(
    ladder_plot.ladder(climb, where=describe_device(device)),
    alt="One bar per change: the speed-up of training with it, on top of the changes that helped "
    "before; gray if it does not help. The last two bars are all changes that helped and "
    "everything at once, compared with the classic script.",
)

# %% [markdown]
# Which changes help on *your* machine, you know only when you have measured them there. bf16, for
# example, helps on hardware that computes in bf16, and costs time where it is emulated.
#
# The line on a bar shows the quartiles. On a busy computer, the ladder above can differ much from
# the recorded one below: the same computer once gave the batch of 512 a speed-up of 4.4 and once of
# 9.0. On a CPU, the time at batch 4 is the less reliable one, because the threads mostly wait for
# each other (lesson 04).
#
# Does the order matter? A recorded ladder also has every change *alone*, on the classic script.

# %% tags=["nbval-ignore-output"]
for kind in ("cuda", "cpu"):
    record = records.newest("ladder", kind)
    if record is None:
        device_name = {"cuda": "GPU", "cpu": "CPU"}[kind]
        lesson.box(f"No ladder has been recorded on a {device_name} yet.")
        continue
    rungs = {name: [Rung(**rung) for rung in record.figures[name]] for name in ("climb", "alone")}
    show(
        ladder_plot.ladder(rungs["climb"], rungs["alone"], where=record.origin),
        alt="The recorded ladder: on the left each change alone on the classic script, on the "
        "right on top of the changes that helped.",
    )

# %% [markdown]
# The order matters. Compare *one thread* in the two panels of the CPU's recording of November 2026:
# alone, it makes the classic script 1.4 times as fast; on top of resident data and the large batch,
# training slows down to 0.6 of its speed. And bf16, which that CPU emulates, leaves four fifths of
# the classic script's speed, but only one seventh once the other costs are gone. A change has no
# speed-up of its own, only one *in a given program*. So find the part that takes the time, fix it,
# and measure again from there.
#
# ## Copies to the GPU
#
# If the data does not fit on the GPU, every batch has to be copied. [Lesson
# 01](01_tensors_and_devices.ipynb) shows pinned memory and `non_blocking=True`, with which the CPU
# continues while a copy runs. For a fast input pipeline, two more things count.
#
# **Overlap.** On one *stream*, a queue of the GPU, a copy and a computation run one after the
# other. They run at the same time only on different streams, and if the memory is pinned. Do not
# change the source of a `non_blocking` copy, or read its result on the CPU, before you have waited
# for it with `synchronize()`.
#
# **Fewer bytes.** The same 512 images, before and after they are normalized:

# %%
row = images[:512]
f"{row.nbytes / 1e6:.2f} MB as uint8, {normalize(row).nbytes / 1e6:.2f} MB as float32"

# %% [markdown]
# Copy the bytes, and convert them to floats on the device.

# %% tags=["nbval-ignore-output"]
record = records.newest("transfers", "cuda")
if record is None:
    lesson.box("No copies to a GPU have been recorded yet.", "Only a real GPU can show them.")
else:
    show(
        plots.transfers(
            record.figures["bytes"], record.figures["gigabytes_per_second"], record.origin
        ),
        alt="The rate of a copy to the GPU against its size, from pageable and from pinned memory.",
    )
    print("Seconds until the call returns:", record.figures["seconds_until_the_call_returns"])
    print("Seconds for copy and products:", record.figures["overlap"])

# %% tags=["nbval-ignore-output"]
lesson.report(
    microseconds_per_image_at_batch_4=round(1e6 * by_batch[device][0], 1),
    microseconds_per_image_at_largest_batch=round(1e6 * by_batch[device][-1], 1),
    loaders_alone_ratio_at_batch_4=round(
        speeds["resident batches"][4] / speeds["PIL, 2 workers"][4], 1
    ),
    ladder_ratio=round(climb[-2].ratio, 1),
)

# %% [markdown]
# ## Summary
#
# - Warm up, wait for the device, repeat, alternate. A difference within the spread is not a
#   difference.
# - A GPU wins when there is enough to do at once: large batches, wide layers.
# - Find out where the time goes before you change anything.
# - Feed the network first: resident data, larger batches. The effect of a change depends on the
#   changes before it.
# - A larger batch needs a larger learning rate, and still makes fewer updates: compare time to
#   accuracy, not images per second.
# - `channels_last`, bf16, fused optimizers, `torch.compile`: each may help or cost. Measure on your
#   machine.
#
# **To try:** set `rounds = 9` and `seconds = 1.0`, run again, and see which results change.
