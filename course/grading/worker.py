"""Runs one student's cells in the sandbox and reports the result of each cell.

The task is a line of JSON on standard input. Messages to the grader are lines of JSON that start
with a secret from the task, so that output of the student's code is not mistaken for a message.
The worker has no checks. At a check cell, it calls the student's functions with the judge's inputs.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from course.grading.limits import StopReason
from course.grading.outputs import MAX_ERROR, MAX_OUTPUTS, MAX_TEXT, LimitedStream, safe_output

# Time limit for the lab's own cells, because the first one imports torch.
_GIVEN_SECONDS = 120.0


def main() -> None:
    """Read the task from standard input and run it."""
    requests = os.fdopen(os.dup(0), "rb")
    task = json.loads(requests.readline())
    send = _make_sender(task.pop("secret"))
    _redirect_to_devnull(0, 1)
    runner = CellRunner(task, send, requests)
    # Do this last, because startup errors of Python and IPython are useful to the instructor.
    _redirect_to_devnull(2)
    runner.run()


def _make_sender(secret: str) -> Callable[..., None]:
    """Return a function that sends a message to the grader."""
    channel = os.fdopen(os.dup(1), "wb", buffering=0)

    def send(**message: Any) -> None:
        text = f"{secret} {json.dumps(message)}\n".encode()
        while text:
            text = text[channel.write(text) :]

    return send


def _redirect_to_devnull(*streams: int) -> None:
    """Redirect these file descriptors to the null device."""
    devnull = os.open(os.devnull, os.O_RDWR)
    for number in streams:
        os.dup2(devnull, number)
    os.close(devnull)


class _NoChecks(ModuleType):
    """A replacement for the lab's checks module whose checks do nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("exercise_"):
            raise AttributeError(name)
        return lambda *answers: None


class CellRunner:
    """Runs the cells of one student in order in one IPython shell."""

    def __init__(self, task: dict[str, Any], send: Callable[..., None], requests: BinaryIO) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        self.cells: list[dict[str, Any]] = task["cells"]
        self.skip: set[int] = set(task["skip"])
        self.judged: set[int] = set(task["judged"])
        self.seconds: float = task["seconds"]
        self.isolated: bool = task["isolated"]
        self.send = send
        self.requests = requests
        name = f"helpers.checks.{task['lab']}"
        sys.modules[name] = _NoChecks(name)
        setattr(importlib.import_module("helpers.checks"), task["lab"], sys.modules[name])
        self.shell = InteractiveShell.instance()
        self.shell.ask_exit = lambda: None

    def run(self) -> None:
        """Run and report every cell that is not skipped.

        Return after a cell that was stopped, because interrupting an import may leave a partially
        initialized module.
        """
        working_folder = Path.cwd()
        for index, cell in enumerate(self.cells):
            kind = cell["kind"]
            if kind == "text" or index in self.skip:
                continue
            if kind == "check" and cell["exercise"] in self.judged:
                continue
            if kind == "check":
                self._check(index)
            else:
                seconds = max(self.seconds, _GIVEN_SECONDS) if kind == "given" else self.seconds
                self.send(begin=index, seconds=seconds)
                result = self._execute(cell["source"], seconds)
                self.send(cell=index, **result)
                if result["stop"]:
                    return
            self._clean_up(working_folder)
        self.send(end=True)

    def _check(self, index: int) -> None:
        """Handle requests from the judge until it has a verdict."""
        from course.grading.answering import Answers

        answers: Answers | None = None
        self.send(check=index)
        while (request := self._next_request())["do"] != "end":
            if request["do"] == "begin":
                names, namespace = request["names"], self.shell.user_ns
                missing = next((name for name in names if name not in namespace), None)
                reply: dict[str, Any] = {"missing": missing}
                if missing is None:
                    functions = {name: namespace[name] for name in names}
                    answers = Answers(names, functions, request["seconds"], self._call_back)
            else:
                assert answers is not None
                try:
                    reply = answers.reply(request)
                except Exception as error:  # raised by one of the student's objects
                    reply = {"failed": type(error).__name__}
            self.send(reply=reply)
        if answers is not None:
            answers.close()

    def _call_back(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(reply=message)
        return self._next_request()

    def _next_request(self) -> dict[str, Any]:
        return json.loads(self.requests.readline())

    def _execute(self, source: str, seconds: float) -> dict[str, Any]:
        """Run one cell with a time limit; return its truncated outputs and its error."""
        from IPython.core.displayhook import CapturingDisplayHook
        from IPython.core.displaypub import CapturingDisplayPublisher

        from helpers.checks.limits import CodeLimits, OutOfTime, Stopped, end_threads

        shell = self.shell
        publisher = CapturingDisplayPublisher()
        values: list[Any] = []
        hook = CapturingDisplayHook(shell=shell, outputs=values)
        streams = LimitedStream(), LimitedStream()
        error: list[str] = []
        stop = ""

        def save_error(kind: type, value: BaseException, trace: list[str]) -> None:
            error[:] = [f"{kind.__name__}: {value}"[:MAX_ERROR], "\n".join(trace)[:MAX_TEXT]]

        thread_ids = {thread.ident for thread in threading.enumerate()}
        saved_state = shell.display_pub, sys.displayhook, sys.stdout, sys.stderr
        shell._showtraceback = save_error
        try:
            shell.display_pub, sys.displayhook = publisher, hook
            sys.stdout, sys.stderr = streams
            with CodeLimits(seconds):
                result = shell.run_cell(source, store_history=False)
            # IPython catches all exceptions of the cell.
            if isinstance(result.error_in_exec, Stopped):
                raise result.error_in_exec
            if not result.success and not error:
                error[:] = [f"{type(result.error_in_exec).__name__}: {result.error_in_exec}", ""]
        except OutOfTime:
            stop, text = StopReason.TIME, f"took more than {seconds:g} seconds"
        except Stopped:
            stop, text = StopReason.MEMORY, "used more memory than is available"
        except BaseException as raised:
            error[:] = [f"{type(raised).__name__}: {raised}"[:MAX_ERROR], ""]
        finally:
            shell.display_pub, sys.displayhook, sys.stdout, sys.stderr = saved_state
            with contextlib.suppress(BaseException):
                end_threads(thread_ids)
        if stop:
            error[:] = [f"stopped: it {text}", ""]
        outputs: list[dict[str, Any]] = [
            {"name": name, "text": stream.getvalue()}
            for name, stream in zip(("stdout", "stderr"), streams, strict=True)
            if stream.getvalue()
        ]
        displays = [*publisher.outputs[:MAX_OUTPUTS], *values[:MAX_OUTPUTS]]
        outputs += [{"data": safe_output(output["data"])} for output in displays]
        return {
            "outputs": outputs,
            "error": error[0] if error else "",
            "traceback": error[1] if error else "",
            "stop": stop,
        }

    def _clean_up(self, working_folder: Path) -> None:
        """Kill processes that the cell left running, and return to the working folder."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.isolated:
            # -1 is every process in the sandbox except this one and the first one.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(OSError):
            working_folder.mkdir(parents=True, exist_ok=True)
            os.chdir(working_folder)


if __name__ == "__main__":
    main()
