# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Moving a network
#     promise: >-
#       You learn what really moves when a network moves, what is left behind, and how to write,
#       save and load networks that run on any device.
#     minutes: 45
#     objectives:
#       - list every tensor of a network, and say where each one lies
#       - say why a module moves in place, though a tensor does not
#       - make buffers, lists of layers and the optimizer's state come along
#       - write a network that runs on any device, unchanged
#       - save a network on one machine and load it on another
#     prerequisites:
#       - "[Lesson 01](01_tensors_and_devices.ipynb): tensors, devices, `.to`"
#       - "[Lesson 02](02_device_mismatch_errors.ipynb): the errors, and how to read them"
#       - "no GPU is needed: without one, you practice on a simulated one"
#     credits:
#       - >-
#         The network's plan is LeNet-5: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner,
#         *Gradient-based learning applied to document recognition*,
#         [doi 10.1109/5.726791](https://doi.org/10.1109/5.726791), 1998.
#       - >-
#         That a module keeps its `Parameter` objects when it moves, and that the documentation
#         once said otherwise: [issue 7844 of
#         PyTorch](https://github.com/pytorch/pytorch/issues/7844).
# ---

# %%
import copy
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from helpers import lesson
from helpers.plots import devices as figures

# %% tags=["parameters"]
seed: int = 0  # of every random number
output: str = "output"  # folder for the saved network

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True)
output = Path(output)

# %% [markdown]
# On a machine without a GPU, `device` is a simulated one, as in lesson 01. Nothing in this lesson
# is timed, so nothing in it depends on which you have.
#
# ## A module has no device (7 minutes)
#
# Here is a network for pictures of digits, 28 by 28 pixels, one colour. It has two convolutions and
# three linear layers, like the network that read the digits on bank cheques in the 1990s.


# %%
class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=5)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.fc1 = nn.Linear(16 * 4 * 4, 120)
        self.fc2 = nn.Linear(120, 84)
        self.out = nn.Linear(84, 10)

    def forward(self, images):
        x = F.max_pool2d(F.relu(self.conv1(images)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(start_dim=1)))
        return self.out(F.relu(self.fc2(x)))


# %% [markdown]
# **Think first:** a tensor `x` knows its device: `x.device`. What is `net.device`?

# %%
net = LeNet()
try:
    net.device
except AttributeError as error:
    print(error)

# %% [markdown]
# A module has no device. It is a Python object, and like every Python object it lives in the main
# memory of your machine, whatever you do. What has a device is each of its *tensors*, above all its
# parameters. Here they are:


# %%
def list_parameters(net):
    for name, parameter in net.named_parameters():
        print(f"{name:12}  {tuple(parameter.shape)!s:15}  {parameter.device}")


list_parameters(net)

# %% [markdown]
# Ten tensors, each with a name that says the way to it: `net.conv1.weight` is six kernels over one
# colour, five by five, and `net.out.bias` has a number for each of the ten digits. All were made on
# the CPU, since nobody said anything else.
#
# Pooling and ReLU do not occur in the list. They are arithmetic without parameters, so there is
# nothing of theirs to move:

# %%
list(nn.ReLU().parameters())

# %% [markdown]
# From here on you use `where` of `helpers.devices`. It is `list_parameters` grown up: it also takes
# tensors and optimizers, lists the other kinds of tensors that you meet below, and says how many
# bytes each one has.

# %%
from helpers.devices import where

before = where(net)
before

# %%
f"{sum(row.bytes for row in before.rows):,} bytes in all"

# %% [markdown]
# ## Modules move in place, tensors do not (7 minutes)
#
# In lesson 01, a line with `x.to(device)` and nothing else was a mistake: it made a copy and threw
# it away.
#
# **Think first:** is `net.to(device)`, without an assignment, the same mistake?

# %%
weight = net.conv1.weight
net.to(device)
list_parameters(net)

# %% [markdown]
# It is not. The whole network has moved, and nothing was assigned. What does `net.to(device)`
# return, then? And is `net.conv1.weight` still the object that `weight` has named since before the
# move?

# %%
net.to(device) is net, net.conv1.weight is weight, weight.device

