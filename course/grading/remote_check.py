"""Judges an exercise in the grader's process, with facts that the sandbox collects."""

from __future__ import annotations

import base64
import copy
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import cloudpickle
import torch

from course.grading.facts_codec import Malformed, decode
from course.grading.limits import StopReason
from course.grading.outputs import MAX_TEXT, make_result
from course.grading.remote_worker import Canceled, WorkerStopped
from helpers.checks.collecting import Case, Error, Facts
from helpers.checks.exercise import Exercise, Lab

# Judges use torch's global random number generator.
_judge_lock = threading.Lock()
# Sends a request to collect facts, with these fields, and returns the reply.
Ask = Callable[..., dict[str, Any]]


class JudgeFailed(Exception):
    """The exercise's own code raised an error, for which the student is not responsible."""


class _AnswerMissing(Exception):
    """The notebook does not define one of the answers; the argument is its name."""


def load_lab(name: str) -> Lab:
    """Return a copy of a lab such as "lab_01", with no attempts counted yet."""
    package = import_module(f"helpers.checks.{name}")
    # The sandbox cannot import the checks.
    cloudpickle.register_pickle_by_value(package)
    lab = copy.copy(package.lab)
    lab.exercises = {number: copy.copy(e) for number, e in lab.exercises.items()}
    for exercise in lab.exercises.values():
        exercise.lab, exercise.passed, exercise.tries, exercise.hint_counts = lab, False, 0, {}
    return lab


def check_remotely(exercise: Exercise, ask: Ask, seed: int | None = None) -> dict[str, Any]:
    """Judge the student's answers to an exercise; return the result of its check cell.

    One thread judges at a time. While the sandbox collects facts, another one may judge.

    Raises:
        JudgeFailed: the exercise's own code raised an error.
    """

    def collect(function: Callable[..., Facts], case: Case) -> Facts:
        with torch._C.DisableTorchFunction():
            pickled = base64.b64encode(cloudpickle.dumps((function, case))).decode()
        _judge_lock.release()
        try:
            reply = ask(names=exercise.names, seconds=exercise.seconds, collector=pickled)
        finally:
            _judge_lock.acquire()
        if reply.get("missing") in exercise.names:
            raise _AnswerMissing(reply["missing"])
        try:
            return decode(str(reply.get("facts")))
        except Malformed as error:
            return Facts(error=Error((), "", "unusable-result", {"error": str(error)}))

    try:
        with _judge_lock:
            torch.set_num_threads(1)
            # Without a GPU, the worker simulates two.
            verdict = exercise.run(collect, seed, torch.cuda.device_count() or 2)
            box = exercise.record(verdict)
    except _AnswerMissing as missing:
        error = f"NameError: name '{missing}' is not defined"
        return {"passed": False, "hint": None, "message": error} | make_result(error)
    except (WorkerStopped, Canceled):
        raise
    except Exception as error:
        raise JudgeFailed(f"{type(error).__name__}: {error}") from error
    wrong = "" if verdict.mistake is None else verdict.mistake.wrong[:MAX_TEXT]
    outputs: list[dict[str, Any]] = [{"data": {"text/plain": box.text[:MAX_TEXT]}}]
    if box.text_printed:
        outputs.append({"name": "stdout", "text": box.text_printed[:MAX_TEXT]})
    error = f"CheckFailed: exercise {exercise.number}: {wrong}" if wrong else ""
    # A student's process may claim anything.
    stop = StopReason(verdict.facts.stopped) if verdict.facts.stopped in ("time", "memory") else ""
    fields = {"passed": verdict.passed, "hint": verdict.hint, "message": wrong}
    return fields | make_result(error, "", stop, outputs)
