"""Lab 04, exercise 4: one epoch, and the mean loss over its images."""

from weakref import WeakSet

import torch
from torch import nn

from helpers.checks.plain import are_close, is_close, is_number

answers = "train_epoch(net, batches, optimizer)"
points = 3
success = "All three mistakes are fixed."
section = "The classic script, on the CPU"


def cases(draw):
    for device in (draw.device, "cpu"):
        sizes = [8] * draw.randint(3, 5) + [2]
        batches = [(draw.normal(n, 6), draw.integers(0, 4, (n,))) for n in sizes]
        batches[-1][0].values.mul_(8)  # so that the mean over the last batch differs
        case = {"batches": batches, "images": sum(sizes)}
        yield {**case, "seed": draw.randrange(2**31), "device": device}


def build(case, device="cpu"):
    """Return a network, batches, and an optimizer with state: a new one would give other steps."""
    torch.manual_seed(case.seed)
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)).to(device)
    batches = [(inputs.make(), targets.make()) for inputs, targets in case.batches]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    net(batches[0][0].to(device)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    return net, batches, optimizer


def collect(call, case, train_epoch):
    net, batches, optimizer = build(case, case.device)
    modes, alive, marks = [], [0], WeakSet()

    def observe(net, inputs, output):
        modes.append(net.training)
        alive.append(len(marks))
        if output.grad_fn is not None:
            marks.add(mark := nn.Identity())
            output.grad_fn.metadata["mark"] = mark

    net.eval().register_forward_hook(observe)
    facts = call(train_epoch, net, batches, optimizer)
    return facts.add(net=net, modes=modes, graphs=max(alive))


def train(case, zero_grad=True):
    """Return the weights after the epoch, and the mean loss over the images."""
    (net, batches, optimizer), total = build(case), 0
    for inputs, targets in batches:
        if zero_grad:
            optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
    return list(net.parameters()), total / case.images


returns = ("keeps-the-graph", lambda value, case: is_number(value))
side_effects = {
    "evaluation-mode": lambda f: not all(f.modes),
    "gradients-pile-up": lambda f: are_close(f.net, train(f.case, zero_grad=False)[0]),
    # The graph of the previous batch may still be alive, because `loss` refers to it.
    "graph-kept": lambda f: f.graphs > 1,
    "different-steps": lambda f: not are_close(f.net, train(f.case)[0]),
    "wrong-loss": lambda f: (
        not is_close(f.value, loss := train(f.case)[1], 1e-3, 1e-5) and {"exact": loss}
    ),
}
hints = """
evaluation-mode: The network was in evaluation mode and was trained in that mode, so its BatchNorm
    did not update its running statistics.
    -> Do not rely on the network's current mode. Which line says that training starts?
gradients-pile-up: Each step uses the sum of the gradients of all batches so far.
    -> `backward` adds to the existing gradients. When do you clear them, and when must you?
keeps-the-graph: `train_epoch` returns {what}, but the mean loss should be a Python number.
    -> A tensor that requires a gradient keeps its graph. What turns it into a plain number?
graph-kept: Until the end, your total keeps the computation graph of every batch in memory.
    -> A sum of tensors that require gradients requires one too. What do you have to add up instead?
wrong-loss: The mean loss over all images is {exact:.4f}, but `train_epoch` returns {found:.4f}.
    -> Print what you add after each batch, and what you divide by at the end.
different-steps: The weights differ from those after one correct step per batch.
    -> Take one step per batch, with the given optimizer, in order. What does your loop do instead?
"""
