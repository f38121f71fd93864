"""Lab 03, exercise 3: `move_both`."""

import torch
from torch import Tensor, nn

from helpers.checks.comparing import close
from helpers.checks.lab_03.shared import lab, net_and_optimizer, state_of, take_steps
from helpers.checks.trial import Answer, Trial


@lab.exercise(
    3, points=3, success_message="Network and optimizer move together, and training continues."
)
def exercise_3(trial: Trial, move_both: Answer) -> None:
    """`move_both(net, optimizer, device)`: both move, and nothing is lost."""
    gpu, cpu = trial.device, torch.device("cpu")
    cases = [("SGD", cpu, gpu, 2), ("Adam", cpu, gpu, 2), ("Adam", gpu, cpu, 2)]
    cases += [("SGD", *trial.devices[:2], 2), ("SGD", cpu, gpu, 0)]
    for name, source, target, steps in cases:
        seed = trial.random.randrange(2**31)
        (net, optimizer), (twin, twin_optimizer) = (
            net_and_optimizer(seed, name, source) for _ in "12"
        )
        batch = trial.normal(6, 4, device=source)
        take_steps(net, optimizer, batch, steps)
        take_steps(twin, twin_optimizer, batch, steps)
        trial.call(move_both, net, optimizer, target)
        _check_both_moved(trial, (net, optimizer), (twin, twin_optimizer), target)
        take_steps(net, optimizer, batch.to(target), 2)
        take_steps(twin, twin_optimizer, batch, 2)
        pairs = zip(net.parameters(), twin.parameters(), strict=True)
        same_weights = all(close(a, b) for a, b in pairs)
        trial.expect(same_weights, "state-changed", entry="state")


def _check_both_moved(
    trial: Trial,
    moved: tuple[nn.Module, torch.optim.Optimizer],
    twins: tuple[nn.Module, torch.optim.Optimizer],
    target: torch.device,
) -> None:
    (net, optimizer), (twin, twin_optimizer) = moved, twins
    for parameter in net.parameters():
        on_target = parameter.device == target
        trial.expect(
            on_target, "net-not-moved", name="move_both", wanted=target, found=parameter.device
        )
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        trial.expect(_is_unchanged(a, b), "weights-changed")
    net_ids = [id(parameter) for parameter in net.parameters()]
    optimizer_ids = [id(p) for group in optimizer.param_groups for p in group["params"]]
    trial.expect(net_ids == optimizer_ids, "different-parameters")
    groups = zip(optimizer.param_groups, twin_optimizer.param_groups, strict=False)
    for new_group, twin_group in groups:
        for key in sorted(set(twin_group) - {"params"}):
            details = {"key": key, "found": new_group.get(key), "given": twin_group[key]}
            trial.expect(new_group.get(key) == twin_group[key], "settings-changed", **details)
    state, twin_state = state_of(optimizer), state_of(twin_optimizer)
    for key, expected in twin_state.items():
        entry = key[1]
        trial.expect(key in state, "state-lost", entry=entry)
        # A step counter may stay on the CPU, as those of Adam do.
        left_behind = state[key].dim() > 0 and state[key].device != target
        details = {"wanted": target, "entry": entry, "found": state[key].device}
        trial.expect(not left_behind, "state-not-moved", **details)
        trial.expect(_is_unchanged(state[key], expected), "state-changed", entry=entry)


def _is_unchanged(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a.detach().cpu(), b.detach().cpu(), rtol=1e-3, atol=1e-7)
