"""The checks of lab 01, tensors and devices; what they say of mistakes is in `hints_01.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.checks.core import Lab, NotRight, Trial
from helpers.checks.hints_01 import (
    ALLOCATES,
    ARRAY_DIFFERS,
    BATCHES_CHANGED,
    CALLERS_X,
    CARRIED,
    EMPTY_LIST,
    INPUT_CHANGED,
    MANY_FETCHES,
    MEAN_OF_MEANS,
    NEEDLESS_COPY,
    NO_DEFAULT,
    NO_FALLBACK,
    NO_LIST,
    NO_NUMBER,
    NOT_A_DEVICE,
    NOT_A_FLOAT,
    NOT_A_LIST,
    NOT_A_NUMBER,
    NOT_ADDED,
    NOT_AN_ARRAY,
    NOT_MOVED,
    NOT_ROUNDED,
    OTHER_DEVICE,
    OTHER_DTYPE,
    OTHER_TYPE,
    RAMP_DTYPE,
    REFUSED,
    SHARED,
    TENSOR_CHANGED,
    WRONG_BYTES,
    WRONG_GPU,
    WRONG_LIST,
    WRONG_MEAN,
    WRONG_NUMBERS,
    WRONG_PIECES,
    WRONG_PLACE,
    WRONG_RAMP,
    WRONG_SHAPE,
)

lab = Lab("01_tensors_and_devices")


@lab.exercise(1, points=2, right="Every tensor goes where it was sent, and only if it has to.")
def exercise_1(trial: Trial, move_all: Callable[..., Any]) -> None:
    """`move_all(tensors, device)`: a new list with every tensor on `device`."""
    kinds = [torch.float32, torch.float16, torch.int64, torch.float64]
    for target in [*trial.devices, str(trial.device)]:
        for count in (trial.random.randint(2, 5), 0):
            given = [
                trial.normal(3, i + 1, device=trial.devices[i % 2 - 1]).mul(9).to(kinds[i % 4])
                for i in range(count)
            ]
            before = list(given)
            result = trial.call(move_all, given, target)
            trial.expect_result(result)
            unchanged = len(given) == count and all(map(_is, given, before))
            trial.expect(unchanged, INPUT_CHANGED)
            what = f"{type(result).__name__}"
            what = f"a list of {len(result)}" if isinstance(result, list) else f"a {what}"
            good = isinstance(result, list) and len(result) == count
            trial.expect(good and all(map(_is_tensor, result)), NO_LIST, what=what, count=count)
            _compare_moved(trial, before, result, torch.device(target))


def _compare_moved(
    trial: Trial, before: list[torch.Tensor], result: list[torch.Tensor], target: torch.device
) -> None:
    for was, now in zip(before, result, strict=True):
        if now.device != target:
            hint = NOT_MOVED if now.device == was.device else OTHER_DEVICE
            raise hint.of(wanted=target, found=now.device)
    for was, now in zip(before, result, strict=True):
        trial.expect(now.dtype == was.dtype, OTHER_DTYPE, before=was.dtype, after=now.dtype)
        trial.expect(torch.equal(now.cpu(), was.cpu()), WRONG_NUMBERS)
        there = was.device == target
        trial.expect(not there or now is was, NEEDLESS_COPY, device=target)


def _is(one: object, other: object) -> bool:
    return one is other


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


@lab.exercise(2, points=3, right="Your program finds its devices on every machine.")
def exercise_2(trial: Trial, try_gpu: Callable[..., Any], try_all_gpus: Callable[..., Any]) -> None:
    """`try_gpu(i=0)` and `try_all_gpus()`, on machines with several numbers of GPUs."""
    for gpus in [*trial.random.sample([2, 3, 5], 2), 1, 0]:
        with trial.machine_with(gpus):
            _check_try_gpu(trial, try_gpu, gpus)
            _check_try_all_gpus(trial, try_all_gpus, gpus)


def _check_try_gpu(trial: Trial, try_gpu: Callable[..., Any], gpus: int) -> None:
    told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
    for i in range(gpus + 2):
        found = trial.call(try_gpu, i)
        trial.expect_result(found)
        _check_device(trial, found, "try_gpu")
        expected = torch.device("cuda", i) if i < gpus else torch.device("cpu")
        hint = WRONG_GPU if i < gpus else NO_FALLBACK
        trial.expect(found == expected, hint, gpus=told, i=i, found=found)
    try:
        outcome = trial.outcome(try_gpu)
    except NotRight:
        raise NO_DEFAULT.of() from None
    expected = torch.device("cuda:0") if gpus else torch.device("cpu")
    trial.expect(outcome.value == expected, WRONG_GPU, gpus=told, i="", found=outcome.value)


def _check_try_all_gpus(trial: Trial, try_all_gpus: Callable[..., Any], gpus: int) -> None:
    told = {0: "no GPU", 1: "one GPU"}.get(gpus, f"{gpus} GPUs")
    found = trial.call(try_all_gpus)
    trial.expect_result(found)
    trial.expect(isinstance(found, list), NOT_A_LIST, what=f"a {type(found).__name__}")
    for device in found:
        _check_device(trial, device, "try_all_gpus")
    trial.expect(found or gpus, EMPTY_LIST)
    expected = [torch.device("cuda", i) for i in range(gpus)] or [torch.device("cpu")]
    shown = ", ".join(map(str, found)) or "an empty list"
    trial.expect(found == expected, WRONG_LIST, gpus=told, found=shown)


def _check_device(trial: Trial, device: object, name: str) -> None:
    good = isinstance(device, torch.device)
    trial.expect(good, NOT_A_DEVICE, name=name, what=f"a {type(device).__name__}")
    numbered = device.type != "cuda" or device.index is not None
    trial.expect(numbered, NO_NUMBER, name=name)


@lab.exercise(3, points=2, right="The ramp is made where X is, and nothing is carried.")
def exercise_3(trial: Trial, add_ramp: Callable[..., Any]) -> None:
    """`add_ramp(X)`: X plus 0, 1, 2, ... along its columns, made on X's device."""
    kinds = [torch.float64, torch.float32, torch.float32]
    for device, dtype in zip(trial.devices, kinds, strict=False):
        rows = trial.random.randint(2, 6)
        for shape in ((rows, rows + trial.random.randint(1, 5)), (rows, rows), (rows + 3, 1)):
            X = trial.normal(*shape, device=device, dtype=dtype)
            before = X.clone()
            with trial.watch() as watch:
                result = trial.call(add_ramp, X)
            trial.expect_result(result)
            trial.expect(torch.equal(X, before), CALLERS_X)
            what = type(result).__name__
            trial.expect(_is_tensor(result), NOT_ADDED, what=what, shape=shape)
            trial.expect(result.device == device, WRONG_PLACE, given=device, found=result.device)
            found = tuple(result.shape)
            trial.expect(found == shape, WRONG_SHAPE, given=shape, found=found)
            trial.expect(result.dtype == dtype, RAMP_DTYPE, before=dtype, after=result.dtype)
            ramp = torch.arange(shape[1], dtype=torch.float64)
            close = torch.allclose(result.cpu().double(), before.cpu().double() + ramp, atol=1e-3)
            trial.expect(close, WRONG_RAMP, given=shape)
            carried = sum(move.bytes for move in watch.moves)
            trial.expect(not carried, CARRIED, device=device, bytes=carried)


