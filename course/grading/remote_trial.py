"""A trial that calls the student's code in another process.

The check runs in the judge process, which has the inputs, expected values and verdict. Some
measurements, such as bytes moved or call counts, are reported by the answer process and cannot be
verified.
"""

from __future__ import annotations

import builtins
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from helpers.checks.descriptions import one_line
from helpers.checks.probes import Move, Watch
from helpers.checks.trial import Answer, CallResult, Trial

from course.grading.decoding import Decoder, Malformed, RemoteObject
from course.grading.mirrors import apply_state, mutable_objects, pickle_values
from helpers.checks import hints
from helpers.checks.hints import Hint, WrongAnswer
from helpers.checks.machines import machine
from helpers.checks.sandbox import PrintedText

_GENERAL_HINTS = {hint.id: hint for hint in vars(hints).values() if isinstance(hint, Hint)}
_ERRORS = {
    "OutOfMemoryError": torch.OutOfMemoryError,
    "UnpicklingError": pickle.UnpicklingError,
} | {k: v for k, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, Exception)}
# Sends a request to the answer process and returns the reply. Before it replies, the answer process
# may call functions of the judge; the second argument handles these calls.
Channel = Callable[[dict[str, Any], Callable[[dict[str, Any]], dict[str, Any]]], dict[str, Any]]


class RemoteAnswer(RemoteObject):
    """A proxy for a student's function, identified by its name in the exercise."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.remote_name = "answer", name


class _Callback:
    """A function in the judge process that the answer's code may call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


