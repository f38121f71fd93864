# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CIFAR-10 on a GPU
#     promise: >-
#       You train the classic image classifier on the CPU, move it to the GPU with three edits, and
#       save, reload and evaluate it there.
#     minutes: 55
#     objectives:
#       - write a training loop with torchvision, a `DataLoader` and SGD
#       - make the three edits that move training to a GPU
#       - save a network and reload it on another device
#       - evaluate on the device, overall and per class, with batches of any size
#       - explain why this network gains little from a GPU, and what a faster loader changes
#       - resume training from a checkpoint
#     prerequisites:
#       - "[Lesson 03](03_moving_a_network.ipynb): modules, parameters and how `.to` moves them"
#       - "no GPU is needed: without one, the lesson runs on the CPU and says so"
#     credits:
#       - >-
#         The network and its training follow the classifier of
#         [PyTorch's beginner
#         tutorial](https://docs.pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html);
#         the network's design is LeNet-5 (LeCun, Bottou, Bengio and Haffner, 1998).
#       - >-
#         CIFAR-10: Alex Krizhevsky,
#         [Learning Multiple Layers of Features from Tiny
#         Images](https://www.cs.toronto.edu/~kriz/learning-features-2009-TR.pdf), 2009.
# ---

# %% [markdown]
# **By its data sheet, a T4 does up to 8.1 x 10^12 float32 operations per second, your CPU a small
# fraction of that. How much faster is a training step if you change three lines?** Write down your
# guess.
#
# ## Set up

# %%
import inspect
import time
from pathlib import Path

import torch
from IPython.display import Markdown
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, Subset
from torch.utils.flop_counter import FlopCounterMode
from torchvision import transforms

# %%
import helpers
import simulated_cuda
from helpers import cifar10, lesson
from helpers.devices import device_of
from helpers.evaluation import Evaluation, evaluate
from helpers.loaders import ResidentLoader
from helpers.plots import classification as plots
from helpers.plots.devices import plot_timelines
from helpers.plots.style import show
from helpers.torchvision_cifar10 import InMemoryCIFAR10
from helpers.training import train

# %% [markdown]
# To change a setting, edit the next cell and run the notebook from there on.

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (real or an error), "synthetic", or a path
epochs: int = 1  # passes over the training images, at least 1
batch_size: int = 4  # images per training step, at least 1
learning_rate: float = 0.001  # step size of SGD, above 0
train_images: int = 0  # how many images to train on; 0: all 50,000 photographs, or 4,000 synthetic
device: str = "auto"  # "auto", "cpu", "cuda:0", "mps", ...
seed: int = 0  # of every random number
output: str = "output"  # folder for the checkpoint and the trained network
resume: bool = False  # continue from the checkpoint in the output folder

# %% tags=["nbval-ignore-output"]
device = lesson.start(device, seed=seed)
output = Path(output)
output.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# **Without a GPU**, both versions of the program below run on the CPU. You can check that the three
# edits do not change the result; the text says what to expect from a GPU.
#
# ## The images (3 minutes)
#
# CIFAR-10 is 60,000 color photographs of 32 by 32 pixels in ten classes: 50,000 to train on and
# 10,000 to test on. The next cell finds or downloads them. If neither works, the course uses simple
# artificial images that a program generates (*synthetic* images), and a red box says so.

# %% tags=["nbval-ignore-output"]
dataset = cifar10.load(data)
lesson.show_data(dataset)

# %%
images, labels = dataset.train
images.shape, images.dtype, labels.shape, labels.dtype

# %% [markdown]
# The dimensions are image, channel (red, green, blue), row and column. A value is an integer from 0
# to 255. (The stored outputs of this lesson come from a copy in JPEG format, whose pixels differ a
# little from the original ones.)
#
# **Think first:** how much memory do the training images take with one byte per number, and how
# much as `float32`?
#
# <details><summary>Answer</summary>
#
# 50,000 · 3 · 32 · 32 numbers: 154 MB, and 614 MB as `float32`, if you train on CIFAR-10.
#
# </details>

# %%
f"{images.nbytes / 1e6:.1f} MB as uint8, {images.numel() * 4 / 1e6:.1f} MB as float32"

