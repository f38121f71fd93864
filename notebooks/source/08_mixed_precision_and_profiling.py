# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: Mixed precision and profiling
#     promise: >-
#       You train in 16 bits without losing gradients, and you find what slows a training loop down
#       by reading its profile.
#     minutes: 60
#     objectives:
#       - tell fp32, TF32, fp16, bf16 and fp8 apart by their bits, range and rounding
#       - predict the dtype of an operation under autocast
#       - explain why fp16 needs loss scaling, and write a step with `GradScaler` and clipping
#       - profile a training step, and read its table and its trace
#       - find a synchronization, a slow input pipeline and tiny kernels in a profile
#       - say what `torch.compile` and CUDA graphs do, and when they help
#     prerequisites:
#       - "[Lesson 05](05_when_the_gpu_wins.ipynb): measuring, batch size, parts of a training step"
#       - >-
#         no GPU is needed: precision works on a simulated one, and without a GPU you profile the
#         CPU
#     credits:
#       - >-
#         Loss scaling: Micikevicius et al.,
#         [Mixed Precision Training](https://arxiv.org/abs/1710.03740), 2018.
#       - >-
#         The steps follow PyTorch's
#         [automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html)
#         and its
#         [performance tuning guide](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).
# ---

# %% [markdown]
# ## Set up

# %%
import os

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # hides the profiler's own log

import torch
from torch import nn
from torch.nn import functional as F

import simulated_cuda
from helpers import cifar10, lesson, records, timing
from helpers.loaders import normalize
from helpers.networks import ClassicNet
from helpers.plots import precision as precision_plots
from helpers.plots import profiles as profile_plots
from helpers.plots.devices import plot_timelines
from helpers.plots.speed import plot_groups
from helpers.plots.style import show

# %% tags=["parameters"]
data: str = "auto"  # images: "auto", "cifar10" (real or an error), "synthetic", or a path
device: str = "auto"  # to profile on: "auto", "cpu", "cuda:0", "mps", ...
seed: int = 0  # of every random number
steps: int = 10  # profiled steps of each loop, at least 1
with_compile: bool = False  # also measure torch.compile: it takes up to a minute

# %% tags=["nbval-ignore-output"]
gpu = lesson.start(seed=seed, practice=True)
dataset = cifar10.load(data)
lesson.show_data(dataset)
# A random choice, because a copy of CIFAR-10 may be sorted by class.
chosen = torch.randperm(len(dataset.train[1]), generator=torch.Generator().manual_seed(seed))[:64]
images, labels = (part[chosen] for part in dataset.train)
if type(steps) is not int or steps < 1:
    raise ValueError(f"steps must be an integer of at least 1, not {steps!r}.")

# %% [markdown]
# ## Numbers in 32, 16 and 8 bits (8 minutes)
#
# A floating-point number is a sign, an *exponent* and a *mantissa*: ±1.mantissa · 2^exponent. The
# exponent's bits set how large and how small a number can be; the mantissa's bits set how many
# digits it has. The stored exponent is larger by a *bias*: 127 with 8 bits, 15 with 5 bits. An
# exponent of all zeros is for 0 and for very small numbers. In all but fp8 e4m3, an exponent of all
# ones means infinity or NaN.

# %%
formats = {  # exponent bits, mantissa bits
    "fp32": (8, 23),
    "TF32": (8, 10),
    "bf16": (8, 7),
    "fp16": (5, 10),
    "fp8 e5m2": (5, 2),
    "fp8 e4m3": (4, 3),
}
show(
    precision_plots.draw_bit_fields(formats),
    alt="The bits of six number formats as squares, one row per format: one sign bit, then the "
    "exponent's bits, then the mantissa's bits. bf16 has as many exponent bits as fp32.",
)

# %% [markdown]
# Each has a dtype in PyTorch, except for TF32 (TensorFloat-32). TF32 is not a way to store numbers:
# the tensors stay fp32. For a product, tensor cores round the mantissas to 10 bits, and sum in
# fp32.
#
# **Think first:** which formats cannot hold 70,000? Which can hold 10^-8?
#
# <details><summary>Answer</summary>
#
# The largest stored exponent of fp16 is 30, so the largest power is 2^15, and the largest number is
# 65,504. Both fp8 formats end even earlier. bf16 and TF32 have the exponent of fp32, so they hold
# both numbers, bf16 with about two decimal digits. The smallest normal number of fp16 is 2^-14,
# about 6 · 10^-5, and its smallest subnormal is 6 · 10^-8. In fp16 and fp8, 10^-8 becomes 0.
#
# </details>

