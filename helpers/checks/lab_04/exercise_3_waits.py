"""Lab 04, exercise 3: a training loop whose waits do not depend on the number of batches."""

import torch
from torch import nn

from helpers.checks.plain import PlainTensor, are_close, describe, first, is_close

answers = "train_and_count(net, batches, optimizer)"
points = 3
success = "The same results, and the loop does not wait for the GPU."
section = "Accuracy per class, and a common mistake"
KEYS = ("loss", "accuracy", "norm", "mistakes")


def cases(draw):
    for device in (draw.device, "cpu"):
        case = {"seed": draw.randrange(2**31), "device": device, "count": draw.randint(7, 9)}
        yield {**case, "keys": ", ".join(KEYS)}


def build(case, device="cpu"):
    torch.manual_seed(case.seed)
    net, loss = nn.Linear(6, 4), nn.CrossEntropyLoss()
    inputs = torch.randn(case.count, 8, 6)
    # Never class 3, and about half of the images are predicted correctly.
    labels = torch.where(torch.rand(case.count, 8) < 0.5, net(inputs).argmax(2), 0).clamp(max=2)
    inputs[3] *= 4  # the largest norm is neither the first nor the last
    batches = [(x.to(device), y.to(device)) for x, y in zip(3 * inputs, labels, strict=True)]
    return net.to(device), batches, torch.optim.SGD(net.parameters(), lr=0.1), loss


def collect(call, case, train_and_count):
    net, batches, optimizer, _ = build(case, case.device)
    return call(train_and_count, net, batches, optimizer).add(net=net)


def train(case):
    """Return the weights and the results of the program that the lab shows."""
    net, batches, optimizer, cross_entropy = build(case)
    losses, norms, mistakes = [], [], [0] * 4
    for inputs, targets in batches:
        loss = cross_entropy(scores := net(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 1.0).item())
        optimizer.step()
        losses.append(loss.item())
        for guess, label in zip(scores.argmax(1).tolist(), targets.tolist(), strict=True):
            mistakes[label] += guess != label
    results = sum(losses) / case.count, 1 - sum(mistakes) / 8 / case.count, max(norms), mistakes
    return list(net.parameters()), dict(zip(KEYS, results, strict=True))


def wrong_entry(f):
    return first(
        not is_close(torch.tensor(f.value[key]), torch.tensor(exact), 1e-3, 1e-4)
        and {"key": key, "found": f.value[key], "exact": exact}
        for key, exact in train(f.case)[1].items()
    )


returns = ("not-the-results", lambda value, case: isinstance(value, dict) and {*value} == {*KEYS})
side_effects = {
    "not-a-number": lambda f: first(
        isinstance(x, PlainTensor) and {"what": describe(x)} for x in f.value.values()
    ),
    "different-steps": lambda f: not are_close(f.net, train(f.case)[0]),
    "wrong-result": wrong_entry,
    "many-waits": lambda f: f.waits > 4 and {"waits": f.waits},
}
hints = """
not-the-results: `{name}` returns {what}; it should return a dictionary with the keys {keys}.
    -> Return the same dictionary as the given function.
different-steps: The trained weights differ from those that the given function learns.
    -> Only how the results are collected has to change, not the training.
wrong-result: For `{key}`, the result is {found} instead of {exact}.
    -> Compare with the given function on two batches. Is the result a sum, a mean or a maximum?
many-waits: For {count} batches, the CPU waits for the GPU {waits} times; four are enough.
    -> `torch.cuda.set_sync_debug_mode("warn")` warns at each line that waits. Which results does
    the next step not need?
"""
