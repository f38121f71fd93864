"""Runs one student's cells inside the sandbox and reports the result of each.

It reads its task as JSON from standard input and answers with one line of JSON per cell. Each line
begins with a secret from the task, so that what the student's code prints cannot be taken for a
result. The checks run in the same process as that code: `integrity` and `internals` say what that
means for what can be trusted.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from course.grading.limits import StopReason
from course.grading.outputs import MOST, TEXT, LimitedStream, safe_output

# For the lab's own cells: the first of them imports torch.
_GIVEN_SECONDS = 120.0


def main() -> None:
    """Do what standard input asks for."""
    task = json.loads(sys.stdin.buffer.read())
    send = _make_sender(task.pop("secret"))
    _redirect_to_nothing(0, 1)
    runner = CellRunner(task, send)
    # Errors of Python and IPython while they start are of use to the instructor.
    _redirect_to_nothing(2)
    runner.run()


def _make_sender(secret: str) -> Callable[..., None]:
    """The function that sends a message to the grader."""
    channel = os.fdopen(os.dup(1), "wb", buffering=0)

    def send(**message: Any) -> None:
        text = f"{secret} {json.dumps(message)}\n".encode()
        while text:
            text = text[channel.write(text) :]

    return send


def _redirect_to_nothing(*streams: int) -> None:
    """Let standard input end at once, and drop what is written past Python."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in streams:
        os.dup2(nothing, number)
    os.close(nothing)


class CellRunner:
    """Runs the cells of one student in order in one IPython shell."""

    def __init__(self, task: dict[str, Any], send: Callable[..., None]) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        self.cells: list[dict[str, Any]] = task["cells"]
        self.skip: set[int] = set(task["skip"])
        self.judged: set[int] = set(task["judged"])
        self.seconds: float = task["seconds"]
        self.isolated: bool = task["isolated"]
        self.send = send
        self.shell = InteractiveShell.instance()
        self.shell.ask_exit = lambda: None
        self.checks: dict[str, str] = {}
        self.snapshot: Any = None

    def run(self) -> None:
        """Run every cell that is not to be skipped, and report each.

        After a cell that was stopped the process ends: the cell may have been stopped halfway
        through an import, which leaves half a module behind.
        """
        home = Path.cwd()
        for place, cell in enumerate(self.cells):
            kind = cell["kind"]
            if kind == "text" or place in self.skip:
                continue
            if kind == "check" and cell["exercise"] in self.judged:
                continue
            if kind != "given" and self.snapshot is None:
                self._take_snapshot()
            seconds = max(self.seconds, _GIVEN_SECONDS) if kind == "given" else self.seconds
            self.send(begin=place, seconds=seconds)
            result = (
                self._check(place, cell)
                if kind == "check"
                else self._execute(cell["source"], seconds)
            )
            self.send(cell=place, **result)
            if result["stop"]:
                return
            self._clean_up(home)
        self.send(end=True)

    def _take_snapshot(self) -> None:
        """After the lab's own first cells: note which names are checks, and the libraries."""
        from course.grading.integrity import Snapshot

        names = self.shell.user_ns
        self.checks = {
            name: value.__name__
            for name, value in names.items()
            if isinstance(value, ModuleType) and value.__name__.startswith("helpers.checks.")
        }
        self.snapshot = Snapshot()

    def _check(self, place: int, cell: dict[str, Any]) -> dict[str, Any]:
        from course.grading.integrity import Snapshot, fresh_checks
        from helpers.checks import hints

        restored = self.snapshot.restore()
        exercise = None
        for name, module in self.checks.items():
            fresh = fresh_checks(module)
            self.shell.user_ns[name] = fresh
            exercise = fresh.lab.exercises[cell["exercise"]]
        judge = Snapshot(checks=True)
        # A little more than the check's own limit, which reports what took too long.
        seconds = max(self.seconds, exercise.seconds + 5)
        self.send(begin=place, seconds=seconds)
        result = self._execute(cell["source"], seconds)
        replaced = [*judge.restore(), *self.snapshot.restore()]
        given = list(exercise.given)
        hint = given[-1] if given else None
        if hint == hints.TOO_LONG.id:
            result["stop"] = StopReason.TIME
        elif hint == hints.TOO_MUCH_MEMORY.id:
            result["stop"] = StopReason.MEMORY
        return result | {
            "passed": exercise.passed is True and not replaced and not result["error"],
            "hint": hint,
            "message": result["error"].removeprefix(f"NotYet: exercise {exercise.number}: "),
            "restored": restored,
            "replaced": replaced,
        }

    def _execute(self, source: str, seconds: float) -> dict[str, Any]:
        """Run one cell within its time; its outputs are cut to a readable length."""
        from IPython.core.displayhook import CapturingDisplayHook
        from IPython.core.displaypub import CapturingDisplayPublisher

        from helpers.checks.limits import CodeLimits, OutOfTime, Stopped, end_threads

        shell = self.shell
        shown = CapturingDisplayPublisher()
        values: list[Any] = []
        hook = CapturingDisplayHook(shell=shell, outputs=values)
        streams = LimitedStream(), LimitedStream()
        error: list[str] = []
        stop = ""

        def keep(kind: type, value: BaseException, trace: list[str]) -> None:
            error[:] = [f"{kind.__name__}: {value}"[:500], "\n".join(trace)[:TEXT]]

        before = {thread.ident for thread in threading.enumerate()}
        old = shell.display_pub, sys.displayhook, sys.stdout, sys.stderr
        shell._showtraceback = keep
        try:
            shell.display_pub, sys.displayhook = shown, hook
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
        except BaseException as other:
            error[:] = [f"{type(other).__name__}: {other}"[:500], ""]
        finally:
            shell.display_pub, sys.displayhook, sys.stdout, sys.stderr = old
            with contextlib.suppress(BaseException):
                end_threads(before)
        if stop:
            error[:] = [f"stopped: it {text}", ""]
        outputs: list[dict[str, Any]] = [
            {"name": name, "text": stream.getvalue()}
            for name, stream in zip(("stdout", "stderr"), streams, strict=True)
            if stream.getvalue()
        ]
        displayed = [*shown.outputs[:MOST], *values[:MOST]]
        outputs += [{"data": safe_output(one["data"])} for one in displayed]
        return {
            "outputs": outputs,
            "error": error[0] if error else "",
            "traceback": error[1] if error else "",
            "stop": stop,
        }

    def _clean_up(self, home: Path) -> None:
        """End what the cell left running, and return to the working folder."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.isolated:
            # Everything in the sandbox except this process and the sandbox's first.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(OSError):
            home.mkdir(parents=True, exist_ok=True)
            os.chdir(home)


if __name__ == "__main__":
    main()