# %%
dtypes = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp8 e5m2": torch.float8_e5m2,
    "fp8 e4m3": torch.float8_e4m3fn,
}
print(f"{'':9s} {'largest':>9s} {'smallest normal':>16s} {'1 and the next':>15s}")
for name, dtype in dtypes.items():
    info = torch.finfo(dtype)
    print(f"{name:9s} {info.max:9.3g} {info.smallest_normal:16.3g} {info.eps:15.3g}")

# %% [markdown]
# The last column is the distance from 1 to the next larger number, *machine epsilon*. Now convert
# real tensors. A number between two neighbors is **rounded** to the nearer one, and in a tie to the
# one whose last bit is 0; one that is too large **overflows** to infinity (fp8 e4m3 has none:
# PyTorch 2.14 gives 448); one that is too small **underflows** to 0.

# %%
values = [0.1, 1.001, 70_000.0, 1e-6, 1e-8]
print(f"{'':5s}", *(f"{value:>12g}" for value in values))
for name in ("fp32", "bf16", "fp16"):
    row = torch.tensor(values).to(dtypes[name]).float()
    print(f"{name:5s}", *(f"{value:12.6g}" for value in row.tolist()))

# %% [markdown]
# Look at the bits. `view` reads the same 16 bits as an integer.


# %%
def bits(value, dtype, exponent):
    # int16 is negative if the sign bit is 1: & 0xFFFF keeps the 16 bits as they are.
    pattern = torch.tensor(value, dtype=dtype).view(torch.int16).item() & 0xFFFF
    text = f"{pattern:016b}"
    return f"{text[0]} {text[1 : 1 + exponent]} {text[1 + exponent :]}"


for value in (1.0, 1.001, 70_000.0):
    print(
        f"{value:8g}  bf16 {bits(value, torch.bfloat16, 8)}  fp16 {bits(value, torch.float16, 5)}"
    )

# %% [markdown]
# In fp16, 70,000 has the pattern of infinity: all exponent bits are 1, the mantissa is 0.
#
# Below its smallest normal number, a format has *subnormal* numbers, with ever fewer digits. Those
# of fp16 end at 2^-24, about 6 · 10^-8. A number of at most 2^-25 becomes 0.
#
# **Think first:** a weight of 1 in bf16 gets 100 updates of 0.001. What is it at the end?
#
# <details><summary>Answer</summary>
#
# Still 1. The next larger number in bf16 is 1.0078, so each sum is rounded back to 1. This is why
# mixed precision keeps the weights and their updates in fp32.
#
# </details>

# %%
weight = torch.ones((), dtype=torch.bfloat16)
for _ in range(100):
    weight += 0.001
weight

# %% [markdown]
# TF32 is a setting of products and convolutions on GPUs from the Ampere generation on. By default
# it is off for matrix products and on for convolutions:

# %%
torch.backends.cuda.matmul.fp32_precision, torch.backends.cudnn.conv.fp32_precision

