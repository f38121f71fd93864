# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CIFAR-10 in seconds
#     promise: >-
#       You build, one technique at a time, a training run designed to reach 94% on CIFAR-10 within
#       seconds on one GPU (so far, it has been run on CPUs only), and you run a small version of it
#       on the machine you have.
#     minutes: 60
#     objectives:
#       - compute a lower limit for the time of a training run
#       - name the techniques behind a fast run, their sources, and the purpose of each
#       - whiten patches, augment on the device with one gather, orthogonalize an update
#       - time a training run so that an expert would accept the result
#       - remove one technique (an *ablation*) and judge whether the difference means anything
#     prerequisites:
#       - "[Lesson 04](04_cifar10_on_gpu.ipynb): training, evaluation and images on the device"
#       - "[Lesson 05](05_when_the_gpu_wins.ipynb): where the time of a training step goes"
#       - >-
#         for the sections on whitening and Muon, some linear algebra: covariance, eigenvectors,
#         singular values
#       - "no GPU is needed: without one you run a small version of the recipe"
#     credits:
#       - >-
#         The recipe follows Keller Jordan's
#         [cifar10-airbench](https://github.com/KellerJordan/cifar10-airbench) and its paper, [94%
#         on CIFAR-10 in 3.29 Seconds on a Single GPU](https://arxiv.org/abs/2404.00498), 2024,
#         which descend from [hlb-CIFAR10](https://github.com/tysam-code/hlb-CIFAR10) (tysam-code,
#         2023) and from David Page's [How to Train Your
#         ResNet](https://myrtle.ai/learn/how-to-train-your-resnet/) (2018-2019). The code here is
#         the course's own.
#       - >-
#         [Muon](https://kellerjordan.github.io/posts/muon/): Keller Jordan and others, 2024.
#         Label smoothing: Szegedy and others, 2016. Dirac initialization: Zagoruyko and Komodakis,
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

import simulated_cuda
from helpers import cifar10, lesson, records
from helpers.fast_cifar10.augmentation import augment, on_device
from helpers.fast_cifar10.network import FastNet, Group
from helpers.fast_cifar10.optimizers import Muon
from helpers.fast_cifar10.recipes import CPU, GPU, ablate, active_techniques
from helpers.fast_cifar10.training import Trainer
from helpers.plots import classification
from helpers.plots import fast_cifar10 as plots
from helpers.plots.style import show

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (real or an error), "synthetic", or a path
device: str = "auto"  # "auto", "cpu", "cuda:0", ...
epochs: float = 0.0  # passes over the training images; 0 takes 8 on a GPU and 0.5 on a CPU
technique: str = "Muon"  # the technique to remove below; an unknown name lists all
seed: int = 0  # of every random number

# %% tags=["nbval-ignore-output"]
device = lesson.start(device, seed=seed)
if epochs < 0:
    raise ValueError(f"epochs must be 0 or more, not {epochs!r}.")

# %% [markdown]
# **Without a GPU** you run a second recipe, for a CPU: the same techniques with a narrower network,
# a first layer with stride 2 (its output has a quarter of the positions), and smaller batches. It
# shows that the whole recipe learns fast, and how to test a technique. It is too short to show the
# effect of most single techniques, and it does not reach 94%.
#
# The widths of the CPU recipe were chosen on 5,000 training images held out for validation. The
# shape of its first layer was chosen in a few trials on test images, which is a mistake: the best
# of many scores on the test images overestimates the accuracy.
#
# Each recipe's widths (channels of the three groups of convolutions) and number of passes:

# %%
settings = CPU if device.type == "cpu" else GPU
settings = replace(settings, epochs=epochs or settings.epochs)
without = ablate(settings, technique)  # for a later section
{"GPU": (GPU.widths, GPU.epochs), "CPU": (CPU.widths, CPU.epochs)}

# %% tags=["nbval-ignore-output"]
dataset = cifar10.load(data)
lesson.show_data(dataset)

