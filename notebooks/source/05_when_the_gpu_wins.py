# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: When the GPU wins
#     promise: >-
#       You find out why the classic classifier hardly gains from a GPU, and remove the causes one
#       at a time, with measurements that you can trust.
#     minutes: 60
#     objectives:
#       - time code on a GPU without being fooled, and say when two times are the same
#       - say from which batch size and which width on a GPU is worth it
#       - find the part of a training step that takes the time
#       - feed a network so that it does not wait for data
#       - judge channels_last, bf16, fused optimizers, torch.compile and threads by measuring each
#     prerequisites:
#       - "[Lesson 04](04_cifar10_on_gpu.ipynb): the classic classifier on the CPU and on the GPU"
#       - >-
#         a GPU is welcome and not needed: without one you measure the CPU, and a GPU's curves come
#         from a record if the course has one
#     credits:
#       - >-
#         The classic network and script follow
#         [PyTorch's beginner
#         tutorial](https://pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html); the
#         stopwatch stands on [torch.utils.benchmark](https://pytorch.org/docs/stable/benchmark_utils.html).
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

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # the profiler's own log is of no use here

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from helpers import cifar10, lesson, records, timing
from helpers.devices import describe_device
from helpers.ladder import CLASSIC, Ladder, Rung
from helpers.loaders import ResidentLoader, normalize, worker_loader
from helpers.networks import ClassicNet, ScaledClassicNet
from helpers.plots import ladder as ladder_plot
from helpers.plots import speed as plots
from helpers.plots.style import show
from helpers.steps import Setting, TrainingStep, matching_rate, photo_loader, whole_batches
from helpers.training import train

# %% [markdown]
# The next cell holds everything you may want to change. The defaults keep the whole lesson to about
# a minute of measuring on two CPU cores; more rounds and more seconds make it surer.

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (the real ones or an error), "drawn", or a path
device: str = "auto"  # "auto", "cpu", "cuda:0", "mps", ...
seed: int = 0  # of every random number
rounds: int = 5  # runs of each way in a comparison, at least 3
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
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")
if type(with_compile) is not bool:
    raise ValueError(f"with_compile must be True or False, not {with_compile!r}.")
if type(seconds) not in (int, float) or not seconds > 0:
    raise ValueError(f"seconds must be a number above 0, not {seconds!r}.")

# %% [markdown]
# The images are those of lesson 04. Nothing here depends on what they show, apart from one
# comparison of learning rates.

# %% tags=["nbval-ignore-output"]
dataset = cifar10.load(data)
lesson.show_data(dataset)
images, labels = dataset.train

# %% [markdown]
# ## A stopwatch that lies
#
# You measure a network's forward pass. The plain way: read the clock, call, read the clock again.
# The network is the classic one with four times as many channels everywhere, and 128 images a
# batch, so that there is something to compute.

# %%
net = ScaledClassicNet(width=4).to(device)
batch = normalize(images[:128]).to(device)


@torch.no_grad()
def forward():
    return net(batch)


forward_flops = FlopCounterMode(display=False)
with forward_flops:
    ScaledClassicNet(width=4)(torch.zeros(1, 3, 32, 32))
f"{forward_flops.get_total_flops() * 128 / 1e9:.2f} billion operations a call"

# %% [markdown]
# **Think first:** you call it 12 times, one after the other, and note each time. Will they agree?

# %%
times = []
for _ in range(12):
    started = time.perf_counter()
    forward()
    times.append(time.perf_counter() - started)
first, *later = times
len(later)

# %% [markdown]
# Two things go wrong with such a stopwatch.
#
# **It counts what happens once.** The first call loads libraries, chooses the way each convolution
# will be computed and asks for memory. On a GPU it also loads the code of each operation.
#
# **It does not wait for the GPU.** A call to the GPU returns when the work has been *queued*. The
# clock then shows how long the CPU took to ask, not how long the GPU takes to answer. The clock has
# to be read after `torch.accelerator.synchronize()`, which waits until the queue is empty. On a CPU
# a call returns when it is done, so there you see the first mistake alone.
#
# And one number says nothing of how sure it is. `timing.measure` calls the function before it reads
# the clock, waits for the device, repeats, and gives the median with the distance between the
# quartiles, the IQR: half of all runs lie within it. Inside is `torch.utils.benchmark.Timer`.

