"""One try at an exercise: fresh inputs, the devices to try, and calls of the student's code."""

from __future__ import annotations

import inspect
import random
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch

from helpers.checks import hints
from helpers.checks.hidden_names import hidden_name
from helpers.checks.hints import Hint, NotRight
from helpers.checks.limits import OutOfMemory, OutOfTime, Stopped
from helpers.checks.machines import machine
from helpers.checks.probes import Watch
from helpers.checks.sandbox import AskedForInput, EndedTheProgram
from helpers.checks.state import settings_restored
from helpers.explain.box import Explanation
from helpers.explain.diagnosis import sites_of
from helpers.explain.showing import explanation_of

_SHORTEST = 200


@dataclass(frozen=True)
class CallResult:
    """What came of a call: its `value`, or the `error` it ended in."""

    value: Any = None
    error: Exception | None = None


class Trial:
    """What a check works with; made anew for every try.

    `random` draws plain numbers and `normal` tensors, with a seed that no student can know.
    `devices` are those to try: two GPUs and the CPU, or what a machine with real GPUs has.
    """

    def __init__(self, names: dict[int, str], seconds: float, seed: int | None = None) -> None:
        self.seed = secrets.randbits(32) if seed is None else seed
        self.random = random.Random(self.seed)
        self.generator = torch.Generator().manual_seed(self.seed)
        self.seconds = seconds
        self._names = names
        self._called: Callable[..., Any] | None = None

    @property
    def devices(self) -> list[torch.device]:
        """The devices of this machine, the GPUs first; between them always one GPU at least."""
        gpus = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
        return [*gpus[:2], torch.device("cpu")]

    @property
    def device(self) -> torch.device:
        """The first GPU."""
        return self.devices[0]

    def normal(
        self,
        *shape: int,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        requires_grad: bool = False,
    ) -> torch.Tensor:
        """Fresh normally distributed numbers, a leaf tensor of the given shape."""
        # Drawn on the CPU: the same seed gives the same numbers on every machine.
        drawn = torch.randn(shape, generator=self.generator).to(device, dtype)
        return drawn.requires_grad_(requires_grad)

    def integers(
        self,
        low: int,
        high: int,
        shape: tuple[int, ...],
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.int64,
    ) -> torch.Tensor:
        """Fresh whole numbers from `low` up to, not including, `high`."""
        drawn = torch.randint(low, high, shape, generator=self.generator)
        return drawn.to(device, dtype)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the student's `function` and return its result.

        Whatever it raises becomes the hint for it, and settings it has changed are put back. A
        check calls everything that is the student's in this way: methods of their network too.
        """
        outcome = self.outcome(function, *args, **kwargs)
        if outcome.error is not None:
            raise self.why(outcome.error)
        return outcome.value

    def outcome(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> CallResult:
        """Call the student's `function`; an error it raises is handed back, for the check to judge.

        What `why(error)` makes of it is the hint that `call` would give.
        """
        self._called = function
        if not callable(function):
            raise hints.NOT_A_FUNCTION.of(name=self.name, what=_described(function))
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise hints.WRONG_ARGUMENTS.of(name=self.name, error=error) from None
        except ValueError:  # a function of C that does not tell its arguments
            pass
        with settings_restored():
            try:
                return CallResult(value=function(*args, **kwargs))
            except SystemExit:
                raise hints.ENDS_THE_PROGRAM.of(name=self.name) from None
            except Exception as error:
                return CallResult(error=error)

    @property
    def name(self) -> str:
        """The student's function that was called last, as the exercise calls it."""
        called = self._called
        if id(called) in self._names:
            return self._names[id(called)]
        own = getattr(called, "__name__", type(called).__name__)
        owner = getattr(called, "__self__", None)
        if inspect.ismodule(owner) or owner is None:
            return own
        return f"{self._names.get(id(owner), type(owner).__name__)}.{own}"

    def why(self, error: BaseException) -> NotRight:
        """The general hint for what a student's function has raised."""
        name = self.name
        if isinstance(error, NotRight):
            return error
        if isinstance(error, NotImplementedError):
            return hints.NOT_WRITTEN.of(name=name)
        if isinstance(error, RecursionError):
            return hints.TOO_DEEP.of(name=name)
        if isinstance(error, OutOfTime):
            return hints.TOO_LONG.of(name=name, seconds=self.seconds)
        if isinstance(error, OutOfMemory | MemoryError | torch.OutOfMemoryError) or (
            "can't allocate memory" in told(error)
        ):
            return hints.TOO_MUCH_MEMORY.of(name=name)
        if isinstance(error, EndedTheProgram | SystemExit):
            return hints.ENDS_THE_PROGRAM.of(name=name)
        if isinstance(error, AskedForInput):
            return hints.ASKS_FOR_INPUT.of(name=name)
        if isinstance(error, Stopped):
            raise error
        if (hidden := hidden_name(self._called, any_value=True)) is not None:
            return hints.NAME_HIDDEN.of(hidden=hidden[0], what=_described(hidden[1]))
        explanation = explanation_of(error)
        if explanation is not None:
            return hints.DEVICE_ERROR.of(name=name, explained=_without_cure(explanation))
        line = ""
        with suppress(Exception):
            line = sites_of(error)[0].line
        where = f" It happens in `{line}`." if line else ""
        return hints.RAISED.of(name=name, error=told(error), where=where)

    def hidden(self) -> NotRight | None:
        """The hint for a name such as `torch` that the notebook has given to a plain value."""
        hidden = hidden_name(self._called, any_value=False)
        if hidden is None:
            return None
        return hints.NAME_HIDDEN.of(hidden=hidden[0], what=_described(hidden[1]))

    def expect(self, condition: object, hint: Hint, **values: Any) -> None:
        """Raise `hint` unless `condition` is true."""
        if not condition:
            raise hint.of(**values)

    def expect_result(self, value: Any) -> None:
        """Raise the hint for a forgotten `return` if `value` is None."""
        if value is None:
            raise hints.NO_RESULT.of(name=self.name)

    @contextmanager
    def machine_with(self, gpus: int) -> Iterator[None]:
        """Let the block see a machine with this many GPUs, whatever there is; 0 for none."""
        with machine(gpus):
            yield

    def watch(self) -> Watch:
        """`with trial.watch() as watch:` notes what the block carries, makes and fetches."""
        return Watch()


def _without_cure(explanation: Explanation) -> str:
    """What is where and why that fails. What to write instead is for the student to find."""
    parts = []
    if explanation.line and explanation.places:
        places = " and ".join(
            f"`{name}` {what}" if name else what for name, what in explanation.places
        )
        parts.append(f"In `{explanation.line}`, {places}.")
    elif explanation.line:
        parts.append(f"It happens in `{explanation.line}`.")
    return " ".join([*parts, explanation.why])


def told(error: BaseException) -> str:
    """Type and text of an error on one line, cut to fit a hint, without its last full stop."""
    text = ""
    with suppress(Exception):  # a class of the student's may fail to say what it is
        text = " ".join(str(error).split())
    text = text if len(text) <= _SHORTEST else text[: _SHORTEST - 4] + " ..."
    return f"{type(error).__name__}: {text}".rstrip(": .")


def _described(value: Any) -> str:
    if inspect.isfunction(value):
        return "a function of your own"
    text = type(value).__name__
    article = "an" if text[0].lower() in "aeiou" else "a"
    return f"{article} {text}"
