# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CIFAR-10 on a GPU
#     promise: >-
#       You take a classic image classifier that trains on the CPU, put it on the GPU with three
#       edits, and train, save, reload and judge it there.
#     minutes: 50
#     objectives:
#       - name the three edits that move training to a GPU, and say why each one is needed
#       - train a network in full, with a checkpoint that survives a lost machine
#       - save a network and reload it on another device
#       - evaluate on the device, overall and for each class, with batches of any size
#       - say why this network gains so little from a GPU
#     prerequisites:
#       - "[Lesson 03](03_moving_a_network.ipynb): modules, parameters and how `.to` moves them"
#       - "a GPU is welcome and not needed: without one, the lesson runs on the CPU and says so"
#     credits:
#       - >-
#         The network and its training follow the classifier of
#         [PyTorch's beginner
#         tutorial](https://pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html);
#         the network's plan is LeNet-5 (LeCun, Bottou, Bengio and Haffner, 1998).
#       - >-
#         CIFAR-10: Alex Krizhevsky,
#         [Learning Multiple Layers of Features from Tiny
#         Images](https://www.cs.toronto.edu/~kriz/learning-features-2009-TR.pdf), 2009.
# ---

# %% [markdown]
# ## Set up

# %%
import time
from pathlib import Path

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from helpers import cifar10, lesson
from helpers.devices import device_of
from helpers.evaluation import evaluate
from helpers.loaders import ResidentLoader, worker_loader
from helpers.plots import classification as plots
from helpers.plots.style import show
from helpers.training import train

# %% [markdown]
# The next cell holds everything you may want to change. Change a value here, then run the notebook
# from this cell on.

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (the real ones or an error), "drawn", or a path
epochs: int = 2  # passes over the training images, at least 1
batch_size: int = 4  # images a training step, at least 1
learning_rate: float = 0.001  # step size of SGD, above 0
device: str = "auto"  # "auto", "cpu", "cuda:0", "mps", ...
seed: int = 0  # of every random number
output: str = "output"  # folder for the checkpoint and the trained network
resume: bool = False  # go on from the checkpoint in the output folder

# %% tags=["nbval-ignore-output"]
device = lesson.start(device, seed=seed)
output = Path(output)

# %% [markdown]
# ## The images
#
# CIFAR-10 is 60,000 colour photographs of 32 by 32 pixels in ten classes: 50,000 to train on and
# 10,000 to test on. The next cell finds them on this machine or downloads them. If neither works,
# it draws stand-ins, so that every later cell still runs, and says so in a red box.

# %% tags=["nbval-ignore-output"]
dataset = cifar10.load(data)
lesson.show_data(dataset)

# %%
images, labels = dataset.train
images.shape, images.dtype, labels.shape, labels.dtype

# %% [markdown]
# `images` has one row an image, then 3 colours, then 32 rows of 32 pixels. A pixel is a whole
# number from 0 to 255.
#
# **Think first:** how much memory do the training images take as they are, one byte a number, and
# how much would they take as `float32`?

# %%
f"{images.nbytes / 1e6:.1f} MB as uint8, {images.numel() * 4 / 1e6:.1f} MB as float32"

# %% [markdown]
# Either fits on any GPU of the last ten years. Remember that; it matters below. Now look at some.

# %%
few = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))[:24]
names = [dataset.classes[label] for label in labels[few].tolist()]
grid = plots.image_grid(images[few], names, title="Small pictures: some are hard for people too")
show(grid, alt="Twenty-four training images of 32 by 32 pixels, each under the name of its class.")

# %% [markdown]
# ## The classic script, on the CPU
#
# This is the program nearly everybody starts with. First the network: two convolutions with
# pooling, then three linear layers that end in ten numbers, one a class.


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
# a 5 by 5 convolution takes 4 off each side, pooling halves.

# %%
x = torch.zeros(1, 3, 32, 32)
net = Net()
after_conv1 = net.pool(net.conv1(x))
after_conv2 = net.pool(net.conv2(after_conv1))
after_conv1.shape, after_conv2.shape, after_conv2.numel()

# %%
f"{sum(p.numel() for p in net.parameters()):,} parameters"

# %% [markdown]
# Next the data loader. `worker_loader` is torch's `DataLoader` over the images: two worker
# processes take one image after the other, turn its bytes into `float32` numbers from -1 to 1, and
# stack `batch_size` of them.

# %%
classic_loader = worker_loader(images, labels, batch_size, workers=2, seed=seed)
batch, targets = next(iter(classic_loader))
batch.dtype, tuple(batch.shape[1:]), batch.device.type, len(batch) == batch_size

# %% [markdown]
# The loss is cross-entropy, and the optimizer is stochastic gradient descent with momentum 0.9.

