# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Moving a network
#     promise: >-
#       You learn what moves when a network moves and what does not, and how to write, save and load
#       networks that run on any device.
#     minutes: 55
#     objectives:
#       - list every tensor of a network, with its device
#       - explain why a module moves in place and a tensor does not
#       - make buffers, lists of layers and the optimizer's state move with the network
#       - write a network and a prediction function that run on any device
#       - save a network on one machine and load it on another
#     prerequisites:
#       - "[Lesson 01](01_tensors_and_devices.ipynb): tensors, devices, `.to`"
#       - "[Lesson 02](02_device_mismatch_errors.ipynb): device errors, and how to read them"
#       - "no GPU is needed: without one, the lesson uses a simulated GPU"
#     credits:
#       - >-
#         The network follows LeNet-5: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner,
#         *Gradient-based learning applied to document recognition*,
#         [doi 10.1109/5.726791](https://doi.org/10.1109/5.726791), 1998.
#       - >-
#         A module keeps its `Parameter` objects when it moves, although older documentation said
#         otherwise: [PyTorch issue 7844](https://github.com/pytorch/pytorch/issues/7844).
# ---

# %%
import copy
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from helpers import lesson
from helpers.plots import devices as figures

# %% tags=["parameters"]
seed: int = 0  # seed of the random numbers
output: str = "output"  # folder for the saved network

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True)
output = Path(output)

# %% [markdown]
# **Two lines look alike: `net.to(device)` moves a network, and `x.to(device)` leaves `x` where it
# is. Why? And what stays behind when a network moves, so that its next training step fails?**
#
# Without a GPU, `device` is a simulated GPU. This lesson measures no times.
#
# ## A module has no device (6 minutes)
#
# Here is a network for images of digits with 28 by 28 pixels and one channel. It has two
# convolutions and three linear layers, like the network that read digits on bank checks in the
# 1990s.


# %%
class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=5)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.fc1 = nn.Linear(16 * 4 * 4, 120)  # 16 channels of 4 by 4 pixels are left
        self.fc2 = nn.Linear(120, 84)
        self.out = nn.Linear(84, 10)

    def forward(self, images):
        x = F.max_pool2d(F.relu(self.conv1(images)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(start_dim=1)))
        return self.out(F.relu(self.fc2(x)))


# %% [markdown]
# **Think first:** a tensor `x` has an attribute `x.device`. What is `net.device`?
#
# <details><summary>Answer</summary>
#
# There is no such attribute. A module is a Python object in the CPU's memory. Its *tensors* have
# devices, and they could even be on different ones.
#
# </details>

# %%
net = LeNet()
try:
    net.device
except AttributeError as error:
    print(error)

# %% [markdown]
# So list the tensors. These are the parameters:


# %%
def list_parameters(net):
    for name, parameter in net.named_parameters():
        print(f"{name:12}  {tuple(parameter.shape)!s:15}  {parameter.device}")


list_parameters(net)

# %% [markdown]
# The name is the path to the tensor: `net.conv1.weight` contains six filters of one channel, 5 by 5
# each. All parameters were created on the CPU, the default. Pooling and ReLU are not in the list:
# they have no parameters, so there is nothing to move.
#
# From here on, `where` from `helpers.devices` does the listing. It also accepts tensors and
# optimizers, shows sizes, and lists buffers, gradients and an optimizer's state, which come below.

# %%
from helpers.devices import where

before = where(net)
before

# %% [markdown]
# ## Modules move in place, tensors do not (9 minutes)
#
# For a tensor, `x.to(device)` on a line of its own is wasted work: it makes a copy, which is
# discarded because no variable keeps it.
#
# **Think first:** is `net.to(device)`, without an assignment, the same mistake?
#
# <details><summary>Answer</summary>
#
# No. The network itself moves. For each parameter, `.to` replaces the *data*, as
# `parameter.data = parameter.data.to(device)` would, and keeps the `Parameter` object. Then it
# returns the same network, so that you can write `net = LeNet().to(device)`.
#
# A module can move in place because it is a container: it replaces the data inside it. A tensor
# refers to numbers in one memory, and other variables and views may use the same numbers. So `x.to`
# leaves `x` as it is and returns another tensor.
#
# </details>

