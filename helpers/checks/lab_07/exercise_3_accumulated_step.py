"""Lab 07, exercise 3: one step with the whole batch's gradient, part by part."""

import weakref
from itertools import accumulate

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector

answers = "accumulated_step(net, optimizer, X, y, size)"
points = 3
success = "The step equals that of the whole batch, and only one part is in memory at a time."
section = "2. Gradient accumulation"
tolerance = 1e-2


def cases(draw):
    for count, size in ((12, 3), (16, 16), (10, 4), (7, 3)):
        X, y = draw.normal(count, 6, device=draw.device), draw.integers(0, 4, (count,), draw.device)
        case = {"X": X, "y": y, "count": count, "size": size, "seed": draw.randrange(2**31)}
        yield {**case, "parts": count // size, "scale": count // size}


def build(case):
    torch.manual_seed(case.seed)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))


def collect(call, case, accumulated_step):
    net, kept, modes, steps = build(case).to(case.X.device), [], set(), []

    def record(layer, inputs, output):
        modes.add(layer.training)
        kept.append(len(output))
        # autograd keeps the storage of the activations, not the tensor.
        weakref.finalize(output.untyped_storage(), kept.append, -len(output))

    net[1].register_forward_hook(record)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    optimizer.register_step_post_hook(lambda *_: steps.append(1))
    for parameter in net.parameters():  # left over from an earlier step
        parameter.grad = torch.randn_like(parameter)
    facts = call(accumulated_step, net, optimizer, case.X.make(), case.y.make(), case.size)
    return facts.add(net=net, modes=modes, steps=len(steps), kept=max(accumulate(kept), default=0))


def right(case):
    net = build(case)
    F.cross_entropy(net(case.X.values), case.y.values).backward()
    return parameters_to_vector(parameter.grad for parameter in net.parameters())


def outcome(f):
    start = build(f.case).parameters()
    return (parameters_to_vector(start) - parameters_to_vector(f.net.weights)).detach() / 0.5


side_effects = {
    "all-activations-kept": lambda f: f.kept > f.case.size and {"found": f.kept},
    "many-steps": lambda f: f.steps != 1 and {"found": f.steps},
    "evaluation-mode": lambda f: False in {*f.modes, *f.net.modes.values()},
}
wrong_outcomes = {"wrong-scale": lambda case: case.parts * right(case)}
mistakes = {"uneven": lambda f: f.case.count % f.case.size, "different-gradient": True}
hints = """
all-activations-kept: The activations of {found} examples were kept, but only those of {size} fit.
    -> Which call frees the activations of a part? When does it run?
many-steps: The optimizer took {found} steps, but it should take one for the whole batch.
    -> Which line is inside the loop and should be after it? Or is it missing?
evaluation-mode: `{name}` switches to evaluation mode, in which dropout is off.
    -> The network is already in training mode. Which line changes it?
wrong-scale: With {parts} parts, the gradients are {scale} times those of the whole batch.
    -> `cross_entropy` is a mean over its part. What turns these means into the mean of all?
uneven: The gradients are right if all parts have the same size, but not if the last one is smaller.
    -> How much should a part with one example count, compared with a part with four?
different-gradient: The step does not match the whole batch's gradient.
    -> Which gradients exist before your first `backward`, and are any of yours lost?
"""
