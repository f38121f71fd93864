"""Runs one student's cells inside the sandbox and reports the result of each.

It reads its task as a line of JSON from standard input and answers with lines of JSON. Each line
begins with a secret from the task, so that what the student's code writes is not taken for one.
It has no checks: at the cell of a check, it runs the student's functions as the judge asks.
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
from course.grading.outputs import MAX_OUTPUTS, MAX_TEXT, LimitedStream, safe_output

# For the lab's own cells: the first of them imports torch.
_GIVEN_SECONDS = 120.0


def main() -> None:
    """Read the task from standard input and run it."""
    requests = os.fdopen(os.dup(0), "rb")
    task = json.loads(requests.readline())
    send = _make_sender(task.pop("secret"))
    _redirect_to_devnull(0, 1)
    runner = CellRunner(task, send, requests)
    # Not earlier, because errors while Python and IPython start help the instructor.
    _redirect_to_devnull(2)
    runner.run()


def _make_sender(secret: str) -> Callable[..., None]:
    """The function that sends a message to the grader."""
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
    """What a notebook imports as its lab's checks."""

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
        """Run every cell that is not to be skipped, and report each.

        The process ends after a cell that was stopped: the cell may have been stopped during an
        import, which leaves a partially initialized module.
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
        """Do what the judge asks for, until it has its verdict."""
        from course.grading.answering import Answers

        answers: Answers | None = None
        self.send(check=index)
        while (request := self._next_request())["do"] != "end":
            if request["do"] == "begin":
                names, found = request["names"], self.shell.user_ns
                missing = next((name for name in names if name not in found), None)
                reply: dict[str, Any] = {"missing": missing}
                if missing is None:
                    functions = {name: found[name] for name in names}
                    answers = Answers(names, functions, request["seconds"], self._call_back)
            else:
                assert answers is not None
                try:
                    reply = answers.reply(request)
                except Exception as error:  # of an object of the student's
                    reply = {"failed": type(error).__name__}
            self.send(reply=reply)
        if answers is not None:
            answers.end()

    def _call_back(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(reply=message)
        return self._next_request()

    def _next_request(self) -> dict[str, Any]:
        return json.loads(self.requests.readline())

    def _execute(self, source: str, seconds: float) -> dict[str, Any]:
        """Run one cell within its time limit; return its truncated outputs and its error."""
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
            error[:] = [f"{kind.__name__}: {value}"[:500], "\n".join(trace)[:MAX_TEXT]]

        before = {thread.ident for thread in threading.enumerate()}
        previous = shell.display_pub, sys.displayhook, sys.stdout, sys.stderr
        shell._showtraceback = save_error
        try:
            shell.display_pub, sys.displayhook = publisher, hook
            sys.stdout, sys.stderr = streams
            with CodeLimits(seconds):
                result = shell.run_cell(source, store_history=False)
            # IPython catches whatever the cell raises.
            if isinstance(result.error_in_exec, Stopped):
                raise result.error_in_exec
            if not result.success and not error:
                error[:] = [f"{type(result.error_in_exec).__name__}: {result.error_in_exec}", ""]
        except OutOfTime:
            stop, text = StopReason.TIME, f"took more than {seconds:g} seconds"
        except Stopped:
            stop, text = StopReason.MEMORY, "used more memory than is available"
        except BaseException as raised:
            error[:] = [f"{type(raised).__name__}: {raised}"[:500], ""]
        finally:
            shell.display_pub, sys.displayhook, sys.stdout, sys.stderr = previous
            with contextlib.suppress(BaseException):
                end_threads(before)
        if stop:
            error[:] = [f"stopped: it {text}", ""]
        outputs: list[dict[str, Any]] = [
            {"name": name, "text": stream.getvalue()}
            for name, stream in zip(("stdout", "stderr"), streams, strict=True)
            if stream.getvalue()
        ]
        displayed = [*publisher.outputs[:MAX_OUTPUTS], *values[:MAX_OUTPUTS]]
        outputs += [{"data": safe_output(output["data"])} for output in displayed]
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
            # Everything in the sandbox except this process and the sandbox's first.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(OSError):
            working_folder.mkdir(parents=True, exist_ok=True)
            os.chdir(working_folder)


if __name__ == "__main__":
    main()
