"""Calls a student's functions with inputs from the judge. Runs in the answer process.

Requests and replies are JSON objects. A request may contain pickled values because the judge is
trusted. A reply contains only plain data.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from helpers.checks.trial import CallResult, Trial

from course.grading.encoding import Encoder, tensor_data
from course.grading.mirrors import encode_state, unpickle_values
from helpers.checks.hints import WrongAnswer, hint_as_data
from helpers.checks.limits import CodeLimits, OutOfMemory, OutOfTime, Stopped
from helpers.checks.machines import machine, machine_for_checks
from helpers.checks.sandbox import PrintedText, sandbox

_STOPS = {OutOfTime: "time", OutOfMemory: "memory"}
Ask = Callable[[dict[str, Any]], dict[str, Any]]


class Answers:
    """The student's functions for one exercise, with one time limit for all calls.

    Args:
        names: the function names, in the order that the exercise uses.
        functions: the functions by name.
        seconds: the total time limit for all calls.
        call_back: calls a function in the judge process and returns the reply.
    """

    def __init__(
        self, names: list[str], functions: dict[str, Any], seconds: float, call_back: Ask
    ) -> None:
        self._functions = functions
        self._objects: list[Any] = []
        self._call_back = call_back
        self._limits = CodeLimits(seconds)
        self._trial = Trial({id(functions[name]): name for name in names}, seconds, {})
        self._machine = machine_for_checks()
        self._machine.__enter__()
        # Checks use small tensors, so extra threads would only add overhead.
        torch.set_num_threads(1)

    def close(self) -> None:
        """Undo the changes that `__init__` made to the machine."""
        self._machine.__exit__(None, None, None)

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """Handle one request from the judge and return the reply."""
        if request["do"] == "find shadowed name":
            wrong_answer = self._trial.shadowed_name_hint()
            return {"hint": None if wrong_answer is None else hint_as_data(wrong_answer)}
        gpus = request["gpus"]
        with nullcontext() if gpus is None else machine(gpus):
            function, args, kwargs, shared_objects, rng_state = unpickle_values(
                request["values"], self._find
            )
            _set_rng_state(rng_state)
            sent = {id(t): tensor_data(t) for t in shared_objects if isinstance(t, torch.Tensor)}
            reply = self._call(request, function, args, kwargs)
            encoder = Encoder(shared_objects, sent, self._objects)
            reply["state"] = [encode_state(item, encoder) for item in shared_objects]
            # Encode the value after the state because it may share tensors with it.
            reply["value"] = encoder.encode(reply["value"])
        return reply

    def _call(self, request: dict[str, Any], function: Any, args: Any, kwargs: Any) -> Any:
        """Call the function within the limits; the value in the reply is not yet encoded."""
        trial, printed = self._trial, PrintedText()
        result, wrong_answer, stopped = CallResult(), None, ""
        watch = trial.watch()
        try:
            with sandbox(self._limits) as printed, watch if request["watch"] else nullcontext():
                if request["do"] == "observe":
                    result = CallResult(value=function(trial, *args))
                else:
                    result = trial.try_call(function, *args, **kwargs)
        except WrongAnswer as raised:
            wrong_answer = raised
        except Stopped as raised:
            wrong_answer = trial.hint_for(raised)
            stopped = _STOPS.get(type(raised), "")
        except BaseException as raised:
            result = CallResult(error=raised)
        error = result.error
        return {
            "value": result.value,
            "error": None if error is None else _error_description(error),
            "hint": None if wrong_answer is None else hint_as_data(wrong_answer),
            "error_hint": None if error is None else hint_as_data(trial.hint_for(error)),
            "stopped": stopped,
            "printed": [printed.text, printed.truncated],
            "gradients_disabled": trial.gradients_disabled,
            "moves": [[m.bytes, str(m.source), str(m.target)] for m in watch.moves],
            "fetched": watch.fetches,
            "calls": watch.calls,
        }

    def _find(self, name: Any) -> Any:
        kind, value = name
        if kind == "callback":
            return self._callback(value)
        return self._functions[value] if kind == "answer" else self._objects[value]

    def _callback(self, number: int) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            encoder = Encoder()
            sent = {
                "callback": number,
                "args": [encoder.encode(item) for item in args],
                "kwargs": {name: encoder.encode(item) for name, item in kwargs.items()},
            }
            value, error = unpickle_values(self._call_back(sent)["values"], self._find)
            if error is not None:
                raise error
            return value

        return call


def _error_description(error: BaseException) -> dict[str, Any]:
    try:
        text = str(error)
    except Exception:  # a student's class may define a `__str__` that raises
        text = ""
    return {"kinds": [kind.__name__ for kind in type(error).__mro__[:9]], "text": text[:10_000]}


def _set_rng_state(state: tuple[torch.Tensor, list[torch.Tensor]]) -> None:
    """Copy the judge's random number generator state so that the check's seeds take effect."""
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])
