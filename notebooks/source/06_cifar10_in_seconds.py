# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CIFAR-10 in seconds
#     promise: >-
#       You build, one idea at a time, a training run made to take all of CIFAR-10 to 94 % within
#       seconds on one GPU, and you run a small one of the same kind on whatever you have.
#     minutes: 60
#     objectives:
#       - say what limits a training run in principle, and compute that limit for this one
#       - name the ideas behind a fast run, their sources, and what each is for
#       - whiten patches, augment on the device with one gather, make a step orthogonal
#       - time a training run so that an expert would accept the figure
#       - switch one idea off and judge whether the difference means anything
#     prerequisites:
#       - "[Lesson 04](04_cifar10_on_gpu.ipynb): training, evaluation and images on the device"
#       - "[Lesson 05](05_when_the_gpu_wins.ipynb): where the time of a training step goes"
#     credits:
#       - >-
#         The recipe follows Keller Jordan's
#         [cifar10-airbench](https://github.com/KellerJordan/cifar10-airbench) and its paper, [94 %
#         on CIFAR-10 in 3.29 Seconds on a Single GPU](https://arxiv.org/abs/2404.00498), 2024,
#         which descend from [hlb-CIFAR10](https://github.com/tysam-code/hlb-CIFAR10) (tysam-code,
#         2023) and from David Page's [How to Train Your
#         ResNet](https://myrtle.ai/learn/how-to-train-your-resnet/) (2018-2019). The code here is
#         the course's own.
#       - >-
#         [Muon](https://kellerjordan.github.io/posts/muon/): Keller Jordan and others, 2024.
#         Label smoothing: Szegedy and others, 2016. A start as a copy: Zagoruyko and Komodakis,
#         DiracNets, 2017. BatchNorm: Ioffe and Szegedy, 2015.
#       - >-
#         CIFAR-10: Alex Krizhevsky,
#         [Learning Multiple Layers of Features from Tiny
#         Images](https://www.cs.toronto.edu/~kriz/learning-features-2009-TR.pdf), 2009.
# ---

# %% [markdown]
# ## Set up

# %%
import inspect
from dataclasses import replace

import torch
from IPython.display import Markdown
from torch.utils.flop_counter import FlopCounterMode

from helpers import cifar10, lesson, records
from helpers.fast_cifar10.augmentation import MEAN, SPREAD, augment, on_device
from helpers.fast_cifar10.network import FastNet, whitening_filters
from helpers.fast_cifar10.optimizers import Muon, orthogonalize
from helpers.fast_cifar10.recipes import CPU, CPU_MINUTE, GPU, switched_off
from helpers.fast_cifar10.training import Trainer
from helpers.plots import classification
from helpers.plots import fast_cifar10 as plots
from helpers.plots.style import show

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (the real ones or an error), "drawn", or a path
device: str = "auto"  # "auto", "cpu", "cuda:0", ...
epochs: float = 0.0  # passes over the training images; 0 takes 8 on a GPU and 0.5 on a CPU
idea: str = "Muon"  # the idea that is switched off below; a wrong name lists those there are
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(device, seed=seed)
if epochs < 0:
    raise ValueError(f"epochs must be 0 or more, not {epochs!r}.")

# %% [markdown]
# The settings come in two sizes, of one kind: a recipe for a GPU, and one for a CPU that has the
# same ideas in it with a narrower network, patches that do not overlap so much, and smaller
# batches. Its widths were chosen by runs judged on 5,000 training images held out, the shape of its
# first layer in a few trials on test images. The second way is the wrong one: settings picked by
# their score on the test images flatter that score, the more of them are tried.

# %%
settings = CPU if device.type == "cpu" else GPU
settings = replace(settings, epochs=epochs or settings.epochs)
without = switched_off(settings, idea)
GPU.widths, GPU.epochs, CPU.widths, CPU.epochs

# %% tags=["nbval-ignore-output"]
dataset = cifar10.load(data)
lesson.show_data(dataset)