# %%
weight = net.conv1.weight
net.to(device)
list_parameters(net)

# %% [markdown]
# The variable `weight` still refers to the parameter, and it has moved too:

# %%
weight.device

# %%
after = where(net)
figures.plot_stages(
    {"net = LeNet()": before, "net.to(device)": after},
    title="The names stay the same, and the tensors have moved",
)

# %% [markdown]
# Keeping the `Parameter` objects matters because other objects refer to the same parameters: the
# optimizer that you created from `net.parameters()`, or two layers that share a weight. After the
# move, they still refer to the network's parameters.
#
# ### `net.cuda()` and `net.cpu()`
#
# `net.cpu()` is short for `net.to("cpu")`, and `net.cuda()` for `net.to("cuda")`. Both move the
# network in place.

# %%
net.cpu()
on_cpu = net.out.weight.device
net.cuda()
on_cpu, net.out.weight.device

# %% [markdown]
# On a machine without a GPU, `net.cuda()` raises an error. `net.to(device)` works everywhere if you
# choose `device` once, at the top of your program, for example with `try_gpu()` from
# [lesson 01](01_tensors_and_devices.ipynb).
#
# ### The batch does not move with the network
#
# **The rule: the data and the network must be on the same device.**
#
# **Think first:** here is a batch of eight images on the CPU. Which of the three lines in the `try`
# block fails?
#
# <details><summary>Answer</summary>
#
# `net(images)`. The line `images.to(device)` runs without an error, but no variable keeps its
# result, so the batch is still on the CPU.
#
# </details>

# %%
images = torch.ones(8, 1, 28, 28)
try:
    net.to(device)
    images.to(device)
    net(images)
except RuntimeError as error:
    print(error)

# %%
images = images.to(device)
scores = net(images)
scores.shape, scores.device

# %% [markdown]
# Remember: **a module moves in place; for a tensor, assign the result.** `net = net.to(device)` is
# right too, so you can write the same for both.
#
# ### Half a network
#
# A layer is a module and can be moved alone. Then the network is on two devices:

# %%
net.out.to("cpu")
next(net.parameters()).device, net.out.weight.device

# %% [markdown]
# To find the device of a network, people often use its first parameter. Here that is wrong for the
# last layer. `device_of` from `helpers.devices` checks all tensors of the network:

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
# ## What moves with a network, and what does not (9 minutes)
#
# Batch normalization, a layer that scales each channel, keeps an average of the means that it has
# seen, the *running mean*. Gradient descent does not train it, so it is not a parameter. Does it
# move?

# %%
norm = nn.BatchNorm2d(6).to(device)
where(norm)

# %% [markdown]
# Yes. `running_mean`, `running_var` and `num_batches_tracked` are **buffers**: tensors that belong
# to the module but are not trained. `.to` moves parameters *and* buffers. (It keeps the `Parameter`
# objects, but it replaces each buffer with a new tensor.)
#
# `norm.buffers()` iterates over the buffers, as `norm.parameters()` does over the parameters.
# `named_buffers()` adds their names:

# %%
[name for name, _ in norm.named_buffers()]

# %% [markdown]
# Here is a module of your own. It subtracts a mean from each channel and divides by the channel's
# standard deviation.


# %%
class Standardize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        # One number per channel, for images of shape (N, channels, height, width).
        self.mean = torch.tensor(mean).reshape(-1, 1, 1)
        self.std = torch.tensor(std).reshape(-1, 1, 1)

    def forward(self, images):
        return (images - self.mean) / self.std


# %% [markdown]
# **Think first:** `self.mean` is a tensor in a module. After `.to(device)`, where is it?
#
# <details><summary>Answer</summary>
#
# On the CPU. To the module it is a plain attribute, like a string or an integer. A module moves
# only what is *registered*: parameters, buffers, and modules in its attributes.
#
# </details>