# %%
torch.manual_seed(seed)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)

# %% [markdown]
# And the loop. The classic script prints the mean loss every 2,000 steps; you run it up to its
# first print. Look for the word `device`: it does not occur, so everything happens on the CPU.

# %% tags=["nbval-ignore-output"]
steps = min(2000, len(classic_loader))
running_loss = 0.0
started = time.perf_counter()
for i, (inputs, targets) in enumerate(classic_loader, start=1):
    optimizer.zero_grad()
    loss = criterion(net(inputs), targets)
    loss.backward()
    optimizer.step()
    running_loss += loss.item()
    if i == steps:
        break
cpu_seconds = time.perf_counter() - started
print(f"[1, {steps:5d}] loss: {running_loss / steps:.3f}, after {cpu_seconds:.1f} s")

# %% [markdown]
# The loss of a network that knows nothing is the logarithm of the number of classes, since it gives
# each of them the same chance. Is yours below it?

# %%
print(f"knowing nothing: {torch.tensor(len(dataset.classes)).log():.3f}")

# %% [markdown]
# ## Three edits
#
# To train on a GPU, three things change.
#
# 1. **Name the device**, once, near the top: `device = ...`. Every later line says `device`, never
#    `"cuda"`, so that the script still runs where there is no GPU. Here `lesson.start` has chosen
#    it; in a script of your own, write
#    `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`.
# 2. **Move the network**: `net.to(device)`. Its parameters are tensors, and they decide where the
#    arithmetic happens. A module moves in place, and the optimizer is made *after* the move, from
#    parameters that already lie where they will stay.
# 3. **Move every batch**: `inputs, targets = inputs.to(device), targets.to(device)`. A tensor does
#    not move in place: `.to` returns the moved one, and dropping the result is the commonest
#    mistake of all. The labels move too, because the loss compares them with the network's answers.
#
# **Think first:** what happens if you make edit 2 and forget edit 3? And what if you forget it on a
# machine where `device` is the CPU?

# %%
torch.manual_seed(seed)
net = Net().to(device)  # edit 2; edit 1 was made at the top
optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)
device_of(net) == device

# %% [markdown]
# With edit 3 missing, the network's first convolution gets images that lie on the CPU and weights
# that lie on the GPU, and torch refuses: [lesson 02](02_device_mismatch_errors.ipynb) shows the
# message. On the CPU nothing goes wrong, which is why a forgotten edit is so often found late. Here
# is the loop with all three.

# %% tags=["nbval-ignore-output"]
running_loss = 0.0
started = time.perf_counter()
for i, (inputs, targets) in enumerate(classic_loader, start=1):
    inputs, targets = inputs.to(device), targets.to(device)  # edit 3
    optimizer.zero_grad()
    loss = criterion(net(inputs), targets)
    loss.backward()
    optimizer.step()
    running_loss += loss.item()
    if i == steps:
        break
device_seconds = time.perf_counter() - started
print(f"[1, {steps:5d}] loss: {running_loss / steps:.3f}, after {device_seconds:.1f} s")

# %% [markdown]
# ## How much faster, and why hardly
#
# **Think first:** a GPU has thousands of cores. By what factor was the second loop faster?

# %% tags=["nbval-ignore-output"]
if device.type == "cpu":
    compared = "There is no GPU here: both loops ran on the CPU, and the figures differ by chance."
else:
    compared = f"The GPU was {cpu_seconds / device_seconds:.2f} times as fast as the CPU."
print(f"CPU {cpu_seconds:.1f} s, {device.type} {device_seconds:.1f} s for {steps} steps.")
print(compared)

# %% [markdown]
# If you have a GPU, the answer is probably a disappointment. Count what one step asks of the
# machine to see why: first the arithmetic, then the operations that torch has carried out.

# %%
inputs, targets = batch[:4].to(device), targets[:4].to(device)
with FlopCounterMode(display=False) as arithmetic:
    criterion(net(inputs), targets).backward()
f"{arithmetic.get_total_flops() / 1e6 / len(inputs):.1f} million operations on numbers an image"