# %% [markdown]
# ## The bill
#
# Before you make something fast, find out how fast it can be. Training does a known amount of
# arithmetic, and a device does a known amount a second. The first divided by the second is a time
# below which no trick goes, unless it does less arithmetic.
#
# Count it. `FlopCounterMode` adds up the multiplications and additions of a forward and a backward
# pass for ten images through the network of the GPU recipe; the network follows in a moment.
#
# **Think first:** an NVIDIA H100 multiplies large matrices of 16-bit numbers at about 800 TFLOP/s,
# which is 800 million million operations a second. A millisecond, a second or a minute for 8 passes
# over 50,000 images?


# %%
def operations_an_image(settings):
    with FlopCounterMode(display=False) as arithmetic:
        FastNet(settings)(torch.zeros(10, 3, 32, 32)).sum().backward()
    return arithmetic.get_total_flops() / 10


a_run = operations_an_image(GPU) * 50_000 * GPU.epochs
f"{a_run / 1e15:.2f} PFLOP a run, {a_run / 800e12:.2f} of a second at 800 TFLOP/s"

# %% [markdown]
# About a third of a second. Airbench, which the recipe follows, takes 2.59 s on an A100, which is
# good for some 300 TFLOP/s at most: a second of pure arithmetic. So the way to speed is twofold.
# **Keep the device at its arithmetic**: everything on the device, large products, no waiting. And
# **need less of it**: reach 94 % in 8 passes where a textbook run takes 100 or more. Lesson 05 was
# about the first; most of what follows is about the second.
#
# ## Images that never leave the device
#
# The images lie on the device as bytes, and now with colours last: the three numbers of a pixel are
# neighbours in memory, which is also how the fast convolutions want them.

# %%
train_images, train_labels = on_device(*dataset.train, device)
test_images, test_labels = on_device(*dataset.test, device)
train_images.shape, train_images.dtype, train_images.device == device

# %% [markdown]
# A network that sees the same picture eight times learns the picture. So each pass shows it moved
# by up to two pixels, or mirrored. Worker processes would do that one image after the other; here
# it is one *gather* for a whole batch: compute for every pixel of the result where it comes from,
# and fetch it.

# %%
few = torch.tensor([35_007] * 6, device=device)
mirrored = torch.tensor([False, True] * 3, device=device)
shifts = torch.tensor([[0, 0], [0, 0], [2, 2], [2, 2], [-6, 0], [-6, 0]], device=device)
size = 32
places = torch.arange(size, device=device) + shifts[:, :, None]
places = (size - 1) - ((size - 1) - places.abs()).abs()
rows, columns = places.unbind(1)
columns = torch.where(mirrored[:, None], size - 1 - columns, columns)
pixels = train_images[few[:, None, None], rows[:, :, None], columns[:, None, :]]
pixels.shape

# %% [markdown]
# **Think first:** what do the two calls of `abs` do to place -1, and to place 32? Look at the edges
# of the last two images, which are moved by six pixels to show it.

# %%
show(
    classification.image_grid(
        pixels.permute(0, 3, 1, 2),
        ["as it is", "mirrored", "2, 2", "2, 2, mirrored", "-6, 0", "-6, 0, mirrored"],
        title="One image, six ways, in one gather",
        columns=6,
    ),
    alt="One training image six times: as it is and moved, each plain and mirrored; the pixels "
    "that a move uncovers are a reflection of those beside them.",
)

# %% [markdown]
# The border is a mirror: place -1 shows place 1. `augment`, in
# `helpers/fast_cifar10/augmentation.py`, is this code, and then takes off the mean of each colour
# and divides by its spread.

# %%
x = augment(train_images, few, mirrored, shifts)
mean, spread = torch.tensor(MEAN), torch.tensor(SPREAD)
expected = (pixels.cpu() / 255 - mean) / spread
torch.allclose(x.permute(0, 2, 3, 1).cpu(), expected, atol=1e-5)

# %% [markdown]
# ### Mirrors in turn
#
# Usually each image is mirrored by the toss of a coin, in every pass anew. **Think first:** what
# share of the images is then seen the same way round in two passes that follow each other, and so
# brings nothing new?

