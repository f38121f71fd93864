"""Lab 03, exercise 4: `Recurrent`."""

import torch
from torch import Tensor, nn

from helpers.checks.comparing import close
from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_03.shared import lab
from helpers.checks.trial import Answer, Trial, describe


class GivenRecurrent(nn.Module):
    """The class that exercise 4 gives the student, which works only on the CPU."""

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


_ELSEWHERE = ("device-error", "result-elsewhere")


@lab.exercise(4, points=2, right="One network for any device, and nothing is copied.")
def exercise_4(trial: Trial, Recurrent: Answer) -> None:
    """`Recurrent(inputs, hidden)`: creates tensors on the device of its input."""
    inputs, hidden = trial.random.sample(range(2, 7), 2)
    seed = trial.random.randrange(2**31)
    torch.manual_seed(seed)
    net = trial.call(Recurrent, inputs, hidden)
    trial.expect(isinstance(net, nn.Module), "not-a-module", name="Recurrent", what=describe(net))
    torch.manual_seed(seed)
    given = GivenRecurrent(inputs, hidden)
    copied = {}
    for place in [*trial.devices, trial.device]:
        trial.observe(_move, net, place)
        for count, steps in ((trial.random.randint(2, 5), trial.random.randint(2, 6)), (1, 1)):
            sequence = trial.normal(count, steps, inputs)
            moved, expected = sequence.to(place), given(sequence)
            try:
                with trial.watch() as watch:
                    result = trial.result_of(net, moved)
                found = trial.observe(_device_of, net)
                details = {"name": "net(sequence)", "found": found, "given": place}
                trial.expect(found == place, "net-moved", **details)
                same = isinstance(result, Tensor) and result.shape == (count, hidden)
                trial.expect(same, "other-scores", name="Recurrent")
                trial.expect(
                    result.device == place, "result-elsewhere", given=place, found=result.device
                )
            except WrongAnswer as wrong:
                if place != trial.device and wrong.hint.id in _ELSEWHERE:
                    raise trial.wrong("one-device-only", works=trial.device, fails=place) from None
                raise
            trial.expect(close(result, expected), "other-scores", name="Recurrent")
            copied[place] = copied.get(place, 0) + sum(move.bytes for move in watch.moves)
    for place, size in copied.items():
        trial.expect(not size, "copied", device=place, bytes=size)


def _move(trial: Trial, net: nn.Module, place: torch.device) -> None:
    trial.call(net.to, place)


def _device_of(trial: Trial, net: nn.Module) -> torch.device:
    return next(net.parameters()).device