# %% [markdown]
# `net.to(device)` goes through the module and all modules in it. In each `Parameter` it replaces
# the *data*, as the assignment `parameter.data = parameter.data.to(device)` would, and leaves the
# object itself where it was. Then it returns the module you called it on, so that
# `net = LeNet().to(device)` fits on a line. The old data, on the CPU, is freed.

# %%
after = where(net)
figures.draw_network(
    {"net = LeNet()": before, "net.to(device)": after},
    title="The names stay, and what they name has moved",
)

# %% [markdown]
# Why is it made so? Because others hold on to the same `Parameter` objects: the optimizer you made
# from `net.parameters()`, two layers that share a weight. After a move in place they all find the
# network where it is.
#
# The table `before` is a list of what was true when it was made. The one from now:

# %%
after

# %% [markdown]
# On the GPU the ten tensors take a little more than their bytes. Do you remember why, and can you
# work it out from the table?


# %%
def memory_taken():
    before = torch.cuda.memory_allocated(device)
    another = LeNet().to(device)
    after = torch.cuda.memory_allocated(device)
    del another
    return after - before


memory_taken(), sum(512 * math.ceil(row.bytes / 512) for row in after.rows)

# %% [markdown]
# GPU memory is handed out in pieces of 512 bytes: each size in the table, rounded up, and added.
#
# ### The batch does not come along
#
# **Think first:** the network has moved in place. Here is a batch of eight pictures, made on the
# CPU. Which of the three lines in the `try` is the one that fails?

# %%
images = torch.ones(8, 1, 28, 28)
try:
    net.to(device)
    images.to(device)
    net(images)
except RuntimeError as error:
    print(error)

# %% [markdown]
# The last one. `images.to(device)` worked, and its result was thrown away. (The message names the
# places by tensor types: `torch.FloatTensor` is on the CPU, `torch.cuda.FloatTensor` on the GPU.
# What it says of MKLDNN does not concern you.)

# %%
images = images.to(device)
scores = net(images)
scores.shape, scores.device

# %% [markdown]
# So a module is moved by a line, a tensor by an assignment. A single layer is a module, too:

# %%
net.out.to("cpu")
{str(parameter.device) for parameter in net.fc2.parameters()}, net.out.weight.device

# %% [markdown]
# Now the network lies on two devices, and it fails in the middle of `forward`. To ask where a whole
# network lies, people often look at its first parameter:


# %%
def device_of(net):
    return next(net.parameters()).device


device_of(net)

# %% [markdown]
# That is half of the truth here. The `device_of` in `helpers.devices` looks at all of them, and
# refuses to give one answer where there are two:

# %%
from helpers.devices import device_of

try:
    device_of(net)
except ValueError as error:
    print(error)

# %%
net.to(device)
device_of(net)

# %% [markdown]
# ## What comes along, and what stays behind (8 minutes)
#
# Parameters are not the only tensors of a network. Batch normalization keeps running means of what
# it has seen. They are not learned by gradient descent, so they are no parameters. Do they move?

# %%
norm = nn.BatchNorm2d(6).to(device)
where(norm)

# %% [markdown]
# They do. `running_mean`, `running_var` and `num_batches_tracked` are **buffers**: tensors that
# belong to the module's state without being learned. A module moves its parameters *and* its
# buffers.
#
# Now a module of your own. It subtracts a mean for each colour and divides by a deviation.


# %%
class Standardize(nn.Module):
    def __init__(self, mean, deviation):
        super().__init__()
        self.mean = torch.tensor(mean).reshape(-1, 1, 1)
        self.deviation = torch.tensor(deviation).reshape(-1, 1, 1)

    def forward(self, images):
        return (images - self.mean) / self.deviation


# %% [markdown]
# **Think first:** `self.mean` is a tensor in a module. After `.to(device)`, where is it?

# %%
standardize = Standardize([0.5, 0.5, 0.25], [0.5, 0.25, 0.25]).to(device)
photographs = torch.ones(2, 3, 32, 32, device=device)
try:
    standardize(photographs)
except RuntimeError as error:
    print(error)

# %%
standardize.mean.device, len(where(standardize).rows)

# %% [markdown]
# On the CPU. To the module it is an attribute like any other, a string or a number, and `where`
# finds no tensor at all. A module moves only what it *knows* to be its state: what is a
# `Parameter`, and what was registered as a buffer. So register it:


