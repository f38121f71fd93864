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
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

import simulated_cuda
from helpers.checks.limits import CodeLimits, OutOfMemory, OutOfTime
from helpers.checks.plain import PlainTensor, describe, one_line, plain
from helpers.checks.sandbox import InputCalled, PrintedText, restore_settings, sandbox
from helpers.explain import explanation_of, student_frames
from helpers.language import translate
from simulated_cuda.device_tags import CPU, index_of


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
    waits: int = 0  # how often Python read from a GPU, a number or a whole tensor
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
            watch = Watch()
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
            facts.copies, facts.waits, facts.calls = watch.copies, watch.waits, watch.calls
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
    for read in dis.get_instructions(function) if names else ():
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


class _ScalarReads(TorchDispatchMode):
    """Counts the scalars that Python reads from a GPU: `.item()`, `float()`, `if`."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise the first operation imports PyTorch's compiler, which takes seconds.
        return False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation is torch.ops.aten._local_scalar_dense.default:
            self.count += _is_on_gpu(args[0])
        # The simulated GPU has already processed this operation. In a backward pass, the operation
        # must bypass the simulated GPU, because some tensors have no device yet.
        with torch._C.DisableTorchFunction():
            return operation(*args, **(kwargs or {}))


class Watch(TorchFunctionMode):
    """Records the copies between devices in a block, the reads from a GPU, and counts calls."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: list[Copy] = []
        self.calls = 0
        self._tolist_calls = 0
        self._scalar_reads = _ScalarReads()

    @property
    def waits(self) -> int:
        """How often Python read from a GPU, either a single number or a whole tensor."""
        copied = sum(c.source != "cpu" and c.target == "cpu" for c in self.copies)
        return self._scalar_reads.count + self._tolist_calls + copied

    def __enter__(self) -> "Watch":
        self._scalar_reads.__enter__()
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self._scalar_reads.__exit__(*exception)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Run one operation and record what it did."""
        self.calls += 1
        result = func(*args, **(kwargs or {}))
        arguments = (*args, *(kwargs or {}).values())
        tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
        if func is torch.Tensor.tolist and tensors[0].device.type != "cpu":
            self._tolist_calls += 1
        elif func in _WRITES and isinstance(args[-1], torch.Tensor):
            # A kernel gets a single number from the CPU as an argument, without a copy.
            if func is torch.Tensor.copy_ or args[-1].dim() or args[-1].device.type != "cpu":
                self._record(args[-1], args[0].device)
        elif func in _COPIES and tensors and isinstance(result, torch.Tensor):
            self._record(tensors[0], result.device, result.nbytes)
        return result

    def _record(self, source: torch.Tensor, target: torch.device, nbytes: int = 0) -> None:
        if source.device != target:
            self.copies.append(Copy(nbytes or source.nbytes, str(source.device), str(target)))


def _is_on_gpu(tensor: torch.Tensor) -> bool:
    if simulated_cuda.is_enabled():  # in dispatch, every tensor reports the CPU
        return index_of(tensor) != CPU
    return tensor.device.type != "cpu"


# Functions that return a copy, and those that write their last tensor into their first.
_COPIES = (torch.Tensor.to, torch.Tensor.cpu, torch.Tensor.cuda, torch.Tensor.type, torch.tensor,
           torch.as_tensor, torch.Tensor.new_tensor)  # fmt: skip
_WRITES = (torch.Tensor.copy_, torch.Tensor.__setitem__, torch.Tensor.fill_)