# %% tags=["nbval-ignore-output"]
proper = timing.measure(forward, device, label="forward pass", runs=rounds, seconds=seconds)
show(
    plots.stopwatch(first, later, proper),
    alt="The time that a plain stopwatch shows for each of twelve calls, the first marked, and the "
    "median with quartiles of a proper measurement.",
)
print(proper)

# %%
low, high = proper.quartiles
low <= proper.median <= high, len(proper.seconds) == rounds

# %% [markdown]
# ### Is it faster, or is it noise?
#
# You change something, measure again, and the second number is 4 % smaller. To know what that
# means, let both ways take turns, so that a machine that slows down slows both, and look at the
# ratio pair by pair. `timing.compare` does, and says *no difference* when the median ratio is no
# farther from 1 than the spread of the ratios. Such a rule errs now and then: of two equal ways it
# calls fewer than 1 pair in 20 different.
#
# **Think first:** what should it say of a function compared with itself?

# %% tags=["nbval-ignore-output"]
same = {"forward": forward, "the same": forward}
print(timing.compare(same, device, rounds=max(rounds, 9), seconds=seconds))

# %% [markdown]
# And how does it judge a gain of 4 % when the pairs scatter between 6 % slower and 12 % faster, or
# hardly at all?

# %%
scattered = timing.Ratio("new", "old", (0.94, 1.04, 1.12, 1.06, 0.97, 1.01, 1.08))
steady = timing.Ratio("new", "old", (1.03, 1.04, 1.04, 1.05, 1.04, 1.03, 1.04))
print(scattered, steady, sep="\n")

# %% [markdown]
# ## Larger batches
#
# A GPU has thousands of lanes and each request to it has a price. A batch of 4 images fills few
# lanes and pays the price for every 4 images. What does an image cost in a batch of 4096?
#
# The function below measures one training step on a batch that lies on the device already: forward,
# backward, optimizer. Divided by the images of the batch, that is the time an image.


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
# Without a GPU in this machine, a GPU's curve comes from a file that somebody recorded on one; the
# legend then names the device and the date. The next cell says whether the course has such a file.

# %% tags=["nbval-ignore-output"]
gpu_record = None if device.type == "cuda" else records.newest("batch_and_width", "cuda")
if device.type == "cuda":
    lesson.box("The GPU's curves are measured on this machine.")
elif gpu_record:
    lesson.box("The GPU's curves are recorded ones.", gpu_record.origin)
else:
    lesson.box(
        "No GPU figure is recorded yet.",
        "The figures below show this machine's CPU alone. In a clone of the course on a machine "
        "with a GPU, `python -m benchmarks batch_and_width ladder transfers` records the rest.",
    )


# %%
def curves_with_record(kind, sizes, live):
    curves = [plots.Curve(f"{at}, measured now", at.type, sizes, live[at]) for at in places]
    return curves + ([plots.recorded_curve(gpu_record, kind)] if gpu_record else [])


[str(place) for place in places if place.type == "cpu"]

# %% [markdown]
# **Think first:** a CPU has few cores. Will its time an image fall with the batch size too?

# %%
batch_sizes = [size for size in (4, 16, 64, 256, 1024, 4096) if size <= largest_batch]
by_batch = {
    at: [seconds_per_image(ClassicNet(), size, at) for size in batch_sizes] for at in places
}
show(
    plots.curves(
        curves_with_record("batch", batch_sizes, by_batch), "images a batch", unit="batch"
    ),
    alt="Training time an image against the batch size, on logarithmic scales, one curve a device.",
)

# %% [markdown]
# It does: a step of four images spends most of its time on the way from Python to the arithmetic,
# and four images share that price. On a CPU the curve turns flat as soon as the arithmetic takes
# over; beyond, the data no longer fits the caches and the curve may rise again.
#
# On a GPU expect the flat part to come much later. As long as lanes are idle, a larger batch takes
# hardly longer than a small one, so the time an image keeps falling. The price of a request,
# however, is higher there, so at the left end a GPU may well lose. Where the curves cross, it
# begins to win.
#
# ## Wider and deeper networks
#
# The other way to give a GPU something to do is a larger network. **Think first:** four times as
# many channels everywhere: how many times the arithmetic?


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
# Nearly the square: each channel of one layer meets each channel of the next. Depth costs less: a
# block with two convolutions more does more work, in a line.