# %%
toss = torch.Generator().manual_seed(seed)
first, second = torch.rand(2, 50_000, generator=toss) < 0.5
alternating = ~first
coin, in_turn = (first == second).double().mean(), (first == alternating).double().mean()
f"the same way round: {coin:.1f} of the images by a coin, {in_turn:.1f} in turn"

# %% [markdown]
# Half of them. Toss the coin once for each image, and mirror *in turn* from then on: every second
# pass shows the whole of what the first did not (Jordan, 2024). It costs nothing.
#
# ## The network
#
# ### Whitening: the first layer is known before training
#
# Neighbouring pixels are nearly equal. Of the numbers in a small patch, most of the variation lies
# in one direction, that of brightness, and hardly any in the directions of fine detail, where a
# good part of what tells a cat from a dog is. Gradient descent is slow along directions that vary
# little. So divide every direction by its own spread, in a fixed first layer: *whitening* (Page,
# 2019). The directions are the eigenvectors of the patches' covariance.

# %%
kernel = 3
some = torch.arange(0, len(train_labels), 50, device=device)
still = torch.zeros(len(some), 2, dtype=torch.int64, device=device)
x = augment(train_images, some, still[:, 0] > 0, still)
patches = x.unfold(2, kernel, 1).unfold(3, kernel, 1).permute(0, 2, 3, 1, 4, 5)
patches = patches.reshape(-1, 3 * kernel * kernel).cpu().double()
variances, directions = torch.linalg.eigh(patches.T @ patches / len(patches))
patches.shape[1], directions.shape

# %% [markdown]
# **Think first:** there are 27 directions. If all varied alike, three of them would have a ninth of
# the variance. How much have the strongest three together, and how much the last nine?

# %%
shares = variances.flip(0) / variances.sum()
(shares[:3].sum() > 0.8).item(), (shares[-9:].sum() < 0.02).item()

# %%
show(
    plots.filters(
        directions.T.flip(0).reshape(-1, 3, kernel, kernel), variances.flip(0).sqrt().tolist()
    ),
    alt="Twenty-seven small colour patterns from smooth to fine, each with the standard deviation "
    "of the image patches along it, which falls from left to right and from top to bottom.",
)

# %% [markdown]
# More than four fifths in three directions of 27. On photographs brightness alone has nearly as
# much, and the last nine together have a ten-thousandth. Dividing by the square root of the
# variance makes all alike. A little is added to each variance first, since the faintest directions
# are mostly noise, which nobody wants enlarged. The CPU recipe keeps the sixteen strongest
# directions only.

# %%
filters = (directions / (variances + 5e-4).sqrt()).T.flip(0).float()
outputs = patches.float() @ filters.T
together = outputs.T @ outputs / len(outputs)
apart = together - together.diag().diag()
together.diag().max().item() < 1.01, apart.abs().max().item() < 0.01

# %% [markdown]
# No two of the 27 outputs vary together any more, and none varies by more than 1. The helper's
# filters need not be these to the last digit, since an eigenvector has no sign. They have to do the
# same to the patches:

# %%
helper = whitening_filters(x, kernel).flatten(1).cpu()
outputs = patches.float() @ helper.T
together = outputs.T @ outputs / len(outputs)
apart = together - together.diag().diag()
together.diag().max().item() < 1.01, apart.abs().max().item() < 0.01

# %% [markdown]
# Each filter goes into the layer twice, the second time with its sign turned: the activation that
# follows drops what is negative, and would drop half of the knowledge with it. The layer stays
# fixed; only its biases learn, and only early in the run. Later its gradient is not even computed.
#
# ### Three groups, and a start as a copy
#
# After the first layer come three *groups*: convolution, pooling, convolution, with BatchNorm and
# an activation after each. Pooling comes straight after the first convolution, so that everything
# behind it has a quarter of the work.

# %%
net = FastNet(GPU)
group = net.groups[0]
group

# %% [markdown]
# How should the weights of `conv2` start? At random, it scrambles what `conv1` has found, and has
# to learn to stop. **Think first:** with which weights does a convolution hand on its input
# unchanged?

