"""Lab 09, exercise 2: `average_gradients`."""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks.comparing import find_devices
from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial


class Net(nn.Module):
    """A network with an unused layer before the used one."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Linear(2, 2)
        self.used = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Map `(N, 4)` to `(N, 3)`."""
        return self.used(x)


@lab.exercise(
    2, points=3, success_message="The step equals that of the whole batch, however it is split."
)
def exercise_2(trial: Trial, average_gradients: Answer) -> None:
    """`average_gradients(replicas, sizes)`: all get the gradients of the whole batch."""
    small, large = trial.random.randint(2, 3), trial.random.randint(6, 9)
    for sizes in ([4, 4], [large, small], [small, large, 4]):
        devices = [trial.devices[i % 2] for i in range(len(sizes))]  # replicas 0 and 2 share one
        torch.manual_seed(trial.random.randrange(2**31))
        reference = Net()
        X = trial.normal(sum(sizes), 4)
        y = trial.integers(0, 3, (sum(sizes),))
        replicas = [copy.deepcopy(reference).to(device) for device in devices]
        weights = [reference.used.weight.detach().clone()]
        shares = zip(replicas, devices, X.split(sizes), y.split(sizes), strict=True)
        for net, device, inputs, targets in shares:
            F.cross_entropy(net(inputs.to(device)), targets.to(device)).backward()
        F.cross_entropy(reference(X), y).backward()
        own_gradients = [net.used.weight.grad.detach().cpu().clone() for net in replicas]
        given_sizes = list(sizes)
        trial.call(average_gradients, replicas, given_sizes)
        trial.expect(given_sizes == sizes, "sizes-changed", before=sizes, found=given_sizes)
        for rank, net in enumerate(replicas):
            unchanged = torch.equal(net.used.weight.detach().cpu(), weights[0])
            trial.expect(unchanged, "weights-changed")
            found = find_devices(net)
            in_place = found == {devices[rank]}
            details = {"rank": rank, "given": devices[rank], "found": found.pop()}
            trial.expect(in_place, "replica-moved", **details)
            _check(trial, net, reference, own_gradients, rank, sizes)
        if len(replicas) > 2:
            pairs = zip(replicas[0].used.parameters(), replicas[2].used.parameters(), strict=True)
            shared = any(a.grad.data_ptr() == b.grad.data_ptr() for a, b in pairs)
            trial.expect(not shared, "shared-gradient")


def _check(
    trial: Trial, net: Net, reference: Net, own_gradients: list[Tensor], rank: int, sizes: list[int]
) -> None:
    details = {"rank": rank, "sizes": sizes}
    for parameter in net.unused.parameters():
        trial.expect(parameter.grad is None, "unused-gradient-set", **details)
    for parameter in net.used.parameters():
        trial.expect(isinstance(parameter.grad, Tensor), "gradient-lost", **details)
    if all(
        _near(a.grad, b.grad)
        for a, b in zip(net.used.parameters(), reference.used.parameters(), strict=True)
    ):
        return
    grad = net.used.weight.grad
    trial.expect(not _near(grad, own_gradients[rank]), "unchanged", **details)
    trial.expect(not _near(grad, sum(own_gradients)), "the-sum", **details)
    unweighted = _near(grad, sum(own_gradients) / len(own_gradients)) and len(set(sizes)) > 1
    trial.expect(not unweighted, "unweighted-mean", **details)
    from_one_replica = any(_near(grad, gradient) for gradient in own_gradients)
    trial.expect(not from_one_replica, "copied-gradients", **details)
    raise trial.wrong("different-gradient", **details)


def _near(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a.detach().cpu(), b.detach().cpu(), rtol=1e-3, atol=1e-5)