# %% [markdown]
# `"none"` is full fp32 here; `torch.backends.cuda.matmul.fp32_precision = "tf32"` allows TF32 for
# matrix products too. Older programs call `torch.set_float32_matmul_precision("high")`: do not mix
# the two ([PyTorch's
# documentation](https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices)).
#
# ## What the hardware can do (4 minutes)
#
# Fewer bits mean fewer bytes to move, and tensor cores multiply such numbers faster. These are the
# peak values that NVIDIA publishes, without sparsity (which skips zeros) and with sums in fp32;
# nothing here is measured.
#
# | peak, TFLOP/s | T4 (2018) | A100 80 GB SXM (2020) | H100 SXM (2022) | RTX 4090 (2022) |
# |---|---|---|---|---|
# | fp32, without tensor cores | 8.1 | 19.5 | 67 | 82.6 |
# | TF32 | no | 156 | 495 | 82.6 |
# | fp16 | 65 | 312 | 989 | 165 |
# | bf16 | no | 312 | 989 | 165 |
# | fp8 | no | no | 1,979 | 330 |
#
# Sources: NVIDIA's pages and data sheets of the
# [T4](https://www.nvidia.com/en-us/data-center/tesla-t4/),
# [A100](https://www.nvidia.com/en-us/data-center/a100/) and
# [H100](https://www.nvidia.com/en-us/data-center/h100/) (whose page quotes the values of its tensor
# cores with sparsity, twice as high), and Appendix A of its [Ada white
# paper](https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf).
#
# **Think first:** on which of these GPUs do you need fp16, although bf16 has the larger range?
#
# <details><summary>Answer</summary>
#
# On the T4, Colab's free GPU: its tensor cores have no bf16. `torch.cuda.is_bf16_supported()`
# returns True even there, because PyTorch can emulate bf16, slowly; ask
# `torch.cuda.is_bf16_supported(including_emulation=False)`.
#
# </details>
#
# ## Autocast: which operation runs in what (9 minutes)
#
# `torch.autocast` chooses the dtype of each operation. It has three lists:
#
# - **16 bits**: matrix products, convolutions. They cost the most time, and tensor cores sum in
#   fp32.
# - **fp32**: operations that overflow or lose digits easily: `exp`, `log`, `pow`, softmax, vector
#   norms, normalization layers (but not `BatchNorm`), sums, losses.
# - **widest**: a few operations with several inputs, such as `torch.dot`, use the input dtype with
#   the most bits.
#
# Everything else, such as ReLU, `+` or `torch.cat`, runs as without autocast: in the dtype of its
# inputs, and in fp32 if one is fp16 and one fp32.
#
# **Think first:** `x` is fp32, and `h = x @ x` was computed under autocast. Write down the dtypes
# of the results below before you read them.

# %%
x = torch.rand(4, 4, device=gpu)
with torch.autocast("cuda", dtype=torch.float16):
    h = x @ x
    results = {
        "x @ x": h,
        "relu(h)": h.relu(),
        "h + h": h + h,
        "h + x": h + x,
        "softmax(h)": h.softmax(dim=1),
        "h.sum()": h.sum(),
        "h.mean()": h.mean(),
        "exp(h)": h.exp(),
        "layer_norm(h)": F.layer_norm(h, (4,)),
        "mse_loss(h, x)": F.mse_loss(h, x),
        "cat([h, x])": torch.cat([h, x]),
    }
for name, result in results.items():
    print(f"{name:15s} {str(result.dtype).removeprefix('torch.')}")

# %% [markdown]
# `h.sum()` is fp32 and `h.mean()` is not: the lists name operations, not kinds of them. The full
# lists are in [PyTorch's
# documentation](https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference).
#
# Now the classic network. A *hook*, a function that PyTorch calls after a layer, prints dtypes:

# %%
net = ClassicNet().to(gpu)
X, y = normalize(images).to(gpu), labels.to(gpu)
hooks = [
    module.register_forward_hook(lambda module, _, out, name=name: print(f"{name:6s} {out.dtype}"))
    for name, module in net.named_children()
]
with torch.autocast("cuda", dtype=torch.float16):
    loss = F.cross_entropy(net(X), y)
loss.backward()
for hook in hooks:
    hook.remove()
print("loss", loss.dtype, "| weight", net.fc1.weight.dtype, "| gradient", net.fc1.weight.grad.dtype)

# %% [markdown]
# The weights, their gradients and the optimizer stay in fp32. Autocast converts each weight to 16
# bits once per forward pass, and keeps the copies for the backward pass: 2 more bytes per
# parameter. Four rules follow:
#
# - Put the forward pass and the loss into the `with` block, not `backward()`: each operation's
#   backward pass uses the dtype of its forward pass.
# - Do not call `net.half()`. It also rounds the weights.
# - A result that leaves the block may be fp16. Write `.float()` before you add it up.
# - `nn.BCELoss` raises an error under autocast on a GPU; use `nn.BCEWithLogitsLoss`.
#
# ## Gradients that vanish (10 minutes)
#
# How small are gradients? Take two networks: one that is new, and one that has been trained on 64
# images until it classifies all of them correctly. For each, collect the gradients of every layer's
# output, in fp32.

# %%
torch.manual_seed(seed)
fresh, trained = ClassicNet().to(gpu), ClassicNet().to(gpu)
optimizer = torch.optim.Adam(trained.parameters(), lr=0.003)
for _ in range(300):
    optimizer.zero_grad()
    loss = F.cross_entropy(trained(X), y)
    if loss < 0.0001:
        break
    loss.backward()
    optimizer.step()
f"loss of the trained network: ≈ {loss.item():.5f}"