# %%
x = torch.randn(2, group.conv2.in_channels, 8, 8)
middle = group.conv2.weight[0, 0]
middle, torch.allclose(group.conv2(x), x)

# %% [markdown]
# A single 1 in the middle of the filter that leads from channel *i* to channel *i*: *Dirac*
# initialization (Zagoruyko and Komodakis, 2017). The network starts as if it were shallow and
# becomes deep as it learns. It has what the shortcuts of a residual network are for, without their
# cost.
#
# Last, each channel gives its largest value over the image to a linear layer, the *head*.

# %%
net(torch.zeros(5, 3, 32, 32)).shape

# %% [markdown]
# ## Muon: a step in all directions at once
#
# The gradient of a convolution is a matrix, one row for each output channel. A few of its
# directions are large and the rest are tiny, so a step along it changes the network in a few
# directions only. **Muon** (Jordan and others, 2024) keeps the directions and gives them all the
# same length: it replaces the matrix $G = U S V^T$ by $U V^T$.
#
# A singular value decomposition would do it, and is slow on a GPU. Newton and Schulz's iteration
# needs nothing but matrix products, which a GPU does best:


# %%
def newton_schulz(x, steps=3):
    x = x / x.norm()
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x


torch.manual_seed(seed)
gradient = torch.randn(32, 8) @ torch.randn(8, 288) + 0.3 * torch.randn(32, 288)
torch.allclose(newton_schulz(gradient), orthogonalize(gradient[None])[0], atol=1e-4)

# %% [markdown]
# The matrix is made up for this picture: 8 strong directions of 32, and some noise. **Think
# first:** each step of the iteration applies a polynomial to every singular value, which starts
# between 0 and 1. Must it be exact?

# %%
before = torch.linalg.svdvals(gradient)
after = torch.linalg.svdvals(newton_schulz(gradient))
show(
    plots.singular_values(before, after),
    alt="The singular values of a matrix: most of them small before, and nearly all close to one "
    "after three steps of Newton and Schulz's iteration.",
)

# %% [markdown]
# It need not. Anything from about a half to one and a half serves, and coefficients chosen for
# speed get there in three steps. The whole optimizer is short:

# %%
Markdown(f"```python\n{inspect.getsource(Muon.step)}```")

# %% [markdown]
# Two more ideas are in it. A convolution that BatchNorm follows gives the same result for weights
# of any length, so the length is kept fixed, and the learning rate is the *relative* length of a
# step. And filters of one shape are stacked and treated in one product, since one large product
# beats several small ones.
#
# ## The rest of the recipe
#
# - **Learning rates fall** in a straight line to nothing at the end. A run of seconds has no time
#   to wander; the end of the line is where most of the accuracy comes from.
# - **Biases learn 64 times as fast** as they otherwise would (tysam-code, 2023; Page, 2019).
# - **BatchNorm forgets quickly**: its averages follow the last few steps, as older ones are out of
#   date.
# - **Label smoothing** (Szegedy and others, 2016): the right answer counts 0.8, and 0.2 is spread
#   over all classes, so that no effort goes into being surer than sure.
# - **16-bit arithmetic**, `torch.compile` and `channels_last` on a GPU: lesson 05 has measured what
#   they are for.
#
# And the loop. Look for two things: what is inside the clock, and where the program waits for the
# device.

# %%
source = inspect.getsource(Trainer.run)
loop = source[source.index("        synchronize(self.device)\n        started") :]
Markdown(f"```python\n{loop}```")

# %% [markdown]
# Whitening is inside the clock, since it looks at the training images. Compiling is not: it happens
# once for a program, however often you train, and it is timed beside the run. `loss.item()`, which
# would wait for the device, is called only where somebody watches. There the clock stops, after
# `synchronize`: a GPU takes requests and works on them later, so a clock read without waiting shows
# how long the *asking* took.
#
# ## Train
#
# **Think first:** on a CPU the recipe sees 25,000 images, each once. The classic network of lesson
# 04 gets about half of the test images right after 100,000. What do you expect?