# %%
{
    f"depth {depth}": f"{operations(depth=depth) / operations():.1f} times the arithmetic"
    for depth in (1, 2, 4, 8)
}

# %% [markdown]
# Now measure, with 64 images a batch.

# %%
widths = [1, 2, 4, 8]
by_width = {
    at: [seconds_per_image(ScaledClassicNet(width), 64, at) for width in widths] for at in places
}
show(
    plots.curves(
        curves_with_record("width", widths, by_width),
        "width: times the classic channels",
        unit="width",
    ),
    alt="Training time an image against the width of the network, one curve a device.",
)

# %%
depths = [1, 2, 4, 8]
by_depth = {
    at: [seconds_per_image(ScaledClassicNet(1, depth), 64, at) for depth in depths] for at in places
}
show(
    plots.curves(
        curves_with_record("depth", depths, by_depth), "depth: convolutions a block", unit="depth"
    ),
    alt="Training time an image against the depth of the network, one curve a device.",
)

# %% [markdown]
# Compare the growth with the arithmetic above. If the time grows less than the arithmetic, the
# small network was wasting what the machine can do. Width suits a GPU: one larger product instead
# of a small one. Depth suits it less: every layer is a request more, and waits for the layer
# before.
#
# ## Where a step's time goes
#
# Before you make anything faster, find out what is slow. `torch.profiler` notes when each operation
# begins and ends; `record_function` gives a part of your code a name. On a GPU each part waits for
# the device at its end, so that the time lands in the part it belongs to.


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


# %% [markdown]
# Three settings: the classic script with 4 images a batch (two worker processes prepare the images
# one by one), the same with images that lie on the device, and that with 512 images a batch.
#
# **Think first:** which part of the classic script takes the longest?

# %%
parts = {
    "classic, batch 4": parts_of(CLASSIC, 60),
    "resident data, batch 4": parts_of(Setting(resident=True), 60),
    "resident data, batch 512": parts_of(Setting(resident=True, batch_size=512), 3),
}
show(
    plots.step_parts(parts),
    alt="For three settings, the time an image of the four parts of a training step: data, "
    "forward, backward, optimizer; one stacked bar a setting.",
)
sorted(parts["classic, batch 4"])

# %% [markdown]
# The profiler itself takes time for each operation, so the bars of batch 4 are somewhat too long;
# the proportions are what you look for. The part called data is the time that the step *waits* for
# its images. On a CPU the workers also compete with the network for the cores, which shows in the
# other parts, so compare the whole bars too. Between 4 and 512 images a batch nothing changes but
# how many images share the price of a request.
#
# ## The input pipeline
#
# Feed the network as the classic script does: make a PIL image of a row, turn it into a tensor,
# normalize it, four times, stack. Or take four rows of a tensor that lies on the device, all at
# once. Both give the same numbers:

# %%
photos = photo_loader(images[:64], labels[:64], 64, workers=0).dataset
one_by_one = torch.stack([photos[i][0] for i in range(64)])
at_once = normalize(images[:64])
torch.allclose(one_by_one, at_once, atol=1e-6), at_once.shape

# %% [markdown]
# **Think first:** the worker processes run beside the training, on other cores. Can two workers
# make up for the slower way?


# %%
from helpers.steps import endless


def drain(loader):
    batches = endless(loader)  # one epoch after the other

    def prepare():
        for _ in range(2):
            next(batches)[0].to(device)

    return prepare


def speeds_at(batch_size):
    part = whole_batches(images, labels, batch_size)
    loaders = {
        "PIL, 2 workers": photo_loader(*part, batch_size, workers=2),
        "PIL, no workers": photo_loader(*part, batch_size, workers=0),
        "tensors, no workers": worker_loader(*part, batch_size, workers=0),
        "resident batches": ResidentLoader(*part, batch_size, device=device),
    }
    ways = {way: drain(loader) for way, loader in loaders.items()}
    found = timing.compare(ways, device, rounds=3, seconds=seconds)
    return {way: 2 * batch_size / found[way].median for way in ways}