# %% [markdown]
# ## A lower limit for the time (4 minutes)
#
# Training needs a known amount of arithmetic, and a device does a known amount per second. The
# first divided by the second is a lower limit for the time.
#
# `FlopCounterMode` counts the multiplications and additions of convolutions and matrix products,
# here in a forward and a backward pass for one image through the network of the GPU recipe. A PFLOP
# is 10^15 operations.
#
# **Think first:** an NVIDIA H100 has a published peak of [989
# TFLOP/s](https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet) for
# products of 16-bit matrices, almost 10^15 operations per second. Will 8 passes over 50,000 images
# take a millisecond, a second or a minute?
#
# <details><summary>Answer</summary>
#
# About 0.3 seconds, if the device computed at full speed all the time.
#
# </details>


# %%
def operations_per_image(settings):
    with FlopCounterMode(display=False) as arithmetic:
        FastNet(settings)(torch.zeros(1, 3, 32, 32)).sum().backward()
    return arithmetic.get_total_flops()


a_run = operations_per_image(GPU) * 50_000 * GPU.epochs
f"{a_run / 1e15:.2f} PFLOP per run, {a_run / 989e12:.2f} s at 989 TFLOP/s"

# %% [markdown]
# Airbench, which the recipe follows, takes 2.59 s on an A100 (published by its author; the version
# in its paper took 3.29 s). At the A100's peak of 312 TFLOP/s, the arithmetic alone would take
# about a second. So there are two ways to be fast. **Keep the device computing** (lesson 05):
# everything on the device, large products, no waiting. And **need less arithmetic**: reach 94% in
# 8 passes where a textbook run takes 100 or more.
#
# ## Images that never leave the device (10 minutes)
#
# The images are on the device as bytes, with channels last: the three numbers of a pixel are next
# to each other in memory, a layout that many fast convolution kernels need.

# %%
train_images, train_labels = on_device(*dataset.train, device)
test_images, test_labels = on_device(*dataset.test, device)
if dataset.synthetic and device.type == "cpu":  # a shorter run is enough to try the code
    settings, without = (replace(each, epochs=epochs or 0.1) for each in (settings, without))
    test_images, test_labels = test_images[::5], test_labels[::5]
train_images.shape, train_images.dtype

# %% [markdown]
# A network that sees the same image eight times may memorize it. So each pass shows it shifted by
# up to two pixels, or mirrored (*data augmentation*). Lesson 04's worker processes would do that
# for one image after another; here it is one *gather* for a whole batch: compute for every pixel of
# the result where it comes from, and fetch it. The example fetches one image six times; `shifts`
# are pixels up and to the left.

# %%
few = torch.tensor([35_007 % len(train_images)] * 6, device=device)
mirrored = torch.tensor([False, True] * 3, device=device)
shifts = torch.tensor([[0, 0], [0, 0], [2, 2], [2, 2], [-6, 0], [-6, 0]], device=device)
size = 32
# (6, 2, 32): for each image, the row and the column that each pixel of the result comes from
places = torch.arange(size, device=device) + shifts[:, :, None]
places = (size - 1) - ((size - 1) - places.abs()).abs()  # reflect at both borders
rows, columns = places.unbind(1)  # (6, 32) each
columns = torch.where(mirrored[:, None], size - 1 - columns, columns)
# (6, 1, 1), (6, 32, 1) and (6, 1, 32) broadcast to (6, 32, 32): one index for each pixel
pixels = train_images[few[:, None, None], rows[:, :, None], columns[:, None, :]]
pixels.shape

# %% [markdown]
# **Think first:** what do the two calls of `abs` do to index -1, and to index 32? Look at the edges
# of the last two images, which are shifted by six pixels to show it.
#
# <details><summary>Answer</summary>
#
# The border is a mirror: -1 becomes 1, and 32 becomes 30.
#
# </details>