# %%
class Standardize(nn.Module):
    def __init__(self, mean, deviation):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).reshape(-1, 1, 1))
        self.register_buffer("deviation", torch.tensor(deviation).reshape(-1, 1, 1))

    def forward(self, images):
        return (images - self.mean) / self.deviation


standardize = Standardize([0.5, 0.5, 0.25], [0.5, 0.25, 0.25]).to(device)
standardize(photographs)[0, :, 0, 0], where(standardize).devices()

# %% [markdown]
# A buffer is also saved with the network. If it need not be, because it can be computed again,
# register it with `persistent=False`: it still moves.
#
# The same goes for layers. **Think first:** how many parameters does this tower of two layers have?


# %%
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]


len(list(Tower().parameters()))

# %% [markdown]
# None. The module does not look into a Python list, so these layers would not move, would not be
# trained, and would not be saved. `nn.ModuleList` is a list that it does look into:


# %%
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])


len(list(Tower().parameters()))

# %% [markdown]
# | what | does it come along with `net.to(device)`? |
# |---|---|
# | parameters, and their gradients | yes |
# | registered buffers | yes |
# | layers in attributes, `nn.Sequential`, `nn.ModuleList`, `nn.ModuleDict` | yes |
# | tensors in plain attributes | no |
# | layers and tensors in Python lists and dictionaries | no |
# | a loss with class weights, `nn.CrossEntropyLoss(weight=...)` | no: it is a module of its own |
# | the optimizer's state | no: see below |
# | batches, targets, hidden states | no: they are not in the module |

# %% [markdown]
# ## Gradients and the optimizer (8 minutes)
#
# Training makes more tensors: a gradient for each parameter, and whatever the optimizer remembers
# from step to step. A single layer is enough to follow them. SGD with momentum keeps one tensor for
# each parameter, the `momentum_buffer`.

# %%
layer = nn.Linear(4, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5, momentum=0.5)
stages = {"made": where(layer, optimizer)}


def training_step(x):
    optimizer.zero_grad()
    layer(x).sum().backward()
    optimizer.step()


# %% [markdown]
# One step of training on the CPU, and then the layer moves. **Think first:** which of the six
# tensors listed next will still be on the CPU after the move?

# %%
training_step(torch.ones(3, 4))
stages["after a step"] = where(layer, optimizer)
stages["after a step"]

# %%
layer.to(device)
stages["after layer.to(device)"] = where(layer, optimizer)
figures.plot_stages(stages, title="The gradients come along, the momentum stays behind")

# %% [markdown]
# The layer knows its parameters and their gradients. It knows nothing of the optimizer, and an
# optimizer is no module: it has no `.to`. So what happens in the next step?

# %%
try:
    training_step(torch.ones(3, 4, device=device))
except RuntimeError as error:
    print(error)

# %% [markdown]
# The message does not say which two tensors, and the line that fails, `optimizer.step()`, names
# none. With the table you know: the step adds the gradient, on `cuda:0`, to the momentum, on the
# CPU.
#
# There are two ways out. Mostly you are free to choose the order, so **move first, and make the
# optimizer after that**. If the optimizer is there and its state is worth something, let it load
# its own state: `load_state_dict` puts each tensor where its parameter is now.

# %%
optimizer.load_state_dict(optimizer.state_dict())
stages["after load_state_dict"] = where(layer, optimizer)
figures.plot_stages(stages, title="Loading puts the momentum where its parameter is")

# %%
training_step(torch.ones(3, 4, device=device))
where(layer, optimizer).devices()

# %% [markdown]
# **Think first:** older pages say that an optimizer made before the move is useless, since the
# parameters are other objects afterwards. You have seen that they are the same objects. So will it
# work to make an optimizer, move the network, and then take the *first* step?

# %%
layer = nn.Linear(4, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5, momentum=0.5)
layer.to(device)
training_step(torch.ones(3, 4, device=device))
where(layer, optimizer).devices()

# %% [markdown]
# It works: before its first step the optimizer has no state that could stay behind. Still, make it
# after the move, and you need not think about it.
#
# ### What a network takes in training
#
# Adam keeps two tensors for each parameter, and counts its steps. Look for the rows that do not say
# `cuda:0`.