@lab.exercise(4, points=2, right="You can tell what fits before you try it.")
def exercise_4(trial: Trial, gpu_bytes: Callable[..., Any]) -> None:
    """`gpu_bytes(shape, dtype)`: what torch hands out for such a tensor on a GPU."""
    draw = trial.random.randint
    # More than two pieces of 512 bytes each, so that no mistake looks like another one.
    cases = [((draw(5, 9), draw(8, 30), draw(31, 60)), d) for d in _SIZES]
    cases += [((128 * draw(2, 9),), torch.float32), ((64 * draw(2, 9) + 1,), torch.float64)]
    cases += [((), torch.uint8), ((draw(1, 100),), torch.uint8), ((0, draw(2, 9)), torch.float32)]
    cases += [((2**20, 2**23 + draw(1, 9)), torch.float16)]
    for shape, dtype in cases:
        numbers = int(np.prod(shape, dtype=np.int64))
        exact = numbers * _SIZES[dtype]
        outcome = trial.outcome(gpu_bytes, shape, dtype)
        if outcome.error is not None:
            full = isinstance(outcome.error, torch.OutOfMemoryError | MemoryError)
            if numbers > 2**40 and (full or "allocate" in str(outcome.error)):
                raise ALLOCATES.of(shape=shape)
            raise trial.why(outcome.error)
        found = outcome.value
        trial.expect_result(found)
        whole = isinstance(found, int) and not isinstance(found, bool)
        trial.expect(whole, NOT_A_NUMBER, what=f"{found!r}")
        if found == _rounded(exact):
            continue
        told = {"dtype": str(dtype).removeprefix("torch."), "shape": shape}
        if found == exact:
            raise NOT_ROUNDED.of(found=found, **told)
        for size in {1, 2, 4, 8} - {_SIZES[dtype]}:
            if found in (numbers * size, _rounded(numbers * size)) and numbers > 512:
                raise OTHER_TYPE.of(size=size, **told)
        hint = WRONG_PIECES if found % 512 == 0 and abs(found - exact) <= 512 else WRONG_BYTES
        raise hint.of(found=found, **told)