# %%
show(
    classification.draw_images(
        pixels.permute(0, 3, 1, 2),
        ["original", "mirrored", "2 up, 2 left", "same, mirrored", "6 down", "same, mirrored"],
        title="One image, six ways, in one gather",
        columns=6,
    ),
    alt="One training image six times: original and shifted, each plain and mirrored; the pixels "
    "that a shift uncovers are a reflection of those next to them.",
)

# %% [markdown]
# `augment`, in `helpers/fast_cifar10/augmentation.py`, is this code; it then subtracts the mean of
# each channel and divides by its standard deviation.
#
# ### Alternating flips
#
# Usually, each image is mirrored at random in every pass. **Think first:** what fraction of the
# images then has the same orientation in two consecutive passes?
#
# <details><summary>Answer</summary>
#
# Half of them. So choose at random only in the first pass, and *alternate* from then on: the next
# pass always shows the other orientation (Jordan, 2024). In a run of less than one pass, the
# default on a CPU, this has no effect.
#
# </details>
#
# ## The network (13 minutes)
#
# ### Whitening: the first layer is computed before training
#
# Neighboring pixels are nearly equal. In a small patch, most of the variance is along one
# direction, brightness, and very little along the directions of fine detail, which often
# distinguish a cat from a dog. Gradient descent is slow along directions with little variance. So
# divide the values along every direction by their standard deviation, in a fixed first layer:
# *whitening* (Page, 2019). The directions are the eigenvectors of the covariance matrix of the
# patches.

# %%
kernel = 3
some = torch.arange(0, len(train_labels), 50, device=device)
# normalized, neither mirrored nor shifted: `still` is a shift of 0 for each image
still = torch.zeros(len(some), 2, dtype=torch.int64, device=device)
x = augment(train_images, some, still[:, 0] > 0, still)
# every patch of 3 x 3 pixels, as a row of 27 numbers
patches = x.unfold(2, kernel, 1).unfold(3, kernel, 1).permute(0, 2, 3, 1, 4, 5)
patches = patches.reshape(-1, 3 * kernel * kernel).cpu().double()
variances, directions = torch.linalg.eigh(patches.T @ patches / len(patches))
patches.shape[1], directions.shape

# %% [markdown]
# **Think first:** there are 27 directions. If all had the same variance, three of them would have a
# ninth of the total. How much do the strongest three have, and how much the last nine?
#
# <details><summary>Answer</summary>
#
# About 90%, and almost nothing. On photographs, brightness alone has nearly 80%.
#
# </details>

# %%
fractions = variances.flip(0) / variances.sum()
{
    "strongest": f"≈ {fractions[0]:.1%}",
    "three strongest": f"≈ {fractions[:3].sum():.1%}",
    "last nine": f"≈ {fractions[-9:].sum():.3%}",
}

# %%
show(
    plots.draw_filters(
        directions.T.flip(0).reshape(-1, 3, kernel, kernel), variances.flip(0).sqrt().tolist()
    ),
    alt="Twenty-seven small color patterns from smooth to fine, each with the standard deviation "
    "of the image patches along it, which falls from left to right and from top to bottom.",
)

# %% [markdown]
# Dividing by the square root of the variance makes all directions equal. A small constant is added
# to each variance first, because the weakest directions are mostly noise, which should not be
# amplified. The CPU recipe keeps only the sixteen strongest directions.

# %%
filters = (directions / (variances + 5e-4).sqrt()).T.flip(0).float()
outputs = patches.float() @ filters.T
together = outputs.T @ outputs / len(outputs)
apart = together - together.diag().diag()
largest, covariance = together.diag().max().item(), apart.abs().max().item()
f"largest variance ≈ {largest:.3f}, largest covariance ≈ {covariance:.6f}"

