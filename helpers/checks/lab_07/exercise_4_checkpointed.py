"""Lab 07, exercise 4: the layers one after another, each with a checkpoint."""

from functools import partial

import torch
from torch import nn

from helpers.checks.lab_07.shared import PeakMeter
from helpers.checks.plain import are_close, is_close, is_tensor

answers = "checkpointed(layers, X)"
points = 3
success = "Each layer keeps only its input, and the gradients are the same."
section = "3. Activation checkpointing"


def cases(draw):
    for leaf in (False, True):
        count, width = draw.randint(3, 5), draw.randrange(16, 33, 8)
        X = draw.normal(1024, width, device=draw.device, requires_grad=leaf)
        # The inputs of the layers and the result; checkpoints also save generator states.
        case = {"X": X, "count": count, "width": width, "most": 512 * width * (8 * count + 4)}
        yield {**case, "seed": draw.randrange(2**31)}


def build(case):
    torch.manual_seed(case.seed)
    return nn.ModuleList(
        nn.Sequential(nn.Linear(case.width, case.width), nn.GELU(), nn.LayerNorm(case.width))
        for _ in range(case.count)
    )


def differentiate(result, X, layers):
    result.backward(result.detach().cos())
    return [x.grad for x in (X, *layers.parameters()) if x.grad is not None]


def collect(call, case, checkpointed):
    runs, layers, X = [], build(case).to(case.X.device), case.X.make()
    draw = partial(torch.rand, (), device=X.device)
    for number, layer in enumerate(layers):
        # It draws a number as dropout would.
        layer.register_forward_pre_hook(lambda *_, n=number: runs.append((n, draw().item())))
    meter = PeakMeter(X)
    facts = call(checkpointed, layers, X, within=meter)
    facts.add(kept=sum(meter.bytes.values()), X=X, modes=[layer.training for layer in layers])
    if isinstance(facts.result, torch.Tensor) and facts.result.requires_grad:
        facts.add(gradients=differentiate(facts.result, X, layers))
    return facts.add(runs=runs, recomputed=[number for number, _ in runs[case.count :]])


def compute(case):
    layers, X = build(case), case.X.values.clone().requires_grad_(case.X.requires_grad)
    result = nn.Sequential(*layers)(X)
    return result.detach(), differentiate(result, X, layers)


returns = ("different-result", lambda value, case: is_tensor(value))
side_effects = {
    "input-changed": lambda f: f.X.requires_grad != f.case.X.requires_grad,
    "mode-not-restored": lambda f: False in f.modes and {"before": True, "after": False},
    "different-result": lambda f: not is_close(f.value, compute(f.case)[0]),
    "no-gradients": lambda f: not f.value.requires_grad,
    "different-gradients": lambda f: not are_close(f.gradients, compute(f.case)[1], 1e-2, 1e-3),
    "not-recomputed-alone": lambda f: f.recomputed != [*range(f.case.count)][::-1],
    "other-random-numbers": lambda f: f.runs != f.runs[::-1],
    "keeps-more": lambda f: f.kept > f.case.most,
}
hints = """
input-changed: After `checkpointed`, `X` requires gradients, which it did not before.
    -> `X` belongs to the caller. With which value of `use_reentrant` can it stay as it is?
different-result: The result differs from applying the layers one after another.
    -> What is the input of the second layer?
no-gradients: The result does not require gradients, so nothing can be trained.
    -> The input does not require gradients. Which value of `use_reentrant` handles that?
different-gradients: The result is right, but the gradients differ from those without checkpoints.
    -> Is every layer called inside `checkpoint`, with nothing detached in between?
not-recomputed-alone: In the backward pass, these layers ran again, in this order: {recomputed}.
    -> Each layer should run again alone, the last one first. Does each `checkpoint` contain one
    layer, and no other `checkpoint`?
other-random-numbers: When a layer runs again, it draws other random numbers than the first time.
    -> Dropout would then zero other values. Which argument of `checkpoint` did you change?
keeps-more: After the forward pass, {kept} bytes are kept, but there should be at most {most}.
    -> Does something else, such as a list, hold a tensor?
"""