# %%
def output_gradients(net):
    found = []

    def watch(layer, inputs, output):
        output.register_hook(found.append)  # called in backward() with the output's gradient

    layers = (net.conv1, net.conv2, net.fc1, net.fc2, net.fc3)
    hooks = [layer.register_forward_hook(watch) for layer in layers]
    F.cross_entropy(net(X), y).backward()
    for hook in hooks:
        hook.remove()
    return torch.cat([gradient.flatten() for gradient in found])


# %%
sizes = {
    "new network": output_gradients(fresh),
    "trained network": output_gradients(trained),
}
show(
    precision_plots.plot_gradient_sizes(sizes),
    alt="Histograms of the sizes of gradients of a new and of a trained network, as powers of 2, "
    "with the range where fp16 has fewer digits and the range where values become 0.",
)

# %% [markdown]
# The better the network fits its images, the smaller the gradients. Those on the left become 0 in
# fp16, and add nothing to the gradients of the weights. The right side of fp16's range is empty.
#
# **Think first:** how would you move the gradients to the right without changing the training?
#
# <details><summary>Answer</summary>
#
# Multiply the loss by a large number, the *loss scale*. By the chain rule every gradient is
# multiplied by it. Divide the weights' gradients, which are fp32, by it before the optimizer uses
# them.
#
# </details>
#
# How large? The next cell computes the weights' gradients under autocast with different scales, and
# compares them with those in fp32. The scales below 1 show what happens to a small loss. On the
# simulated GPU, all of this is the CPU's 16-bit arithmetic; a GPU adds in another order.


# %%
def weight_gradients(net, scale=1.0, dtype=torch.float32):
    net.zero_grad()
    with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
        loss = F.cross_entropy(net(X), y)
    (loss * scale).backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()]) / scale


def errors(net, powers, dtype):
    exact = weight_gradients(net)
    found = [weight_gradients(net, 2.0**power, dtype) for power in powers]
    return [((gradient - exact).norm() / exact.norm()).item() for gradient in found]


# %%
powers = list(range(-12, 29, 4))
fp16_errors = {
    "new network": errors(fresh, powers, torch.float16),
    "trained network": errors(trained, powers, torch.float16),
}
show(
    precision_plots.plot_scale_errors(fp16_errors, powers),
    alt="The relative error of the weights' gradients in fp16 against the loss scale, for a new "
    "and for a trained network: large on the left, then flat; on the right, gradients overflow.",
)

# %% [markdown]
# Too small a scale loses gradients, too large a one overflows (the dotted line is the first tested
# scale that does). Without a scale (2^0), many values of the trained network become 0, yet the
# error is only a few percent, because a few large values are nearly all of the gradient's norm.
# With a smaller loss, they vanish too: at 2^-4, the error is above 40%.
#
# bf16 has the exponent of fp32, so its error does not depend on the scale. It comes from rounding
# to 7 mantissa bits: 5 to 15% on the CPUs that this lesson was tried on. It does not grow as the
# loss falls:

# %%
bf16_errors = errors(trained, (0, 16), torch.bfloat16)
for scale, error in zip(("2^0", "2^16"), bf16_errors, strict=True):
    print(f"bf16: scale {scale} ≈ {100 * error:.2f} %")

# %% [markdown]
# The right scale changes during training. `GradScaler` looks for it: it starts at 2^16, halves the
# scale after an overflow, and doubles it after 2,000 steps without one. A step with an overflow is
# *skipped*. In the next example, a gradient of 1 is computed in fp16, and the first scale is too
# large for it:

# %%
w = nn.Parameter(torch.ones(1, device=gpu))
optimizer = torch.optim.SGD([w], lr=0.5)
scaler = torch.amp.GradScaler("cuda", init_scale=2.0**20)
for _ in range(6):
    scale, before = scaler.get_scale(), w.item()
    loss = w.half().float().sum()  # its gradient is 1, times the scale, in fp16
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(f"scale {scale:9,.0f}: w from {before} to {w.item()}")

# %% [markdown]
# 65,536 is still too large: fp16 ends at 65,504. Here is a complete training step, with gradient
# *clipping*: gradients whose norm is above a limit are scaled down to it. **Unscale before you
# clip**, or you compare scaled gradients with the limit.

# %%
net = ClassicNet().to(gpu)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")


