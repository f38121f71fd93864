"""Lab 03, exercise 4: the check of `Recurrent`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks import hints
from helpers.checks.core import Hint, NotRight, Trial
from helpers.checks.lab_03.shared import NET_MOVED, NOT_A_MODULE, OTHER_SCORES, close, lab

_ANY_DEVICE = "Code for any device"

ONE_DEVICE_ONLY = Hint(
    "one-device-only",
    "`net` works on {works}, and after `net.to({fails})` it does not.",
    "Does your `forward` name a device, or use one that was noted earlier? Whom can it ask, in "
    "each call?",
    _ANY_DEVICE,
)

ELSEWHERE = Hint(
    "result-elsewhere",
    "The network and the sequence are on {given}, and the result is on {found}.",
    "The result belongs where the input is. Does a line of yours bring something away?",
    _ANY_DEVICE,
)

CARRIED = Hint(
    "carried",
    "In a call on {device}, `forward` carries {bytes} bytes from one device to another.",
    "What it needs can be made where it is needed. Which call makes it, and where?",
    _ANY_DEVICE,
)


class GivenRecurrent(nn.Module):
    """What exercise 4 hands out: right on the CPU."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inner = nn.Linear(inputs + hidden, hidden)

    def forward(self, sequence: Tensor) -> Tensor:
        """Map `(N, steps, inputs)` to `(N, hidden)`."""
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden)
        sequence = sequence + torch.arange(steps).reshape(-1, 1) / steps
        for step in range(steps):
            state = torch.tanh(self.inner(torch.cat([sequence[:, step], state], dim=1)))
        return state


@lab.exercise(4, points=2, right="One network for any device, and nothing is carried.")
def exercise_4(trial: Trial, Recurrent: Callable[..., Any]) -> None:
    """`Recurrent(inputs, hidden)`: makes what it needs where its input is."""
    inputs, hidden = trial.random.sample(range(2, 7), 2)
    seed = trial.random.randrange(2**31)
    torch.manual_seed(seed)
    net = trial.call(Recurrent, inputs, hidden)
    trial.expect(isinstance(net, nn.Module), NOT_A_MODULE, what=type(net).__name__)
    torch.manual_seed(seed)
    given = GivenRecurrent(inputs, hidden)
    carried = {}
    for place in [*trial.devices, trial.device]:
        trial.call(net.to, place)
        for count, steps in ((trial.random.randint(2, 5), trial.random.randint(2, 6)), (1, 1)):
            sequence = trial.normal(count, steps, inputs)
            moved = sequence.to(place)
            try:
                with trial.watch() as watch:
                    result = trial.call(net, moved)
                trial.expect_result(result)
                found = next(net.parameters()).device
                told = {"name": "net(sequence)", "found": found, "given": place}
                trial.expect(found == place, NET_MOVED, **told)
                same = isinstance(result, Tensor) and result.shape == (count, hidden)
                trial.expect(same, OTHER_SCORES, name="Recurrent")
                trial.expect(result.device == place, ELSEWHERE, given=place, found=result.device)
            except NotRight as wrong:
                if place != trial.device and wrong.hint in (hints.DEVICE_ERROR, ELSEWHERE):
                    raise ONE_DEVICE_ONLY.of(works=trial.device, fails=place) from None
                raise
            trial.expect(close(result, given(sequence)), OTHER_SCORES, name="Recurrent")
            carried[place] = carried.get(place, 0) + sum(move.bytes for move in watch.moves)
    for place, size in carried.items():
        trial.expect(not size, CARRIED, device=place, bytes=size)
