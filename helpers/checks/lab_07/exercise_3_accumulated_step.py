"""Lab 07, exercise 3: one step with the whole batch's gradient, part by part."""

import weakref

import torch
from torch import nn, optim
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F

from helpers.checks.exercise import otherwise

answers = "accumulated_step(net, optimizer, X, y, size)"
points = 3
success = "The step equals that of the whole batch, and only one part is in memory at a time."
section = "2. Gradient accumulation"


class Part:
    """A marker for one forward pass; it exists while autograd keeps an activation of that pass."""


class CountingNet(nn.Module):
    """A network that records batch sizes, modes, and how many examples' activations are kept."""

    def __init__(self, net):
        super().__init__()
        self.net, self.batches, self.modes = net, [], set()
        self.kept = self.max_kept = 0

    def forward(self, X):
        """Map `(N, 6)` to `(N, 4)`."""
        self.batches.append(len(X))
        self.modes.add(self.training)
        part = Part()
        self.keep(len(X))
        weakref.finalize(part, self.keep, -len(X))
        with saved_tensors_hooks(lambda tensor: (part, tensor.detach()), lambda pair: pair[1]):
            return self.net(X)

    def keep(self, count):
        self.kept += count
        self.max_kept = max(self.max_kept, self.kept)


class CountingSGD(optim.SGD):
    """An optimizer that counts its steps."""

    steps = 0

    def step(self, closure=None):
        """Take one step."""
        self.steps += 1
        return super().step(closure)


def cases(draw):
    for count, size in ((12, 3), (16, 16), (10, 4), (7, 3)):
        X, y = draw.normal(count, 6).values, draw.integers(0, 4, (count,)).values
        case = {"X": X, "y": y, "count": count, "size": size, "device": draw.device}
        yield {**case, "seed": draw.randrange(2**31)}


def build(case):
    torch.manual_seed(case.seed)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))


def collect(call, case, accumulated_step):
    net = CountingNet(build(case).to(case.device))
    optimizer = CountingSGD(net.parameters(), lr=0.5)
    for parameter in net.parameters():  # left over from an earlier step
        parameter.grad = torch.randn_like(parameter)
    arguments = net, optimizer, case.X.to(case.device), case.y.to(case.device), case.size
    facts = call(accumulated_step, *arguments)
    facts.add(net=net, steps=optimizer.steps, examples=sum(net.batches), modes=net.modes)
    return facts.add(largest=max(net.batches, default=0), kept=net.max_kept)


def right(case):
    net = build(case)
    F.cross_entropy(net(case.X), case.y).backward()
    return [parameter.grad for parameter in net.parameters()]


def outcome(f):
    """Return the gradients of the step."""
    start = build(f.case).parameters()
    return [(old - new) / 0.5 for old, new in zip(start, f.net.weights, strict=True)]


def scale(f):
    """Return the factor if the gradients are a multiple of the right ones."""
    if f.case.count % f.case.size:
        return None
    ratios = [(a * b).sum() / (b * b).sum() for a, b in zip(f.outcome, f.right, strict=True)]
    factor = sum(ratios) / len(ratios)
    is_multiple = all(abs(ratio - factor) < 0.02 * abs(factor) for ratio in ratios)
    return is_multiple and {"scale": f"{factor:.2f}", "parts": f.case.count // f.case.size}


tolerance = 1e-2
side_effects = {
    "too-large": lambda f: f.largest > f.case.size and {"found": f.largest},
    "all-activations-kept": lambda f: f.kept > f.case.size and {"found": f.kept},
    "no-step": lambda f: f.steps == 0,
    "many-steps": lambda f: f.steps > 1 and {"found": f.steps},
    "evaluation-mode": lambda f: False in {*f.modes, *f.net.modes.values()},
    "not-all": lambda f: f.examples != f.case.count and {"found": f.examples},
}
mistakes = {
    "wrong-scale": scale,
    "uneven": lambda f: f.case.count % f.case.size,
    "different-gradient": otherwise,
}
hints = """
too-large: The network got {found} examples at once, but no more than {size} fit.
    -> Which parts of the batch do you pass to `net`?
all-activations-kept: The activations of {found} examples were kept at once, but only those of
    {size} fit.
    -> Which call frees the activations of a part? When does it run?
no-step: `optimizer.step()` was not called.
    -> After all parts, take one step.
many-steps: The optimizer took {found} steps, but it should take one with the gradients of the whole
    batch.
    -> Which line is inside the loop and should be after it?
not-all: The batch has {count} examples, but the network got {found}.
    -> Print the lengths of your parts. Is each example in exactly one of them?
wrong-scale: With {parts} parts, the gradients are {scale} times those of the whole batch.
    -> `cross_entropy` is a mean over its part. What turns the sum of these means into the mean of
    all?
uneven: The gradients are right if all parts have the same size, but not if the last one is smaller.
    -> How much should a part with one example count, compared with a part with four?
different-gradient: The step does not match the whole batch's gradient.
    -> Which gradients exist before your first `backward`, and are any of yours lost?
"""
