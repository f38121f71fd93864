"""Runs one student's cells inside the box, and says after each what came of it.

It reads its task as JSON from standard input and answers with a line of JSON a cell, each signed
with a key from the task, so that a line that the student's code prints counts for nothing. It runs
in one process with that code: it makes forging hard, not impossible, which is why what looks like
an attempt is noted for the instructor to read.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from course.grading.outputs import MOST, TEXT, Cut, small

# For a cell of the lab's own: the first of them imports torch, on a machine busy with a class.
_GIVEN_SECONDS = 120.0


def main() -> None:
    """Do what standard input asks for."""
    task = json.loads(sys.stdin.buffer.read())
    say = _make_voice(bytes.fromhex(task.pop("key")))
    _close(0, 1)
    paper = Paper(task, say)
    # What Python and IPython complain of when they start is of use to whoever grades.
    _close(2)
    paper.run()


def _make_voice(key: bytes) -> Any:
    """The function that sends a signed message; the only way out."""
    channel = os.fdopen(os.dup(1), "wb", buffering=0)
    place = 0

    def say(**message: Any) -> None:
        nonlocal place
        text = json.dumps({**message, "place": place})
        sign = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        place += 1
        channel.write(f"{sign} {text}\n".encode())

    return say


def _close(*streams: int) -> None:
    """Standard input ends at once, and what is written past Python goes nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in streams:
        os.dup2(nothing, number)
    os.close(nothing)


class Paper:
    """The cells of one student, run in order in one IPython shell."""

    def __init__(self, task: dict[str, Any], say: Any) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        self.cells: list[dict[str, Any]] = task["cells"]
        self.skip: set[int] = set(task["skip"])
        self.judged: set[int] = set(task["judged"])
        self.seconds: float = task["seconds"]
        self.walled: bool = task["walled"]
        self.say = say
        self.shell = InteractiveShell.instance()
        self.shell.ask_exit = lambda: None
        self.checks: dict[str, str] = {}
        self.untouched: Any = None

    def run(self) -> None:
        """Run every cell that is not to be skipped, and tell of each.

        After one that had to be stopped there is no going on in this process: it may have been
        stopped halfway through an import, which leaves half a module behind.
        """
        home = Path.cwd()
        for place, cell in enumerate(self.cells):
            kind = cell["kind"]
            if kind == "text" or place in self.skip:
                continue
            if kind == "check" and cell["exercise"] in self.judged:
                continue
            if kind != "given" and self.untouched is None:
                self._remember()
            seconds = max(self.seconds, _GIVEN_SECONDS) if kind == "given" else self.seconds
            self.say(begin=place, seconds=seconds)
            found = (
                self._check(place, cell)
                if kind == "check"
                else self._execute(cell["source"], seconds)
            )
            self.say(cell=place, **found)
            if found["stopped"]:
                return
            self._tidy(home)
        self.say(end=True)

    def _remember(self) -> None:
        """After the lab's own first cells: which names are checks, and what is whose."""
        from course.grading.integrity import Untouched

        names = self.shell.user_ns
        self.checks = {
            name: value.__name__
            for name, value in names.items()
            if isinstance(value, ModuleType) and value.__name__.startswith("helpers.checks.")
        }
        self.untouched = Untouched()

    def _check(self, place: int, cell: dict[str, Any]) -> dict[str, Any]:
        from course.grading.integrity import fresh_checks
        from helpers.checks import hints

        mended = self.untouched.mend()
        exercise = None
        for name, module in self.checks.items():
            fresh = fresh_checks(module)
            self.shell.user_ns[name] = fresh
            exercise = fresh.lab.exercises[cell["exercise"]]
        # A little more than the check's own limit, which says what was too long.
        seconds = max(self.seconds, exercise.seconds + 5)
        self.say(begin=place, seconds=seconds)
        found = self._execute(cell["source"], seconds)
        during = self.untouched.mend()
        given = list(exercise.given)
        beginning = f"NotYet: exercise {exercise.number}: "
        if given and given[-1] in (hints.TOO_LONG.id, hints.TOO_MUCH_MEMORY.id):
            found["stopped"] = given[-1]
        return found | {
            "passed": bool(exercise.passed) and not during and not found["error"],
            "hint": given[-1] if given else None,
            "message": found["error"].removeprefix(beginning),
            "mended": mended,
            "replaced": during,
        }

    def _execute(self, source: str, seconds: float) -> dict[str, Any]:
        """Run one cell within its time; what it shows and prints, cut to a readable length."""
        from IPython.core.displayhook import CapturingDisplayHook
        from IPython.core.displaypub import CapturingDisplayPublisher

        from helpers.checks.limits import CodeLimits, OutOfTime, Stopped

        shell = self.shell
        shown = CapturingDisplayPublisher()
        values: list[Any] = []
        hook = CapturingDisplayHook(shell=shell, outputs=values)
        streams = Cut(), Cut()
        error: list[str] = []
        stopped = ""

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
            stopped = f"took more than {seconds:g} seconds"
        except Stopped:
            stopped = "took more memory than there is to spare"
        except BaseException as other:
            error[:] = [f"{type(other).__name__}: {other}"[:500], ""]
        finally:
            shell.display_pub, sys.displayhook, sys.stdout, sys.stderr = old
            with contextlib.suppress(BaseException):
                _end_threads(before)
        if stopped:
            error[:] = [f"stopped: it {stopped}", ""]
        outputs = [{"name": "stdout", "text": str(streams[0])}] if str(streams[0]) else []
        outputs += [{"name": "stderr", "text": str(streams[1])}] if str(streams[1]) else []
        outputs += [{"data": small(one["data"])} for one in shown.outputs[:MOST]]
        outputs += [{"data": small(one["data"])} for one in values[:MOST]]
        return {
            "outputs": outputs,
            "error": error[0] if error else "",
            "traceback": error[1] if error else "",
            "stopped": stopped,
        }

    def _tidy(self, home: Path) -> None:
        """End what the cell has left running, and stand where we stood."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.walled:
            # All that runs in the box but this process and the box's first.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(OSError):
            home.mkdir(parents=True, exist_ok=True)
            os.chdir(home)


def _end_threads(before: set[int | None]) -> None:
    from helpers.checks.limits import end_threads

    end_threads(before)


if __name__ == "__main__":
    main()