# %%
standardize = Standardize([0.5, 0.5, 0.25], [0.5, 0.25, 0.25]).to(device)
photos = torch.ones(2, 3, 32, 32, device=device)
try:
    standardize(photos)
except RuntimeError as error:
    print(error)
standardize.mean.device

# %% [markdown]
# Register the tensors as buffers (in torch 2.5 and newer, `self.mean = nn.Buffer(...)` does the
# same):


# %%
class Standardize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).reshape(-1, 1, 1))
        self.register_buffer("std", torch.tensor(std).reshape(-1, 1, 1))

    def forward(self, images):
        return (images - self.mean) / self.std


standardize = Standardize([0.5, 0.5, 0.25], [0.5, 0.25, 0.25]).to(device)
standardize(photos)[0, :, 0, 0], standardize.mean.device

# %% [markdown]
# A buffer is saved with the network. If your code computes it again whenever it creates the
# network, register it with `persistent=False`: then it moves, but it is not saved.
#
# If a tensor should be *learned*, make it a parameter: `self.gain = nn.Parameter(torch.ones(3))`.
# The assignment registers it, so that it is moved, saved and trained.
#
# ### Layers in a list


# %%
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]


# %% [markdown]
# **Think first:** how many parameters does `Tower` have?
#
# <details><summary>Answer</summary>
#
# None. A module does not look into a Python list. These layers would not be moved, not be trained,
# and not be saved. `nn.ModuleList` is a list that registers its layers.
#
# </details>

# %%
where(Tower())

# %% [markdown]
# The table is empty: this `Tower` has no tensors. With an `nn.ModuleList`, it has four.


# %%
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])


where(Tower().to(device))

# %% [markdown]
# | what | does `net.to(device)` move it? |
# |---|---|
# | parameters and their gradients | yes |
# | registered buffers | yes |
# | layers in attributes, `nn.Sequential`, `nn.ModuleList`, `nn.ModuleDict` | yes |
# | tensors in plain attributes | no: register a buffer, or an `nn.Parameter` if it is learned |
# | layers in Python lists and dicts | no: use `nn.ModuleList` or `nn.ModuleDict` |
# | tensors in Python lists and dicts | no: `nn.ParameterList` if learned, else `register_buffer` |
# | a loss with class weights | no: it is a module of its own, `loss.to(device)` |
# | the optimizer's state | no: see the next section |
# | batches, labels, hidden states | no: move each one |

# %% [markdown]
# ## Gradients and the optimizer (9 minutes)
#
# Training adds more tensors: a gradient for each parameter, and the optimizer's state. SGD with
# momentum keeps a running sum of the past gradients, one more tensor for each parameter: the
# `momentum_buffer`. A single layer is enough to follow them.

# %%
layer = nn.Linear(4, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5, momentum=0.5)
stages = {"created": where(layer, optimizer)}


def training_step(layer, optimizer, x):
    optimizer.zero_grad()
    layer(x).sum().backward()
    optimizer.step()


# %% [markdown]
# Take one training step on the CPU:

# %%
training_step(layer, optimizer, torch.ones(3, 4))
stages["after a step"] = where(layer, optimizer)
stages["after a step"]

# %% [markdown]
# Now the layer moves.
#
# **Think first:** which of these six tensors will still be on the CPU after `layer.to(device)`?
#
# <details><summary>Answer</summary>
#
# The two momentum buffers. The layer moves its parameters and their gradients. It does not know the
# optimizer, and an optimizer is not a module: it has no `.to`.
#
# </details>

# %%
layer.to(device)
stages["after layer.to(device)"] = where(layer, optimizer)
figures.plot_stages(stages, title="The gradients move, the momentum does not")

# %% [markdown]
# The next step fails:

# %%
try:
    training_step(layer, optimizer, torch.ones(3, 4, device=device))
