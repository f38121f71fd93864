"""Lab 04, exercise 1: the classic script, on the GPU if there is one."""

import torch
from torch.nn import functional as F

from helpers.checks.plain import are_close, format_gpu_count
from helpers.networks import ClassicNet
from simulated_cuda import visible_devices

answers = "train_classic(net, batches)"
points = 3
success = "Three edits, and the same training runs on the GPU."
section = "Three edits"


def cases(draw):
    sizes = [4] * draw.randint(2, 4) + [draw.randint(1, 3)]
    batches = [(draw.normal(n, 3, 32, 32), draw.integers(0, 10, (n,))) for n in sizes]
    case = {"batches": batches, "seed": draw.randrange(2**31)}
    yield from ({**case, "gpus": n, "machine": format_gpu_count(n)} for n in (1, 0))


def build(case):
    torch.manual_seed(case.seed)
    return ClassicNet(), [(images.make(), labels.make()) for images, labels in case.batches]


def collect(call, case, train_classic):
    (net, batches), calls = build(case), []
    net.register_forward_pre_hook(lambda net, args: calls.append((args[0].device, net.training)))
    with visible_devices(case.gpus):
        facts = call(train_classic, net, batches)
    return facts.add(net=net, devices={str(d) for d, _ in calls}, modes={mode for _, mode in calls})


def train(case):
    net, batches = build(case)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
    return list(net.parameters())


errors = {"needs-a-gpu": lambda f: not f.case.gpus or "ordinal" in f.error.values["error"]}
returns = ("not-the-network", lambda value, case: getattr(value, "name", "") == "ClassicNet")
side_effects = {
    "on-the-cpu": lambda f: f.case.gpus and "cpu" in {*f.value.devices, *f.devices},
    # Reading the loss copies four or eight bytes.
    "copied-back": lambda f: (
        (n := sum(c.bytes for c in f.copies if c.source != "cpu" and c.bytes > 8)) and {"bytes": n}
    ),
    "evaluation-mode": lambda f: False in f.modes,
    # The network that was passed in is trained too, not only a copy of it.
    "different-training": lambda f: (
        not are_close(f.value.weights + f.net.weights, 2 * train(f.case), 2e-3, 2e-5)
        or f.value.weights[0].dtype != torch.float32
    ),
}
hints = """
not-the-network: `train_classic` returns {what}, but it should return the trained network.
    -> What does the given script return? Keep that line.
    see: The classic script, on the CPU
on-the-cpu: There is a GPU, but the network is trained or returned on the CPU.
    -> Which line decides where the computation runs, and what is the value of `device` there?
needs-a-gpu: On a machine with {machine}, `train_classic` raises {error}.
    -> In the function, ask whether this machine has a GPU; it may have no second one. No other line
    should name a device.
copied-back: Your loop copies {bytes} bytes from the GPU back to the CPU.
    -> Where does the loss compare predictions and labels? Which has to move so that it is the GPU?
evaluation-mode: Your function trains the network in evaluation mode.
    -> Three edits are enough, and none of them changes the mode. Which line does?
different-training: The trained weights differ from those that the given script would learn.
    -> Three edits are enough, and none of them changes what is computed. Compare the rest with the
    script: the optimizer, the order of the lines, the number of batches.
    see: The classic script, on the CPU
"""
