"""The checks of lab 02, device mismatch errors; what they say of mistakes is in `hints_02.py`."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks import hints
from helpers.checks.core import Lab, NotRight, Trial
from helpers.checks.hints_02 import (
    A_SHARE,
    BATCH_ELSEWHERE,
    BELIEVES,
    BUFFERS_LEFT,
    DETOUR,
    DOUBTS,
    FIRST_MOVED,
    IMAGES_BEHIND,
    INPUT_CHANGED,
    LABELS_BEHIND,
    NAMES_NOBODY,
    NEEDS_ITS_GPU,
    NET_MOVED,
    NO_TENSOR,
    NOT_A_BATCH,
    NOT_A_COUNT,
    NOT_A_PAIR,
    NOT_LOADED,
    NOT_TWO,
    ONE_DEVICE_ONLY,
    OTHER_DEVICE,
    OTHER_NAME,
    OTHER_NUMBERS,
    OTHER_RESULT,
    OTHER_ROWS,
    RESULT_DROPPED,
    STILL_MIXES,
    TABLE_MOVED,
    WEIGHTS_BEHIND,
    WEIGHTS_DROPPED,
    WRONG_COUNT,
    WRONG_LOSS,
    WRONG_PLACE,
)

lab = Lab("02_device_mismatch_errors", seconds=30)


# Exercise 1


@lab.exercise(1, points=4, right="Eight lines, eight culprits, and each of them found.")
def exercise_1(
    trial: Trial,
    add: Callable[..., Any],
    multiply: Callable[..., Any],
    score: Callable[..., Any],
    embed: Callable[..., Any],
    hide: Callable[..., Any],
    divide: Callable[..., Any],
    noise: Callable[..., Any],
    count_right: Callable[..., Any],
) -> None:
    """Eight functions of one line; the work goes on where the first argument is."""
    rows, columns = trial.random.sample(range(2, 9), 2)
    X, Y = trial.normal(rows, columns), trial.normal(rows, columns)
    words = trial.integers(0, rows, (5,))
    labels = trial.integers(0, 3, (9,))
    total = trial.normal() + 10
    embedding = nn.Embedding.from_pretrained(X.clone())
    net = nn.Linear(columns, 3)
    guesses = labels.clone()
    guesses[trial.random.randint(2, 7) :] = 3
    right = int((guesses == labels).sum())
    tries: list[Callable[[], None]] = [
        lambda: _try_line(trial, add, (X, Y), X + Y),
        lambda: _try_line(trial, multiply, (X, Y.t()), X @ Y.t()),
        lambda: _try_line(trial, score, (net, X), net(X).detach()),
        lambda: _try_line(trial, embed, (embedding, words), X[words]),
        lambda: _try_line(trial, hide, (X, Y > 0), X.masked_fill(Y > 0, -torch.inf)),
        # The CPU first: a single number of the CPU may be mixed with a GPU's tensors as it is.
        lambda: _try_line(trial, divide, (X, total), X / total, cpu_first=True),
        lambda: _try_noise(trial, noise, X),
        lambda: _try_line(trial, count_right, (guesses, labels), right),
    ]
    for done, try_it in enumerate(tries):
        try:
            try_it()
        except NotRight as wrong:
            if wrong.hint is hints.DEVICE_ERROR:
                raise STILL_MIXES.of(done=done, **wrong.values) from None
            raise


def _try_line(
    trial: Trial,
    line: Callable[..., Any],
    given: tuple[Any, Any],
    expected: Tensor | int,
    *,
    cpu_first: bool = False,
) -> None:
    """Call `line` with its first argument on each device and its second on another one."""
    places = trial.devices[::-1] if cpu_first else trial.devices
    for place in places:
        others = [device for device in trial.devices if device != place]
        first, second = _moved(given[0], place), _moved(given[1], others[-1])
        with trial.watch() as watch:
            outcome = trial.outcome(line, first, second)
        try:
            if outcome.error is not None:
                wrong = trial.why(outcome.error)
                dropped = any(move.target == place for move in watch.moves)
                if wrong.hint is hints.DEVICE_ERROR and dropped:
                    raise RESULT_DROPPED.of(name=trial.name, device=place)
                raise wrong
            trial.expect_result(outcome.value)
            _compare_line(trial, outcome.value, expected, place)
        except NotRight as wrong:
            somewhere = wrong.hint in (hints.DEVICE_ERROR, WRONG_PLACE, RESULT_DROPPED)
            if somewhere and place != places[0]:
                told = {"name": trial.name, "works": places[0], "fails": place}
                raise ONE_DEVICE_ONLY.of(**told) from None
            raise
        found = _place_of(first)
        trial.expect(found == place, FIRST_MOVED, name=trial.name, given=place, found=found)
        kept = all(map(_same_numbers, (first, second), given))
        trial.expect(kept, INPUT_CHANGED, name=trial.name)


def _compare_line(trial: Trial, result: Any, expected: Tensor | int, place: torch.device) -> None:
    what = type(result).__name__
    if isinstance(expected, int):
        number = isinstance(result, int | float) and not isinstance(result, bool)
        trial.expect(number, NOT_A_COUNT, what=what)
        trial.expect(result == expected, OTHER_RESULT, name=trial.name)
        return
    shape = tuple(expected.shape)
    trial.expect(isinstance(result, Tensor), NO_TENSOR, name=trial.name, what=what, shape=shape)
    found = result.device
    trial.expect(found == place, WRONG_PLACE, name=trial.name, given=place, found=found)
    same = result.shape == expected.shape and result.dtype == expected.dtype
    trial.expect(same and _close(result, expected), OTHER_RESULT, name=trial.name)


def _try_noise(trial: Trial, noise: Callable[..., Any], X: Tensor) -> None:
    for place in trial.devices:
        generator = torch.Generator().manual_seed(trial.random.randrange(2**31))
        # Not to be had by making another generator with the same seed.
        torch.rand(3, generator=generator)
        twin = torch.Generator()
        twin.set_state(generator.get_state())
        x = X.to(place)
        try:
            result = trial.call(noise, x, generator)
            trial.expect_result(result)
            what, shape = type(result).__name__, tuple(x.shape)
            trial.expect(
                isinstance(result, Tensor), NO_TENSOR, name="noise", what=what, shape=shape
            )
            told = {"name": "noise", "given": place, "found": result.device}
            trial.expect(result.device == place, WRONG_PLACE, **told)
        except NotRight as wrong:
            if wrong.hint in (hints.DEVICE_ERROR, WRONG_PLACE) and place != trial.device:
                told = {"name": "noise", "works": trial.device, "fails": place}
                raise ONE_DEVICE_ONLY.of(**told) from None
            raise
        trial.expect(result.shape == x.shape, OTHER_RESULT, name="noise")
        trial.expect(_close(result, torch.rand(x.shape, generator=twin)), OTHER_NUMBERS)


# Exercise 2


@lab.exercise(2, points=3, right="You read who has to move, whomever the message names.")
def exercise_2(trial: Trial, culprit: Callable[..., Any]) -> None:
    """`culprit(message, device)`: what has to move and where it is, or None."""
    gpu, cpu = trial.device, torch.device("cpu")
    pairs = [(gpu, cpu), (cpu, gpu)]
    pairs += [(one, two) for one in trial.devices for two in trial.devices if one != two]
    for first, second in pairs:
        for mix in trial.random.sample(_MIXES, 4):
            message = _message_of(mix, first, second)
            for device in (first, second):
                _check_culprit(trial, culprit, message, device)
        _check_unnamed(trial, culprit)


# Each takes the device of its first tensor and that of another, and names the other one.
_MIXES: list[Callable[[torch.device, torch.device], object]] = [
    lambda a, b: torch.ones(2, 3, device=a) @ torch.ones(3, 4, device=b),
    lambda a, b: F.linear(
        torch.ones(2, 3, device=b), torch.ones(4, 3, device=a), torch.ones(4, device=a)
    ),
    lambda a, b: F.embedding(torch.tensor([1, 0], device=b), torch.ones(4, 3, device=a)),
    lambda a, b: torch.cat([torch.ones(2, device=a), torch.ones(3, device=b)]),
    lambda a, b: F.cross_entropy(torch.ones(2, 3, device=a), torch.tensor([1, 0], device=b)),
    lambda a, b: torch.bmm(torch.ones(1, 2, 3, device=a), torch.ones(1, 3, 4, device=b)),
]


def _message_of(mix: Callable[..., object], first: torch.device, second: torch.device) -> str:
    try:
        mix(first, second)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("torch did not refuse a mix of devices")


def _check_culprit(
    trial: Trial, culprit: Callable[..., Any], message: str, device: torch.device
) -> None:
    named, place, other = _NAMED.search(message).groups()
    result = trial.call(culprit, message, device)
    trial.expect_result(result)
    shown = repr(result)
    pair = isinstance(result, tuple | list) and len(result) == 2
    whole = pair and all(isinstance(each, str | torch.device) for each in result)
    trial.expect(whole, NOT_A_PAIR, found=shown)
    told, found = map(str, result)
    right = str(device) == place
    if right:
        hint = BELIEVES if told == named else DOUBTS
        trial.expect(told == "others", hint, named=named, device=device, place=place, found=shown)
    elif told == "others":
        raise DOUBTS.of(named=named, device=device, place=place, found=shown)
    else:
        trial.expect(told == named, OTHER_NAME, named=named, found=shown)
    expected = other if right else place
    trial.expect(found == expected, OTHER_DEVICE, place=expected, found=found)


def _check_unnamed(trial: Trial, culprit: Callable[..., Any]) -> None:
    one, two = trial.random.sample(trial.devices, 2)
    message = _message_of(lambda a, b: torch.ones(2, device=a) + torch.ones(2, device=b), one, two)
    outcome = trial.outcome(culprit, message, one)
    if outcome.error is not None:
        if isinstance(outcome.error, NotImplementedError):
            raise trial.why(outcome.error)
        raise NAMES_NOBODY.of(found=f"stops with a {type(outcome.error).__name__}")
    trial.expect(outcome.value is None, NAMES_NOBODY, found=f"returns {outcome.value!r}")


_NAMED = re.compile(r"got (\S+) is on (\S+), different from other tensors on (\S+)")


# Exercise 3


@lab.exercise(3, points=3, right="Images, labels and class weights all come to the network.")
def exercise_3(trial: Trial, evaluate_batch: Callable[..., Any]) -> None:
    """`evaluate_batch(net, loss, images, labels)`: the loss as a float, the right as an int."""
    classes = trial.random.randint(3, 4)
    for place in trial.devices:
        other = next(device for device in reversed(trial.devices) if device != place)
        for count in (trial.random.randint(6, 12), 1):
            net = nn.Sequential(nn.Flatten(), nn.Linear(12, classes))
            loss = nn.CrossEntropyLoss(weight=trial.normal(classes).abs() + 0.2)
            images = trial.normal(count, 3, 2, 2)
            with torch.no_grad():
                scores = net(images)
            labels = scores.argmax(dim=1)
            wrong = trial.random.randint(1, count - 1) if count > 1 else 0
            labels[:wrong] = (labels[:wrong] + 1) % classes
            _check_evaluation(trial, evaluate_batch, (net, loss, images, labels), place, other)


def _check_evaluation(
    trial: Trial,
    evaluate_batch: Callable[..., Any],
    given: tuple[nn.Module, nn.Module, Tensor, Tensor],
    place: torch.device,
    other: torch.device,
) -> None:
    net, loss, images, labels = given
    with torch.no_grad():
        scores = net(images)
        expected = loss(scores, labels).item()
        unweighted = F.cross_entropy(scores, labels).item()
    right = int((scores.argmax(dim=1) == labels).sum())
    moved = [_moved(net, place), *(_moved(each, other) for each in given[1:])]
    outcome = trial.outcome(evaluate_batch, *moved)
    found = _place_of(moved[0])
    trial.expect(found == place, NET_MOVED, name=trial.name, found=found, given=place)
    if outcome.error is not None:
        for word, hint in _BEHIND.items():
            if f"{word} is on {other}" in str(outcome.error):
                raise hint.of(net=place, other=other)
        raise trial.why(outcome.error)
    result = outcome.value
    trial.expect_result(result)
    kept = all(map(_same_numbers, moved[2:], given[2:]))
    trial.expect(kept, INPUT_CHANGED, name="evaluate_batch")
    pair = isinstance(result, tuple | list) and len(result) == 2
    trial.expect(pair, NOT_TWO, found=f"a {type(result).__name__}")
    mean, counted = result
    share = right / len(labels)
    if isinstance(counted, float) and abs(counted - share) < 1e-6 and share < 1:
        raise A_SHARE.of(found=counted, right=right)
    kinds = f"a {type(mean).__name__} and a {type(counted).__name__}"
    good = isinstance(mean, float) and isinstance(counted, int) and not isinstance(counted, bool)
    trial.expect(good, NOT_TWO, found=kinds)
    dropped = len(labels) > 1 and _near(mean, unweighted) and not _near(expected, unweighted)
    trial.expect(not dropped, WEIGHTS_DROPPED)
    trial.expect(_near(mean, expected), WRONG_LOSS)
    trial.expect(counted == right, WRONG_COUNT, right=right, total=len(labels), found=counted)


_BEHIND = {"mat1": IMAGES_BEHIND, "target": LABELS_BEHIND, "weight": WEIGHTS_BEHIND}


def _near(one: float, other: float) -> bool:
    # A GPU may round the inputs of a product (TF32).
    return abs(one - other) <= 5e-3 * max(1.0, abs(other))


# Exercise 4


@lab.exercise(4, points=2, right="What was asked for goes over, and the table stays at home.")
def exercise_4(trial: Trial, build_batch: Callable[..., Any]) -> None:
    """`build_batch(table, rows, extra)`: rows of a large table, and others below them."""
    for place in trial.devices:
        columns = trial.random.randint(3, 6)
        table = trial.normal(trial.random.randint(800, 999), columns)
        drawn = sorted(trial.random.sample(range(len(table)), trial.random.randint(3, 5)))
        picked = torch.tensor(
            [*drawn[1:], drawn[0], drawn[1]]
        )  # in no order, and one of them twice
        extra = trial.normal(trial.random.randint(1, 4), columns)
        expected = torch.cat([table[picked], extra])
        given = table, picked, extra
        moved = [table.clone(), picked.to(place), extra.to(place)]
        with trial.watch() as watch:
            result = trial.call(build_batch, *moved)
        trial.expect_result(result)
        what, shape = f"a {type(result).__name__}", tuple(expected.shape)
        trial.expect(isinstance(result, Tensor), NOT_A_BATCH, found=what, shape=shape)
        what = f"the shape {tuple(result.shape)}"
        trial.expect(result.shape == expected.shape, NOT_A_BATCH, found=what, shape=shape)
        found = result.device
        trial.expect(found == place, BATCH_ELSEWHERE, given=place, found=found)
        trial.expect(all(map(_same_numbers, moved, given)), INPUT_CHANGED, name="build_batch")
        trial.expect(_close(result, expected), OTHER_ROWS)
        few = table[picked].nbytes
        most = max([move.bytes for move in watch.moves], default=0)
        told = {"rows": len(picked), "bytes": most, "few": few, "device": place}
        trial.expect(most < table.nbytes, TABLE_MOVED, **told)
        away = [move.bytes for move in watch.moves if move.source == place]
        carried = picked.nbytes if place.type != "cpu" else 0
        trial.expect(sum(away) <= carried, DETOUR, device=place)


# Exercise 5


@lab.exercise(5, points=3, right="The file loads on any machine, into a network anywhere.")
def exercise_5(trial: Trial, load_weights: Callable[..., Any]) -> None:
    """`load_weights(net, path)`: put the weights of a file into `net`, wherever both come from."""
    # Each case: the device that the file was saved on, the machine that loads it, the network's.
    cases = [("cuda:0", 0, "cpu"), ("cuda:1", 1, "cuda:0"), ("cuda:0", 2, "cuda:1")]
    cases += [("cuda:1", 2, "cpu"), ("cpu", 1, "cuda:0")]
    with TemporaryDirectory() as folder:
        for number, (saved_on, gpus, place) in enumerate(cases):
            path = Path(folder) / f"weights_{number}.pt"
            columns = trial.random.randint(2, 6)
            with trial.machine_with(2):
                saved = _network(trial, columns).to(saved_on)
                torch.save(saved.state_dict(), path)
                expected = {name: tensor.cpu() for name, tensor in saved.state_dict().items()}
            with trial.machine_with(gpus):
                net = _network(trial, columns).to(place)
                outcome = trial.outcome(load_weights, net, path)
                _check_loaded(trial, outcome.error, net, expected, (saved_on, gpus, place))


def _network(trial: Trial, columns: int) -> nn.Module:
    """A small network with fresh weights, and with buffers that are not those of a new one."""
    net = nn.Sequential(nn.Linear(columns, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    with torch.no_grad():
        for tensor in net.state_dict().values():
            tensor.copy_(trial.normal(*tensor.shape).mul(9).abs())
    return net


def _check_loaded(
    trial: Trial,
    error: Exception | None,
    net: nn.Module,
    expected: dict[str, Tensor],
    case: tuple[str, int, str],
) -> None:
    saved_on, gpus, place = case
    if error is not None:
        if any(words in str(error) for words in ("deserialize", "CUDA device", "device ordinal")):
            told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
            text = str(error).split(". ")[0]
            text = f"{type(error).__name__}: {text}"
            raise NEEDS_ITS_GPU.of(gpus=told, saved=saved_on, error=text)
        raise trial.why(error)
    state = net.state_dict()
    for tensor in state.values():
        right = str(tensor.device) == place
        trial.expect(right, NET_MOVED, name="load_weights", found=tensor.device, given=place)
    parameters = {name for name, _ in net.named_parameters()}
    for name in sorted(state, key=lambda name: name not in parameters):
        hint = NOT_LOADED if name in parameters else BUFFERS_LEFT
        trial.expect(torch.equal(state[name].cpu(), expected[name]), hint, name=name)


def _moved(thing: Any, device: torch.device) -> Any:
    """A copy of a tensor or module on `device`."""
    return copy.deepcopy(thing).to(device)


def _place_of(thing: Any) -> torch.device:
    return next(thing.parameters()).device if isinstance(thing, nn.Module) else thing.device


def _same_numbers(one: Any, other: Any) -> bool:
    if isinstance(one, nn.Module):
        pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
        return all(_same_numbers(*pair) for pair in pairs)
    return torch.equal(one.cpu(), other.cpu())


def _close(one: Tensor, other: Tensor) -> bool:
    # A GPU may round the inputs of a product (TF32).
    return torch.allclose(one.detach().cpu(), other.detach().cpu(), rtol=1e-2, atol=1e-2)
