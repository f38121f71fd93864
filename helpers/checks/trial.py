"""One attempt at an exercise: new inputs, the devices to use, and calls to the student's code."""

import inspect
import random
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

import torch

from helpers.checks import hints
from helpers.checks.descriptions import describe, one_line
from helpers.checks.hints import Hint, WrongAnswer
from helpers.checks.limits import OutOfMemory, OutOfTime, Stopped
from helpers.checks.machines import machine
from helpers.checks.probes import Watch
from helpers.checks.sandbox import ExitCalled, InputCalled, restore_settings
from helpers.checks.shadowed_names import shadowed_name
from helpers.explain import explanation_of, student_frames
from helpers.language import translate

# A student's function, as a check receives it.
Answer = Callable[..., Any]
_HINTS = (
    (RecursionError, hints.TOO_DEEP),
    (OutOfTime, hints.TOO_LONG),
    ((OutOfMemory, MemoryError, torch.OutOfMemoryError), hints.TOO_MUCH_MEMORY),
    ((ExitCalled, SystemExit), hints.ENDS_THE_PROGRAM),
    (InputCalled, hints.ASKS_FOR_INPUT),
)


@dataclass(frozen=True)
class CallResult:
    """The result of a call: its `value`, or the `error` that it raised."""

    value: Any = None
    error: Exception | None = None


