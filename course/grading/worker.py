"""Runs one student's code in the sandbox: a server that executes one request at a time.

A request is a line of JSON on standard input: run a cell, collect the facts of a case, or end a
check. The reply is a line of JSON that starts with a secret from the first request, so that output
of the student's code is not mistaken for a reply. The sandbox does not contain the labs' checks: a
request to collect facts includes the exercise's collector, which contains nothing of the solution.
"""

import base64
import contextlib
import importlib
import json
import os
import pickle
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from IPython.core.displayhook import CapturingDisplayHook
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from course.grading.facts_codec import Malformed, encode
from course.grading.limits import MAX_OUTPUTS, LimitedStream, StopReason, make_result, safe_output
from helpers.checks.collecting import Collector, Error, Facts
from helpers.checks.limits import CodeLimits, OutOfTime, Stopped


def main() -> None:
    """Execute the requests on standard input until it ends."""
    requests = os.fdopen(os.dup(0), "rb")
    channel = os.fdopen(os.dup(1), "wb", buffering=0)
    request = json.loads(requests.readline())
    secret = request["secret"]
    worker = Worker(request["lab"], isolated=request["isolated"])
    # Do this last, because startup errors of Python and IPython are useful to the instructor.
    devnull = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(devnull, number)
    while True:
        reply = worker.execute(request) | {"id": request["id"]}
        text = f"{secret} {json.dumps(reply)}\n".encode()
        while text:
            text = text[channel.write(text) :]
        line = requests.readline()
        if not line:
            return
        request = json.loads(line)


class _NoChecks(ModuleType):
    """A replacement for the lab's checks module whose checks do nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("exercise_"):
            raise AttributeError(name)
        return lambda *answers: None


class Worker:
    """Runs the cells and the collectors of one submission in one IPython shell."""

    def __init__(self, lab: str, *, isolated: bool) -> None:
        name = f"helpers.checks.{lab}"
        sys.modules[name] = _NoChecks(name)
        setattr(importlib.import_module("helpers.checks"), lab, sys.modules[name])
        self._shell = InteractiveShell.instance()
        self._shell.ask_exit = lambda: None
        self._isolated = isolated
        self._folder = Path.cwd()
        self._collector: Collector | None = None

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        """Execute one request and return the reply."""
        if request["do"] == "collect":
            return self._collect(request)
        reply = {}
        if request["do"] == "run":
            reply = self._run(request["source"], request["seconds"])
        elif self._collector is not None:
            collector, self._collector = self._collector, None
            collector.__exit__(None, None, None)
        self._clean_up()
        return reply

    def _collect(self, request: dict[str, Any]) -> dict[str, Any]:
        names, namespace = request["names"], self._shell.user_ns
        if self._collector is None:
            if missing := [name for name in names if name not in namespace]:
                return {"missing": missing[0]}
            answers = {name: namespace[name] for name in names}
            self._collector = Collector(answers, request["seconds"])
            self._collector.__enter__()
        with torch._C.DisableTorchFunction():
            function, case = pickle.loads(base64.b64decode(request["collector"]))
        facts = self._collector.collect(function, case)
        try:
            return {"facts": encode(facts)}
        except Exception as error:  # a value of the student that is not plain data
            text = f"{error}" if isinstance(error, Malformed) else "not plain data"
            return {"facts": encode(Facts(error=Error("unusable-result", {"error": text})))}

    def _run(self, source: str, seconds: float) -> dict[str, Any]:
        """Run one cell with a time limit; return its truncated outputs and its error."""
        shell = self._shell
        publisher = CapturingDisplayPublisher()
        values: list[Any] = []
        streams = LimitedStream(), LimitedStream()
        error = traceback = stop = ""

        def save_error(kind: type, value: BaseException, trace: list[str]) -> None:
            nonlocal error, traceback
            error, traceback = f"{kind.__name__}: {value}", "\n".join(trace)

        saved_state = shell.display_pub, sys.displayhook, sys.stdout, sys.stderr
        shell._showtraceback = save_error
        try:
            shell.display_pub = publisher
            sys.displayhook = CapturingDisplayHook(shell=shell, outputs=values)
            sys.stdout, sys.stderr = streams
            result = CodeLimits(seconds).run(shell.run_cell, source, store_history=False)
            # IPython catches all exceptions of the cell.
            if isinstance(result.error_in_exec, Stopped):
                raise result.error_in_exec
            if not result.success and not error:
                error = f"{type(result.error_in_exec).__name__}: {result.error_in_exec}"
        except OutOfTime:
            stop, error = StopReason.TIME, f"stopped: it took more than {seconds:g} seconds"
        except Stopped:
            stop, error = StopReason.MEMORY, "stopped: it used more memory than is available"
        except BaseException as raised:
            error, traceback = f"{type(raised).__name__}: {raised}", ""
        finally:
            shell.display_pub, sys.displayhook, sys.stdout, sys.stderr = saved_state
        outputs: list[dict[str, Any]] = [
            {"name": name, "text": stream.getvalue()}
            for name, stream in zip(("stdout", "stderr"), streams, strict=True)
            if stream.getvalue()
        ]
        displays = [*publisher.outputs[:MAX_OUTPUTS], *values[:MAX_OUTPUTS]]
        outputs += [{"data": safe_output(output["data"])} for output in displays]
        return make_result(error, "" if stop else traceback, stop, outputs)

    def _clean_up(self) -> None:
        """Kill processes that the code left running, and return to the working folder."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self._isolated:
            # -1 is every process in the sandbox except this one and the first one.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            os.chdir(self._folder)


if __name__ == "__main__":
    main()
