"""The judge process, which runs the checks. It holds the inputs and the expected values.

The grader requests one verdict at a time. Each line on standard output is either the verdict or a
request to the answer process. The reply to a request is the next line on standard input.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import cloudpickle
from helpers.checks.lab import Exercise

from course.grading.limits import StopReason
from course.grading.outputs import MAX_TEXT
from course.grading.remote_trial import RemoteAnswer, RemoteTrial

_STOP_REASONS = {"time": StopReason.TIME, "memory": StopReason.MEMORY}


def main() -> None:
    """Read tasks from standard input and write verdicts until the input ends."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # keep the output of libraries out of the channel

    def exchange(message: dict[str, Any]) -> dict[str, Any]:
        channel.write(json.dumps(message) + "\n")
        line = sys.stdin.readline()
        if not line:
            raise SystemExit
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            return {}  # treated as a wrong answer

    task = json.loads(sys.stdin.readline() or "null")
    while task is not None:
        check = read_check(task["source"])
        task = exchange({"verdict": judge_exercise(task["lab"], *check, exchange)})


def read_check(source: str) -> tuple[str, list[str]]:
    """Parse a lab's check cell; return the name of the exercise and the names of the answers."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr.startswith("exercise_"):
            return node.func.attr, [ast.unparse(argument) for argument in node.args]
    raise ValueError(f"no check in {source!r}")


def judge_exercise(
    lab: str, name: str, names: list[str], exchange: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Judge one exercise and return the result of its check cell.

    Args:
        lab: the name of the checks module, such as "lab_01".
        name: the name of the exercise, such as "exercise_1".
        names: the names of the answers in the student's notebook.
        exchange: sends a request to the answer process and returns the reply.
    """
    checks = importlib.import_module(f"helpers.checks.{lab}")
    # The answer process cannot import the checks, so send their code with each request.
    cloudpickle.register_pickle_by_value(checks)
    exercise: Exercise = getattr(checks, name)

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        return exchange({"request": request}).get("reply", {})

    begin_request = {"do": "begin", "names": names, "seconds": exercise.seconds}
    if missing := ask(begin_request).get("missing"):
        error = f"NameError: name '{missing}' is not defined"
        return {"passed": False, "hint": None, "message": error, "error": error, "stop": ""} | {
            "outputs": [],
            "traceback": "",
        }

    def channel(
        request: dict[str, Any], call: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        reply = ask(request)
        while "callback" in reply:
            reply = ask(call(reply))
        return reply

    answers = [RemoteAnswer(answer_name) for answer_name in names]
    trial = RemoteTrial(answers, exercise.seconds, exercise.hints, channel)
    verdict = exercise.judge_in(trial, answers, nullcontext(trial.printed))
    exercise.hint_counts.clear()
    box = exercise.record(verdict)
    wrong = "" if verdict.mistake is None else verdict.mistake.wrong[:MAX_TEXT]
    outputs: list[dict[str, Any]] = [{"data": {"text/plain": box.text[:MAX_TEXT]}}]
    if box.text_printed:
        outputs.append({"name": "stdout", "text": box.text_printed})
    return {
        "passed": verdict.passed,
        "hint": verdict.hint,
        "message": wrong,
        "error": f"CheckFailed: exercise {exercise.number}: {wrong}" if wrong else "",
        "stop": _STOP_REASONS.get(trial.stopped, ""),
        "outputs": outputs,
        "traceback": "",
    }


if __name__ == "__main__":
    main()