# %%
class CountOperations(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        self.count += 1
        return operation(*arguments, **(options or {}))


with CountOperations() as requests:
    criterion(net(inputs), targets).backward()
requests.count > 50

# %% [markdown]
# Now divide. A T4, the GPU that Colab lends for nothing, does 8.1 million million operations on
# `float32` numbers a second by its data sheet: it is through with the arithmetic of four images in
# less than two *millionths* of a second. But forward and backward pass are 73 operations here, the
# update of the weights is another 32, and each is a request of its own to the GPU. Sending one
# takes the CPU [several millionths of a second](https://developer.nvidia.com/blog/cuda-graphs/), a
# hundred of them several hundred. So the GPU spends its time waiting for the next request, and
# before that for two worker processes that turn four images after the other into tensors.
#
# The classic network and its batches are too small for a GPU. [Lesson
# 05](05_when_the_gpu_wins.ipynb) makes them larger and removes the waiting, one cause at a time.

# %% [markdown]
# ## Training in full
#
# One cause you can remove now. The training images fit on the device as a whole, so put them there
# once, and let a batch be a few rows of a tensor that is there already. `ResidentLoader` does that:
# nothing is copied to the device in training, and there are no workers to wait for.

# %%
train_loader = ResidentLoader(images, labels, batch_size, device=device, seed=seed)
resident, targets = next(iter(train_loader))
resident.device == device, targets.device == device, resident.dtype

# %% [markdown]
# Both loaders visit the images in the same order, so they must give the same numbers.

# %%
torch.equal(resident.cpu(), batch)

# %% [markdown]
# `train` is the loop you have seen, with three things around it: the line of progress below, a
# history of the loss, and a checkpoint in the output folder every 30 seconds and after every epoch.
# It also adds up the loss *on the device*: `loss.item()` in each step makes the CPU wait until the
# GPU has finished.
#
# You may stop it with the stop button. It ends the step it is in, writes the checkpoint, and then
# stops.

# %%
torch.manual_seed(seed)
net = Net().to(device)
optimizer = optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)
history = train(
    net,
    train_loader,
    optimizer,
    epochs=epochs,
    checkpoint=output / "classic_checkpoint.pt",
    resume=resume,
    report=lesson.progress("Training"),
)

# %%
history.losses[-1] < history.losses[0]

# %%
show(plots.loss_curve(history), alt="The mean training loss against the training step.")

# %% [markdown]
# ## When the machine is taken away
#
# Colab may end your session in the middle of an epoch. Then set `resume = True` in the parameters
# cell, name an `output` folder that has survived (one on your Drive), and run the notebook again:
# training goes on at the step of the last checkpoint.
#
# **Think first:** a checkpoint with the network's weights alone is not enough to go on *exactly*
# where you stopped. What else has to be in it?

# %%
checkpoint = torch.load(output / "classic_checkpoint.pt", weights_only=True, map_location="cpu")
sorted(checkpoint)

# %% [markdown]
# The optimizer has a momentum for each weight; the loader has a place in the order of the images;
# dropout and augmentation have a place in the sequence of random numbers. With all of these, a run
# in two parts gives the very weights of a run in one. Try it on 2,000 images, on the CPU, where
# arithmetic has one order:


# %%
def small_run(epochs, resume=False):
    torch.manual_seed(seed)
    net = Net()
    loader = ResidentLoader(images[:2000], labels[:2000], 4, seed=seed)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    path = output / "small_checkpoint.pt"
    train(net, loader, optimizer, epochs=epochs, checkpoint=path, resume=resume)
    return net.fc3.weight


in_one = small_run(epochs=2)
small_run(epochs=1)  # and here the machine is lost
in_two = small_run(epochs=2, resume=True)
torch.equal(in_one, in_two)

# %% [markdown]
# ## Save and reload
#
# To *use* a network you need its weights and nothing else. Save the `state_dict`, not the module: a
# saved module is a pickle that breaks when your code changes.

# %%
path = output / "classic_net.pt"
torch.save(net.state_dict(), path)
path.name, path.stat().st_size < 1_000_000

# %% [markdown]
# A file saved on a GPU remembers that its tensors lay on `cuda:0`, and a plain `torch.load` wants
# to put them back there, which fails on a laptop without one. `map_location` says where they go
# instead. `weights_only=True` refuses a file that would run code: a pickle can do anything.

# %%
state = torch.load(path, map_location=device, weights_only=True)
{name: tuple(tensor.shape) for name, tensor in state.items()}

# %% [markdown]
# **Think first:** the tensors in `state` lie on `device`. A new network is filled with them. Where
# does that network lie?

# %%
reloaded = Net()
reloaded.load_state_dict(state)
device_of(reloaded)

# %% [markdown]
# On the CPU. `load_state_dict` copies *values into* the parameters that are there, and those of a
# new network lie on the CPU. This is a trap of the classic script: it reloads its network so, and
# from then on evaluates on the CPU without a word, however many GPUs the machine has. The mending
# is edit 2 again:

# %%
reloaded = reloaded.to(device)
device_of(reloaded) == device

# %% [markdown]
# ## How good is it?
#
# Test images in batches, on the device. `torch.no_grad()` because nothing is learnt here, so no
# gradients need to be kept. Batches of 500: in evaluation a larger batch changes no result and
# saves requests.