# %% [markdown]
# The 27 outputs are uncorrelated now, and no variance is above 1. `whitening_filters` in
# `helpers/fast_cifar10/network.py` does the same.
#
# Each filter goes into the layer twice, the second time with its sign flipped: the activation that
# follows sets negative values to (nearly) zero and would discard half of the information. The layer
# stays fixed; only its biases learn, and only early in the run. The GPU recipe whitens patches of 2
# x 2 pixels: 3 x 2 x 2 = 12 directions and 24 filters.
#
# ### Three groups, and a Dirac initialization
#
# After the first layer come three *groups*: convolution, pooling, convolution, with BatchNorm and
# an activation after each. Pooling comes directly after the first convolution, so that everything
# after it has a quarter of the work. This is the code of a group, and of the network's `forward`,
# which returns *logits*, one number per class, before softmax:

# %%
code = inspect.getsource(Group) + "\n\n# FastNet:\n" + inspect.getsource(FastNet.forward)
Markdown(f"```python\n{code}```")

# %%
net = FastNet(GPU)
group = net.groups[0]
{name: tuple(parameter.shape) for name, parameter in net.named_parameters()}

# %% [markdown]
# How should the weights of `conv2` be initialized? Random weights scramble the output of `conv1`,
# and the layer first has to learn not to.
#
# **Think first:** with which weights does a convolution pass its input on unchanged?
#
# <details><summary>Answer</summary>
#
# With a single 1 in the middle of the filter from channel *i* to channel *i*, and zeros elsewhere:
# *Dirac initialization* (Zagoruyko and Komodakis, 2017). In `conv1`, it is done for as many
# channels as the layer has inputs. The shortcuts of a residual network, which add a layer's input
# to its output, have the same purpose, but cost time in every step.
#
# </details>

# %%
x = torch.randn(2, group.conv2.in_channels, 8, 8)
torch.testing.assert_close(group.conv2(x), x)  # an error if the output differs from the input
group.conv2.weight[0, 0], group.conv2.weight[0, 1]

# %% [markdown]
# At the end, the largest value of each channel over the image goes to a linear layer, the *head*.
#
# ## Muon: an equal step in every direction (9 minutes)
#
# Write the gradient of a convolution as a matrix $G$ with one row per output channel. Its singular
# value decomposition is $G = U S V^T$: $U$ and $V$ contain directions, and the diagonal matrix $S$
# the *singular values*, which say how strongly $G$ acts along each. Often a few are large and the
# rest are small, so a step along $G$ changes the network mainly in a few directions. **Muon**
# (Jordan and others, 2024) keeps the directions and takes an equal step along each: it replaces $G$
# by $U V^T$. This is called *orthogonalizing* $G$.
#
# Computing the decomposition is slow on a GPU. The Newton-Schulz iteration approximates $U V^T$
# with matrix products only, which a GPU computes fast:


# %%
def newton_schulz(x, steps=3):
    x = x / x.norm()
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x


# %% [markdown]
# Try it on an artificial gradient: 8 strong directions of 32, and some noise.
#
# The result does not have to be exact: values from about 0.5 to 1.5 work as well in the
# [experiments of Muon's author](https://github.com/KellerJordan/Muon/blob/master/muon.py).
#
# **Think first:** each step of the iteration applies the polynomial
# $3.4445\,s - 4.775\,s^3 + 2.0315\,s^5$ to every singular value $s$, which is between 0 and 1 at
# first. A singular value of 1 should stay 1. Does it?
#
# <details><summary>Answer</summary>
#
# No: the polynomial gives 0.70. The coefficients are chosen to be fast instead: they multiply small
# values by 3.4 in each step.
#
# </details>

# %%
torch.manual_seed(seed)
gradient = torch.randn(32, 8) @ torch.randn(8, 288) + 0.3 * torch.randn(32, 288)
before = torch.linalg.svdvals(gradient)
after = torch.linalg.svdvals(newton_schulz(gradient))
show(
    plots.plot_singular_values(before, after),
    alt="The singular values of a matrix: most of them small before, and all between one half and "
    "1.2 after three steps of the Newton-Schulz iteration.",
)

