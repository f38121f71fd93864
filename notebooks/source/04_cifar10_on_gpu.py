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
#       - name the three edits that move training to a GPU, and say why each one is needed
#       - save a network and reload it on another device
#       - evaluate on the device, overall and per class, with batches of any size
#       - say why this network gains so little from a GPU, and what a faster data loader changes
#       - resume training from a checkpoint
#     prerequisites:
#       - "[Lesson 03](03_moving_a_network.ipynb): modules, parameters and how `.to` moves them"
#       - "no GPU is needed: without one, the lesson runs on the CPU and says so"
#     credits:
#       - >-
#         The network and its training follow the classifier of
#         [PyTorch's beginner
#         tutorial](https://pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html);
#         the network's design is LeNet-5 (LeCun, Bottou, Bengio and Haffner, 1998).
#       - >-
#         CIFAR-10: Alex Krizhevsky,
#         [Learning Multiple Layers of Features from Tiny
#         Images](https://www.cs.toronto.edu/~kriz/learning-features-2009-TR.pdf), 2009.
# ---

# %% [markdown]
# ## Set up

# %%
import inspect
import time
from pathlib import Path

import torch
from IPython.display import Markdown
from torch import nn, optim, profiler
from torch.nn import functional as F
from torch.utils.data import DataLoader, Subset
from torch.utils.flop_counter import FlopCounterMode
from torchvision import transforms

# %%
import helpers
from helpers import cifar10, lesson
from helpers.devices import device_of
from helpers.evaluation import evaluate
from helpers.loaders import ResidentLoader
from helpers.plots import classification as plots
from helpers.plots.style import show
from helpers.torchvision_cifar10 import LoadedCIFAR10
from helpers.training import train

# %% [markdown]
# The next cell holds everything you may want to change. Change a value here, then run the notebook
# from this cell on.

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (the real ones or an error), "drawn", or a path
epochs: int = 2  # passes over the training images, at least 1
batch_size: int = 4  # images per training step, at least 1
learning_rate: float = 0.001  # step size of SGD, above 0
train_images: int = 0  # how many images to train on; 0: all 50,000 photographs, or 10,000 drawn
device: str = "auto"  # "auto", "cpu", "cuda:0", "mps", ...
seed: int = 0  # of every random number
output: str = "output"  # folder for the checkpoint and the trained network
resume: bool = False  # continue from the checkpoint in the output folder

# %% tags=["nbval-ignore-output"]
device = lesson.start(device, seed=seed)
output = Path(output)
output.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# **Without a GPU**, both versions of the program below run on the CPU. You can then check that the
# three edits change no result. You cannot see what a GPU gains; the text says what to expect.
#
# ## The images
#
# CIFAR-10 is 60,000 color photographs of 32 by 32 pixels in ten classes: 50,000 to train on and
# 10,000 to test on. The next cell finds them on this machine or downloads them. If neither works, a
# program makes simple artificial pictures instead (the course calls them *drawn* images), so that
# every later cell still runs. A red box says so.

# %% tags=["nbval-ignore-output"]
dataset = cifar10.load(data)
lesson.show_data(dataset)

# %%
images, labels = dataset.train
images.shape, images.dtype, labels.shape, labels.dtype

# %% [markdown]
# `images` has one entry per image, then 3 channels (red, green, blue), then 32 rows of 32 pixels. A
# pixel is an integer from 0 to 255.
#
# **Think first:** how much memory do the training images take with one byte per number, and how
# much as `float32`?

# %%
f"{images.nbytes / 1e6:.1f} MB as uint8, {images.numel() * 4 / 1e6:.1f} MB as float32"

# %% [markdown]
# Either is small next to the memory of a GPU: a T4, which Colab lends for free, has 16 GB. Remember
# that; it matters below. Now look at some images.

# %%
few = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))[:24]
names = [dataset.classes[label] for label in labels[few].tolist()]
grid = plots.image_grid(images[few], names, title="Small images: some are hard for people too")
show(grid, alt="Twenty-four training images of 32 by 32 pixels, each under the name of its class.")

# %% [markdown]
# ## The classic script, on the CPU
#
# This is the program that nearly everybody starts with. First the data. The data set returns PIL
# images, the image objects of the Python package Pillow. A *transform* turns each into a tensor
# with values from 0 to 1, then into one with values from -1 to 1.

