"""The checks of lab 03, moving a network; what they say of mistakes is in `hints_03.py`."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks import hints
from helpers.checks.core import Lab, NotRight, Trial
from helpers.checks.hints_03 import (
    BUFFERS_LEFT,
    BUFFERS_MISSING,
    CARRIED,
    ELSEWHERE,
    HIDDEN_LAYERS,
    IMAGES_BEHIND,
    LABELS_BEHIND,
    LEARNED_TOO,
    NEEDS_ITS_GPU,
    NET_MOVED,
    NET_STAYS,
    NO_FILE,
    NOT_A_MODULE,
    NOT_DEVICES,
    NOT_LEARNED,
    NOT_LOADED,
    NOT_SAVED,
    NOT_THREE_SETS,
    NOT_TRAINED,
    ONE_DEVICE_ONLY,
    OPTIMIZER_LEFT,
    OTHER_MEAN,
    OTHER_PARAMETERS,
    OTHER_SCORES,
    OTHER_TRAINING,
    PARAMETERS_MISSING,
    PLAIN_TENSOR,
    SETTINGS_CHANGED,
    STATE_BEHIND,
    STATE_CHANGED,
    STATE_LOST,
    STATE_MISSING,
    TOO_MANY,
    WEIGHTS_CHANGED,
    WHOLE_OBJECTS,
    WRONG_EPOCH,
)
from helpers.networks import ClassicNet

lab = Lab("03_moving_a_network", seconds=30)


# Exercise 1


@lab.exercise(1, points=2, right="You can tell where everything lives.")
def exercise_1(trial: Trial, devices_of: Callable[..., Any]) -> None:
    """`devices_of(net, optimizer)`: the devices of parameters, buffers and state."""
    here, there = trial.devices[0], trial.devices[-1]
    kinds = {"parameters": PARAMETERS_MISSING, "buffers": BUFFERS_MISSING, "state": STATE_MISSING}
    for name in trial.random.sample(["SGD", "Adam"], 2):
        for steps in (1, 0):
            for first, last, buffers in ((here, there, here), (there, here, here)):
                net = nn.Sequential(nn.Sequential(nn.Linear(3, 4)), nn.ReLU(), nn.BatchNorm1d(4))
                net.append(nn.Linear(4, 2))
                optimizer = _optimizer(name, net)
                _step_on_ones(net, optimizer, steps)
                net[0].to(first)
                net[3].to(last)
                net[2].to(last)
                net[2].running_var = net[2].running_var.to(buffers)
                if first == there:
                    optimizer.load_state_dict(optimizer.state_dict())
                expected = {
                    "parameters": {p.device for p in net.parameters()},
                    "buffers": {b.device for b in net.buffers()},
                    "state": {t.device for t in _state_of(optimizer).values()},
                }
                # Some optimizers remember plain numbers too.
                if steps:
                    optimizer.state[net[0][0].weight]["seen"] = 7
                result = trial.call(devices_of, net, optimizer)
                trial.expect_result(result)
                _check_sets(trial, result)
                for kind, hint in kinds.items():
                    missing, extra = expected[kind] - result[kind], result[kind] - expected[kind]
                    shown = _listed(result[kind])
                    trial.expect(not missing, hint, missing=_listed(missing), found=shown)
                    trial.expect(not extra, TOO_MANY, kind=kind, extra=_listed(extra))


def _check_sets(trial: Trial, result: Any) -> None:
    whole = isinstance(result, Mapping) and set(result) == {"parameters", "buffers", "state"}
    found = f"a {type(result).__name__}"
    if isinstance(result, Mapping):
        found = f"one with the keys {_listed(result)}"
    trial.expect(whole, NOT_THREE_SETS, found=found)
    for kind, devices in result.items():
        found = f"one whose `{kind}` is a {type(devices).__name__}"
        trial.expect(isinstance(devices, set | frozenset), NOT_THREE_SETS, found=found)
        for device in devices:
            good = isinstance(device, torch.device)
            trial.expect(good, NOT_DEVICES, kind=kind, found=repr(device))


def _listed(things: Any) -> str:
    return " and ".join(sorted(map(str, things))) or "none"


# Exercise 2


class GivenRanker(nn.Module):
    """What exercise 2 hands out."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.mean = torch.full((features,), 0.5)
        self.gain = torch.ones(features)
        self.heads = [nn.Linear(features, classes) for _ in range(2)]

    def forward(self, X: Tensor) -> Tensor:
        """Map `(N, features)` to `(N, classes)`."""
        X = (X - self.mean) * self.gain
        return sum(head(X) for head in self.heads)