class RemoteTrial(Trial):
    """A trial that calls the answers through a channel.

    `stopped` is "time" or "memory" if the last call exceeded that limit, else "".
    """

    def __init__(
        self,
        answers: list[RemoteAnswer],
        seconds: float,
        own_hints: Mapping[str, Hint],
        channel: Channel,
        seed: int | None = None,
    ) -> None:
        super().__init__({id(item): item.name for item in answers}, seconds, own_hints, seed)
        self._channel = channel
        self._own_hints = own_hints
        self._gpus: int | None = None
        self._watches: list[_ReportedWatch] = []
        self._callbacks: list[Callable[..., Any]] = []
        self.printed = PrintedText()
        self.stopped = ""

    def try_call(self, function: Answer, *args: Any, **kwargs: Any) -> CallResult:
        """Call the student's function in the answer process."""
        if not isinstance(function, RemoteObject):
            return super().try_call(function, *args, **kwargs)
        self._called = function
        return self._ask("call", function, args, kwargs)

    def observe(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a part of the check in the answer process. It must return plain data."""
        self._called = next((item for item in args if isinstance(item, RemoteObject)), None)
        result = self._ask("observe", function, args, {})
        if result.error is not None:
            raise self.hint_for(result.error)
        return result.value

    def callback(self, function: Callable[..., Any]) -> Any:
        """Wrap a function of the check so that it can be passed to the student's code."""
        return _Callback(function)

    def hint_for(self, error: BaseException) -> WrongAnswer:
        """Return the hint for an error; use the answer process's hint if it sent one."""
        hint = getattr(error, "hint", None)
        return hint if isinstance(hint, WrongAnswer) else super().hint_for(error)

    def shadowed_name_hint(self, *, include_callables: bool = False) -> WrongAnswer | None:
        """Return the hint for a name that the notebook has reassigned."""
        tree = self._channel({"do": "find shadowed name"}, self._run_callback).get("hint")
        try:
            return None if tree is None else self._hint(tree)
        except Malformed:
            return None

    @contextmanager
    def machine_with(self, gpus: int) -> Iterator[None]:
        """Simulate this number of GPUs in the block, in both processes."""
        previous, self._gpus = self._gpus, gpus
        try:
            with machine(gpus):
                yield
        finally:
            self._gpus = previous

    def watch(self) -> Watch:
        """Return a watch for the calls in a block, which the answer process reports."""
        return _ReportedWatch(self._watches)

    def _ask(self, do: str, function: Any, args: Any, kwargs: Any) -> CallResult:
        shared_objects = mutable_objects(args, kwargs)
        values = function, args, kwargs, shared_objects, _rng_states()
        request = {"do": do, "gpus": self._gpus, "watch": bool(self._watches)}
        reply = self._channel(
            request | {"values": pickle_values(values, self._name)}, self._run_callback
        )
        try:
            return self._read(reply, shared_objects)
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, Malformed) as error:
            # A valid answer process cannot send this; the student's code may have interfered.
            raise hints.UNUSABLE_RESULT.of(name=self.name, error="not plain data") from error

    def _read(self, reply: dict[str, Any], shared_objects: list[Any]) -> CallResult:
        text, truncated = reply["printed"]
        self.printed.write(str(text))
        self.printed.truncated = self.printed.truncated or truncated is True
        self.gradients_disabled = reply["gradients_disabled"] is True
        for watch in self._watches:
            watch.add(reply)
        self.stopped = str(reply["stopped"])
        if reply["hint"] is not None:
            raise self._hint(reply["hint"])
        try:
            decoder = Decoder(shared_objects)
            for value, state in zip(shared_objects, reply["state"], strict=True):
                apply_state(value, state, decoder)
            value = decoder.decode(reply["value"])
        except Malformed:
            # After an error, a tensor may be on a device that does not exist here.
            if reply["error"] is None:
                raise
        if reply["error"] is not None:
            return CallResult(error=_make_error(reply["error"], self._hint(reply["error_hint"])))
        return CallResult(value=value)

    def _hint(self, tree: Any) -> WrongAnswer:
        try:
            hint = self._own_hints.get(tree["id"]) or _GENERAL_HINTS[tree["id"]]
            wrong_answer = WrongAnswer(
                hint, {str(key): value for key, value in tree["values"].items()}
            )
            # Formatting the texts raises an error if the values do not match the hint.
            _ = wrong_answer.wrong, wrong_answer.look
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise Malformed from None
        return wrong_answer

    def _name(self, value: Any) -> Any:
        if isinstance(value, RemoteObject):
            return value.remote_name
        if isinstance(value, _Callback):
            self._callbacks.append(value.function)
            return "callback", len(self._callbacks) - 1
        return None

    def _run_callback(self, message: dict[str, Any]) -> dict[str, Any]:
        """Call a function of the check on behalf of the answer's code."""
        value = error = None
        try:
            decoder = Decoder()
            args = [decoder.decode(item) for item in message["args"]]
            kwargs = {name: decoder.decode(item) for name, item in message["kwargs"].items()}
            value = self._callbacks[message["callback"]](*args, **kwargs)
        except WrongAnswer as wrong:
            error = wrong.with_traceback(None)
        except Exception as raised:  # the answer's code passed invalid arguments
            error = TypeError(one_line(raised))
        return {"values": pickle_values((value, error), self._name)}


class _ReportedWatch(Watch):
    """A watch that collects the measurements reported by the answer process."""

    def __init__(self, active: list[_ReportedWatch]) -> None:
        super().__init__()
        self._active = active
        self._fetches = 0

    @property
    def fetches(self) -> int:
        """The number of times that values were read from a GPU."""
        return self._fetches

    def __enter__(self) -> _ReportedWatch:
        self._active.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        self._active.remove(self)

    def add(self, reply: dict[str, Any]) -> None:
        """Add the measurements of one call."""
        for size, source, target in reply["moves"]:
            self.moves.append(Move(int(size), torch.device(source), torch.device(target)))
        self._fetches += int(reply["fetched"])
        self.calls += int(reply["calls"])


def _make_error(tree: dict[str, Any], hint: WrongAnswer) -> Exception:
    """Create an exception with the type name and message of the student's exception."""
    kinds = [str(error_type) for error_type in tree["kinds"]]
    base = next((_ERRORS[error_type] for error_type in kinds if error_type in _ERRORS), Exception)
    text = str(tree["text"])
    name = kinds[0] if kinds[0].isidentifier() else "Exception"
    attributes = {"__init__": lambda self: None, "__str__": lambda self: text, "hint": hint}
    error_type = type(name, (base,), attributes)
    return error_type.__new__(error_type)


def _rng_states() -> tuple[torch.Tensor, list[torch.Tensor]]:
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return torch.get_rng_state(), gpus