_SIZES = {torch.uint8: 1, torch.float16: 2, torch.float32: 4, torch.float64: 8}


def _rounded(size: int) -> int:
    return (size + 511) // 512 * 512


@lab.exercise(5, points=3, right="The right mean, and the CPU waits once.")
def exercise_5(trial: Trial, mean_of: Callable[..., Any]) -> None:
    """`mean_of(batches)`: the mean of all numbers as a Python number, with one fetch."""
    for device in trial.devices:
        full, last = trial.random.randint(5, 9), trial.random.randint(1, 3)
        count = trial.random.randint(4, 8)
        sizes = [full] * count + [last]
        batches = [trial.normal(n, 3, device=device) + 5 * i for i, n in enumerate(sizes, start=1)]
        exact = torch.cat([b.cpu().double() for b in batches]).mean().item()
        means = sum(b.cpu().double().mean().item() for b in batches) / len(batches)
        copies = [b.clone() for b in batches]
        with trial.watch() as watch:
            result = trial.call(mean_of, batches)
        trial.expect_result(result)
        plain = isinstance(result, float | int) and not isinstance(result, bool)
        trial.expect(plain, NOT_A_FLOAT, what=type(result).__name__)
        kept = len(batches) == len(copies) and all(map(torch.equal, batches, copies))
        trial.expect(kept, BATCHES_CHANGED)
        trial.expect(abs(result - means) > 1e-3 * abs(means), MEAN_OF_MEANS)
        close = abs(result - exact) <= 1e-4 * abs(exact)
        trial.expect(close, WRONG_MEAN, sizes=", ".join(str(3 * n) for n in sizes))
        if device.type != "cpu":
            few = watch.fetched <= 1
            trial.expect(few, MANY_FETCHES, batches=len(batches), fetched=watch.fetched)


@lab.exercise(6, points=2, right="Any tensor becomes an array that is yours alone.")
def exercise_6(trial: Trial, to_numpy: Callable[..., Any]) -> None:
    """`to_numpy(X)`: an array of its own, from any device, gradients or not."""
    for device in trial.devices:
        for gradients in (False, True):
            dtype = trial.random.choice([torch.float32, torch.float64])
            shape = (trial.random.randint(2, 5), trial.random.randint(2, 5))
            X = trial.normal(*shape, device=device, dtype=dtype, requires_grad=gradients)
            _check_to_numpy(trial, to_numpy, X)
    whole = trial.integers(-99, 99, (trial.random.randint(2, 9),), trial.device, torch.int16)
    _check_to_numpy(trial, to_numpy, whole)


def _check_to_numpy(trial: Trial, to_numpy: Callable[..., Any], X: torch.Tensor) -> None:
    expected = np.array(X.detach().cpu().tolist(), dtype=str(X.dtype).removeprefix("torch."))
    given = X.device, X.requires_grad
    outcome = trial.outcome(to_numpy, X)
    if outcome.error is not None:
        kind = f"on {X.device}{' that needs a gradient' if X.requires_grad else ''}"
        refused = isinstance(outcome.error, TypeError | RuntimeError)
        # A stub's error is a RuntimeError too.
        stub = isinstance(outcome.error, NotImplementedError)
        if refused and not stub and "numpy" in str(outcome.error):
            error = f"{type(outcome.error).__name__}: {outcome.error}"
            raise REFUSED.of(kind=kind, error=error.rstrip("."))
        raise trial.why(outcome.error)
    array = outcome.value
    trial.expect_result(array)
    good = isinstance(array, np.ndarray)
    trial.expect(good, NOT_AN_ARRAY, what=type(array).__name__)
    lost = given[1] and not X.requires_grad
    trial.expect(not lost, TENSOR_CHANGED, what="it no longer needs a gradient")
    trial.expect(X.device == given[0], TENSOR_CHANGED, what=f"it is on {X.device}")
    shown = [f"of shape {a.shape} and type {a.dtype}" for a in (array, expected)]
    same = array.shape == expected.shape and array.dtype == expected.dtype
    trial.expect(same, ARRAY_DIFFERS, found=shown[0], given=shown[1])
    equal = np.array_equal(array, expected)
    trial.expect(equal, ARRAY_DIFFERS, found="of other numbers", given=shown[1])
    trial.expect(array.flags.writeable, SHARED)
    array += 1
    kept = np.array_equal(np.array(X.detach().cpu().tolist(), dtype=expected.dtype), expected)
    trial.expect(kept, SHARED)