# %% [markdown]
# `orthogonalize` in `helpers/fast_cifar10/optimizers.py` does the same to a stack of matrices, in
# 16 bits on a GPU. It is `self.direction` in Muon's step. Each group in `self.same_shape` has the
# filters of one shape. *Nesterov's* momentum looks one step ahead: it adds the momentum to the
# current gradient once more.

# %%
Markdown(f"```python\n{inspect.getsource(Muon.step)}```")

# %% [markdown]
# `Muon.step` uses two more techniques. If BatchNorm follows a convolution, the result does not
# depend on the norm of the weights, so the norm is kept fixed, and the learning rate is the
# *relative* size of a step. And filters of the same shape are stacked and processed together, since
# one large product is faster than several small ones.
#
# ## The rest of the recipe (6 minutes)
#
# - **Learning rates fall** linearly to zero at the end of the run. Much of the accuracy comes in
#   the last part, when the steps become small.
# - **The biases** of the first layer and of BatchNorm learn 64 times as fast as they otherwise
#   would (tysam-code, 2023; Page, 2019).
# - **BatchNorm with a large momentum**: its running averages follow the last few steps, because the
#   statistics of older steps are out of date.
# - **Label smoothing** (Szegedy and others, 2016): 0.8 of the target is for the right class, and
#   0.2 is spread evenly over all ten, so the targets are 0.82 and 0.02. This keeps the network from
#   becoming overconfident.
# - **16-bit arithmetic**, `torch.compile` and `channels_last` on a GPU: see lesson 05.
#
# Here is the training loop. Look for two things: what the measured time includes, and where the
# program waits for the device. (`optimizers` has SGD and Muon, `done` goes from 0 to 1 during the
# run, and `seconds` is set only for a run with a time limit.)

# %%
source = inspect.getsource(Trainer.run)
start = source.index("        synchronize(self.device)\n        started")
loop = source[start : source.index("        raise AssertionError")]
Markdown(f"```python\n{loop}```")

# %% [markdown]
# The time includes whitening, since it uses the training images. It does not include compilation,
# which happens once per program and is timed separately. `loss.item()`, which waits for the device,
# is called only at a few *observations*, six in the run below. There the clock is read after
# `synchronize` (lesson 05), and the time of `observe` is not counted.
#
# ## Train (6 minutes)
#
# **Think first:** on a CPU the recipe sees 25,000 images, each once. The classic network of lesson
# 04 classifies a little less than half of the test images correctly after 50,000. What do you
# expect?
#
# <details><summary>Answer</summary>
#
# About two thirds of the test images, with CIFAR-10 and the default settings on a CPU.
#
# </details>

# %%
trainer = Trainer(settings, *dataset.train, device)
ready = trainer.warm_up()
seconds, accuracies = [], []


def observe(run):
    seconds.append(run.seconds)
    accuracies.append(trainer.accuracy(test_images[::5], test_labels[::5], views=False))


run = trainer.run(seed, observe=observe, observations=6)
f"≈ {run.images:,} images in {run.seconds:.1f} s; before that, {ready:.1f} s of warm-up"

# %%
show(
    plots.plot_learning_curve(seconds, accuracies),
    alt="Test accuracy against the time spent in training, with a point for each sixth of the run.",
)

# %% [markdown]
# Early in the run, the accuracy can even fall from one point to the next, because the steps are
# large. It rises steadily only at the end, when the learning rates become small. A run that is
# stopped halfway is worse than one planned for that length: choose the length before you start.
#
# The curve was measured on a fifth of the test images, to save time. Now all of them, once as they
# are and once from **six views**: the original and two copies shifted by one pixel, each plain and
# mirrored. The prediction is the weighted mean of the six logits, and the originals count double.
# This *test-time augmentation* (Krizhevsky and others, 2012) makes evaluation six times as
# expensive and costs no training; airbench includes it in its time.

