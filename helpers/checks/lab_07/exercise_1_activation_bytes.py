"""Lab 07, exercise 1: the bytes that autograd keeps for the backward pass."""

import torch
from torch import nn

from helpers.memory import saved_bytes_by_layer

answers = "activation_bytes(net, X)"
points = 2
success = "You know what the backward pass needs before you run the forward pass."
section = "Activations"
LAYERS = {"R": nn.ReLU, "G": nn.GELU, "D": nn.Dropout, "F": nn.Flatten}
KINDS = {"linear": "LLL", "gelu": "LGL", "relu": "LRLR", "dropout": "LGDLRDLD"}
KINDS |= {"view": "LRFLFG FLRL", "dtype": "LGDLRFL"}


def cases(draw):
    for kind, letters in ((kind, net) for kind, nets in KINDS.items() for net in nets.split()):
        dtype = torch.bfloat16 if kind == "dtype" else torch.float32
        case = {"kind": kind, "letters": letters, "dtype": dtype}
        yield case | {"shape": draw.sample(range(3, 9), 3), "widths": draw.sample(range(3, 30), 4)}


def build(case):
    linear = map(nn.LazyLinear, case.widths)
    net = nn.Sequential(*(next(linear) if x == "L" else LAYERS[x]() for x in case.letters))
    net(torch.ones(case.shape))  # creates the weights
    return net.to(case.dtype), torch.ones(case.shape, dtype=case.dtype)


def collect(call, case, activation_bytes):
    (net, X), layers = build(case), []
    for layer in net:
        layer.forward = lambda x, n=layer, f=layer.forward: layers.append(type(n).__name__) or f(x)
    facts = call(activation_bytes, net, X)
    return facts.add(called=layers, layers=", ".join(type(layer).__name__ for layer in net))


def right(case):
    kept, _ = saved_bytes_by_layer(*build(case))
    # On a CPU, a mask has the dtype of the input; on a GPU, it has one byte per number.
    return sum(n // case.dtype.itemsize if "Drop" in name else n for name, n in kept.items())


returns = ("not-an-int", lambda value, case: type(value) is int)
side_effects = {"calls-the-layers": lambda f: f.called and {"called": f.called[0]}}
mistakes = {"too-much": lambda f: f.case.kind == "linear" and f.value > f.right} | {
    kind: lambda f, kind=kind: f.case.kind == kind and {"expected": f.right} for kind in KINDS
}
hints = """
calls-the-layers: `activation_bytes` calls a layer of the network: {called}.
    -> A prediction needs shapes only. Which attributes of a layer and of `X` have them?
too-much: For {layers}, you return {found} bytes, but fewer are kept.
    -> `X` and the parameters exist anyway. Does a layer need the last result?
linear: For {layers}, {expected} bytes are kept, but you return {found}.
    -> What is the input of each layer, and who created it? How many bytes does a number take?
gelu: For {layers}, {expected} bytes are kept, but you return {found}.
    -> Two tensors of one size are two tensors: what does GELU keep, and what the next layer?
relu: For {layers}, {expected} bytes are kept, but you return {found}.
    -> ReLU keeps its output, and Linear its input. When is this the same tensor?
dropout: For {layers}, {expected} bytes are kept, but you return {found}.
    -> What does dropout keep, and how many bytes per number is that? Does a layer keep its result?
view: For {layers}, {expected} bytes are kept, but you return {found}.
    -> The output of Flatten is the same memory. Has an earlier layer kept it already?
dtype: For {layers} in {dtype}, {expected} bytes are kept, but you return {found}.
    -> Which of the kept tensors have the dtype of `X`? Ask `X.element_size()` for its bytes.
"""