# %% [markdown]
# Either fits in the memory of a GPU: a T4, the GPU of Colab's free runtimes, has 16 GB.

# %%
few = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))[:24]
names = [dataset.classes[label] for label in labels[few].tolist()]
grid = plots.draw_images(images[few], names, title="Small images: some are hard for people too")
show(grid, alt="Twenty-four training images of 32 by 32 pixels, each under the name of its class.")

# %% [markdown]
# ## The classic script, on the CPU (10 minutes)
#
# This is the program that most people start with. The dataset returns PIL images, the image
# objects of the package Pillow. A *transform* turns each into a tensor with values from 0 to 1,
# then into one with values from -1 to 1.

# %%
transform = transforms.Compose(
    [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
)

# %% [markdown]
# In a program of your own, the dataset is one line of torchvision:
#
# ```python
# train_set = torchvision.datasets.CIFAR10("data", train=True, download=True, transform=transform)
# ```
#
# `InMemoryCIFAR10` is a subclass that holds the images loaded above.

# %%
train_set = InMemoryCIFAR10(images, labels, transform)
test_set = InMemoryCIFAR10(*dataset.test, transform)
image, label = train_set[0]
f"{tuple(image.shape)}, {image.dtype}, from ≈ {image.min():.2f} to ≈ {image.max():.2f}"

# %% [markdown]
# The `DataLoader` shuffles the images and stacks `batch_size` of them into a batch. Many copies of
# this program have `num_workers=2`: two more processes prepare the batches. But to hand over four
# images takes longer than to prepare them, so workers pay only with larger batches
# ([lesson 05](05_when_the_gpu_wins.ipynb)).

# %% tags=["nbval-ignore-output"]
count = train_images or (4_000 if dataset.synthetic else len(train_set))
if count < len(train_set):
    # A random choice, because a copy of CIFAR-10 may be sorted by class.
    order = torch.randperm(len(train_set), generator=torch.Generator().manual_seed(seed))
    train_set = Subset(train_set, order[:count].tolist())
train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
print(f"{len(train_set):,} images, {len(train_loader):,} batches per epoch")

# %% [markdown]
# Next the network: two convolutions with pooling, then three linear layers. It returns ten numbers,
# one per class.


# %%
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


# %% [markdown]
# **Think first:** where do the 400 inputs of `fc1` come from? A 5 by 5 convolution makes width and
# height smaller by 4 (2 pixels at each edge), and pooling halves them.
#
# <details><summary>Answer</summary>
#
# 32 - 4 = 28, halved 14; 14 - 4 = 10, halved 5. The second convolution has 16 output channels of 5
# by 5 numbers each: 16 x 5 x 5 = 400.
#
# </details>

# %%
net = Net()
after_conv1 = net.pool(net.conv1(torch.zeros(1, 3, 32, 32)))
after_conv2 = net.pool(net.conv2(after_conv1))
parameters = sum(p.numel() for p in net.parameters())
after_conv1.shape, after_conv2.shape, f"{parameters:,} parameters"

# %% [markdown]
# The loss is cross-entropy, and the optimizer is stochastic gradient descent (SGD) with momentum
# 0.9. One line is not in most copies of this program: `torch.set_num_threads(1)`. Four images are
# too little work for several CPU threads, which would mostly wait for each other. The setting stays
# until you change it, so the evaluation below uses one thread too.

# %%
torch.set_num_threads(1)
torch.manual_seed(seed)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)

# %% [markdown]
# Here is the training loop. It prints the mean loss every 2,000 batches, or twice per epoch if an
# epoch is short, and after 100 steps a rough estimate of the total time, usually too long because
# the first steps are slower. `loss.item()` is a plain number; a sum of the loss tensors would keep
# the computation graph of every step in memory. The word `device` does not occur, so everything
# happens on the CPU.