def training_step(X, y):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(net(X), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # divides the gradients by the scale, in place
    norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    scaler.step(optimizer)  # skips the update if a gradient is inf or nan
    scaler.update()
    return loss.detach(), norm


loss, norm = training_step(X, y)
f"loss ≈ {loss.item():.2f}, norm of the gradient ≈ {norm.item():.2f}, scale {scaler.get_scale():g}"

# %% [markdown]
# With bf16, leave the scaler out. That also saves a wait in each step: unless the optimizer is
# fused, `scaler.step` reads on the CPU whether a gradient overflowed.
#
# ## Profile a training step (8 minutes)
#
# A simulated GPU has no speed of its own, so continue on this machine's real device.

# %% tags=["nbval-ignore-output"]
simulated_cuda.disable()
device = lesson.start(device, seed=seed)

# %% [markdown]
# `torch.profiler` records when each operation starts and ends, and on a GPU every kernel.
# `record_function` names parts of your code.

# %%
from torch.profiler import ProfilerActivity, profile, record_function

activities = [ProfilerActivity.CPU]
if device.type == "cuda":
    activities.append(ProfilerActivity.CUDA)
net = ClassicNet().to(device)
X, y = normalize(images).to(device), labels.to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def step():
    with record_function("forward"):
        loss = F.cross_entropy(net(X), y)
    with record_function("backward"):
        loss.backward()
    with record_function("optimizer"):
        optimizer.step()
        optimizer.zero_grad()


# %%
for _ in range(3):
    step()  # the first steps load libraries and choose algorithms
with profile(activities=activities) as profiler:
    step()
calls = {event.key: event.count for event in profiler.key_averages()}
shown = ("conv2d", "relu", "max_pool2d", "linear", "cross_entropy_loss")
{name: calls[f"aten::{name}"] for name in shown}

# %% [markdown]
# `aten::` is PyTorch's library of operations. These are the calls of one forward pass. In the table
# by time, *self* time excludes the operations that an operation calls:

# %% tags=["nbval-ignore-output"]
print(f"{'calls':>5s} {'self CPU':>9s}  operation")
rows = sorted(profiler.key_averages(), key=lambda event: -event.self_cpu_time_total)
for event in rows[:10]:
    print(f"{event.count:5d} {event.self_cpu_time_total / 1000:6.2f} ms  {event.key}")

# %% [markdown]
# `forward` and `backward` are our names; those that end in `_backward` belong to the backward pass.
# Some are inner operations: `mkldnn_convolution` is a convolution of oneDNN, a library for CPUs;
# `threshold_backward` is the backward pass of ReLU; `addmm` is a linear layer's product plus bias.
# With a GPU, this column still shows the CPU's time: it launches kernels (`cudaLaunchKernel`) and
# waits for them (`cudaStreamSynchronize`).
# `profiler.key_averages().table(sort_by="self_device_time_total")` lists the kernels by their time
# on the GPU. In a long run, `profile(schedule=torch.profiler.schedule(wait=20, warmup=2, active=3,
# repeat=1), with_stack=True)` with `profiler.step()` after each step records three steps with their
# lines. (Without `repeat=1`, the next cycle deletes them.)
#
# A table cannot show gaps. A *trace* can: `profiler.export_chrome_trace("trace.json")` writes a
# file for [Perfetto](https://ui.perfetto.dev). `spans_of` reads that file, so that you can draw it
# here.

# %%
from helpers.traces import spans_of

show(
    profile_plots.draw_timeline(spans_of(profiler)),
    alt="A trace of one training step: a row with its parts forward, backward and optimizer, below "
    "it a row with the operations on the CPU, and on a GPU a row with its kernels.",
)

# %% [markdown]
# On a GPU there is a third row. In its gaps, the GPU waits for the CPU. The *utilization* is the
# fraction of time a kernel runs. A modelled timeline shows when gaps appear: twelve ReLUs on a T4,
# of few numbers and of many.


# %%
def twelve_relus(x):
    for _ in range(12):
        x = torch.relu(x)
    torch.cuda.synchronize()


programs = {}
for count in (1_000, 5_000_000):
    numbers = torch.empty(count, device="meta")
    programs[f"{count:,} numbers"] = simulated_cuda.estimate(twelve_relus, numbers, gpu="T4")
plot_timelines(programs, title="Modelled: kernels that are shorter than a launch leave gaps")

# %% [markdown]
# Kernels shorter than a launch leave the GPU idle; a faster GPU won't help. `nvidia-smi` shows the
# utilization as *GPU-Util*, averaged over up to a second. It shows neither gaps nor how much of the
# GPU a kernel uses. `nvidia-smi -q -d PERFORMANCE` says whether heat or power slows the GPU down.
#
# ## Three slow loops (9 minutes)
#
# `helpers/slow_loops.py` has three training loops, each with one mistake. Do not open it yet: find
# the mistakes in the profiles. On a CPU, one of the mistakes costs no time, so read the counts too.
# On a GPU, a name such as `forward` has two rows, its time on the CPU and on the GPU;
# `cpu_averages` keeps the first.

# %%
from helpers.slow_loops import loop_a, loop_b, loop_c
from helpers.traces import cpu_averages

loops = {"loop A": loop_a, "loop B": loop_b, "loop C": loop_c}
profiles = {}
for name, loop in loops.items():
    loop(images, labels, device, 2)
    with profile(activities=activities) as profiler:
        loop(images, labels, device, steps)
    profiles[name] = cpu_averages(profiler)

# %%
parts = ("data", "forward", "backward", "optimizer", "log")
show(
    profile_plots.plot_loop_parts(
        {
            name: {part: found[part].cpu_time_total / 1000 / steps for part in parts}
            for name, found in profiles.items()
        }
    ),
    alt="The time per step of three loops as stacked bars of data, forward, backward, optimizer "
    "and log.",
)

# %%
names = ("aten::conv2d", "aten::cross_entropy_loss", "aten::_local_scalar_dense")
for loop, found in profiles.items():
    print(loop)
    for name in names:
        print(f"  {found[name].count // steps if name in found else 0:3d} per step  {name}")
    operations = sum(event.count for key, event in found.items() if key.startswith("aten::"))
    print(f"  ≈ {operations // steps} operations per step in all")

# %% [markdown]
# `aten::_local_scalar_dense` copies one number from the device to Python: it is what `.item()`
# calls. The number of all operations includes those that other operations call.
#
# **Think first:** what is wrong in each loop, and what would you change? Then open the file.
#
# <details><summary>Answer: loop A</summary>
#
# A synchronization: two `.item()` per step. Each waits until the GPU has finished everything in its
# queue; then the GPU waits for the next launch. On a GPU, "log" therefore looks long, although the
# work that it waits for is forward and backward. On a CPU this costs nothing: the bar "log" is
# short, and only the *count* shows the mistake. Add up the tensors on the device, as loops B and C
# do, and call `.item()` once per epoch. In a program of your own, `print`, `if` and indexing can
# wait too: `torch.cuda.set_sync_debug_mode("warn")` names the lines
# ([lesson 01](01_tensors_and_devices.ipynb)).
#
# </details>
#
# <details><summary>Answer: loop B</summary>
#
# A slow input pipeline: "data" is a large part of the step, and the operation counts do not explain
# it. The file shows why: images are rotated one by one on the CPU, outside PyTorch. Augment whole
# batches on the device, prepare images in worker processes, or choose a cheaper augmentation
# ([lesson 05](05_when_the_gpu_wins.ipynb)).
#
# </details>
#
# <details><summary>Answer: loop C</summary>
#
# Tiny kernels: the loop weights the loss of each image, with 64 calls of the loss per step and many
# times the operations of the other loops, in forward and backward.
# `F.cross_entropy(scores, targets, reduction="none")` returns all 64 losses in one call; multiply
# them by the weights and take the mean.
#
# </details>
#
# ## Two steps on a real GPU (3 minutes)
#
# The developers of PyTorch's profiler published these traces of ResNet-50 in 2020, without the name
# of the GPU. (The traces name the loader and the optimizer; *forward* and *backward* are the time
# between them. The black area in the middle is `zero_grad`.)
#
# **Think first:** what limits step A? What was changed in step B, and what limits it now?

# %%
from helpers.traces import Span

for name, trace in records.published("traces")["steps"].items():
    print(name)
    spans = [Span(row, *span) for row, spans_of_row in trace.items() for span in spans_of_row]
    show(
        profile_plots.draw_timeline(spans),
        alt="A published trace of one step: its parts, the operations on the CPU, the kernels.",
    )

# %% [markdown]
# <details><summary>Answer</summary>
#
# **A: data.** For 50 ms the program prepares images, and the GPU has nothing to do. **B** has four
# workers and does not wait for images: 174 instead of 211 ms. Now **launches** are the limit. In
# the forward pass, the CPU is always busy and the GPU 39% of the time; `zero_grad` launches a
# kernel for each gradient, 13 ms in which the GPU is idle. (Today it sets gradients to `None`.) In
# backward, the kernels are long enough. A larger batch, `fused=True` or `torch.compile` would help.
# Part of the CPU's time is the profiler's own.
#
# </details>
#
# ## Fewer launches: `torch.compile` and CUDA graphs (7 minutes)
#
# **`torch.compile` writes new kernels.** It follows your Python code, collects the operations into
# a *graph*, and generates kernels that do several of them at once (*fusion*). Here is the
# activation function GELU, written by hand:


# %%
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))