# %%
transform = transforms.Compose(
    [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
)

# %% [markdown]
# In a program of your own, the data set is one line of torchvision:
#
# ```python
# train_set = torchvision.datasets.CIFAR10("data", train=True, download=True, transform=transform)
# ```
#
# The official server can be very slow. `LoadedCIFAR10` is the same class
# (it inherits from it), filled with the images that are already loaded.

# %%
train_set = LoadedCIFAR10(images, labels, transform)
test_set = LoadedCIFAR10(*dataset.test, transform)
image, label = train_set[0]
tuple(image.shape), image.dtype, -1 <= image.min() <= image.max() <= 1

# %% [markdown]
# The `DataLoader` shuffles the images and stacks `batch_size` of them into a batch. Two worker
# processes prepare the images while the network trains.

# %% tags=["nbval-ignore-output"]
count = train_images or (10_000 if dataset.drawn else len(train_set))
if count < len(train_set):
    # A random choice, because a copy of CIFAR-10 may be sorted by class.
    order = torch.randperm(len(train_set), generator=torch.Generator().manual_seed(seed))
    train_set = Subset(train_set, order[:count].tolist())
train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, num_workers=2)
print(f"{len(train_set):,} images, {len(train_loader):,} batches per epoch")

# %% [markdown]
# Next the network: two convolutions with pooling, then three linear layers that end in ten numbers,
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
# **Think first:** where do the 400 inputs of `fc1` come from? Follow one image of 32 by 32 pixels:
# a 5 by 5 convolution makes width and height smaller by 4 (2 pixels at each edge), and pooling
# halves them.
#
# <details><summary>Answer</summary>
#
# 32 - 4 = 28, halved 14; 14 - 4 = 10, halved 5. The second convolution has 16 channels of 5 by 5
# numbers each: 16 x 5 x 5 = 400.
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
# 0.9.
#
# One line below is not in most copies of this program: `torch.set_num_threads(1)`. PyTorch splits
# each operation over several CPU threads, but four images are too little work to split, so the
# threads mostly wait for each other. On two idle cores this costs little. Beside two other busy
# programs, a step (without loading images) was measured at 5 ms with one thread and at 11 to 64 ms
# with two. The setting stays in force for the rest of this notebook.

# %%
torch.set_num_threads(1)
torch.manual_seed(seed)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)

# %% [markdown]
# And the training loop. It prints the mean loss every 8,000 images (2,000 batches of four). After
# 20 and after 500 steps it also estimates how long it will take. The first estimate is too high,
# because it includes the start of the worker processes. The word `device` does not occur, so
# everything happens on the CPU.

# %% tags=["nbval-ignore-output"]
print_every = max(1, 8000 // batch_size)
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
        if epoch == 0 and i in (20, 500):
            per_step = (time.perf_counter() - started) / i
            print(f"{i} steps done; all take about {per_step * epochs * len(train_loader):.0f} s")
cpu_seconds_per_step = (time.perf_counter() - started) / (epochs * len(train_loader))
print(f"finished after {time.perf_counter() - started:.1f} s on the CPU")

# %% [markdown]
# A network that knows nothing gives each class the same probability, and its loss is the natural
# logarithm of the number of classes. Your first printed loss is near it, and your last one is well
# below.

# %%
print(f"knowing nothing: {torch.tensor(len(dataset.classes)).log():.3f}")

# %% [markdown]
# ## Three edits
#
# To train on a GPU, three things change.
#
# 1. **Name the device**, once, near the top. Every later line says `device`, never `"cuda"`, so
#    that the program still runs where there is no GPU. Here `lesson.start` chose it; in
#    a program of your own, write
#    `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`.
# 2. **Move the network**: `net.to(device)`. Its parameters are tensors, and they decide where the
#    arithmetic happens. Create the optimizer *after* the move, for the reason in
#    [lesson 03](03_moving_a_network.ipynb).
# 3. **Move every batch**: `inputs, targets = inputs.to(device), targets.to(device)`. A tensor does
#    not move in place: `.to` returns the moved one, and forgetting to assign it is a very common
#    mistake. The targets move too, because the loss compares them with the network's answers.
#
# **Think first:** what happens if you make edit 2 and forget edit 3? And on a machine where
# `device` is the CPU?
#
# <details><summary>Answer</summary>
#
# The first convolution gets images on the CPU and weights on the GPU, and PyTorch raises a
# `RuntimeError`: [lesson 02](02_device_mismatch_errors.ipynb) shows the message. On the CPU nothing
# goes wrong, which is why a forgotten edit is often found late.
#
# </details>

# %%
net_on_cpu = net
torch.manual_seed(seed)
net = Net().to(device)  # edit 2; edit 1 was made at the top
optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)
device_of(net) == device