# %% tags=["nbval-ignore-output"]
print_every = max(1, min(2000, len(train_loader) // 2))
started = time.perf_counter()
for epoch in range(epochs):
    running_loss = 0.0
    for i, (inputs, targets) in enumerate(train_loader, start=1):
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % print_every == 0:
            print(f"[{epoch + 1}, {i:5d}] loss: {running_loss / print_every:.3f}")
            running_loss = 0.0
        if epoch == 0 and i == 100:
            per_step = (time.perf_counter() - started) / i
            print(f"all steps take about {per_step * epochs * len(train_loader):.0f} s")
cpu_seconds_per_step = (time.perf_counter() - started) / (epochs * len(train_loader))
print(f"finished after {time.perf_counter() - started:.1f} s on the CPU")

# %% [markdown]
# A network that gives each class the same probability has a loss of ln(10). Your last printed loss
# is well below that.

# %%
f"loss of guessing: {torch.tensor(len(dataset.classes)).log():.3f}"

# %% [markdown]
# ## Three edits (5 minutes)
#
# To train on a GPU, three things change.
#
# 1. **Choose the device**, once, near the top. Later lines say `device`, never `"cuda"`, so the
#    program also runs without a GPU. Here `lesson.start` chose it; in a program of your own, write
#    `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`.
# 2. **Move the network**: `net.to(device)`. Create the optimizer *after* the move, for the reason
#    in [lesson 03](03_moving_a_network.ipynb).
# 3. **Move every batch**: `inputs, targets = inputs.to(device), targets.to(device)`. `.to` returns
#    the moved tensor, so assign its result. The targets move too, because the loss compares them
#    with the network's outputs.
#
# ```diff
# +device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# -net = Net()
# +net = Net().to(device)
#  optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)
#  for inputs, targets in train_loader:
# +    inputs, targets = inputs.to(device), targets.to(device)
#      optimizer.zero_grad()
# ```
#
# [classic_cifar10.py](../scripts/classic_cifar10.py) is the whole program with these edits, in
# fewer than 70 lines: copy it to start your own.
#
# **Think first:** what happens if you make edit 2 and forget edit 3? And on a machine where
# `device` is the CPU?
#
# <details><summary>Answer</summary>
#
# The images are on the CPU and the weights on the GPU, so the first convolution raises a
# `RuntimeError` ([lesson 02](02_device_mismatch_errors.ipynb)). On the CPU nothing fails, which is
# why a forgotten edit is often found late.
#
# </details>

# %%
net_on_cpu = net
torch.manual_seed(seed)
net = Net().to(device)  # edit 2; edit 1 was made at the top
optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)
moved = [name for name, parameter in net.named_parameters() if parameter.device == device]
f"{len(moved)} of {len(list(net.parameters()))} parameter tensors are on the chosen device"

# %% [markdown]
# Here is the loop with all three edits. On a CPU, the whole loop would repeat the one above, so it
# stops at the first print: the loss is the same. On a GPU, the last digits may differ, because a
# GPU adds numbers in a different order.

# %%
on_gpu = device.type != "cpu"
steps = len(train_loader) if on_gpu else min(print_every, len(train_loader))

# %% tags=["nbval-ignore-output"]
started = time.perf_counter()
for epoch in range(epochs if on_gpu else 1):
    running_loss = 0.0
    for i, (inputs, targets) in enumerate(train_loader, start=1):
        inputs, targets = inputs.to(device), targets.to(device)  # edit 3
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % print_every == 0:
            print(f"[{epoch + 1}, {i:5d}] loss: {running_loss / print_every:.3f}")
            running_loss = 0.0
        if i == steps:
            break
seconds_per_step = (time.perf_counter() - started) / (steps * (epoch + 1))
print(f"finished after {time.perf_counter() - started:.1f} s on {device}")

# %% [markdown]
# ## How much faster, and why so little (6 minutes)
#
# **Think first:** compare with your guess at the top. What, besides arithmetic, does a step need?
#
# <details><summary>Answer</summary>
#
# The images must be loaded and copied, and the CPU must start every operation on the GPU. So the
# GPU is hardly faster, and often slower: it depends on your CPU.
#
# </details>

# %% tags=["nbval-ignore-output"]
print(f"first loop, on the CPU: {cpu_seconds_per_step * 1e3:.2f} ms per step")
print(f"second loop, on {device}: {seconds_per_step * 1e3:.2f} ms per step")
if on_gpu:
    print(f"The GPU was {cpu_seconds_per_step / seconds_per_step:.2f} times as fast as the CPU.")
else:
    print("There is no GPU here: both loops did the same work on the CPU. A T4 is modelled below.")

# %% [markdown]
# On a GPU, the result is probably disappointing. [PyTorch's
# tutorial](https://docs.pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html#training-on-gpu)
# gives the reason: "Because your network is really small." Count the arithmetic of one step:

# %%
with FlopCounterMode(display=False) as arithmetic:
    Net()(torch.zeros(4, 3, 32, 32)).sum().backward()
f"{arithmetic.get_total_flops() / 1e6:.1f} million floating-point operations for four images"

# %% [markdown]
# At the [8.1
# TFLOP/s](https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf)
# of a T4, this arithmetic takes two *microseconds*. But each layer, each gradient and the update of
# the weights run as separate programs on the GPU, called *kernels*, and the CPU has to start each
# one: a *kernel launch*. One launch takes [a few
# microseconds](https://developer.nvidia.com/blog/cuda-graphs/) in C++; a whole call through Python
# and PyTorch took at least 30 to 60 in [published measurements](../docs/the_clock.md), and a launch
# takes 58 in the model below.
#
# **Think first:** how many kernels does the *forward* pass need, if each operation of `forward`
# except `flatten` needs at least one, and the loss two (log-softmax and a mean)?
#
# <details><summary>Answer</summary>
#
# At least 13: two convolutions, three linear layers, four ReLUs, two poolings, and two for the
# loss.
#
# </details>
#
# The backward pass needs about 22 more, because most layers have several gradients to compute:
# those of the input, the weights, and the bias. The optimizer needs 3: it scales the momentum, adds
# the gradients, and changes the weights, each for all parameters at once. The model below counts
# 40, because each convolution adds its bias in a kernel of its own.
#
# The next cell models your own training step on a T4, with 4 and with 512 images. Blue: the CPU
# launches. Orange: a kernel runs. Green: the batch is copied to the GPU.


# %%
def training_step(inputs, targets):
    inputs, targets = inputs.to("cuda"), targets.to("cuda")
    optimizer.zero_grad()
    loss = criterion(net(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


modelled = {}
for n in (4, 512):
    batch = torch.zeros(n, 3, 32, 32), torch.zeros(n, dtype=torch.int64)
    modelled[f"{n} images"] = simulated_cuda.estimate(training_step, *batch, gpu="T4")
small, large = modelled.values()
ratio = large.seconds / small.seconds
plot_timelines(
    modelled,
    title=f"Modelled for a T4: 128 times as many images take {ratio:.1f} times as long",
)

# %%
print(f"4 images, modelled for a T4: {len(small.kernels)} kernels and {1e3 * small.seconds:.1f} ms")
print(
    f"the CPU launches for {1e3 * small.cpu_seconds:.1f} ms, the GPU works for "
    f"{1e3 * small.gpu_seconds:.1f} ms: the limit is {small.limit}"
)

# %% [markdown]
# With 4 images, the GPU waits for the next kernel most of the time; it may also wait for the
# images. Real GPUs do the same: with the larger ResNet-50, a T4 takes 10.7 ms to classify one image
# in float32 and 12.7 ms for four ([published by NVIDIA,
# 2021](https://github.com/NVIDIA/DeepLearningExamples/blob/291f0d0/PyTorch/Classification/ConvNets/resnet50v1.5/README.md)).
# To answer the question at the top, compare the milliseconds of the modelled line, which do not
# include loading the images, with those of the first loop above: the T4 gains far less than its
# arithmetic promises, or nothing, because the classic network and its batches are too small for a
# GPU. [Lesson 05](05_when_the_gpu_wins.ipynb) makes them larger and removes the waiting. (The
# model's CPU is that of [published measurements](../docs/the_clock.md), and yours may launch
# faster.)
#
# ## Save and reload (5 minutes)
#
# Save the weights, the `state_dict`, not the module. `torch.save` uses *pickle*, Python's format
# for storing any object, and a saved module refers to its class by name: loading it fails once you
# have moved or renamed the class.

# %%
if not on_gpu:
    net = net_on_cpu  # the one that was trained for all epochs
path = output / "classic_net.pt"
torch.save(net.state_dict(), path)
path.name

# %% [markdown]
# A file saved on a GPU records that its tensors were on `cuda:0`, and a plain `torch.load` puts
# them back there, which fails without a GPU. `map_location` says where they go instead: `"cpu"`, as
# in [lesson 03](03_moving_a_network.ipynb), always works; with `device` they go straight to the
# GPU. Loading a pickle can run any code. With `weights_only=True`, the default, `torch.load`
# accepts only tensors and plain Python data, and raises an error otherwise.

# %%
state = torch.load(path, map_location=device, weights_only=True)
{name: tuple(tensor.shape) for name, tensor in state.items()}

# %% [markdown]
# **Think first:** the tensors in `state` are on `device`. You load them into a new network. On
# which device is that network?
#
# <details><summary>Answer</summary>
#
# On the CPU: `load_state_dict` copies *values into* the existing parameters.
#
# </details>

# %%
reloaded = Net()
reloaded.load_state_dict(state)
device_of(reloaded)

# %% [markdown]
# Many copies of the classic script reload their network this way and then evaluate on the CPU
# without noticing. The fix is edit 2 again:

# %%
reloaded = reloaded.to(device)
same = [torch.equal(reloaded.state_dict()[name], tensor) for name, tensor in state.items()]
f"{sum(same)} of {len(same)} tensors equal the saved ones, on the chosen device"

# %% [markdown]
# ## How good is it? (8 minutes)
#
# Classify the test images on the device, without gradients. Call `net.eval()` before you evaluate:
# it switches layers such as dropout and batch normalization to evaluation mode, and `net.train()`
# switches them back ([lesson 03](03_moving_a_network.ipynb)). This network has no such layers, but
# the next one may. In evaluation, the batch size does not change the accuracy, and large batches
# need fewer kernel launches. The batches are prepared once and kept (123 MB).

# %%
test_batches = list(DataLoader(test_set, batch_size=500))
correct = total = 0
reloaded.eval()
with torch.no_grad():
    for inputs, targets in test_batches:
        inputs, targets = inputs.to(device), targets.to(device)
        predicted = reloaded(inputs).argmax(dim=1)
        correct += (predicted == targets).sum().item()
        total += len(targets)
accuracy = correct / total

# %% tags=["nbval-ignore-output"]
print(f"{correct:,} of {total:,} test images are classified correctly: {accuracy:.1%}")

# %% [markdown]
# Guessing gives 10%. On CIFAR-10, one epoch with the classic settings reaches a little less than
# 50%, and two epochs a little more.
#
# ### Accuracy per class, and a common mistake
#
# Which classes are hard? Many copies of the classic script count like this. Read the inner loop.


# %%
def classic_per_class(net, loader):
    class_correct, class_total = [0] * 10, [0] * 10
    with torch.no_grad():
        for inputs, targets in loader:
            inputs, targets = inputs.to(device), targets.to(device)
            right = (net(inputs).argmax(dim=1) == targets).squeeze()
            for i in range(4):
                class_correct[targets[i]] += right[i].item()
                class_total[targets[i]] += 1
    return class_correct, class_total


# %% [markdown]
# **Think first:** `range(4)` is right for batches of four. How many of the test images does it
# count with batches of 500?
#
# <details><summary>Answer</summary>
#
# Four of each 500, or 80 of 10,000.
#
# </details>

# %%
class_correct, class_total = classic_per_class(reloaded, test_batches)
f"{sum(class_total)} of {len(test_set)} images counted"

# %% [markdown]
# It counts four images per batch, without an error. An error appears only if a batch has fewer than
# four images. In the next cell, nine images in batches of four leave a last batch of one:
# `squeeze()` removes the only dimension of `right`, and `right[0]` fails.

# %%
try:
    classic_per_class(reloaded, DataLoader(Subset(test_set, range(9)), batch_size=4))
except IndexError as error:
    print("IndexError:", error)

# %% [markdown]
# Count a whole batch at once instead. Give each pair (true class, predicted class) a number from 0
# to 99, and let `index_add_` count them on the device: for each pair, it adds 1 to the count with
# this number. (`torch.bincount` makes the CPU wait for the GPU twice per call, because it reads the
# smallest and the largest number.)

# %%
counts = torch.zeros(100, dtype=torch.int64, device=device)
with torch.no_grad():
    for inputs, targets in test_batches:
        predicted = reloaded(inputs.to(device)).argmax(dim=1)
        pairs = 10 * targets.to(device) + predicted
        counts.index_add_(0, pairs, torch.ones_like(pairs))
counts = counts.reshape(10, 10).cpu()
f"{int(counts.sum())} of {len(test_set)} images counted"

# %% [markdown]
# The diagonal of this table holds the correct predictions. `Evaluation` computes the accuracies
# from it:

# %% tags=["nbval-ignore-output"]
evaluation = Evaluation(counts)
per_class = evaluation.per_class(dataset.classes)
{name: f"{accuracy:.1%}" for name, accuracy in per_class.items()}

# %% [markdown]
# With which classes does the network confuse the hard ones?

# %%
show(
    plots.plot_confusion_matrix(evaluation, dataset.classes),
    alt="A ten by ten table of true against predicted classes, in percent; the diagonal holds the "
    "correct predictions.",
)

# %% [markdown]
# ## A faster loader (8 minutes)
#
# The classic loader handles every image separately: to PIL, to a tensor, normalize, stack, and copy
# to the device. But all training images fit on the device. So put them there once, as bytes, and
# let a batch be some rows of that tensor. This is how `ResidentLoader` makes the batches of an
# epoch; `self.sampler` gives the shuffled order:

# %%
Markdown(f"```python\n{inspect.getsource(ResidentLoader.__iter__)}```")

# %% [markdown]
# `index_select` takes the rows of several batches at once: a *chunk* of up to `CHUNK` images
# (`CHUNK_ON_CPU` on a CPU). `normalize` does to the chunk what the transform did to one image, and
# `split` makes batches of it.
#
# The course's `train` is the loop above with a progress line, a history of the loss, and a
# checkpoint in the output folder every 30 seconds and after every epoch. If you interrupt it with
# the stop button, it finishes the current step and writes the checkpoint. It also adds up the loss
# *on the device*, because `loss.item()` makes the CPU wait for the GPU in every step. And on a CPU,
# for batches of up to four images, it turns off oneDNN, a library whose preparation costs more than
# it saves at that size.
#
# **Think first:** which parts of a step are faster than in the first loop?
#
# <details><summary>Answer</summary>
#
# Mainly the preparation of a batch. On a CPU, also the convolutions, without oneDNN; on a GPU, the
# end of the step, which does not wait for the loss.
#
# </details>

# %%
chosen = torch.tensor(train_set.indices) if isinstance(train_set, Subset) else slice(None)
resident_loader = ResidentLoader(
    images[chosen], labels[chosen], batch_size, device=device, seed=seed
)
torch.manual_seed(seed)
net = Net().to(device)
optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)
history = train(
    net,
    resident_loader,
    optimizer,
    epochs=epochs,
    checkpoint=output / "classic_checkpoint.pt",
    resume=resume,
    report=lesson.progress("Training"),
)

# %% tags=["nbval-ignore-output"]
again = evaluate(net, test_batches)
classic = seconds_per_step if on_gpu else cpu_seconds_per_step
print(f"classic loop: {classic * 1e3:.2f} ms per step, accuracy {evaluation.accuracy:.1%}")
resident_step = batch_size / history.images_per_second
print(f"train, resident: {resident_step * 1e3:.2f} ms per step, accuracy {again.accuracy:.1%}")

# %%
show(plots.plot_loss_curve(history), alt="The mean training loss against the training step.")

# %% [markdown]
# [Lesson 05](05_when_the_gpu_wins.ipynb) measures such changes one at a time. The accuracy is about
# the same: only the order of the images and, without oneDNN, the rounding differ. (`evaluate` is
# the loop with `index_add_`, in evaluation mode.)
#
# ## When the session ends early (5 minutes)
#
# Colab may end your session in the middle of an epoch, and its files are lost. Prepare for that
# *before* the first run: connect your Google Drive (`from google.colab import drive;
# drive.mount("/content/drive")`) and set `output` to a folder there, such as
# `"/content/drive/MyDrive/cifar10"`. Later set `resume = True` and run the notebook again: `train`
# continues at the step of the last checkpoint. The two classic loops start again.
#
# **Think first:** to continue *exactly* where you stopped, what has to be in a checkpoint besides
# the weights?
#
# <details><summary>Answer</summary>
#
# The optimizer, which has a momentum buffer for each parameter; `epoch` and `step`, the position in
# the order of the images; and the state of the random number generator, which dropout uses.
#
# </details>

# %%
checkpoint = torch.load(output / "classic_checkpoint.pt", weights_only=True, map_location="cpu")
sorted(checkpoint)

# %% [markdown]
# (`fingerprint` identifies network, optimizer and loader, so that a checkpoint is not resumed with
# a different network.) With all of these, on a CPU, a run in two parts gives exactly the weights of
# a run in one part. (On a GPU, some kernels add in an order that varies, so even two equal runs may
# differ.)


# %%
def small_run(epochs, resume=False):
    torch.manual_seed(seed)
    net = Net()
    loader = ResidentLoader(images[:1000], labels[:1000], 4, seed=seed)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    path = output / "small_checkpoint.pt"
    train(net, loader, optimizer, epochs=epochs, checkpoint=path, resume=resume)
    return torch.cat([parameter.detach().flatten() for parameter in net.parameters()])


in_one_part = small_run(epochs=2)
small_run(epochs=1)  # and here the session ends
in_two_parts = small_run(epochs=2, resume=True)
f"weights that differ: {(in_one_part != in_two_parts).sum()} of {in_one_part.numel()}"

# %% [markdown]
# ## The whole program as one file (5 minutes)
#
# `scripts/train_cifar10.py` is this lesson as a program for the CPU, a GPU, or, started by
# PyTorch's launcher `torchrun`, several GPUs. In a terminal, in the course's folder:
#
# ```
# python scripts/train_cifar10.py
# torchrun --nproc-per-node 4 scripts/train_cifar10.py --batch-size 32 --lr 0.032
# ```
#
# **Think first:** open the file below and find the three edits. (You do not need to understand the
# rest yet: lessons 07 to 09 explain most of it.)
#
# <details><summary>Answer</summary>
#
# `set_up_device` chooses the device, `Training.__init__` moves the network (`Net().to(device)`),
# and `train_epoch` moves each batch (`images.to(self.device, ...)` and the labels).
#
# </details>

# %%
script = Path(helpers.__file__).parents[1] / "scripts" / "train_cifar10.py"
Markdown(
    f"<details><summary>{script.name}</summary>\n\n```python\n{script.read_text()}```\n\n</details>"
)

# %% tags=["nbval-ignore-output"]
lesson.report(
    test_accuracy=round(evaluation.accuracy, 4),
    test_accuracy_resident_loader=round(again.accuracy, 4),
    final_loss=round(history.losses[-1], 4),
    training_seconds=round(history.seconds, 1),
    images_per_second=round(history.images_per_second),
)

# %% [markdown]
# ## Summary
#
# - Three edits put training on a GPU: choose the device, move the network, move each batch.
# - Create the optimizer after moving the network.
# - Save the `state_dict`, load it with `map_location`, and move the new network.
# - Evaluate on the device, and count in a way that does not depend on the batch size.
# - A small network with small batches gains little from a GPU, which mostly waits for kernel
#   launches and for data.
# - A resumable checkpoint also has the optimizer, the position and the random state.
#
# **To try:** set `batch_size = 64`, and run again. Then set `learning_rate = 0.016` too. What
# happens to the loss, and why?
#
# <details><summary>Answer</summary>
#
# With 16 times fewer steps, each as small as before, the loss falls more slowly. With 16 times the
# learning rate, it falls about as fast as with batches of 4: see [lesson
# 05](05_when_the_gpu_wins.ipynb).
#
# </details>
