"""Lab 07, exercise 5: `train`."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.comparing import find_devices
from helpers.checks.lab_07.shared import PeakMeter, lab
from helpers.checks.trial import Answer, Trial

MIB = 2**20
LIMIT = 11 * MIB // 2
TEXTS = 512
WIDTH = 256
# The network and the data are always the same. With other ones, the same training run sometimes
# reaches half of the loss and sometimes does not.
SEED = 0


def make_net() -> nn.Sequential:
    """Return the network of exercise 5: 1 MiB of weights, four blocks."""
    blocks = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(4)]
    for layer, _ in blocks:
        nn.init.kaiming_normal_(layer.weight)
    return nn.Sequential(*blocks, nn.Linear(WIDTH, 10))


@lab.exercise(5, points=4, success_message="It fits, and it learns.", seconds=30)
def exercise_5(trial: Trial, train: Answer) -> None:
    """`train(net, X, y)`: trains within 5.5 MiB, not counting the network and the data."""
    torch.manual_seed(SEED)
    net = make_net().to(trial.device)
    X = torch.randn(TEXTS, WIDTH, generator=torch.Generator().manual_seed(SEED)).to(trial.device)
    y = X[:, :10].argmax(dim=1)
    before = _loss(net, X, y)
    peak = trial.observe(_peak_of, train, net, X.clone(), y.clone())
    devices = find_devices(net)
    trial.expect(devices == {trial.device}, "net-moved", found=devices.pop(), given=trial.device)
    dtypes = sorted({str(parameter.dtype) for parameter in net.parameters()})
    trial.expect(dtypes == ["torch.float32"], "different-type", found=" and ".join(dtypes))
    finite = all(parameter.isfinite().all() for parameter in net.parameters())
    trial.expect(finite, "not-finite")
    fits = peak <= LIMIT
    trial.expect(fits, "too-much", peak=f"{peak / MIB:.1f}", limit=f"{LIMIT / MIB:g}")
    after = _loss(net, X, y)
    learned = after <= 0.5 * before
    trial.expect(learned, "not-learned", before=f"{before:.2f}", after=f"{after:.2f}")


def _peak_of(trial: Trial, train: Answer, net: nn.Module, X: torch.Tensor, y: torch.Tensor) -> int:
    """Train, and return the most bytes that were needed at any time."""
    with PeakMeter() as meter:
        meter.exclude(X, y, *net.parameters())
        trial.call(train, net, X, y)
    return meter.peak


def _loss(net: nn.Module, X: torch.Tensor, y: torch.Tensor) -> float:
    with torch.no_grad():
        return F.cross_entropy(net(X), y).item()