# %% [markdown]
# Here is the loop with all three. On a GPU it trains for all epochs; on a CPU it would repeat the
# loop above, so it stops at the first print. Compare that loss with the first one above: the seed
# and the images are the same, so it is the same number. On a GPU the last digits may differ,
# because the GPU adds in another order.

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
# ## How much faster, and why so little
#
# **Think first:** a GPU has thousands of cores. By what factor do you expect it to be faster in
# this loop?

# %% tags=["nbval-ignore-output"]
print(f"first loop, on the CPU: {cpu_seconds_per_step * 1e3:.2f} ms per step")
print(f"second loop, on {device}: {seconds_per_step * 1e3:.2f} ms per step")
if on_gpu:
    print(f"The GPU was {cpu_seconds_per_step / seconds_per_step:.2f} times as fast as the CPU.")
else:
    print("There is no GPU here: both loops did the same work on the CPU. Their times differ")
    print("because other programs use the computer too; a factor of 2 is possible.")

# %% [markdown]
# If you have a GPU, the answer is probably disappointing. [PyTorch's
# tutorial](https://pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html#training-on-gpu)
# gives the reason in one sentence: "Because your network is really small." To see what that means,
# count the arithmetic of one step, and then what PyTorch has to do to get it computed.

# %%
with FlopCounterMode(display=False) as arithmetic:
    Net()(torch.zeros(4, 3, 32, 32)).sum().backward()
f"{arithmetic.get_total_flops() / 1e6:.1f} million floating-point operations for four images"

# %% [markdown]
# By its data sheet, a T4 does 8.1 TFLOP/s in `float32`, that is 8.1 x 10^12 operations per second.
# At that speed the arithmetic of this step takes two *microseconds*. But a step is not one piece of
# work. Each layer, each gradient and the update of the weights run as separate programs on the GPU,
# called *kernels*, and the CPU has to start each one: a *kernel launch*. One launch costs the CPU
# [a few microseconds](https://developer.nvidia.com/blog/cuda-graphs/), and more when Python calls
# it through PyTorch.
#
# **Think first:** how many kernels does one training step need at least? Go through `forward`, then
# the backward pass, then the optimizer.
#
# <details><summary>Answer</summary>
#
# At least 39; an operation may also use more than one kernel.
#
# | part | operations | kernels |
# |---|---|---|
# | forward | 2 convolutions, 3 linear layers, 4 ReLUs, 2 poolings, log-softmax, loss | 13 |
# | backward | the loss (3: its own gradient, loss, log-softmax), 4 ReLUs, 2 poolings | 9 |
# | backward | gradients of the weights (5), biases (5) and inputs (4) of the five layers | 14 |
# | optimizer | momentum times 0.9, plus the gradient, update: each for all parameters at once | 3 |
#
# Views such as `flatten` launch nothing. The first layer needs no gradient of its input, the
# images.
#
# </details>
#
# On a GPU, the next cell counts what really runs in one step.

