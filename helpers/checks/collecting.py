"""Collect facts: call a student's function beside the student's code, and record plain data."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import torch

import simulated_cuda
from helpers.checks.limits import CodeLimits, OutOfMemory, OutOfTime
from helpers.checks.plain import PlainTensor, describe, one_line, plain
from helpers.checks.sandbox import (
    ExitCalled,
    InputCalled,
    PrintedText,
    restore_settings,
    sandbox,
)
from helpers.checks.shadowed_names import shadowed_name
from helpers.explain import explanation_of, student_frames
from helpers.language import translate

# A student's function or class, and the function that calls it: `Collector.call`.
Answer = Callable[..., Any]
Call = Callable[..., "Facts"]


class Case(dict):
    """One input of a check, as plain data: `case.lr` is `case["lr"]`."""

    __getattr__ = dict.__getitem__


@dataclass(frozen=True)
class Copy:
    """A copy of a tensor between devices: its size in bytes, its source and its target."""

    bytes: int
    source: str
    target: str


@dataclass(frozen=True)
class Error:
    """An error that a call raised: the names of its classes, its text, and its general hint."""

    types: tuple[str, ...]
    text: str
    hint: str
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The error's type and text on one line."""
        return self.values["error"]


@dataclass
class Facts:
    """What a call did, as plain data; `facts.modes` is `facts.own["modes"]`."""

    value: Any = None  # what it returned
    error: Error | None = None  # what it raised
    name: str = ""  # of what was called, "" for the exercise's first answer
    arguments: dict[str, Any] = field(default_factory=dict)  # after the call; only of `call_once`
    copies: list[Copy] = field(default_factory=list)  # between devices
    waits: int = 0  # how often the CPU waited for results of a GPU
    calls: int = 0  # of torch functions
    gradients_left_off: bool = False  # gradient tracking, which was on before
    shadowed: tuple[str, str] | None = None  # a reassigned name such as `torch`, its description
    own: dict[str, Any] = field(default_factory=dict)  # recorded by the exercise's collector
    stopped: str = ""  # "time" or "memory" if the call exceeded this limit
    printed: tuple[str, bool] = ("", False)  # so far, and whether it was truncated
    result: Any = None  # the value itself, which only a collector sees
    case: Case = field(default_factory=Case)  # set by the judge, like the next two
    right: Any = None  # the expected outcome
    outcome: Any = None  # that of the answer

    def __getattr__(self, name: str) -> Any:
        if name == "own" or name not in self.own:
            raise AttributeError(name)
        return self.own[name]

    def add(self, **values: Any) -> "Facts":
        """Record more facts, as plain data, and return this object."""
        self.own |= {name: plain(value) for name, value in values.items()}
        return self

    @property
    def bytes_copied(self) -> int:
        """The bytes that were copied between devices."""
        return sum(copy.bytes for copy in self.copies)


