"""Lab 09, exercise 2: all replicas get the gradients of the whole batch."""

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.plain import first, is_close, is_equal, plain

answers = "average_gradients(replicas, sizes)"
points = 3
success = "The step equals that of the whole batch, however it is split."
section = "Two GPUs, one batch"


def cases(draw):
    small, large = draw.randint(2, 3), draw.randint(6, 9)
    for sizes in ([large, small], [small, large, 4]):
        devices = [draw.devices[i % 2] for i in range(len(sizes))]  # replicas 0 and 2 share one
        X, y = draw.normal(sum(sizes), 4).values, draw.integers(0, 3, (sum(sizes),)).values
        case = {"X": X, "y": y, "sizes": sizes, "devices": devices}
        yield case | {"seed": draw.randrange(2**31)}


def backward(case, sizes, devices):
    """Return a network per device with the gradients of its share; its first layer has none."""
    nets = []
    for device, X, y in zip(devices, case.X.split(sizes), case.y.split(sizes), strict=True):
        torch.manual_seed(case.seed)
        nets.append(nn.ModuleList([nn.Linear(2, 2), nn.Linear(4, 3)]).to(device))
        F.cross_entropy(nets[-1][1](X.to(device)), y.to(device)).backward()
    return nets


def collect(call, case, average_gradients):
    replicas, sizes = backward(case, case.sizes, case.devices), list(case.sizes)
    before = plain(replicas)
    facts = call(average_gradients, replicas, sizes)
    addresses = [id(net) if (g := net[1].weight.grad) is None else g.data_ptr() for net in replicas]
    return facts.add(replicas=replicas, before_call=before, found=sizes, addresses=addresses)


def find_wrong(f):
    """Return the first replica without the gradients of the whole batch."""
    (whole,) = backward(f.case, [len(f.case.X)], ["cpu"])
    expected = [parameter.grad for parameter in whole.parameters()]
    return first(
        not is_equal([*net.gradients.values()], expected, close) and {"rank": rank}
        for rank, net in enumerate(f.replicas)
    )


def is_unweighted(f):
    """Return `find_wrong` if that replica has the mean of the replicas' gradients."""
    wrong = find_wrong(f)
    mean = sum(net.gradients["1.weight"].values for net in f.before_call) / len(f.replicas)
    found = wrong and f.replicas[wrong["rank"]].gradients["1.weight"]
    return found and close(found, mean) and wrong


close = partial(is_close, rtol=1e-3, atol=1e-5)
side_effects = {
    "input-changed": lambda f: (
        f.found != f.case.sizes
        or not is_equal(*([x.parameters for x in nets] for nets in (f.replicas, f.before_call)))
    ),
    "unweighted-mean": is_unweighted,
    "different-gradient": find_wrong,
    "shared-gradient": lambda f: len({*f.addresses}) < len(f.replicas),
}
hints = """
input-changed: After the call, `sizes` or the weights of a replica have changed.
    -> Change the gradients only, and compute the fractions in a new list.
unweighted-mean: With shares of {sizes}, every share counts the same in replica {rank}.
    -> Every example should count the same. How much should 2 examples count compared with 8?
different-gradient: With shares of {sizes}, replica {rank} lacks the gradients of the whole batch.
    -> Multiply a mean by the number of its examples, and you have a sum. What is the mean of all?
shared-gradient: Two replicas on one device share a gradient tensor: a change to one changes both.
    -> `.to` makes no copy if the tensor is already on the device. Which operation always makes one?
"""