# %%
adam = torch.optim.Adam(layer.parameters())
layer(torch.ones(3, 4, device=device)).sum().backward()
adam.step()
where(layer, adam)

# %% [markdown]
# The counters, `step`, stay on the CPU on purpose: the CPU needs them in every step, and on the GPU
# it would have to wait for them. A single number on the CPU is allowed to meet tensors on the GPU,
# as lesson 02 shows.
#
# **Think first:** how many times the bytes of its parameters does LeNet take on the GPU when it is
# trained with Adam?

# %%
net = LeNet().to(device)
adam = torch.optim.Adam(net.parameters())
net(torch.ones(8, 1, 28, 28, device=device)).sum().backward()
adam.step()
in_training = sum(row.bytes for row in where(net, adam).rows)
round(in_training / sum(parameter.nbytes for parameter in net.parameters()), 2)

# %% [markdown]
# Four times: the parameter, its gradient, and Adam's two. The outputs of the layers, which are kept
# for the backward pass, come on top, and they grow with the batch.

# %% [markdown]
# ## Code for any device (7 minutes)
#
# A network that is written well does not mention devices at all. There is one place where it has
# to: where `forward` makes a new tensor.


# %%
class AddPosition(nn.Module):
    def forward(self, x):
        return x + torch.arange(x.shape[-1])


words = torch.zeros(2, 5)
AddPosition()(words)

# %% [markdown]
# **Think first:** on the CPU that works. What will it say to `words.to(device)`? Does it help to
# move the module first?

# %%
try:
    AddPosition().to(device)(words.to(device))
except RuntimeError as error:
    print(error)

# %% [markdown]
# The module has nothing that could be moved. The new tensor is made in each call, on the CPU, by
# default. Let it be made where its companion is:


# %%
class AddPosition(nn.Module):
    def forward(self, x):
        return x + torch.arange(x.shape[-1], device=x.device)


AddPosition()(words.to(device))

# %% [markdown]
# `torch.zeros_like(x)` and `x.new_zeros(...)` do the same in fewer words.
#
# Why not store the device in the module? Many networks do:


# %%
class Remembering(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.device = torch.device("cpu")


remembering = Remembering().to(device)
remembering.device, remembering.linear.weight.device

# %% [markdown]
# Because it goes stale: `.to` moves tensors and knows nothing of your attribute. Ask a tensor, each
# time. That is how a function serves a network wherever it lies:


# %%
from helpers.devices import device_of


def scores_of(net, images):
    with torch.no_grad():
        return net(images.to(device_of(net))).cpu()


# %% [markdown]
# It moves the pictures to the network, and its answer to the CPU, where every caller can use it.
# The same weights on two devices, and one function for both:

# %%
net = LeNet().to(device)
twin = copy.deepcopy(net)
pictures = torch.randn(8, 1, 28, 28)
on_gpu = scores_of(net, pictures)
on_cpu = scores_of(twin.to("cpu"), pictures)
on_gpu.device, device_of(net), device_of(twin), torch.allclose(on_gpu, on_cpu, atol=0.01)

# %% [markdown]
# `deepcopy` copies the tensors where they are, so the twin lies on the GPU until it is moved. On a
# real GPU the scores agree to about two digits after the point, and that is all you may ask: a GPU
# adds in another order than a CPU, and many GPUs round the inputs of convolutions to save time
# (TF32). Never compare the results of two devices with `==`.
#
# If a network is large, making it on the CPU and moving it takes twice the memory and a transfer.
# Make it in place instead. Each layer takes `device=`, or you say it for a block:

# %%
with torch.device(device):
    made_there = LeNet()
device_of(made_there), nn.Linear(2, 1, device=device).weight.device

# %% [markdown]
# ## Saving and loading (8 minutes)
#
# A `state_dict` is a dictionary with the name of every parameter and every buffer, and its tensor.

# %%
net = LeNet().to(device)
state = net.state_dict()
list(state), {str(tensor.device) for tensor in state.values()}

# %%
output.mkdir(parents=True, exist_ok=True)
path = output / "lenet.pt"
torch.save(state, path)

# %% [markdown]
# **Think first:** the file is on a disk, not on a GPU. When it is loaded, where will the tensors
# lie?

# %%
loaded = torch.load(path)
{str(tensor.device) for tensor in loaded.values()}

# %% [markdown]
# The file notes for each tensor which device it came from, and `torch.load` puts it back there. On
# a machine that has no such device, this is an error, which you have met in [lesson
# 02](02_device_mismatch_errors.ipynb). `map_location` says where the tensors are to go instead:


# %%
def devices_after_loading(map_location):
    state = torch.load(path, map_location=map_location)
    return {str(tensor.device) for tensor in state.values()}


devices_after_loading("cpu"), devices_after_loading(device), devices_after_loading("meta")

# %% [markdown]
# | `map_location` | the tensors go |
# |---|---|
# | not given | where they came from; an error if that is not there |
# | `"cpu"` | to the CPU: works on every machine |
# | `device` | to the device |
# | `{"cuda:1": "cuda:0"}` | those from GPU 1 to GPU 0, the others where they came from |
#
# So far these are tensors in a dictionary. `load_state_dict` brings them into a network.
#
# **Think first:** `loaded` lies on the GPU. A new network is made on the CPU and loads it. Where
# does the network lie?

# %%
reloaded = LeNet()
reloaded.load_state_dict(loaded)
reloaded.out.bias.device, torch.equal(reloaded.out.bias, loaded["out.bias"].cpu())

# %% [markdown]
# On the CPU, with the right values. `load_state_dict` copies *values into* the parameters that are
# there, wherever they are, so `map_location` never decides where the network lies. `.to` does.
#
# It also means that loading needs the memory twice, once for the file's tensors and once for the
# network's. The way around it: make the network on `meta`, where tensors have no numbers, and let
# it *take over* the tensors that were loaded.

# %%
with torch.device("meta"):
    hollow = LeNet()
at_first = hollow.out.bias.device
hollow.load_state_dict(torch.load(path, map_location=device), assign=True)
at_first, hollow.out.bias.device

# %% [markdown]
# With `assign=True` it is the loaded tensors that become the parameters, so here, and only here,
# `map_location` decides where the network lies.
#
# ### A state is no snapshot
#
# You want to keep the best network so far. **Think first:** does `best` hold the weights from
# before the change?

# %%
best = net.state_dict()
with torch.no_grad():
    net.out.bias += 1
torch.equal(best["out.bias"], net.out.bias)

# %% [markdown]
# No, it has changed along with the network. The tensors in a `state_dict` *are* the network's
# tensors. And `{name: tensor.cpu() for ...}` saves you only while the network is on a GPU: on the
# CPU, `.cpu()` returns the very same tensor, as you know from lesson 01. A copy that is one on
# every machine:

# %%
best = copy.deepcopy(net.state_dict())
with torch.no_grad():
    net.out.bias += 1
torch.equal(best["out.bias"], net.out.bias)

# %% [markdown]
# A checkpoint to go on from has the optimizer's state in it as well; [lesson
# 04](04_cifar10_on_gpu.ipynb) writes one. Load it with `map_location="cpu"`: the optimizer puts its
# tensors where the parameters are, as you have seen.

# %% [markdown]
# ## Summary
#
# - A module has no device. Its tensors have, and `where(net)` lists them.
# - `net.to(device)` changes the network it is called on and keeps its `Parameter` objects.
#   `x.to(device)` changes nothing: assign the result.
# - Parameters, gradients and registered buffers come along. Tensors in plain attributes, layers in
#   Python lists and the optimizer's state stay behind.
# - Move first, then make the optimizer. For one that has taken steps:
#   `optimizer.load_state_dict(optimizer.state_dict())`.
# - In `forward`, make tensors where the input is: `device=x.device`. Ask tensors for their device;
#   store none.
# - Load with `map_location`, and then move the network: loading copies values, not places.
#
# **To try:**
#
# 1. Give `LeNet` a `Standardize` as its first layer and look at its `where` and at its
#    `state_dict()`. What has been added?
# 2. Let two layers share one weight: `first, second = nn.Linear(8, 8), nn.Linear(8, 8)`, then
#    `second.weight = first.weight`. Put both into an `nn.Sequential` and move it. Is it still one
#    weight?