# %%
test_images, test_labels = dataset.test
test_loader = ResidentLoader(test_images, test_labels, 500, device=device, shuffle=False)

correct = torch.zeros((), dtype=torch.int64, device=device)
with torch.no_grad():
    for inputs, targets in test_loader:
        predicted = reloaded(inputs).argmax(dim=1)
        correct += (predicted == targets).sum()
accuracy = correct.item() / len(test_labels)

# %% tags=["nbval-ignore-output"]
print(f"{correct.item():,} of {len(test_labels):,} test images are right: {accuracy:.1%}")

# %% [markdown]
# Ten classes, so guessing gives 10 %. How far above it does the classic network get with the
# classic settings?

# %%
accuracy > 0.4

# %% [markdown]
# ### For each class, and a trap
#
# Which classes are hard? Many copies of the classic script count like this. Read the inner loop.


# %%
def classic_per_class(net, loader):
    class_correct, class_total = [0] * 10, [0] * 10
    with torch.no_grad():
        for inputs, targets in loader:
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
f"{sum(class_total)} of {len(test_labels)} images counted"

# %% [markdown]
# Four of each batch, and no error. A batch of fewer than four, which is what the *last* batch of an
# epoch often is, is an error:

# %%
nine = ResidentLoader(test_images[:9], test_labels[:9], 4, device=device, shuffle=False)
try:
    classic_per_class(reloaded, nine)
except IndexError as error:
    print("IndexError:", error)

# %% [markdown]
# The mending is to count without looking at single images. Number each pair (true class, answer)
# from 0 to 99 and let `torch.bincount` count the numbers, on the device, for a batch of any size.

# %%
counts = torch.zeros(100, dtype=torch.int64, device=device)
with torch.no_grad():
    for inputs, targets in test_loader:
        answers = reloaded(inputs).argmax(dim=1)
        counts += torch.bincount(10 * targets + answers, minlength=100)
counts = counts.reshape(10, 10).cpu()
int(counts.sum())

# %% [markdown]
# The diagonal of this table holds the right answers. From here on, `evaluate` does this for you; it
# also switches the network to evaluation mode and back.

# %%
evaluation = evaluate(reloaded, test_loader)
torch.equal(evaluation.confusion, counts), evaluation.accuracy == accuracy

# %%
per_class = evaluation.per_class(dataset.classes)
show(
    plots.accuracy_by_class(per_class, evaluation.accuracy),
    alt="One bar a class with the share of its test images that the network gets right, "
    "and a line at the overall accuracy.",
)

# %% [markdown]
# What are the hard ones taken for? Each row of the next figure is a true class, each column an
# answer.

# %%
show(
    plots.confusion_matrix(evaluation, dataset.classes),
    alt="A ten by ten table of true classes against the network's answers, in percent; the "
    "diagonal holds the right answers.",
)

# %% [markdown]
# Percentages hide the pictures. Look at sixteen of them: the answer first, the truth in brackets
# where they differ.

# %%
few = torch.randperm(len(test_labels), generator=torch.Generator().manual_seed(seed))[:16]
loader = ResidentLoader(test_images[few], test_labels[few], 16, device=device, shuffle=False)
with torch.no_grad():
    answers = [dataset.classes[i] for i in reloaded(next(iter(loader))[0]).argmax(1).tolist()]
truth = [dataset.classes[i] for i in test_labels[few].tolist()]
right = [answer == true for answer, true in zip(answers, truth, strict=True)]
titles = [a if a == t else f"{a}\n({t})" for a, t in zip(answers, truth, strict=True)]

# %%
show(
    plots.image_grid(
        test_images[few],
        titles,
        right=right,
        title="The network's answers; a cross marks a wrong one, with the truth in brackets",
    ),
    alt="Sixteen test images, each under the network's answer; wrong answers have a cross and "
    "the true class in brackets.",
)

# %% tags=["nbval-ignore-output"]
lesson.report(
    test_accuracy=round(evaluation.accuracy, 4),
    final_loss=round(history.losses[-1], 4),
    training_seconds=round(history.seconds, 1),
    images_per_second=round(history.images_per_second),
)

# %% [markdown]
# ## Summary
#
# - Three edits put training on a GPU: name the device, move the network, move each batch, labels
#   included.
# - Make the optimizer after the network has moved.
# - Save the `state_dict`; load it with `map_location` and `weights_only=True`; move the new
#   network, since loading does not.
# - Evaluate on the device, and count in a way that does not depend on the size of a batch.
# - A small network with small batches hardly gains from a GPU: it waits for requests and for data,
#   not for arithmetic.
#
# **To try:** set `batch_size = 64` and run again. The loss falls more slowly per epoch; why? Then
# raise `learning_rate` to 0.016 and compare.