except RuntimeError as error:
    print(error)

# %% [markdown]
# Neither the message nor the line `optimizer.step()` says which tensors. The figure does: the step
# adds the gradient, on `cuda:0`, to the momentum, on the CPU.
#
# There are two fixes. Usually you can choose the order: **move the network first, and then create
# the optimizer.** If the optimizer already has a state that you need, let it load its own state:
# `load_state_dict` moves each tensor to the device of its parameter. (Adam's step counters are an
# exception: by default, they stay where they are.) Do this before the next step: a
# step that fails may already have changed the state. Here, it has multiplied the momentum by 0.5.

# %%
optimizer.load_state_dict(optimizer.state_dict())
last_stages = {
    "after layer.to(device)": stages["after layer.to(device)"],
    "after load_state_dict": where(layer, optimizer),
}
figures.plot_stages(last_stages, title="load_state_dict moves the momentum to its parameter")

# %% [markdown]
# Now a step works. `.devices()` of a table is the set of its devices:

# %%
training_step(layer, optimizer, torch.ones(3, 4, device=device))
where(layer, optimizer).devices()

# %% [markdown]
# **Think first:** does it work to create an optimizer, move the network, and then take the *first*
# step?
#
# <details><summary>Answer</summary>
#
# Yes, with most optimizers. The parameters are the same objects after the move, and an optimizer
# such as SGD or Adam creates its state in the first step, where the parameters are then. (Adagrad
# creates its state at once.) It is simpler to create the optimizer after the move.
#
# </details>

# %%
layer = nn.Linear(4, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5, momentum=0.5)
layer.to(device)
training_step(layer, optimizer, torch.ones(3, 4, device=device))
where(layer, optimizer).devices()

# %% [markdown]
# ### How much memory training needs
#
# **Think first:** Adam keeps two tensors for each parameter. How much memory do LeNet's parameters,
# their gradients and Adam's state take together, as a multiple of the parameters?
#
# <details><summary>Answer</summary>
#
# Four times: parameters, gradients, and Adam's two tensors. (Adam also counts its steps, in one
# number per parameter tensor. By default that counter stays on the CPU.) The outputs of the layers,
# which the backward pass needs, take additional memory, which grows with the batch size. On a GPU,
# `adam.step()` also needs temporary memory, by default about the size of the parameters.
#
# </details>

# %%
net = LeNet().to(device)
adam = torch.optim.Adam(net.parameters())
net(torch.ones(8, 1, 28, 28, device=device)).sum().backward()
adam.step()
{
    "parameters": sum(parameter.nbytes for parameter in net.parameters()),
    "gradients": sum(parameter.grad.nbytes for parameter in net.parameters()),
    "Adam's state": sum(t.nbytes for state in adam.state.values() for t in state.values()),
}

# %% [markdown]
# ## Device-agnostic code (7 minutes)
#
# *Device-agnostic* code runs on any device. A network of this kind does not name a device. The one
# place that needs care is a new tensor in `forward`. [Lesson 02](02_device_mismatch_errors.ipynb)
# shows the error; the fix is `device=x.device`:


# %%
class AddPosition(nn.Module):
    def forward(self, x):
        return x + torch.arange(x.shape[-1], device=x.device)


words = torch.zeros(2, 5)
AddPosition()(words), AddPosition()(words.to(device))

# %% [markdown]
# `torch.zeros_like(x)` and `x.new_zeros(...)` create a tensor on the device of `x` too.
#
# **Think first:** many networks store their device in an attribute, `self.device`. What does
# `stored.device` say after the move below?
#
# <details><summary>Answer</summary>
#
# `cpu`: it is out of date. `.to` moves tensors and does not update your attribute. Ask a tensor for
# its device when you need it.
#
# </details>