# %% tags=["nbval-ignore-output"]
trainer = Trainer(settings, *dataset.train, device)
ready = trainer.warm_up()
trainer.choose_threads()  # on a CPU that is busy with other things, one may be quicker than all
seconds, accuracies = [], []


def observe(run):
    seconds.append(run.seconds)
    accuracies.append(trainer.accuracy(test_images[::5], test_labels[::5], views=False))


run = trainer.run(seed, observe=observe, observations=6)
f"{run.images:,} images in {run.seconds:.1f} s; {ready:.1f} s before to compile and get ready"

# %%
len(accuracies), accuracies[-1] > 0.5, accuracies[-1] > accuracies[0]

# %%
show(
    plots.learning_curve(seconds, accuracies),
    alt="Test accuracy against the time spent in training, with a point for each sixth of the run.",
)

# %% [markdown]
# On photographs, a CPU gets about two thirds of the test images right after these 25,000. Look at
# the shape of the curve: at first the network seems to learn little, and then, as the learning
# rates fall, it gathers what it has learnt. A run that is cut off in the middle is worth less than
# a shorter one whose rates have fallen: that is why the length must be known beforehand.

# %% [markdown]
# The curve was measured on a fifth of the test images, to save time. Now all of them, once as they
# are and once from **six views**: as it is and moved by a pixel either way, each plain and
# mirrored, the logits averaged. It costs six times as much to answer and nothing to train, and
# airbench counts it in its time. *Test-time augmentation* is older than any of this (Krizhevsky and
# others, 2012).

# %% tags=["nbval-ignore-output"]
one_view = trainer.accuracy(test_images, test_labels, views=False)
six_views = trainer.accuracy(test_images, test_labels)
f"right answers: {one_view:.1%} from one view, {six_views:.1%} from six"

# %%
one_view > 0.5, six_views > 0.5, six_views > one_view - 0.02

# %% [markdown]
# ## Switch an idea off
#
# A recipe is a list of claims. Test one: the same run without the `idea` of the parameters cell.

# %% tags=["nbval-ignore-output"]
other = Trainer(without, *dataset.train, device)
other.warm_up()  # on as many threads as the run that it is compared with
without_run = other.run(seed)
without_views = other.accuracy(test_images, test_labels)
Markdown(
    "| run | right answers | training |\n|---|---|---|\n"
    f"| all ideas | {six_views:.1%} | {run.seconds:.1f} s |\n"
    f"| without {idea} | {without_views:.1%} | {without_run.seconds:.1f} s |"
)

# %%
without_run.steps == run.steps, 0 < without_views < 1

# %% [markdown]
# **Think first:** you have one run of each. What else may their difference come from?
#
# From the seed: order, augmentation and first weights differ from run to run, and so does the
# result, by as much as a point in runs as short as these. One pair of runs says little about a
# small effect. `benchmarks/tricks_switched_off.py` switches each idea off in several runs and keeps
# every one of them.

# %% tags=["nbval-ignore-output"]
found = records.read("tricks_switched_off")
for record in found:
    show(
        plots.ideas_switched_off(record),
        alt="Test accuracy and training time of runs with all ideas, and of runs with one idea "
        "switched off each; one point a run.",
    )
len(found)

# %% [markdown]
# Read the figure with its limits in mind. It was measured on the device that it names. On a CPU a
# run is two short passes, and there two ideas carry it: learning rates that fall, and Muon. The
# others lie within what chance gives or takes, or need time to pay: mirrored and moved images keep
# a network from learning pictures by heart, which two passes do not let it do. An idea whose dots
# lie on both sides of the dotted line has shown nothing here, for or against.
#
# ## Against the clock, on a CPU
#
# How much can two CPU cores learn in a minute, and in five? The clock of
# `benchmarks/accuracy_within_a_clock.py` is a wall clock around training alone. The other
# contestant is a recipe as the GPU likes it, with wide layers and batches of 1,000. **Think
# first:** why would a CPU want it otherwise?

