"""Lab 09, exercise 2: all replicas get the gradients of the whole batch."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.plain import are_close, first, is_close

answers = "average_gradients(replicas, sizes)"
points = 3
success = "The step equals that of the whole batch, however it is split."
section = "Two GPUs, one batch"


class Net(nn.Module):
    """A network with an unused layer before the used one."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.unused, self.used = nn.Linear(2, 2), nn.Linear(4, 3)

    def forward(self, x):
        """Map `(N, 4)` to `(N, 3)`."""
        return self.used(x)


def cases(draw):
    small, large = draw.randint(2, 3), draw.randint(6, 9)
    for sizes in ([4, 4], [large, small], [small, large, 4]):
        devices = [draw.devices[i % 2] for i in range(len(sizes))]  # replicas 0 and 2 share one
        X, y = draw.normal(sum(sizes), 4), draw.integers(0, 3, (sum(sizes),))
        yield {"X": X, "y": y, "sizes": sizes, "devices": devices, "seed": draw.randrange(2**31)}


def backward(case, devices):
    """Return a network per device with the gradients of its share of the batch."""
    nets = [Net(case.seed).to(device) for device in devices]
    sizes = case.sizes if len(devices) > 1 else [len(case.X.values)]
    for net, device, X, y in zip(
        nets, devices, case.X.values.split(sizes), case.y.values.split(sizes), strict=True
    ):
        F.cross_entropy(net(X.to(device)), y.to(device)).backward()
    return nets


def collect(call, case, average_gradients):
    replicas, sizes = backward(case, case.devices), list(case.sizes)
    facts = call(average_gradients, replicas, sizes)
    addresses = [
        net.used.weight.grad.data_ptr() for net in replicas if net.used.weight.grad is not None
    ]
    return facts.add(
        replicas=replicas, sizes_after=sizes, shared=len({*addresses}) < len(addresses)
    )


def gradients(nets):
    """Return the gradients of the used weight, and their sum and mean."""
    values = [net.used.weight.grad for net in nets]
    return values, sum(values), sum(values) / len(values)


def right(case):
    return [parameter.grad for parameter in backward(case, ["cpu"])[0].used.parameters()]


def find(f, is_wrong):
    """Return the values of the hint for the first replica that is wrong."""
    own, total, mean = gradients(backward(f.case, ["cpu"] * len(f.case.sizes)))
    for rank, net in enumerate(f.replicas):
        gradient, bias = (net.gradients[f"used.{name}"] for name in ("weight", "bias"))
        if not are_close((gradient, bias), f.right, 1e-3, 1e-5) and is_wrong(
            gradient, own[rank], total, mean
        ):
            return {"rank": rank}
    return None


side_effects = {
    "sizes-changed": lambda f: (
        f.sizes_after != f.case.sizes and {"before": f.case.sizes, "found": f.sizes_after}
    ),
    "weights-changed": lambda f: any(
        not are_close(net, Net(f.case.seed).parameters()) for net in f.replicas
    ),
    "replica-moved": lambda f: first(
        net.devices != [device] and {"rank": rank, "given": device, "found": net.devices[0]}
        for rank, (net, device) in enumerate(zip(f.replicas, f.case.devices, strict=True))
    ),
    "unused-gradient-set": lambda f: first(
        any(net.gradients[f"unused.{name}"] for name in ("weight", "bias")) and {"rank": rank}
        for rank, net in enumerate(f.replicas)
    ),
    "gradient-lost": lambda f: first(
        not all(net.gradients[f"used.{name}"] for name in ("weight", "bias")) and {"rank": rank}
        for rank, net in enumerate(f.replicas)
    ),
    "unchanged": lambda f: find(f, lambda gradient, own, total, mean: is_close(gradient, own)),
    "the-sum": lambda f: find(f, lambda gradient, own, total, mean: is_close(gradient, total)),
    "unweighted-mean": lambda f: find(
        f, lambda gradient, own, total, mean: is_close(gradient, mean)
    ),
    "different-gradient": lambda f: find(f, lambda *gradients: True),
    "shared-gradient": lambda f: f.shared,
}
hints = """
sizes-changed: Before the call, `sizes` was {before}; after it, the list is {found}.
    -> Compute the fractions in a new list.
weights-changed: After the call, the weights of a replica have changed.
    -> Change the gradients only. The optimizer takes the step later.
replica-moved: After the call, replica {rank} is on {found}. It was on {given} and should stay
    there.
    -> A network moves in place. Copy its gradients instead.
unused-gradient-set: Replica {rank} has a parameter that it has not used. Its gradient was None, and
    now it is not.
    -> With a gradient of zero, some optimizers would still change the parameter. Which parameters
    can you skip?
gradient-lost: Replica {rank} has no gradient for a parameter that it has used.
    -> Every replica needs the result, not only the first one. Which line assigns it?
unchanged: With shares of {sizes}, replica {rank} still has the gradients of its own share.
    -> Assign the result to `.grad`. Which line changes the gradients of this replica?
the-sum: With shares of {sizes}, replica {rank} has the sum of the gradients.
    -> Each loss was a mean. What do you have to divide by to get a mean?
unweighted-mean: With shares of {sizes}, every share counts the same in replica {rank}.
    -> Every example should count the same. How much should 2 examples count compared with 8?
different-gradient: With shares of {sizes}, the gradients of replica {rank} are not those of the
    whole batch.
    -> Multiply a mean by the number of its examples, and you have a sum. What is the mean of all?
shared-gradient: Two replicas on one device have the same tensor as their gradient: a change to one
    changes both.
    -> `.to` makes no copy if the tensor is already on the device. Which operation always makes one?
"""