# %% tags=["nbval-ignore-output"]
inputs, targets = next(iter(train_loader))
inputs, targets = inputs.to(device), targets.to(device)
if device.type == "cuda":
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
        optimizer.zero_grad()
        criterion(net(inputs), targets).backward()
        optimizer.step()
        torch.cuda.synchronize()
    kernels = [e for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    print(f"{len(kernels)} kernels and copies for one training step")
else:
    print("There is no CUDA GPU here, so there are no kernel launches to count.")

# %% [markdown]
# At five microseconds each, forty launches take 200 microseconds, against two microseconds of
# arithmetic: most of the time, the GPU waits for the next kernel. And before each step, it may have
# to wait for the two worker processes, which turn the images into tensors one after another.
#
# So the classic network and its batches are too small for a GPU. [Lesson
# 05](05_when_the_gpu_wins.ipynb) makes them larger and removes the waiting, one cause at a time.
#
# ## Save and reload
#
# To *use* a network you need its weights and nothing else. Save the `state_dict`, not the module: a
# saved module is a *pickle*, Python's format for storing any object, and it cannot be loaded any
# more when your code has changed.

# %%
if not on_gpu:
    net = net_on_cpu  # the one that was trained for all epochs
path = output / "classic_net.pt"
torch.save(net.state_dict(), path)
path.name

# %% [markdown]
# A file saved on a GPU remembers that its tensors were on `cuda:0`, and a plain `torch.load` tries
# to put them back there, which fails on a laptop without a GPU. `map_location` says where they go
# instead: [lesson 03](03_moving_a_network.ipynb) used `"cpu"`, which always works; with `device`
# the tensors go straight to the GPU. `weights_only=True`, the default today, refuses a file that
# would run code, which loading a pickle can do.

# %%
state = torch.load(path, map_location=device, weights_only=True)
{name: tuple(tensor.shape) for name, tensor in state.items()}

# %% [markdown]
# **Think first:** the tensors in `state` are on `device`. You load them into a new network. On
# which device is that network then?

# %%
reloaded = Net()
reloaded.load_state_dict(state)
device_of(reloaded)

# %% [markdown]
# On the CPU. `load_state_dict` copies *values into* the existing parameters, and those of a new
# network are on the CPU. Many copies of the classic script reload their network this way and then
# evaluate on the CPU without noticing, however many GPUs the machine has. The fix is edit 2 again:

# %%
reloaded = reloaded.to(device)
device_of(reloaded) == device

# %% [markdown]
# ## How good is it?
#
# Classify the test images on the device. `torch.no_grad()` turns gradients off, since nothing is
# learned here. The batches have 500 images: in evaluation a larger batch does not change the
# accuracy and needs fewer kernel launches.

# %%
test_loader = DataLoader(test_set, batch_size=500, num_workers=2)
correct = total = 0
with torch.no_grad():
    for inputs, targets in test_loader:
        inputs, targets = inputs.to(device), targets.to(device)
        predicted = reloaded(inputs).argmax(dim=1)
        correct += (predicted == targets).sum().item()
        total += len(targets)
accuracy = correct / total

# %% tags=["nbval-ignore-output"]
print(f"{correct:,} of {total:,} test images are right: {accuracy:.1%}")

# %% [markdown]
# With ten classes, guessing gives 10 %. On CIFAR-10, the classic settings reach a little more than
# 50 % after two epochs.
#
# ### For each class, and a trap
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

# %%
class_correct, class_total = classic_per_class(reloaded, test_loader)
f"{sum(class_total)} of {len(test_set)} images counted"

# %% [markdown]
# Four per batch, and no error. A batch of fewer than four, which the *last* batch of an epoch often
# is, raises one. Here the last batch has one image: `squeeze()` removes its only dimension, and
# `right[0]` fails.

# %%
try:
    classic_per_class(reloaded, DataLoader(Subset(test_set, range(9)), batch_size=4))
except IndexError as error:
    print("IndexError:", error)

# %% [markdown]
# The fix is to count a whole batch at once. Give each pair (true class, answer) a number
# from 0 to 99 and let `torch.bincount` count the numbers, on the device, for a batch of any size.

# %%
counts = torch.zeros(100, dtype=torch.int64, device=device)
with torch.no_grad():
    for inputs, targets in test_loader:
        answers = reloaded(inputs.to(device)).argmax(dim=1)
        counts += torch.bincount(10 * targets.to(device) + answers, minlength=100)
counts = counts.reshape(10, 10).cpu()
f"{int(counts.sum())} of {len(test_set)} images counted"

# %% [markdown]
# The diagonal of this table holds the right answers. `evaluate` does the same; it also switches the
# network to evaluation mode and back, which matters for layers such as dropout and batch
# normalization; this network has none.

# %% tags=["nbval-ignore-output"]
evaluation = evaluate(reloaded, test_loader)
per_class = evaluation.per_class(dataset.classes)
{name: f"{share:.1%}" for name, share in per_class.items()}

# %%
show(
    plots.accuracy_by_class(per_class, evaluation.accuracy),
    alt="One bar per class with the share of its test images that the network gets right, "
    "and a line at the overall accuracy.",
)

# %% [markdown]
# With which classes does the network confuse the hard ones? Each row of the next figure is a true
# class, each column an answer.

# %%
show(
    plots.confusion_matrix(evaluation, dataset.classes),
    alt="A ten by ten table of true classes against the network's answers, in percent; the "
    "diagonal holds the right answers.",
)

# %% [markdown]
# Look at sixteen of the images: the answer first, the true class in parentheses where they differ.

# %%
test_images, test_labels = dataset.test
few = torch.randperm(len(test_labels), generator=torch.Generator().manual_seed(seed))[:16]
inputs = torch.stack([test_set[i][0] for i in few.tolist()]).to(device)
with torch.no_grad():
    answers = [dataset.classes[i] for i in reloaded(inputs).argmax(1).tolist()]
truth = [dataset.classes[i] for i in test_labels[few].tolist()]
right = [answer == true for answer, true in zip(answers, truth, strict=True)]
titles = [a if a == t else f"{a}\n({t})" for a, t in zip(answers, truth, strict=True)]

# %%
show(
    plots.image_grid(
        test_images[few],
        titles,
        right=right,
        title="The network's answers; a cross marks a wrong one, the true class is in parentheses",
    ),
    alt="Sixteen test images, each under the network's answer; wrong answers have a cross and "
    "the true class in parentheses.",
)

# %% [markdown]
# ## A faster loader
#
# The classic loader handles every image separately: to PIL, to a tensor, normalize, stack, and send
# from one process to another. You saw above that all training images fit on the device. So put them
# there once as bytes, and let a batch be some rows of that tensor. This is how `ResidentLoader`
# makes an epoch's batches; `self.sampler` gives the shuffled order:

# %%
Markdown(f"```python\n{inspect.getsource(ResidentLoader.__iter__)}```")

# %% [markdown]
# The lines with `index_select` take the rows of several batches at once (a *chunk*); `normalize`
# does to the whole chunk what the transform did to one image; then the chunk is split into batches.
# Both loaders compute the same values:

# %% tags=["nbval-ignore-output"]
first_images = ResidentLoader(images[:2], labels[:2], 2, device=device, shuffle=False)
resident, _ = next(iter(first_images))
one_image, _ = LoadedCIFAR10(images[:1], labels[:1], transform)[0]
torch.stack([one_image[0, 0, :6], resident[0, 0, 0, :6].cpu()])

# %% [markdown]
# **Think first:** you run the loop from above with this loader and change nothing else. What do you
# expect?


# %%
def seconds_of(loader, steps):
    net = Net().to(device)
    optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)
    started = time.perf_counter()
    for i, (inputs, targets) in enumerate(loader, start=1):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        loss.item()
        if i == steps:
            break
    return (time.perf_counter() - started) / i