@lab.exercise(2, points=3, right="What the module knows as its own comes along, and is saved.")
def exercise_2(trial: Trial, Ranker: Callable[..., Any]) -> None:
    """`Ranker(features, classes)`: its mean, its gain and its heads move with it."""
    for place in trial.devices:
        features, classes = trial.random.sample(range(2, 9), 2)
        seed = trial.random.randrange(2**31)
        torch.manual_seed(seed)
        net = trial.call(Ranker, features, classes)
        trial.expect(isinstance(net, nn.Module), NOT_A_MODULE, what=type(net).__name__)
        torch.manual_seed(seed)
        given = GivenRanker(features, classes)
        X = trial.normal(trial.random.randint(1, 5), features)
        _check_scores(trial, net, X, given(X), "Ranker")
        trial.call(net.to, place)
        for name, value in _attributes(net):
            if isinstance(value, Tensor):
                stayed = value.device != place
                trial.expect(not stayed, PLAIN_TENSOR, name=name, found=value.device)
            hidden = _modules_in(value) - set(net.modules())
            trial.expect(not hidden, HIDDEN_LAYERS, name=name, what=type(value).__name__)
        _check_scores(trial, net, X.to(place), given(X), "Ranker")
        for name in ("mean", "gain"):
            trial.expect(name in net.state_dict(), NOT_SAVED, name=name)
        _check_training(trial, net, X.to(place))


def _check_scores(trial: Trial, net: nn.Module, X: Tensor, expected: Tensor, name: str) -> None:
    scores = trial.call(net, X)
    trial.expect_result(scores)
    same = isinstance(scores, Tensor) and scores.shape == expected.shape
    trial.expect(same and _close(scores, expected), OTHER_SCORES, name=name)


def _attributes(net: nn.Module) -> list[tuple[str, Any]]:
    """What a module and those in it hold and do not know as their own state."""
    everywhere = vars(nn.Module())
    return [
        (name, value)
        for module in net.modules()
        for name, value in vars(module).items()
        if name not in everywhere
    ]


def _modules_in(value: Any) -> set[nn.Module]:
    values = value.values() if isinstance(value, dict) else value
    if not isinstance(value, list | tuple | dict | set):
        return set()
    return {each for each in values if isinstance(each, nn.Module)}


def _check_training(trial: Trial, net: nn.Module, X: Tensor) -> None:
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    learned = [parameter for parameter in net.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.5)
    scores = trial.call(net, X)
    ((scores - 3) ** 2).sum().backward()
    optimizer.step()
    for name, tensor in net.state_dict().items():
        changed = not torch.equal(tensor, before[name])
        if name == "mean":
            trial.expect(not changed, LEARNED_TOO)
        else:
            trial.expect(changed, NOT_LEARNED, name=name)


# Exercise 3


@lab.exercise(3, points=3, right="Network and memory move together, and training goes on.")
def exercise_3(trial: Trial, move_both: Callable[..., Any]) -> None:
    """`move_both(net, optimizer, device)`: both move, and nothing is forgotten."""
    gpu, cpu = trial.device, torch.device("cpu")
    ways = [("SGD", cpu, gpu, 2), ("Adam", cpu, gpu, 2), ("Adam", gpu, cpu, 2)]
    ways += [("SGD", *trial.devices[:2], 2), ("SGD", cpu, gpu, 0)]
    for name, source, target, steps in ways:
        seed = trial.random.randrange(2**31)
        (net, optimizer), (twin, twins_optimizer) = (_trained(seed, name, source) for _ in "12")
        batch = trial.normal(6, 4, device=source)
        _steps(net, optimizer, batch, steps)
        _steps(twin, twins_optimizer, batch, steps)
        trial.call(move_both, net, optimizer, target)
        _check_both_moved(trial, (net, optimizer), (twin, twins_optimizer), target)
        _steps(net, optimizer, batch.to(target), 2)
        _steps(twin, twins_optimizer, batch, 2)
        pairs = zip(net.parameters(), twin.parameters(), strict=True)
        same = all(_close(one, other) for one, other in pairs)
        trial.expect(same, STATE_CHANGED, entry="state")