class CallFailed(Exception):
    """A call of the student's function failed; `facts` has its error."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts


class Collector:
    """Collects the facts of one check. Use it as a context manager: the block is a sandbox.

    `answers` are the student's functions or classes, by the names that the exercise gives them, and
    `seconds` is the time limit for all calls together.
    """

    def __init__(self, answers: Mapping[str, Any], seconds: float) -> None:
        self._answers = answers
        self._limits = CodeLimits(seconds)
        self._printed = PrintedText()

    def __enter__(self) -> "Collector":
        with ExitStack() as stack:
            if simulated_cuda.is_enabled() or not torch.cuda.is_available():
                # With a single device, a check could not find a tensor on the wrong device.
                stack.enter_context(simulated_cuda.visible_devices(2))
            stack.enter_context(sandbox(self._printed))
            # The tensors in a check are small, so more threads would only add overhead.
            torch.set_num_threads(1)
            self.gpus = torch.cuda.device_count()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.__exit__(*exception)

    def collect(self, function: Callable[..., Facts], case: Case) -> Facts:
        """Return the facts that `function(call, case, *answers)` collects."""
        try:
            facts = function(self.call, case, *self._answers.values())
        except CallFailed as failed:
            facts = failed.facts
        except Exception as error:  # raised by one of the student's objects
            facts = Facts(error=Error((), "", "unusable-result", {"error": one_line(error)}))
        facts.result = None
        facts.printed = self._printed.text, self._printed.truncated
        return facts

    def call(
        self,
        function: Answer,
        *args: Any,
        name: str = "",
        may_fail: bool = False,
        watch: bool = True,
        within: AbstractContextManager[Any] | None = None,
        **kwargs: Any,
    ) -> Facts:
        """Call the student's function within the limits and return the facts.

        Collectors call all student code this way, including methods of networks. Global settings
        that the call changed are restored.

        Args:
            function: the function to call with the other arguments.
            name: its name in messages.
            may_fail: return the facts of a failed call instead of raising `CallFailed`.
            watch: record copies and waits, which takes time.
            within: a context for the call alone, such as a meter.

        Raises:
            CallFailed: the call failed, or was stopped by a limit.
        """
        name = name or next((n for n, a in self._answers.items() if a is function), "")
        facts = Facts(name=name)
        error = self._find_misuse(function, args, kwargs)
        if error is None:
            recorder = simulated_cuda.count_waits() if watch else None
            with restore_settings(), recorder or nullcontext(), within or nullcontext():
                tracked = torch.is_grad_enabled()
                try:
                    value = self._limits.run(function, *args, **kwargs)
                    facts.gradients_left_off = tracked and not torch.is_grad_enabled()
                except BaseException as raised:
                    if isinstance(raised, KeyboardInterrupt):
                        raise
                    error = self._describe_error(raised)
                    facts.stopped = {OutOfTime: "time", OutOfMemory: "memory"}.get(type(raised), "")
            if error is None:
                facts.result, facts.value = value, plain(value, _flatten(args))
            if recorder is not None:
                facts.copies = [Copy(c.bytes, c.source, c.target) for c in recorder.copies]
                facts.waits = sum(wait.reads for wait in recorder.waits)
                facts.calls = recorder.calls
        facts.error = error
        shadowed = shadowed_name(function, include_callables=error is not None)
        facts.shadowed = shadowed and (shadowed[0], describe(shadowed[1]))
        if facts.stopped or (error is not None and not may_fail):
            raise CallFailed(facts)
        return facts

    def _find_misuse(self, function: Answer, args: Any, kwargs: Any) -> Error | None:
        """Return the error of a call that is not possible at all."""
        if not callable(function):
            return Error((), "", "not-callable", {"what": describe(function)})
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            return Error((), "", "wrong-arguments", {"error": str(error)})
        except ValueError:  # a C function without a signature
            pass
        return None

    def _describe_error(self, error: BaseException) -> Error:
        types = tuple(kind.__name__ for kind in type(error).__mro__)
        line, text = one_line(error), ""
        with suppress(Exception):  # the `__str__` of a student's own class may fail
            text = str(error)[:10_000]
        values = {"error": line, "seconds": self._limits.seconds, "where": ""}
        # torch reports a failed allocation on the CPU as a plain RuntimeError.
        hint = "too-much-memory" if "can't allocate memory" in line else "raised"
        hint = next((id for kinds, id in _HINTS if isinstance(error, kinds)), hint)
        # A stub raises this error; torch raises it for operations that it lacks.
        is_stub = isinstance(error, NotImplementedError)
        if is_stub and (not text or text.startswith("exercise ")):
            hint = "not-written"
        if hint == "raised":
            explanation = explanation_of(error)
            if explanation is not None:
                hint, values["explained"] = "device-error", explanation.without_fix
            with suppress(Exception):
                source = student_frames(error.__traceback__)[0].line
                values["where"] = " " + translate("It happens in `{line}`.", line=source)
        return Error(types, text, hint, values)


# The general hints for errors, by their types.
_HINTS = (
    ((OutOfMemory, MemoryError, torch.OutOfMemoryError), "too-much-memory"),
    (RecursionError, "too-deep"),
    (OutOfTime, "takes-too-long"),
    ((ExitCalled, SystemExit), "ends-the-program"),
    (InputCalled, "asks-for-input"),
)


def call_once(names: Sequence[str], call: Call, case: Case, answer: Answer) -> Facts:
    """Call the answer with the case's entries of these names, and record the arguments."""
    arguments = {name: make(case[name]) for name in names}
    facts = call(answer, *arguments.values(), may_fail=True)
    facts.arguments = plain(arguments)
    return facts


def make(value: Any) -> Any:
    """Return the value that a case describes: new tensors on their devices, new containers."""
    if isinstance(value, PlainTensor):
        return value.values.numpy().copy() if value.kind == "array" else value.make()
    if type(value) in (list, tuple, set):
        return type(value)(make(item) for item in value)
    if isinstance(value, dict):
        return {key: make(item) for key, item in value.items()}
    return value


def _flatten(arguments: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments as "0", "1", ... and the items of those that are lists as "0[1]"."""
    named = {str(i): argument for i, argument in enumerate(arguments)}
    lists = {name: value for name, value in named.items() if isinstance(value, list | tuple)}
    items = {f"{name}[{i}]": x for name, value in lists.items() for i, x in enumerate(value)}
    return named | items