# %% tags=["nbval-ignore-output"]
chosen = torch.tensor(train_set.indices) if isinstance(train_set, Subset) else slice(None)
resident_loader = ResidentLoader(
    images[chosen], labels[chosen], batch_size, device=device, seed=seed
)
for name, loader in (("DataLoader", train_loader), ("ResidentLoader", resident_loader)):
    print(f"{name}: {seconds_of(loader, min(1000, len(loader))) * 1e3:.2f} ms per step")

# %% [markdown]
# Network, optimizer, loop and number of threads are equal, so the difference comes from the loader,
# apart from the noise that you saw above and the start of the worker processes. [Lesson
# 05](05_when_the_gpu_wins.ipynb) measures it with repetitions.
#
# The course's `train` is the same loop with three additions: a progress line, a history of the
# loss, and a checkpoint in the output folder every 30 seconds and after every epoch. Two details
# can make it faster than the loop above, whatever the loader. It adds up the loss *on the device*,
# because `loss.item()` makes the CPU wait for the GPU in every step. And on a CPU, for batches of
# up to four images, it turns off oneDNN, a library whose preparation costs more than it saves at
# that size.
#
# You can interrupt it with the stop button: it finishes the current step, writes the checkpoint,
# and then stops.

# %%
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

# %%
show(plots.loss_curve(history), alt="The mean training loss against the training step.")