def _check_both_moved(
    trial: Trial,
    moved: tuple[nn.Module, torch.optim.Optimizer],
    twins: tuple[nn.Module, torch.optim.Optimizer],
    target: torch.device,
) -> None:
    (net, optimizer), (twin, twins_optimizer) = moved, twins
    for parameter in net.parameters():
        there = parameter.device == target
        trial.expect(there, NET_STAYS, name="move_both", wanted=target, found=parameter.device)
    for one, other in zip(net.parameters(), twin.parameters(), strict=True):
        trial.expect(_as_before(one, other), WEIGHTS_CHANGED)
    of_net = [id(parameter) for parameter in net.parameters()]
    held = [id(p) for group in optimizer.param_groups for p in group["params"]]
    trial.expect(of_net == held, OTHER_PARAMETERS)
    groups = zip(optimizer.param_groups, twins_optimizer.param_groups, strict=False)
    for found, given in groups:
        for key in sorted(set(given) - {"params"}):
            told = {"key": key, "found": found.get(key), "given": given[key]}
            trial.expect(found.get(key) == given[key], SETTINGS_CHANGED, **told)
    state, twins_state = _state_of(optimizer), _state_of(twins_optimizer)
    for key, remembered in twins_state.items():
        entry = key[1]
        trial.expect(key in state, STATE_LOST, entry=entry)
        # A counter may be on the CPU, as Adam's are, or with the others.
        behind = state[key].dim() > 0 and state[key].device != target
        told = {"wanted": target, "entry": entry, "found": state[key].device}
        trial.expect(not behind, STATE_BEHIND, **told)
        trial.expect(_as_before(state[key], remembered), STATE_CHANGED, entry=entry)


# Exercise 4


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
            trial.expect(_close(result, given(sequence)), OTHER_SCORES, name="Recurrent")
            carried[place] = carried.get(place, 0) + sum(move.bytes for move in watch.moves)
    for place, size in carried.items():
        trial.expect(not size, CARRIED, device=place, bytes=size)


# Exercise 5


@lab.exercise(5, points=3, right="What was saved on one machine goes on on any other.")
def exercise_5(
    trial: Trial, save_checkpoint: Callable[..., Any], load_checkpoint: Callable[..., Any]
) -> None:
    """`save_checkpoint` and `load_checkpoint`: from any machine to any other."""
    # Each case: the device that was saved on, the machine that loads, and the device there.
    cases = [("cuda:0", 0, "cpu"), ("cuda:1", 1, "cuda:0"), ("cpu", 2, "cuda:1")]
    with TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            saved_on, gpus, place = case
            path = Path(folder) / f"checkpoint_{number}.pt"
            name = trial.random.choice(["SGD", "Adam"])
            seed, epoch = trial.random.randrange(2**31), trial.random.randint(3, 99)
            batch = trial.normal(6, 4)
            with trial.machine_with(2):
                net, optimizer = _trained(seed, name, torch.device(saved_on))
                _steps(net, optimizer, batch.to(saved_on), 2)
                saved = _cpu(net.state_dict()), _cpu(_state_of(optimizer))
                trial.call(save_checkpoint, path, net, optimizer, epoch)
                # Later training must not reach what was saved.
                _steps(net, optimizer, batch.to(saved_on), 1)
            trial.expect(path.is_file(), NO_FILE)
            with trial.machine_with(gpus):
                net, optimizer = _trained(seed + 1, name, torch.device(place))
                outcome = trial.outcome(load_checkpoint, path, net, optimizer)
                if outcome.error is not None:
                    raise _why_not_loaded(trial, outcome.error, saved_on, gpus)
                _check_loaded(trial, net, optimizer, saved, place)
                found = outcome.value
                trial.expect(found == epoch, WRONG_EPOCH, epoch=epoch, found=repr(found))


def _why_not_loaded(trial: Trial, error: Exception, saved_on: str, gpus: int) -> NotRight:
    text = str(error)
    if any(words in text for words in ("deserialize", "CUDA device", "device ordinal")):
        told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
        told_error = f"{type(error).__name__}: {text.split('. ')[0]}"
        return NEEDS_ITS_GPU.of(gpus=told, saved=saved_on, error=told_error)
    if isinstance(error, pickle.UnpicklingError) and "eights only" in text:
        return WHOLE_OBJECTS.of()
    return trial.why(error)


def _check_loaded(
    trial: Trial,
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    saved: tuple[Mapping[Any, Tensor], Mapping[Any, Tensor]],
    place: str,
) -> None:
    state = net.state_dict()
    for tensor in state.values():
        told = {"name": "load_checkpoint", "found": tensor.device, "given": place}
        trial.expect(str(tensor.device) == place, NET_MOVED, **told)
    parameters = {name for name, _ in net.named_parameters()}
    for name in sorted(state, key=lambda name: name not in parameters):
        hint = NOT_LOADED if name in parameters else BUFFERS_LEFT
        trial.expect(torch.equal(state[name].cpu(), saved[0][name]), hint, name=name)
    remembered = _state_of(optimizer)
    for key, tensor in saved[1].items():
        same = key in remembered and torch.equal(remembered[key].cpu(), tensor)
        trial.expect(same, OPTIMIZER_LEFT, entry=key[1])
        behind = tensor.dim() > 0 and str(remembered[key].device) != place
        told = {"wanted": place, "entry": key[1], "found": remembered[key].device}
        trial.expect(not behind, STATE_BEHIND, **told)