kernels = ("mul", "add", "pow", "tanh")
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    gelu(torch.rand(1000, device=device))
counts = {event.key: event.count for event in profiler.key_averages()}
{name: counts[f"aten::{name}"] for name in kernels}

# %% [markdown]
# Eight kernels, and each reads its input from memory and writes its result. A fused kernel reads
# `x` once and writes the result once. Modelled for 10 million numbers on a T4:

# %%
large = torch.zeros(10_000_000)
for name, function in (("by hand", gelu), ("one kernel", lambda x: F.gelu(x, approximate="tanh"))):
    cost = simulated_cuda.estimate(function, large, gpu="T4")
    print(f"{name:10s} {len(cost.kernels)} kernels, {1e3 * cost.gpu_seconds:.2f} ms, modelled")

# %% [markdown]
# The compiler has two parts. The first follows the Python code and needs no C compiler; with
# `backend="eager"`, the graphs then run with PyTorch's own kernels. So you can see on any machine
# what `torch.compile` would make of your code. Where it cannot follow, the graph *breaks*: the
# function is compiled in pieces, and Python runs in between.
#
# **Think first:** which line of `rectified` breaks the graph?
#
# <details><summary>Answer</summary>
#
# The `if`: Python needs the number before it can go on, which also makes the CPU wait for a GPU.
# Write `torch.where(x.sum() > 0, 2 * x, x)`.
#
# </details>