# %% tags=["nbval-ignore-output"]
again = evaluate(net, test_loader)
print(f"classic loader: {evaluation.accuracy:.1%}, resident loader: {again.accuracy:.1%}")

# %% [markdown]
# About the same accuracy: network and images are the same, but their order differs, and without
# oneDNN also the rounding.
#
# ## When the machine is taken away
#
# Colab may end your session in the middle of an epoch, and the files of its machine are gone with
# it. Prepare for that *before* the first run: connect your Google Drive (`from google.colab import
# drive; drive.mount("/content/drive")`) and set `output` in the parameters cell to a folder there,
# such as `"/content/drive/MyDrive/cifar10"`. Later set `resume = True` and run the notebook again:
# `train` continues at the step of the last checkpoint. The two classic loops above have no
# checkpoint and start again.
#
# **Think first:** a checkpoint with the network's weights alone is not enough to continue *exactly*
# where you stopped. What else has to be in it?

# %%
checkpoint = torch.load(output / "classic_checkpoint.pt", weights_only=True, map_location="cpu")
sorted(checkpoint)

# %% [markdown]
# The optimizer has a momentum buffer for each parameter; the loader has a position in the order of
# the images; dropout and augmentation draw from a random number generator. With all of these, a run
# in two parts gives exactly the weights of a run in one part. (`fingerprint` identifies network,
# optimizer and loader, so that a checkpoint is not resumed with others.) Try it on 2,000 images on
# the CPU, with a stop after the first epoch:


# %%
def small_run(epochs, resume=False):
    torch.manual_seed(seed)
    net = Net()
    loader = ResidentLoader(images[:2000], labels[:2000], 4, seed=seed)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    path = output / "small_checkpoint.pt"
    train(net, loader, optimizer, epochs=epochs, checkpoint=path, resume=resume)
    return torch.cat([parameter.detach().flatten() for parameter in net.parameters()])


in_one_part = small_run(epochs=2)
small_run(epochs=1)  # and here the machine is lost
in_two_parts = small_run(epochs=2, resume=True)
f"weights that differ: {(in_one_part != in_two_parts).sum()} of {in_one_part.numel()}"

# %% [markdown]
# ## The whole program as one file
#
# `scripts/train_cifar10.py` is this lesson as a program: the classic network and settings by
# default, and options for what you will need later. It runs on the CPU, on a GPU, and, started by
# PyTorch's launcher `torchrun`, on several GPUs. In a terminal, in the course's folder:
#
# ```
# python scripts/train_cifar10.py
# python scripts/train_cifar10.py --batch-size 512 --lr 0.1 --schedule cosine
# torchrun --nproc-per-node 4 scripts/train_cifar10.py --batch-size 32 --lr 0.032
# ```
#
# `--schedule cosine` lets the learning rate fall to zero along half a cosine. Mixed precision
# (`autocast`, `GradScaler`) and training on several GPUs (`DistributedDataParallel`) are subjects
# of their own. With the default options on a CPU, the program gives exactly the accuracy of this
# lesson's first loop: same seed, same order of the images.
#
# **Think first:** find the three edits in it.
#
# <details><summary>Answer</summary>
#
# `set_up_device` names the device, `Training.__init__` moves the network (`Net().to(device)`), and
# `train_epoch` moves each batch (`images.to(self.device, ...)` and the labels).
#
# </details>

# %%
script = Path(helpers.__file__).parents[1] / "scripts" / "train_cifar10.py"
Markdown(f"```python\n{script.read_text()}```")

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
# - Three edits put training on a GPU: name the device, move the network, move each batch, targets
#   included.
# - Create the optimizer after moving the network.
# - Save the `state_dict`; load it with `map_location`; move the new network, which loading does not
#   do.
# - Evaluate on the device, and count in a way that does not depend on the batch size.
# - A small network with small batches gains little from a GPU: the GPU waits for kernel launches
#   and for data, not for arithmetic.
# - A resumable checkpoint holds the optimizer, the position and the random state, not only weights.
#
# **To try:** set `batch_size = 64` and run again. The loss falls more slowly per epoch; why? Then
# raise `learning_rate` to 0.016 and compare. [Lesson 05](05_when_the_gpu_wins.ipynb) explains what
# you see.