# %%
one_view = trainer.accuracy(test_images, test_labels, views=False)
six_views = trainer.accuracy(test_images, test_labels)
f"test accuracy: ≈ {one_view:.1%} from one view, ≈ {six_views:.1%} from six"

# %% [markdown]
# ## Ablation (6 minutes)
#
# Each technique in a recipe is a claim. An *ablation* tests it: repeat the run without the
# `technique` of the parameters cell. Without Muon, the filters take steps of the same length along
# their gradient's momentum. The techniques that you can remove (`any flips` turns off all
# mirroring):

# %%
", ".join(active_techniques(GPU))

# %%
other = Trainer(without, *dataset.train, device)
other.warm_up()
other.run(seed)
without_views = other.accuracy(test_images, test_labels)
Markdown(
    "| run | test accuracy |\n|---|---|\n"
    f"| all techniques | ≈ {six_views:.1%} |\n| without {technique} | ≈ {without_views:.1%} |"
)

# %% [markdown]
# **Think first:** you have one run of each. What else may their difference come from?
#
# <details><summary>Answer</summary>
#
# From chance: order of the images, augmentation and initial weights depend on the seed, and change
# the result by as much as two percentage points in runs as short as these. One pair of runs says
# little about a small effect.
#
# </details>
#
# `benchmarks/ablation.py` removes each technique in several runs and stores every
# result. (*Six views* are removed in evaluation, not in training.)

# %%
found = records.read("ablation")
for record in found:
    show(
        plots.plot_ablation(record),
        alt="For each technique, the change of test accuracy when it is removed; one dot per run, "
        "a diamond for the median, and the range of the runs with all techniques as a band.",
    )

# %% [markdown]
# The CPU's recording of November 2026 has three runs per technique, each with two passes over 5,000
# training images. Two techniques clearly matter there: learning rate decay (33 points) and Muon (19
# points; beyond 3 points the scale is compressed). Dirac initialization is just outside the band of
# the runs with all techniques. For the others, at least one dot is inside the band, so these runs
# are inconclusive, even where the median improved by 2 points (without alternating flips). They
# cannot show what a technique contributes in 8 passes over all images.
#
# ## A time limit, on a CPU (2 minutes)
#
# How much can two CPU cores learn in one minute? `benchmarks/accuracy_by_time_limit.py` trains for
# a minute of wall-clock time, with a CPU recipe and with one called *airbench-like*: the GPU recipe
# with fewer channels, and batches of 1,000 images. The CPU recipe computes its smaller convolutions
# with Winograd's method, which needs a quarter of the multiplications, and which cuDNN has for GPUs
# ([Lavin and Gray](https://arxiv.org/abs/1509.09308), 2015).
#
# The images that each recipe saw, and its accuracy (medians of five runs). A single run is an
# example, not a result:

# %%
medians = records.latest("accuracy_by_time_limit", "cpu").results["medians"]
for name, found in medians.items():
    one, six = found["accuracy_one_view"], found["accuracy_six_views"]
    print(f"{name}: {found['images']:,.0f} images, {one:.1%} from one view, {six:.1%} from six")

# %% [markdown]
# In a minute, a CPU does so little arithmetic that the airbench-like network, which needs more
# arithmetic per image than that of the CPU recipe, sees only part of the images. But the result
# depends on the CPU: the recorded one is slow at bfloat16.
#
# ## On a GPU (4 minutes)
#
# Published results, by their authors and not measured here (airbench's is the mean of 200 runs):
#
# | run | test accuracy | time | GPU |
# |---|---|---|---|
# | [CIFAR10-Speedrun](https://github.com/hiverge/cifar10-speedrun) | 94.01% | 2.095 s | A100 |
# | [airbench](https://github.com/KellerJordan/cifar10-airbench) | 94.01% | 2.59 s | A100 |
# | [hlb-CIFAR10](https://github.com/tysam-code/hlb-CIFAR10) | 94% | about 6.3 s | A100 |
# | [cifar10-fast](https://myrtle.ai/learn/how-to-train-your-resnet/) | 94% | 26 s | V100 |
#
# And the course's recipe? This lesson's fast run has not been measured on a GPU. Modelled on an
# A100, without `torch.compile`, the difference between runs of 4 and of 2 steps is:

