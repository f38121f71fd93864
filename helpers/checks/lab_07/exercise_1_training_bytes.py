"""Lab 07, exercise 1: the bytes of weights, buffers, gradients and states, in blocks."""

from torch import nn

from helpers.memory import allocated_size

answers = "training_bytes(net, states)"
points = 2
success = "You know what training keeps before you start it."
section = "Gradients and optimizer states"


def cases(draw):
    # The first weight is a multiple of 512 bytes, which is not rounded up further.
    sizes = [draw.randrange(*bounds) for bounds in ((16, 65, 16), (8, 65, 8), (3, 60))]
    for kind in ("", "buffers", "frozen", "shared", "double"):
        yield from ({"sizes": sizes, "kind": kind, "states": states} for states in (0, 1, 2))


def build(case):
    first, hidden, last = case.sizes
    extra = nn.BatchNorm1d(last) if case.kind == "buffers" else nn.Linear(hidden, last)
    net = nn.Sequential(nn.Linear(first, hidden), nn.Linear(hidden, last), extra)
    net[0].requires_grad_(case.kind != "frozen")
    if case.kind == "shared":
        extra.weight = net[1].weight
    return net.double() if case.kind == "double" else net


def collect(call, case, training_bytes):
    net = build(case)
    facts = call(training_bytes, net, case.states)
    return facts.add(net=net, frozen=sum(not p.requires_grad for p in net.parameters()))


def right(case, size=allocated_size):
    net = build(case)
    kept = sum(size(tensor.nbytes) for tensor in [*net.parameters(), *net.buffers()])
    trained = sum(size(weight.nbytes) for weight in net.parameters() if weight.requires_grad)
    return kept + (1 + case.states) * trained


returns = ("not-an-int", lambda value, case: type(value) is int)
side_effects = {
    "net-changed": lambda f: f.net.devices != ["cpu"] or f.frozen != 2 * (f.case.kind == "frozen")
}
mistakes = {
    "not-rounded": lambda f: f.value == right(f.case, int) and {"expected": f.right},
    "frozen": lambda f: f.case.kind == "frozen" and {"expected": f.right},
    "buffers": lambda f: f.case.kind == "buffers" and {"expected": f.right},
    "states": lambda f: f.case.states and {"expected": f.right},
    "wrong-bytes": lambda f: {"expected": f.right, "dtype": f.net.weights[0].dtype},
}
hints = """
not-rounded: With {states} states, {expected} bytes are allocated. You return {found}: not rounded.
    -> In which multiples does PyTorch allocate GPU memory?
    see: Weights
net-changed: `training_bytes` moves the network or changes the `requires_grad` of a parameter.
    -> The sizes are all that you need. Which line changes the network?
frozen: This network has parameters with `requires_grad=False`. With {states} states, {expected}
    bytes are allocated, but you return {found}.
    -> Which of the weights, gradients and states does an untrained parameter have?
buffers: With `BatchNorm1d` and {states} states, {expected} bytes are allocated, not {found}.
    -> Which tensors of a network are not parameters? Do they have gradients?
states: The sum is right for an optimizer without states, but with {states} states per parameter,
    {expected} bytes are allocated. You return {found}.
    -> How many tensors of its size does training keep per parameter?
wrong-bytes: For a network of linear layers in {dtype} and an optimizer without states, {expected}
    bytes are allocated, but you return {found}.
    -> Add up two things: the weights, and what the backward pass creates. Can layers share weights?
"""