# %%
def rectified(x):
    x = torch.relu(x)
    if x.sum() > 0:
        x = 2 * x
    return x + 1


explained = torch._dynamo.explain(rectified)(torch.rand(8))
print(f"{explained.graph_count} graphs, {explained.graph_break_count} break")
print("breaks at:", explained.break_reasons[0].user_stack[-1].line)

# %% [markdown]
# Each graph has *guards*: what must hold for it to be used again, such as shapes, dtypes and Python
# values. If one fails, the function is compiled again. A size that changes is compiled a second
# time for all sizes (*dynamic shapes*):

# %%
from torch._dynamo.utils import counters

torch._dynamo.reset()
counters.clear()
compiled = torch.compile(lambda x, factor: factor * x.relu(), backend="eager")
for rows, factor in ((8, 2.0), (8, 2.0), (16, 2.0), (32, 2.0), (32, 3)):
    compiled(torch.rand(rows, 4), factor)
    graphs = counters["stats"]["unique_graphs"]
    print(f"{rows:2d} rows, factor {factor!r}: compiled {graphs} times so far")

# %% [markdown]
# In your own program, `TORCH_LOGS="graph_breaks,recompiles" python train.py` prints each of these
# with its line. `torch.compile(..., fullgraph=True)` makes a break an error.
#
# **CUDA graphs keep the kernels** and launch all of them with one call. The program records the
# launches of a step once (*capture*) and *replays* them: the same kernels, on the same memory
# addresses. So shapes must not change, and there must be no `.item()` inside. `torch.compile(net,
# mode="reduce-overhead")` does both.
#
# **When they should help:** where launches or memory traffic take the time, as with small batches
# and many element-wise operations. Large products gain little. Both cost time at the start.

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    ways = {"eager": lambda: net(X)}
    if device.type == "cuda":
        graphed = torch.cuda.make_graphed_callables(ClassicNet().to(device).eval(), (X,))
        ways["CUDA graph"] = lambda: graphed(X)
    if with_compile:
        compiled = torch.compile(net)
        ways["torch.compile"] = lambda: compiled(X)
    if len(ways) > 1:
        print(timing.compare(ways, device, rounds=5, seconds=0.3))
    else:
        lesson.box("Nothing to compare here.", "CUDA graphs need a GPU, and with_compile is False.")

