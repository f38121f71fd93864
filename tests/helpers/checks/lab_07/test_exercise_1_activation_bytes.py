"""Answers to lab 07, exercise 1: `activation_bytes`."""

from functools import partial

import torch
from torch import nn

from helpers.checks import lab_07
from tests.helpers.checks.answers import Answers

answers = Answers(lab_07.exercise_1)


@answers.right
def predict(net, X, *, size=None, mask=1, twice=(), new_view=False, extra=0, keep=(nn.ReLU,)):
    """Return the bytes; the options are mistakes."""
    size, numbers, kept, total = size or X.element_size(), X.numel(), True, extra
    for layer in net:
        kind = type(layer)
        if kind in (nn.Linear, nn.GELU) and (kind in twice or not kept):
            total, kept = total + numbers * size, True
        if kind is nn.Linear:
            numbers = numbers // layer.in_features * layer.out_features
        total += numbers * mask * (kind is nn.Dropout) + numbers * size * (kind in keep)
        if kind is not nn.Flatten or new_view:
            kept = kind in keep
    return total


@answers.right
def with_a_dictionary_of_tensors(net, X):
    kept, current, numbers = {}, X, X.numel()
    for layer in net:
        if isinstance(layer, nn.Linear | nn.GELU):
            kept[current] = numbers * X.itemsize
        if isinstance(layer, nn.Linear):
            numbers = numbers * layer.out_features // layer.in_features
        current = current if isinstance(layer, nn.Flatten) else layer
        if isinstance(layer, nn.ReLU):
            kept[layer] = numbers * X.itemsize
        if isinstance(layer, nn.Dropout):
            kept[layer, "mask"] = numbers
    return sum(n for key, n in kept.items() if key is not X)


@answers.right
def looks_at_neighbors(net, X):
    layers = [layer for layer in net if not isinstance(layer, nn.Flatten)]
    numbers, total = X.numel(), 0
    for layer, following in zip(layers, [*layers[1:], None], strict=True):
        if isinstance(layer, nn.Linear):
            numbers = numbers * layer.out_features // layer.in_features
        if isinstance(layer, nn.ReLU) or isinstance(following, nn.Linear | nn.GELU):
            total += numbers * X.dtype.itemsize
        if isinstance(layer, nn.Dropout):
            total += numbers
    return total


@answers.wrong("calls-the-layers")
def measures_with_hooks(net, X):
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.nbytes), print):
        net(X)
    return sum(sizes)


MISTAKES = {
    "calls_forward": ("calls-the-layers", lambda net, X: predict(net, net[0].forward(X))),
    "counts_the_batch": ("too-much", lambda net, X: predict(net, X) + X.nbytes),
    "counts_parameters": ("too-much", lambda net, X: predict(
        net, X, extra=sum(p.nbytes for p in net.parameters()))),
    "counts_every_output": ("too-much", partial(
        predict, keep=(nn.Linear, nn.GELU, nn.ReLU, nn.Dropout))),
    "counts_numbers": ("linear", partial(predict, size=1)),
    "counts_one_example": ("linear", lambda net, X: predict(net, X[:1])),
    "forgets_gelu": ("gelu", lambda net, X: predict([x for x in net if type(x) is not nn.GELU], X)),
    "counts_twice": ("relu", lambda net, X: predict(net, X, twice=(nn.Linear,)) - X.nbytes),
    "thinks_relu_keeps_nothing": ("relu", partial(predict, keep=())),
    "mask_like_its_input": ("dropout", partial(predict, mask=4)),
    "forgets_the_mask": ("dropout", partial(predict, mask=0)),
    "counts_a_view_again": ("view", partial(predict, new_view=True)),
    "assumes_float32": ("dtype", partial(predict, size=4)),
    "returns_mebibytes": ("not-an-int", lambda net, X: predict(net, X) / 2**20),
}  # fmt: skip
for name, (hint, answer) in MISTAKES.items():
    answer.__name__ = name
    answers.wrong(hint)(answer)
test_answers = answers.make_test()