# %%
class StoresDevice(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.device = torch.device("cpu")


stored = StoresDevice().to(device)
stored.device, stored.linear.weight.device

# %% [markdown]
# ### Create a network on the GPU
#
# `LeNet().to(device)` creates the network in the CPU's memory, initializes it there, and copies it.
# On the GPU, this needs no more memory than the network itself. For a very large network, the
# memory of the CPU and the time of the copy can matter; then create it on the GPU. All of torch's
# layers with parameters accept `device=`, and a `with` block sets the default device for everything
# in it. The initial weights then differ for the same seed, because the GPU draws other random
# numbers.

# %%
with torch.device(device):
    created_there = LeNet()
device_of(created_there), nn.Linear(2, 1, device=device).weight.device

# %% [markdown]
# ## Predict on the GPU, and on the CPU (5 minutes)
#
# This function works with a network on any device. It copies the images to the device of the
# network, and returns the scores on the CPU, where every caller can use them. `net.eval()` puts the
# network into evaluation mode, which matters for dropout and batch normalization; call
# `net.train()` before you train again. In a `no_grad` block, torch keeps nothing for gradients.


# %%
def predict(net, images):
    net.eval()
    with torch.no_grad():
        return net(images.to(device_of(net))).cpu()


# %% [markdown]
# Predict on the GPU, move the network back, predict on the CPU, and compare. Both results of
# `predict` are on the CPU. The network is not trained, and the "digits" are random numbers, so the
# classes mean nothing: check only whether the two results agree.

# %%
net = LeNet().to(device)
digits = torch.randn(8, 1, 28, 28)
gpu_scores = predict(net, digits)

net.cpu()
cpu_scores = predict(net, digits)
gpu_scores.argmax(dim=1), cpu_scores.argmax(dim=1)

# %% tags=["nbval-ignore-output"]
(gpu_scores - cpu_scores).abs().max()

# %% [markdown]
# The predictions agree. On a simulated GPU the scores are identical, because the CPU computes them.
# On a real GPU, expect small differences:
#
# - A GPU adds numbers in another order, which changes the last digits of `float32` results.
# - GPUs since the Ampere generation (A100, RTX 30 series) can round the inputs of convolutions to
#   the shorter format TF32, which is faster. PyTorch allows this for convolutions by default;
#   `torch.backends.cudnn.conv.fp32_precision = "ieee"` turns it off (in older code,
#   `allow_tf32 = False`). Older GPUs such as the T4 do not have TF32.
#
# So compare the results of two devices with a tolerance and never with `==`. The tolerance should
# be smaller than the differences that matter: here, scores of different images differ by about
# 0.01, so `torch.allclose(gpu_scores, cpu_scores, rtol=1e-2, atol=1e-3)` accepts the rounding and
# notices a wrong image. The default tolerance of `allclose`, a relative error of 10^-5, is too
# small for TF32.

# %% [markdown]
# ## Saving and loading (10 minutes)
#
# A `state_dict` maps the name of every parameter and persistent buffer to its tensor. Save it, and
# not the network itself: by default (`weights_only=True`), `torch.load` reads tensors and plain
# Python data, and refuses other objects, because loading them could execute code.

# %%
net = LeNet().to(device)
state = net.state_dict()
{name: str(tensor.device) for name, tensor in state.items()}

# %%
output.mkdir(parents=True, exist_ok=True)
path = output / "lenet.pt"
torch.save(state, path)

# %% [markdown]
# **Think first:** the file is on a disk. When you load it, on which device are the tensors?
#
# <details><summary>Answer</summary>
#
# On the device from which they were saved. The file stores the device of each tensor, and
# `torch.load` copies the tensor back there. On a machine without that device, this is an error.
#
# </details>

# %%
{str(tensor.device) for tensor in torch.load(path).values()}

# %% [markdown]
# `map_location` chooses another device:

# %%
loaded = torch.load(path, map_location="cpu")
{str(tensor.device) for tensor in loaded.values()}

# %% [markdown]
# | `map_location` | where the tensors go |
# |---|---|
# | not given | where they came from; an error if that device does not exist |
# | `"cpu"` | to the CPU: works on every machine |
# | `device` | to `device` |
# | `{"cuda:1": "cuda:0"}` | those from GPU 1 to GPU 0, the others where they came from |
#
# **Think first:** a network on the GPU loads a `state_dict` whose tensors are on the CPU. Where is
# the network afterward?
#
# <details><summary>Answer</summary>
#
# Still on the GPU. `load_state_dict` copies the *values* into the parameters, wherever they are.
# `map_location` does not decide where the network is; `.to` does. (The exception is
# `load_state_dict(..., assign=True)`, which makes the loaded tensors the parameters.)
#
# </details>

# %%
reloaded = LeNet().to(device)
reloaded.load_state_dict(loaded)
device_of(reloaded)

# %% [markdown]
# With `map_location="cpu"`, loading needs no extra GPU memory. With `map_location=device`, the GPU
# holds the weights twice, in the network and in the loaded tensors, until you delete these:
# `del loaded`.
#
# ### A `state_dict` is not a copy
#
# You want to keep the best weights so far. The next cell stores `best = net.state_dict()`, and then
# sets a bias to 7.
#
# **Think first:** does `best` keep the old values?
#
# <details><summary>Answer</summary>
#
# No. The tensors in a `state_dict` share their memory with the network, so they change with it.
# `copy.deepcopy` copies them, whatever their device is. (`tensor.cpu()` makes a copy only if the
# tensor is not on the CPU already.)
#
# </details>

# %%
best = net.state_dict()
best_copy = copy.deepcopy(net.state_dict())
with torch.no_grad():
    net.out.bias.fill_(7.0)
best["out.bias"][:3], best_copy["out.bias"][:3]

# %% [markdown]
# ### A checkpoint to continue training
#
# To continue training later, save the optimizer's state too. Load the file onto the CPU:
# `load_state_dict` of the network and of the optimizer copy the tensors to the parameters' device.

# %%
net = LeNet().to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
net(torch.ones(8, 1, 28, 28, device=device)).sum().backward()
optimizer.step()
checkpoint = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1}
torch.save(checkpoint, output / "checkpoint.pt")