# %% tags=["nbval-ignore-output"]
found = records.read("accuracy_within_a_clock")
for record in found:
    show(
        plots.within_a_clock(record),
        alt="Test accuracy that two recipes reach within each time on the clock; one dot a run.",
    )
len(found)

# %% [markdown]
# The medians behind the bars, with the number of steps that each recipe took:

# %% tags=["nbval-ignore-output"]
one = records.newest("accuracy_within_a_clock", "cpu")
rows = ["| recipe, clock | steps | images | one view | six views |", "|---|---|---|---|---|"]
for name, middle in one.figures["medians"].items() if one else []:
    recipe, _, clock = name.removesuffix(" s").rpartition(", ")
    steps = middle["images"] / one.figures["settings"][clock][recipe]["batch_size"]
    rows.append(
        f"| {name} | {steps:,.0f} | {middle['images']:,.0f} "
        f"| {middle['accuracy_one_view']:.1%} | {middle['accuracy_six_views']:.1%} |"
    )
Markdown("\n".join(rows))

# %% [markdown]
# A GPU starves on small batches: each request costs it some microseconds, and thousands of cores
# want work. A CPU has two or eight cores and hardly any such cost, so it need not put up with few,
# large steps. And it has so little arithmetic in a minute that a network as wide as a GPU likes it
# sees but a part of the images once. How much less does the CPU's recipe need for an image?

# %%
wide = operations_an_image(replace(GPU, widths=(64, 128, 128)))
narrow = operations_an_image(CPU_MINUTE)
f"{wide / 1e6:.0f} million operations an image, or {narrow / 1e6:.0f}: {wide / narrow:.1f} to 1"

# %% [markdown]
# Most of the saving is in the first layer, which steps by two pixels instead of one and leaves a
# quarter of the places to everything behind it. Which layers are worth their arithmetic depends on
# the time there is: the run above lasts seconds and has the narrowest network of three, for a
# minute the course takes a wider one, and for five minutes the widest.
#
# ## On a GPU
#
# The anchor is airbench: 94.01 % in 2.59 s on one A100, by its own account the mean of 200 runs. A
# claim to be as fast has to be measured beside it: on one GPU, with the same torch and the same
# images, in turn, with both clocks stopped alike and compiling left out of both. One command does
# that and records every run; without AIRBENCH it prints where to fetch airbench's script, which is
# no part of the course:
#
# ```
# AIRBENCH=airbench94_muon.py python -m benchmarks against_airbench tricks_switched_off
# ```

# %% tags=["nbval-ignore-output"]
races = records.read("against_airbench")
for record in races:
    show(
        plots.race(record),
        alt="Test accuracy against time of every run of the course's recipe and of airbench's, on "
        "one GPU.",
    )
if not races:
    lesson.box(
        "No GPU figure is recorded yet.",
        "The GPU recipe has been run on CPUs only. That it reaches 94 % in seconds is what its "
        "design aims at, not something measured here.",
        warning=True,
    )

# %% tags=["nbval-ignore-output"]
lesson.report(
    test_accuracy_one_view=round(one_view, 4),
    test_accuracy_six_views=round(six_views, 4),
    training_seconds=round(run.seconds, 2),
    seconds_making_ready=round(ready, 2),
    images_trained_on=run.images,
    idea_switched_off=idea,
    test_accuracy_without_it=round(without_views, 4),
)

# %% [markdown]
# ## Summary
#
# - Work out the bill first: arithmetic divided by the speed of the device is the time that no trick
#   undercuts.
# - Keep images, augmentation and clock on the device, and wait for it only where you read a number.
# - A run gets short by needing fewer steps: a first layer that is known beforehand, weights that
#   start as a copy, steps in all directions at once, learning rates that fall to nothing.
# - What suits a GPU (wide, large batches) does not suit a CPU, and the other way round.
# - A trick is worth what several runs without it say, and a speed what a race in turn says.
#
# **To try:** set `idea = "falling learning rates"`, then `"whitening"`. On a GPU, set
# `epochs = 4.0`: how much of the accuracy do you keep for half of the time?
