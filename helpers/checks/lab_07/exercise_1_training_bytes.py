"""Lab 07, exercise 1: the bytes of weights, buffers, gradients and states, in blocks."""

from torch import nn

from helpers.checks.plain import is_int
from helpers.memory import allocated_size

answers = "training_bytes(net, states)"
points = 2
success = "You know what training keeps before you start it."
section = "Gradients and optimizer states"


def cases(draw):
    # The first weight is a multiple of 512 bytes, which is not rounded up further.
    sizes = [draw.randrange(*bounds) for bounds in ((16, 65, 16), (8, 65, 8), (3, 60))]
    for kinds in ((), ("norm",), ("frozen",), ("shared",), ("norm", "frozen"), ("double",)):
        for states in (0, 1, 2):
            yield {"sizes": sizes, "kinds": kinds, "states": states}


def build(case):
    first, hidden, last = case.sizes
    net = nn.Sequential(nn.Linear(first, hidden), nn.ReLU(), nn.Linear(hidden, last))
    if "norm" in case.kinds:
        net.insert(1, nn.BatchNorm1d(hidden))
    if "frozen" in case.kinds:
        net[0].requires_grad_(False)
    if "shared" in case.kinds:
        net.append(nn.Linear(hidden, last))
        net[-1].weight = net[-2].weight
    return net.double() if "double" in case.kinds else net


def collect(call, case, training_bytes):
    net = build(case)
    facts = call(training_bytes, net, case.states)
    return facts.add(net=net)


def total(case, size=allocated_size):
    net = build(case)
    kept = sum(size(tensor.nbytes) for tensor in [*net.parameters(), *net.buffers()])
    trained = [parameter for parameter in net.parameters() if parameter.requires_grad]
    return kept + sum((1 + case.states) * size(parameter.nbytes) for parameter in trained)


def right(case):
    return total(case)


def texts(f):
    return {"expected": f"{f.right:,}", "found": f"{f.value:,}"}


def in_case_of(*kinds):
    """Return the row for an answer that is wrong for networks of these kinds."""
    return lambda f: {*kinds} & {*f.case.kinds} and texts(f)


def equals(bytes_of):
    # In later cases, another mistake may give the same number by coincidence.
    return lambda f: f.case.states == 0 and f.value == bytes_of(f.case) and texts(f)


returns = ("not-an-int", lambda value, case: is_int(value))
side_effects = {
    "net-moved": lambda f: f.net.devices != ["cpu"] and {"found": f.net.devices[0]},
    "trained-changed": lambda f: (
        [x.requires_grad for x in f.net.parameters.values()]
        != [x.requires_grad for x in build(f.case).parameters()]
    ),
}
mistakes = {
    "different-dtype": in_case_of("double"),
    "not-rounded": lambda f: not f.case.kinds and equals(lambda case: total(case, int))(f),
    "rounded-once": lambda f: (
        not f.case.kinds and equals(lambda case: allocated_size(total(case, int)))(f)
    ),
    "counted-twice": in_case_of("shared"),
    "frozen": in_case_of("frozen"),
    "buffers": in_case_of("norm"),
    "states": lambda f: f.case.states and texts(f),
    "wrong-bytes": texts,
}
hints = """
not-an-int: `training_bytes` returns {found}, but a number of bytes is an `int`.
    -> Use `//` to divide, and return the number itself.
    see: Weights
not-rounded: With {states} states, {expected} bytes are allocated, but you return {found}: the bytes
    without rounding.
    -> In which multiples does PyTorch allocate GPU memory?
    see: Weights
rounded-once: With {states} states, {expected} bytes are allocated, but you return {found}: the sum
    is rounded once.
    -> Each tensor gets blocks of its own. What do you round?
    see: Weights
net-moved: After `training_bytes`, the network is on {found}. It was on the CPU and should stay
    there.
    -> You can compute the bytes from the tensors' sizes, without a GPU.
trained-changed: After `training_bytes`, `requires_grad` of a parameter is different from before.
    -> The sizes are all that you need. Which line changes the network?
different-dtype: This network is in float64. With {states} states, {expected} bytes are allocated,
    but you return {found}.
    -> How many bytes does one element of this dtype take?
    see: Weights
frozen: This network has parameters with `requires_grad=False`. With {states} states, {expected}
    bytes are allocated, but you return {found}.
    -> Which of the weights, gradients and states does an untrained parameter have?
buffers: This network has a `BatchNorm1d`. With {states} states, {expected} bytes are allocated, but
    you return {found}.
    -> Which tensors of a network are not parameters? Do they have gradients?
counted-twice: In this network, two layers share a weight. With {states} states, {expected} bytes
    are allocated, but you return {found}.
    -> How many copies of the shared weight exist, and how many do you count?
    see: Weights
states: The sum is right for an optimizer without states, but with {states} states per parameter,
    {expected} bytes are allocated. You return {found}.
    -> How many tensors of its size does training keep per parameter?
wrong-bytes: For a network of plain linear layers and an optimizer without states, {expected} bytes
    are allocated, but you return {found}.
    -> Add up two things: the weights, and what the backward pass creates.
"""