# %%
at_batch = {size: speeds_at(size) for size in (4, 64, 512)}
speeds = {way: {size: at_batch[size][way] for size in at_batch} for way in at_batch[4]}
show(
    plots.pipelines(speeds, "PIL, 2 workers"),
    alt="Images prepared a second by four ways to feed a network, for batches of 4, 64 and 512.",
)
all(at_batch[size]["resident batches"] > at_batch[size]["PIL, 2 workers"] for size in at_batch)

# %% [markdown]
# With four images a batch, sending it from one process to the other costs more than preparing it;
# with larger batches the workers gain on the main process. The resident images need no workers at
# all: one operation gathers hundreds of rows, one turns them into floats. That works as long as
# the data fits on the device. When it does not, keep the workers, enlarge the batch, set
# `pin_memory=True` and `persistent_workers=True`, and decode ahead of time.
#
# ## The ladder
#
# Now change the classic script one thing at a time. What each change is:
#
# **Resident data** you have seen. **A larger batch** takes fewer steps for the same images, and
# each step must then go farther: the *linear scaling rule* says that the learning rate grows with
# the batch, up to the point where training no longer runs steadily.

# %%
{size: (50_000 // size, round(matching_rate(size), 4)) for size in (4, 16, 64, 256, 512)}

# %% [markdown]
# Batch size, steps for one pass over the images, and the matching rate. **Think first:** what
# happens to the loss if you enlarge the batch to 64 and keep the rate of 0.001?


# %%
# Drawn by lot: a copy of CIFAR-10 may have its images sorted by class.
lot = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))[:rate_images]