# %% [markdown]
# Published figures, not measured here. `torch.compile`: over 163 models, training on an A100 was on
# average 21% faster in fp32 and 51% faster with mixed precision ([PyTorch
# 2.0](https://pytorch.org/get-started/pytorch-2.0/), 2023). CUDA graphs: in runs on many GPUs for
# the benchmark MLPerf, Mask R-CNN was 1.7 times as fast, and BERT 1.12 times as fast ([PyTorch
# blog](https://pytorch.org/blog/accelerating-pytorch-with-cuda-graphs/), 2021). A language model on
# 8 H100s ([torchtitan](https://github.com/pytorch/torchtitan/blob/main/docs/performance.md), Llama
# 3.1 8B, published):
#
# | training with FSDP | tokens per second and GPU |
# |---|---|
# | bf16 | 5,762 |
# | bf16, `torch.compile` | 6,667 |
# | fp8 in linear layers, `torch.compile` | 8,532 |
#
# fp8 needs a scale for each tensor, because its range is so small; libraries such as torchao choose
# it from the largest value.
#
# ## How much faster is a whole step? (2 minutes)
#
# Tensor cores speed up the products only. If products take a fraction of the step and become
# `factor` times as fast, *Amdahl's law* gives the speed-up of the whole step: 1 / (1 - fraction +
# fraction / factor). At peak, the factor is 2 from TF32 to bf16 on an A100, 8 from fp32 to fp16 on
# a T4, and 16 from fp32 to bf16 on an A100.

# %%
print("products faster by    2    8   16")
for fraction in (0.2, 0.5, 0.9):
    gains = [1 / (1 - fraction + fraction / factor) for factor in (2, 8, 16)]
    print(f"products take {fraction:.0%}:", *(f"{gain:.2f}" for gain in gains))

# %% [markdown]
# That is a model. Lambda published measurements of whole training runs on one GPU. (There, fp32
# uses TF32 on the A100 and the H100, and the batch in fp16 is up to twice as large.)

# %%
found = records.published("training_throughput")
fp32, fp16 = (found["per_second"][precision] for precision in ("fp32", "fp16"))
gains = {
    gpu: {name: fp16[name][gpu]["1"] / fp32[name][gpu]["1"] for name in fp16}
    for gpu in ("V100", "A100", "H100")
}
show(
    plot_groups(
        gains,
        "samples per second, fp16 / fp32",
        title="fp16 trains 2.2 to 4.8 times as fast as fp32, and 1.4 to 2.1 times as fast as TF32",
        source=f"V100 16 GB, A100 80 GB and H100 80 GB, {found['source']}",
    ),
    alt="Published by Lambda: the training speed of six networks in fp16, relative to fp32, on one "
    "V100, A100 and H100. The gain is largest on the V100, which has no TF32, and for BERT.",
)

# %% [markdown]
# Does the network still learn as well? The paper on [mixed precision
# training](https://arxiv.org/abs/1710.03740) reports the same accuracy as training in fp32,
# for networks that classify images, detect objects, and process speech and text.
#
# Profile first: mixed precision makes small batches slower if launches take the time ([lesson
# 05](05_when_the_gpu_wins.ipynb)).

# %% tags=["nbval-ignore-output"]
lesson.report(
    fp16_error_without_scale=round(fp16_errors["trained network"][powers.index(0)], 4),
    fp16_error_best_scale=round(min(fp16_errors["trained network"]), 4),
    bf16_error=round(bf16_errors[0], 4),
)

# %% [markdown]
# ## Summary
#
# - The exponent's bits set the range, the mantissa's bits the digits. bf16 has the range of fp32;
#   fp16 has more digits, but ends at 65,504.
# - Autocast runs products in 16 bits and sensitive operations in fp32. Weights, their gradients
#   and the optimizer stay in fp32.
# - fp16 needs `GradScaler`; unscale before clipping. bf16 needs no scaler.
# - In a profile, read counts and gaps as well as times: a synchronization shows where the program
#   waits, not where the work is.
# - Tiny kernels are limited by launches: compute at once, fuse, or replay a graph. Graph breaks and
#   recompilations are visible without a compiler.
#
# **To try:** in the cell that loads the images, replace `[:64]` with `[:512]`, and run the notebook
# up to the histograms. In which direction does the histogram of the new network move, and why?
#
# <details><summary>Answer</summary>
#
# To the left by about 3, because the loss is a mean: each image's gradient is divided by 512
# instead of 64, which is 2^3 times as much.
#
# </details>