# Exercise 6


@lab.exercise(6, points=3, right="The classic network trains where you ask it to.", seconds=60)
def exercise_6(trial: Trial, train: Callable[..., Any]) -> None:
    """`train(net, batches, device)`: the classic network, on the device."""
    sizes = [trial.random.randint(2, 4), trial.random.randint(2, 4), 1]
    batches = [(trial.normal(n, 3, 32, 32), trial.integers(0, 10, (n,))) for n in sizes]
    seed = trial.random.randrange(2**31)
    torch.manual_seed(seed)
    reference = ClassicNet()
    before = {name: tensor.clone() for name, tensor in reference.state_dict().items()}
    mean = _train_on_cpu(reference, batches)
    for place in trial.devices:
        torch.manual_seed(seed)
        net = ClassicNet().to("cpu" if place.type == "cuda" else trial.device)
        given = [(images.clone(), labels.clone()) for images, labels in batches]
        outcome = trial.outcome(train, net, given, place)
        if outcome.error is not None:
            raise _why_not_trained(trial, outcome.error, net, place)
        trial.expect_result(outcome.value)
        found = next(net.parameters()).device
        trial.expect(found == place, NET_STAYS, name="train", wanted=place, found=found)
        state = _cpu(net.state_dict())
        trained = not all(torch.equal(state[name], before[name]) for name in state)
        trial.expect(trained, NOT_TRAINED)
        way = _distance(reference.state_dict(), before)
        trial.expect(_distance(reference.state_dict(), state) < way / 10, OTHER_TRAINING)
        number = isinstance(outcome.value, float) and abs(outcome.value - mean) < 0.02
        trial.expect(number, OTHER_MEAN, found=repr(outcome.value))


def _why_not_trained(
    trial: Trial, error: Exception, net: nn.Module, wanted: torch.device
) -> NotRight:
    found, text = next(net.parameters()).device, str(error)
    why = trial.why(error)
    if why.hint is hints.DEVICE_ERROR and found != wanted:
        return NET_STAYS.of(name="train", wanted=wanted, found=found)
    if "target is on" in text:
        return LABELS_BEHIND.of(net=found, other="cpu")
    if "Input type" in text and "FloatTensor" in text:
        return IMAGES_BEHIND.of(net=found, other="cpu")
    return why


def _train_on_cpu(net: nn.Module, batches: list[tuple[Tensor, Tensor]]) -> float:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    total = 0.0
    for images, labels in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


# A small network with an optimizer that remembers, for several exercises.


def _trained(seed: int, name: str, device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)).to(device)
    return net, _optimizer(name, net)


def _optimizer(name: str, net: nn.Module) -> torch.optim.Optimizer:
    first, *others = net.parameters()
    # Two groups with settings of their own.
    groups = [{"params": [first], "lr": 0.02}, {"params": others, "lr": 0.05}]
    if name == "SGD":
        return torch.optim.SGD(groups, momentum=0.9, weight_decay=0.01)
    return torch.optim.Adam(groups, betas=(0.8, 0.9))


def _steps(net: nn.Module, optimizer: torch.optim.Optimizer, batch: Tensor, count: int) -> None:
    for _ in range(count):
        optimizer.zero_grad()
        ((net(batch) - 1) ** 2).mean().backward()
        optimizer.step()


def _step_on_ones(net: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for _ in range(count):
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()


def _state_of(optimizer: torch.optim.Optimizer) -> dict[tuple[int, str], Tensor]:
    """The tensors that an optimizer remembers, by their parameter's number and their name."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return {
        (number, key): value
        for number, parameter in enumerate(parameters)
        for key, value in optimizer.state.get(parameter, {}).items()
        if isinstance(value, Tensor)
    }


def _cpu(state: Mapping[Any, Tensor]) -> dict[Any, Tensor]:
    """A copy of a state on the CPU."""
    return {key: tensor.detach().cpu().clone() for key, tensor in state.items()}


def _distance(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> float:
    """How far apart two states on the CPU are, over all their numbers."""
    return sum(float(((one[name] - other[name]) ** 2).sum()) for name in one) ** 0.5


def _as_before(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one.detach().cpu(), other.detach().cpu(), rtol=1e-3, atol=1e-7)


def _close(one: Tensor, other: Tensor) -> bool:
    # A GPU may round the inputs of a product (TF32) and adds in another order.
    return torch.allclose(one.detach().cpu(), other.detach().cpu(), rtol=1e-2, atol=1e-2)
