"""Lab 07, exercise 2: one loss per batch, and no activations."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.plain import first, is_close, is_list, is_number

answers = "compute_losses(net, batches)"
points = 2
success = "Only numbers are left, and no graph was built."
section = "Leaks"


def cases(draw):
    for training in (True, False):
        case = {"before": training, "after": not training, "count": draw.randint(3, 5)}
        X = draw.normal(case["count"], 128, 32, device=draw.device)
        y = draw.integers(0, 5, X.shape[:2], draw.device)
        yield {**case, "X": X, "y": y, "seed": draw.randrange(2**31)}


def build(case):
    torch.manual_seed(case.seed)
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 5))


def collect(call, case, compute_losses):
    net, saved, modes = build(case).to(case.X.device).train(case.before), [], set()
    net[2].register_forward_hook(lambda layer, *_: modes.add(layer.training))
    hooks = torch.autograd.graph.saved_tensors_hooks(saved.append, lambda _: None)
    batches = list(zip(case.X.make(), case.y.make(), strict=True))
    facts = call(compute_losses, net, batches, within=hooks)
    return facts.add(net=net, modes=modes, saved=len(saved))


def evaluate(case):
    net = build(case).eval()
    batches = zip(case.X.values, case.y.values, strict=True)
    return [F.cross_entropy(net(X), y).item() for X, y in batches]


returns = ("not-a-list", lambda value, case: is_list(value, case.count, is_number))
side_effects = {
    "gradients-left-off": lambda f: f.gradients_left_off or f.net.is_frozen,
    "builds-graph": lambda f: f.saved and {"count": f.saved},
    # The losses cannot show this: dropout changes the mean of many examples only a little.
    "training-mode": lambda f: True in f.modes,
    "different-losses": lambda f: first(
        {"found": f"{found:.5f}", "wanted": f"{wanted:.5f}"}
        for found, wanted in zip(f.value, evaluate(f.case), strict=True)
        # It may be that of a lower precision, but not rounded.
        if not is_close(found, wanted) or found == round(found, 3)
    ),
    "mode-not-restored": lambda f: {*f.net.modes.values()} != {f.case.before},
}
hints = """
not-a-list: `compute_losses` should return a list of {count} Python numbers, one per batch.
    -> Append for each batch. Which method of a tensor with one element returns its number?
builds-graph: Only numbers are left at the end, but during the loop autograd kept {count} tensors.
    -> `backward` is never called here. How do you tell autograd this in advance?
different-losses: For one batch, the loss in evaluation mode is {wanted}, but your list has {found}.
    -> Use `F.cross_entropy` of the network's scores, averaged over the batch.
"""