# %%
checkpoint = torch.load(output / "checkpoint.pt", map_location="cpu")
net = LeNet().to(device)
net.load_state_dict(checkpoint["net"])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
optimizer.load_state_dict(checkpoint["optimizer"])
checkpoint["epoch"], where(optimizer).devices()

# %% [markdown]
# The order is: create the network, move it, load its weights, create the optimizer, load its state.
# [Lesson 04](04_cifar10_on_gpu.ipynb) does this for a network that you train.

# %% [markdown]
# ## Summary
#
# - `net.to(device)`, `net.cuda()` and `net.cpu()` replace the data inside the network, and keep its
#   parameter objects. For a tensor, `.to` may return another tensor: assign the result.
# - Parameters, gradients and registered buffers move. Tensors in plain attributes, layers in Python
#   lists and the optimizer's state stay behind.
# - The data and the network must be on the same device.
# - A module has no device; its tensors do, and `where(net)` lists them.
# - Move the network first, and then create the optimizer.
# - In `forward`, create tensors with `device=x.device`. Do not store a device in a module.
# - Load with `map_location="cpu"`; `load_state_dict` copies the values to where the network is.
#
# **To try:**
#
# 1. Add `self.standardize = Standardize([0.5], [0.5])` to `__init__` of `LeNet`, and use it at the
#    start of `forward`. Look at `where(net)` and at `net.state_dict()`. What is new?
# 2. Let two layers share one weight: `first, second = nn.Linear(8, 8), nn.Linear(8, 8)`, then
#    `second.weight = first.weight`. Put both into an `nn.Sequential` and move it. What is
#    `first.weight is second.weight`?
#
# <details><summary>Answers</summary>
#
# 1. The buffers `standardize.mean` and `standardize.std`, on the device of the network, and in the
#    `state_dict` too.
# 2. `True`: the move keeps the `Parameter` object, so it is still one weight. `where` lists it
#    once.
#
# </details>
