"""Lab 03, exercise 4: `Recurrent`."""

import torch
from torch import Tensor, nn

from helpers.checks.comparing import close
from helpers.checks.descriptions import describe
from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_03.shared import lab
from helpers.checks.trial import Answer, Trial


class GivenRecurrent(nn.Module):
    """The class given in exercise 4, which works only on the CPU."""

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


@lab.exercise(4, points=2, success_message="One network for any device, and nothing is copied.")
def exercise_4(trial: Trial, Recurrent: Answer) -> None:
    """`Recurrent(inputs, hidden)`: creates tensors on the device of its input."""
    inputs, hidden = trial.random.sample(range(2, 7), 2)
    seed = trial.random.randrange(2**31)
    torch.manual_seed(seed)
    net = trial.call(Recurrent, inputs, hidden)
    trial.expect(isinstance(net, nn.Module), "not-a-module", name="Recurrent", what=describe(net))
    torch.manual_seed(seed)
    given = GivenRecurrent(inputs, hidden)
    copied_bytes = {}
    for device in [*trial.devices, trial.device]:
        trial.observe(_move, net, device)
        same_count = trial.random.randint(2, 5)
        # Two calls with equally many sequences: nothing may be left over from the first.
        for count, steps in (
            (same_count, trial.random.randint(2, 6)),
            (same_count, 2),
            (1, 1),
        ):
            sequence = trial.normal(count, steps, inputs)
            inputs_on_device, expected = sequence.to(device), given(sequence)
            try:
                with trial.watch() as watch:
                    result = trial.result_of(net, inputs_on_device)
                net_device = trial.observe(_device_of, net)
                details = {"name": "net(sequence)", "found": net_device, "given": device}
                trial.expect(net_device == device, "net-moved", **details)
                same_shape = isinstance(result, Tensor) and result.shape == (count, hidden)
                trial.expect(same_shape, "different-scores", name="Recurrent")
                trial.expect(
                    result.device == device, "result-elsewhere", given=device, found=result.device
                )
            except WrongAnswer as wrong:
                if device != trial.device and wrong.hint.id in _ELSEWHERE:
                    raise trial.wrong("one-device-only", works=trial.device, fails=device) from None
                raise
            trial.expect(close(result, expected), "different-scores", name="Recurrent")
            trial.expect(close(inputs_on_device, sequence), "input-changed")
            copied_bytes[device] = copied_bytes.get(device, 0) + sum(
                move.bytes for move in watch.moves
            )
    for device, size in copied_bytes.items():
        trial.expect(not size, "copied", device=device, bytes=size)


def _move(trial: Trial, net: nn.Module, device: torch.device) -> None:
    trial.call(net.to, device)


def _device_of(trial: Trial, net: nn.Module) -> torch.device:
    return next(net.parameters()).device
