"""Collect facts: call a student's function beside the student's code, and record plain data."""

import builtins
import dis
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

import simulated_cuda
from helpers.checks.limits import CodeLimits, OutOfMemory, OutOfTime
from helpers.checks.plain import PlainTensor, describe, one_line, plain
from helpers.checks.sandbox import InputCalled, PrintedText, restore_settings, sandbox
from helpers.explain import explanation_of, student_frames
from helpers.language import translate
from simulated_cuda.waits import Copy


class Case(dict):
    """One input of a check, as plain data: `case.lr` is `case["lr"]`."""

    __getattr__ = dict.__getitem__


@dataclass(frozen=True)
class Error:
    """An error that a call raised: its general hint, and values with its "error" on one line."""

    hint: str
    values: dict[str, Any]


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
    printed: str = ""  # so far
    result: Any = None  # the value itself, which only a collector sees
    case: Case = field(default_factory=Case)  # set by the judge, like the next two
    right: Any = None  # the expected outcome
    outcome: Any = None  # that of the answer

    def __getattr__(self, name: str) -> Any:
        if name == "own" or name not in self.own:
            raise AttributeError(f"no fact {name!r} was recorded", name=name, obj=self)
        return self.own[name]

    def add(self, **values: Any) -> "Facts":
        """Record more facts, as plain data, and return this object."""
        self.own |= {name: plain(value) for name, value in values.items()}
        return self


class CallFailed(Exception):
    """A call of the student's function failed; the argument is the facts with its error."""


class Collector(ExitStack):
    """Collects the facts of one check. Use it as a context manager: the block is a sandbox.

    `answers` are the student's functions or classes, by the names that the exercise gives them, and
    `seconds` is the time limit for all calls together.
    """

    def __init__(self, answers: Mapping[str, Any], seconds: float) -> None:
        super().__init__()
        self._answers = answers
        self._limits = CodeLimits(seconds)
        self._printed = PrintedText()

    def __enter__(self) -> "Collector":
        if simulated_cuda.is_enabled() or not torch.cuda.is_available():
            # With a single device, a check could not find a tensor on the wrong device.
            self.enter_context(simulated_cuda.visible_devices(2))
        self.enter_context(sandbox(self._printed))
        # The tensors in a check are small, so more threads would only add overhead.
        torch.set_num_threads(1)
        self.gpus = torch.cuda.device_count()
        return self

    def collect(self, function: Callable[..., Facts], case: Case) -> Facts:
        """Return the facts that `function(call, case, *answers)` collects."""
        try:
            facts = function(self.call, case, *self._answers.values())
        except CallFailed as failed:
            (facts,) = failed.args
        except Exception as error:  # raised by one of the student's objects
            facts = Facts(error=Error("unusable-result", {"error": one_line(error)}))
        facts.result = None
        facts.printed = self._printed.getvalue()
        return facts

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        name: str = "",
        within: AbstractContextManager[Any] | None = None,
        **kwargs: Any,
    ) -> Facts:
        """Call the student's function within the limits and return the facts.

        Collectors call all student code this way, including methods of networks. Global settings
        that the call changed are restored. `name` is that of the function in messages. `within` is
        a context for the call alone, such as a meter, instead of the one that records copies and
        waits, which takes time. Raises `CallFailed` if the call failed or was stopped by a limit.
        """
        name = name or next((n for n, a in self._answers.items() if a is function), "")
        facts = Facts(name=name, error=_find_misuse(function, args, kwargs))
        if facts.error is None:
            watch = simulated_cuda.count_waits()
            with restore_settings(), within or watch:
                tracked = torch.is_grad_enabled()
                try:
                    facts.result = self._limits.run(function, *args, **kwargs)
                    facts.gradients_left_off = tracked and not torch.is_grad_enabled()
                except KeyboardInterrupt:
                    raise
                except BaseException as error:
                    facts.error = self._describe_error(error)
                    facts.stopped = {OutOfTime: "time", OutOfMemory: "memory"}.get(type(error), "")
            facts.value = plain(facts.result, {id(leaf) for leaf in tree_leaves([args, kwargs])})
            facts.copies, facts.calls = watch.copies, watch.calls
            facts.waits = sum(wait.reads for wait in watch.waits)
        facts.shadowed = _find_shadowed(function)
        if facts.error is not None:
            raise CallFailed(facts)
        return facts

    def _describe_error(self, error: BaseException) -> Error:
        line = one_line(error)
        values = {"error": line, "seconds": self._limits.seconds, "where": ""}
        hint = next((id for kinds, id in _HINTS if isinstance(error, kinds)), "raised")
        # torch reports a failed allocation on the CPU as a plain RuntimeError.
        if "can't allocate memory" in line:
            hint = "too-much-memory"
        # A stub raises this error; torch raises it for operations that it lacks.
        elif re.fullmatch(r"NotImplementedError(: exercise .*)?", line):
            hint = "not-written"
        elif hint == "raised":
            if (explanation := explanation_of(error)) is not None:
                hint, values["explained"] = "device-error", explanation.without_fix
            with suppress(Exception):
                source = student_frames(error.__traceback__)[0].line
                values["where"] = " " + translate("It happens in `{line}`.", line=source)
        return Error(hint, values)


# The general hints for errors, by their types.
_HINTS = (
    ((OutOfMemory, MemoryError, torch.OutOfMemoryError), "too-much-memory"),
    (RecursionError, "too-deep"),
    (OutOfTime, "takes-too-long"),
    (SystemExit, "ends-the-program"),
    (InputCalled, "asks-for-input"),
)


def _find_misuse(function: Any, args: Any, kwargs: Any) -> Error | None:
    """Return the error of a call that is not possible at all."""
    try:
        with suppress(ValueError):  # a C function without a signature
            inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        hint = "wrong-arguments" if callable(function) else "not-callable"
        return Error(hint, {"error": str(error), "what": describe(function)})
    return None


def _find_shadowed(function: Any) -> tuple[str, str] | None:
    """Return the name and new value of a built-in or module that was reassigned, as in `sum = 0`.

    Only names that the function itself reads count, and only values that cannot be called.
    """
    names = getattr(function, "__globals__", {})
    codes = [function.__code__] if names else []
    for code in codes:
        codes += filter(inspect.iscode, code.co_consts)  # comprehensions and inner functions
    for read in (read for code in codes for read in dis.get_instructions(code)):
        value = names.get(read.argval) if read.opname == "LOAD_GLOBAL" else None
        is_standard = read.argval in vars(builtins) or read.argval in ("torch", "nn", "np", "time")
        if value is not None and is_standard and not (callable(value) or inspect.ismodule(value)):
            return read.argval, describe(value)
    return None


def call_once(names: Sequence[str], call: Callable[..., Facts], case: Case, answer: Any) -> Facts:
    """Call the answer with the case's entries of these names, and record the arguments."""
    given = {name: case[name] for name in names}
    # New containers, and new tensors on their devices.
    arguments = tree_map(lambda x: x.make() if isinstance(x, PlainTensor) else x, given)
    facts = call(answer, *arguments.values())
    facts.arguments = plain(arguments)
    return facts