def final_loss(batch_size, rate):
    torch.manual_seed(seed)
    net = ClassicNet().to(device)
    loader = ResidentLoader(images[lot], labels[lot], batch_size, device=device, seed=seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    last = train(net, loader, optimizer, epochs=2).losses[-20:]
    return sum(last) / len(last)


losses = {
    "batch 4, rate 0.001": final_loss(4, 0.001),
    "batch 64, rate 0.001": final_loss(64, 0.001),
    "batch 64, rate 0.016": final_loss(64, matching_rate(64)),
}
list(losses)

# %% tags=["nbval-ignore-output"]
{way: round(loss, 2) for way, loss in losses.items()}

# %% [markdown]
# On photographs, a large batch with the old rate has hardly begun to learn: chance alone gives a
# loss of 2.30. The rule mends much of it, not all: in the same number of images a large batch makes
# fewer corrections. With all the images, and judged by the test images, the course has recorded:

# %% tags=["nbval-ignore-output"]
learned = next(iter(records.read("large_batches")), None)
if learned is None:
    lesson.box("No accuracy with large batches is recorded yet.")
else:
    print(f"{learned.origin}, {learned.figures['data']}:")
    for way, accuracy in learned.figures["accuracy"].items():
        print(f"{accuracy:.1%} of the test images right after {way}")

# %% [markdown]
# A faster step is worth as much as it brings you to your accuracy sooner, so keep both numbers.
#
# **`channels_last`** keeps the three colours of a pixel next to each other in memory, which many
# convolution kernels prefer. The shape stays, the strides change:

# %%
nchw = torch.zeros(4, 3, 32, 32)
nhwc = nchw.to(memory_format=torch.channels_last)
nchw.shape == nhwc.shape, nchw.stride(), nhwc.stride()

# %% [markdown]
# **bf16 autocast** lets products and convolutions run in 16 bits instead of 32: half the memory
# traffic, and units made for it where the hardware has some, such as the tensor cores of a GPU.
# Weights stay in 32 bits.

# %%
net = ClassicNet()
with torch.autocast("cpu", torch.bfloat16):
    output = net(normalize(images[:4]))
output.dtype, net.fc3.weight.dtype

# %% [markdown]
# **A fused optimizer** updates all parameters in one kernel instead of several for each:
# `SGD(..., fused=True)`. **`torch.compile`** writes new kernels for your network, with several
# operations in each; it takes its time in the first step and needs a C++ compiler, or Triton on a
# GPU. **One thread**, on a CPU: for little work, waking a second thread costs more than it saves.
#
# **Think first:** which of them help a network this small? Write down your guess, then climb. A
# change that is not faster by more than the spread is left out of what follows.

# %% tags=["nbval-ignore-output"]
skip = {} if with_compile else {"torch.compile": "left out; with_compile = True measures it"}
climb, top = Ladder(images, labels, device, rounds=rounds, seconds=seconds, skip=skip).climb()
for rung in climb:
    print(f"{rung.name:16s} {rung.note or rung.finding}")
top

# %% tags=["nbval-ignore-output"]
show(
    ladder_plot.ladder(climb, where=describe_device(device)),
    alt="One bar a change: how many times as fast training is with it, on top of the changes that "
    "helped before; grey where it does not help. The last two bars stand for all that helped and "
    "for everything at once, against the classic script.",
)

# %%
helped, everything = climb[-2:]
len(climb), max(helped.ratio, everything.ratio) > 1

# %% [markdown]
# The first two rungs feed the network. Of the others some help and some cost: bf16 helps where the
# hardware has units for 16 bits and costs where it has to pretend. That is the point of a ladder:
# nobody can tell you which rungs hold on *your* machine.
#
# Would the order matter? The recorded ladder also has every change *alone*, on the classic script.

# %% tags=["nbval-ignore-output"]
for kind in ("cuda", "cpu"):
    record = records.newest("ladder", kind)
    if record is None:
        lesson.box(
            f"No ladder of a {kind.replace('cuda', 'GPU').replace('cpu', 'CPU')} is recorded yet."
        )
        continue
    rungs = {name: [Rung(**rung) for rung in record.figures[name]] for name in ("climb", "alone")}
    show(
        ladder_plot.ladder(rungs["climb"], rungs["alone"], where=record.origin),
        alt="The recorded ladder: on the left each change alone on the classic script, on the "
        "right on top of the changes that helped.",
    )

# %% [markdown]
# The two halves disagree, and that is what they teach. In the CPU's record, one thread makes the
# classic script faster, since its worker processes want the other core; on top of resident data and
# a large batch, where the arithmetic takes the time, it costs. bf16, which that CPU has to pretend,
# costs a little of a step that waits for its data, and most of one that does not. So: find the part
# that takes the time, mend it, and measure again from there.
#
# ## Copies to the GPU
#
# When the data does not fit, batches have to travel. Three things decide how fast.
#
# - **Pageable or pinned memory.** The GPU fetches data by itself only from memory that the
#   operating system has promised not to move: *pinned* memory. From ordinary, *pageable* memory the
#   driver first copies the data into a pinned buffer of its own. `pin_memory=True` in a
#   `DataLoader` puts batches into pinned memory; pinning takes time itself, so it pays for buffers
#   you use again.
# - **Waiting or not.** `x.to(device, non_blocking=True)` from pinned memory returns at once, and
#   the CPU goes on while the copy runs. From pageable memory it cannot.
# - **Overlap.** A copy and a computation run at the same time only on different *streams*, queues
#   of the GPU; on one stream they wait for each other.
#
# One trap: a `non_blocking` copy *from* the GPU returns before the data has arrived. Read it
# without `synchronize()` and you read what was there before.

# %%
row = images[:512]
f"{row.nbytes / 1e6:.2f} MB as uint8, {normalize(row).nbytes / 1e6:.2f} MB as float32"

# %% [markdown]
# Four times as many bytes if you normalize *before* the copy. Send the bytes and convert on the
# device.

# %% tags=["nbval-ignore-output"]
record = records.newest("transfers", "cuda")
if record is None:
    lesson.box("No copies to a GPU are recorded yet.", "Only a real GPU can show them.")
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
    pipeline_ratio_at_batch_4=round(speeds["resident batches"][4] / speeds["PIL, 2 workers"][4], 1),
    ladder_ratio=round(climb[-2].ratio, 1),
)

# %% [markdown]
# ## Summary
#
# - Warm up, wait for the device, repeat, let the ways take turns. A difference inside the spread is
#   none.
# - A GPU wins when there is enough to do at once: large batches, wide layers.
# - Look where the time goes before you change anything. In the classic script, feeding the network
#   costs more than the network.
# - Resident data and a larger batch come first; everything else shows only then.
# - A larger batch needs a larger learning rate, and still makes fewer corrections.
# - `channels_last`, bf16, fused, compiled: each may help, none must. Measure on your machine.
#
# **To try:** set `rounds = 9` and `seconds = 1.0`, run again, and see which verdicts change.