# %%
recipe = Trainer(
    replace(GPU, compiled=False), *(part[:20_000] for part in dataset.train), torch.device("cpu")
)
two, four = (simulated_cuda.estimate(recipe.run, steps=n, gpu="A100 SXM 40GB") for n in (2, 4))
waits, launches = (
    (len(b) - len(a)) // 2 for a, b in ((two.waits, four.waits), (two.kernels, four.kernels))
)
step = (four.seconds - two.seconds) / 2
launching = (four.cpu_seconds - two.cpu_seconds) / 2
print(f"per step: {waits} waits, {launches} kernels, {1e3 * step:.1f} ms, modelled")
print(f"of these, the CPU launches for {1e3 * launching:.1f} ms")

# %% [markdown]
# No step waits, and launching takes less time than the step, even at 32 µs per operation: the GPU
# is the limit. And airbench? Here is its own file under the same clock, also without compilation:

# %%
modelled = records.latest("modelled_recipes", "cpu").results
for name, cost in modelled["per_step"].items():
    print(
        f"{name:9s}{cost['waits']} waits, {cost['kernels']} kernels, {cost['megabytes']:,} MB and "
        f"{cost['microseconds'] / 1000:.1f} ms per step; 200 steps: "
        f"{cost['microseconds'] / 5000:.1f} s on an {modelled['card']}, modelled"
    )

# %% [markdown]
# The two recipes cost about the same per step. airbench is published at 2.59 s, less than its
# modelled time: it compiles its network, which fuses the small kernels between the convolutions, so
# that the CPU launches fewer of them. The version in its
# [paper](https://arxiv.org/abs/2404.00498) takes 3.29 s with compilation and 3.83 s without it,
# published. The clock does not model cuDNN's search for the best algorithm
# (`torch.backends.cudnn.benchmark = True`) either.
#
# Before you claim to be as fast as airbench, measure both: on the same GPU, with the same torch and
# the same images, in alternating runs, without the time for compilation. One command does that and
# records every run; use it in a clone of the course, on Linux. Without `AIRBENCH` it prints where
# to get airbench's script:
#
# ```
# AIRBENCH=airbench94_muon.py python -m benchmarks against_airbench ablation
# ```

# %% tags=["nbval-ignore-output"]
lesson.report(
    test_accuracy_one_view=round(one_view, 4),
    test_accuracy_six_views=round(six_views, 4),
    training_seconds=round(run.seconds, 2),
    warm_up_seconds=round(ready, 2),
    images_trained_on=run.images,
    ablated_technique=technique,
    test_accuracy_without_it=round(without_views, 4),
)

# %% [markdown]
# ## Summary
#
# - Compute the limit first: arithmetic divided by the speed of the device.
# - Keep images and augmentation on the device, and wait for it only where you read a number.
# - Techniques designed to reduce the number of steps: a whitening layer computed beforehand, Dirac
#   initialization, orthogonal updates, learning rates that fall to zero. The CPU's recording
#   confirms mainly the last two.
# - Measure before you reuse a recipe on other hardware: in the CPU's recording, the airbench-like
#   one took only 19 steps in a minute.
# - Judge a technique by several runs without it, and compare speeds in alternating runs on one
#   machine.
#
# **To try:** set `technique = "learning rate decay"`, then `"whitening"`. Which difference is large
# enough to believe after one run?
#
# <details><summary>Answer</summary>
#
# In the recording, learning rate decay is worth 33 points, so one run shows its effect. Without
# whitening, the three runs lost 0.3 to 1.1 points, no more than chance: one run says nothing.
#
# </details>