class Trial:
    """The inputs, devices and calls of one attempt at an exercise.

    `random` generates Python numbers and `normal` generates tensors, both from a seed that students
    cannot know. `gradients_disabled` is True if the last call left gradient tracking disabled.

    Args:
        names: the names of the answers in the exercise, keyed by `id(answer)`.
        seconds: the time limit.
        own_hints: the exercise's hints, by id.
        seed: seed of the inputs; random if None.
    """

    def __init__(
        self,
        names: dict[int, str],
        seconds: float,
        own_hints: Mapping[str, Hint],
        seed: int | None = None,
    ) -> None:
        self.seed = secrets.randbits(32) if seed is None else seed
        self.random = random.Random(self.seed)
        self.generator = torch.Generator().manual_seed(self.seed)
        self.seconds = seconds
        self._hints = own_hints
        self._names = names
        self._called: Answer | None = None
        self.gradients_disabled = False

    @property
    def devices(self) -> list[torch.device]:
        """One or two GPUs, followed by the CPU."""
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
        """Return a new leaf tensor of random numbers from the standard normal distribution."""
        # Generated on the CPU, so that a seed gives the same numbers on every machine.
        values = torch.randn(shape, generator=self.generator).to(device, dtype)
        return values.requires_grad_(requires_grad)

    def integers(
        self,
        low: int,
        high: int,
        shape: tuple[int, ...],
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.int64,
    ) -> torch.Tensor:
        """Return a new tensor of random integers from `low` to `high` (exclusive)."""
        values = torch.randint(low, high, shape, generator=self.generator)
        return values.to(device, dtype)

    def call(self, function: Answer, *args: Any, **kwargs: Any) -> Any:
        """Call the student's `function` and return its result, which may be None.

        An error becomes a hint, and global settings that the function changed are restored. Checks
        must call all student code this way, including methods of networks.
        """
        result = self.try_call(function, *args, **kwargs)
        if result.error is not None:
            raise self.hint_for(result.error)
        return result.value

    def result_of(self, function: Answer, *args: Any, **kwargs: Any) -> Any:
        """Like `call`, but raise a hint if the function returns None."""
        value = self.call(function, *args, **kwargs)
        self.expect_result(value)
        return value

    def try_call(self, function: Answer, *args: Any, **kwargs: Any) -> CallResult:
        """Call the student's `function`; return its result, or the error that it raised.

        Use `hint_for(error)` to get the hint that `call` would raise.
        """
        self._called = function
        if not callable(function):
            raise hints.NOT_A_FUNCTION.of(name=self.name, what=describe(function))
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise hints.WRONG_ARGUMENTS.of(name=self.name, error=error) from None
        except ValueError:  # a C function without a signature
            pass
        with restore_settings():
            tracking = torch.is_grad_enabled()
            try:
                value = function(*args, **kwargs)
                self.gradients_disabled = tracking and not torch.is_grad_enabled()
                return CallResult(value=value)
            except SystemExit:
                raise hints.ENDS_THE_PROGRAM.of(name=self.name) from None
            except Exception as error:
                return CallResult(error=error)

    def observe(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call `function(trial, *args)`, which is part of the check, and return its result.

        During grading, `function` runs in the process of the student's code, so that it can access
        networks, hooks and clocks there. It must return plain data such as tensors and numbers, and
        must not compare results with expected values.
        """
        return function(self, *args)

    def callback(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the check's `function` in a form that the student's code can call."""
        return function

    @property
    def name(self) -> str:
        """The exercise's name for the student's function that was called last."""
        function = self._called
        if id(function) in self._names:
            return self._names[id(function)]
        own = getattr(function, "__name__", type(function).__name__)
        owner = getattr(function, "__self__", None)
        if inspect.ismodule(owner) or owner is None:
            return own
        return f"{self._names.get(id(owner), type(owner).__name__)}.{own}"

    def wrong(self, hint: str, **values: Any) -> WrongAnswer:
        """Return the exception to raise for the exercise's hint with this id."""
        return self._hints[hint].of(**values)

    def expect(self, condition: object, hint: str, **values: Any) -> None:
        """Raise `wrong(hint, **values)` unless `condition` is true."""
        if not condition:
            raise self.wrong(hint, **values)

    def expect_result(self, value: Any) -> None:
        """Raise the hint for a missing `return` if `value` is None."""
        if value is None:
            raise hints.NO_RESULT.of(name=self.name)

    def hint_for(self, error: BaseException) -> WrongAnswer:
        """Return the general hint for an error raised by a student's function."""
        name = self.name
        if isinstance(error, WrongAnswer):
            return error
        # torch reports a failed allocation on the CPU as a plain RuntimeError.
        if "can't allocate memory" in one_line(error):
            return hints.TOO_MUCH_MEMORY.of(name=name)
        if is_stub_error(error):
            return hints.NOT_WRITTEN.of(name=name)
        for kinds, hint in _HINTS:
            if isinstance(error, kinds):
                return hint.of(name=name, seconds=self.seconds)
        if isinstance(error, Stopped):
            raise error
        if (shadowed := self.shadowed_name_hint(include_callables=True)) is not None:
            return shadowed
        explanation = explanation_of(error)
        if explanation is not None:
            return hints.DEVICE_ERROR.of(name=name, explained=explanation.without_fix)
        line = ""
        with suppress(Exception):
            line = student_frames(error.__traceback__)[0].line
        where = f" {translate('It happens in `{line}`.', line=line)}" if line else ""
        return hints.RAISED.of(name=name, error=one_line(error), where=where)

    def shadowed_name_hint(self, *, include_callables: bool = False) -> WrongAnswer | None:
        """Return the hint for a name such as `torch` that the notebook has reassigned.

        With `include_callables`, a function or class assigned to the name counts too.
        """
        shadowed = shadowed_name(self._called, include_callables=include_callables)
        if shadowed is None:
            return None
        name, value = shadowed
        return hints.NAME_SHADOWED.of(hidden=name, what=describe(value))

    def machine_with(self, gpus: int) -> AbstractContextManager[None]:
        """Run the block as if the machine had this number of GPUs."""
        return machine(gpus)

    def watch(self) -> Watch:
        """Record the copies between devices in a block: `with trial.watch() as watch:`."""
        return Watch()


def is_stub_error(error: BaseException) -> bool:
    """Return whether a stub raised the error, and not torch, which lacks some operations."""
    if not isinstance(error, NotImplementedError):
        return False
    return not str(error) or str(error).startswith("exercise ")
