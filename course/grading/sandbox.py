"""A sandbox for students' code: no network, isolated files, and limits on time, memory and disk.

Without bubblewrap, only the limits apply.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from course.grading.isolation import (
    ControlGroups,
    bubblewrap,
    bubblewrap_options,
    environment,
    limited_command,
    seccomp_filter,
)
from course.grading.limits import SandboxLimits, Stop, StopReason

# If the system does not report how long a thread waited for a CPU, this many seconds of wall time
# are counted as one second. `helpers.checks` uses the same factor.
_WALL_PER_SECOND = 6
_POLL_SECONDS = 0.1


class ErrorOutput:
    """A file for the stderr of a process. It has no name, so a killed grader leaves no files.

    `descriptor` is the file descriptor to pass to the process.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self.descriptor = self._file.fileno()

    def last_line(self) -> str:
        """Return at most 300 characters of the last line that is not blank; "" if none."""
        # Use `pread`, because the process shares the position in the file.
        start = max(0, os.fstat(self.descriptor).st_size - 10_000)
        lines = os.pread(self.descriptor, 10_000, start).decode("utf-8", "replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


class Sandbox:
    """A process of `python -m module` in a sandbox, with pipes to its stdin and stdout.

    `isolated`: whether to use bubblewrap if it is available.
    """

    def __init__(self, module: str, limits: SandboxLimits, *, isolated: bool = True) -> None:
        self.limits = limits
        self._module = module
        self._folder: Path | None = None
        program = bubblewrap() if isolated else None
        self.isolated = program is not None
        command = [sys.executable, "-m", module]
        variables = environment()
        filter_file, writer = os.pipe()
        with os.fdopen(writer, "wb") as file:
            file.write(seccomp_filter())
        if program is not None:
            options = bubblewrap_options(limits.disk_bytes)
            options += ["--seccomp", str(filter_file)] if seccomp_filter() else []
            command = [program, *options, *command]
        else:
            self._folder = Path(tempfile.mkdtemp(prefix="submission-"))
            variables |= {"HOME": str(self._folder), "TMPDIR": str(self._folder)}
        # Use a lower priority than this program, which has to monitor the sandbox.
        command = ["nice", "-n", "5", *command] if shutil.which("nice") else command
        # Threads are tasks too, and torch starts one per core.
        max_tasks = limits.processes * ((os.cpu_count() or 1) + 8)
        self.control_groups = ControlGroups(max_tasks, limits.memory_bytes)
        self._errors = ErrorOutput()
        self.process = subprocess.Popen(
            limited_command(command, self.control_groups, limits.disk_bytes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.descriptor,
            cwd=self._folder or "/",
            env=variables,
            pass_fds=[filter_file],
            start_new_session=True,
        )
        os.close(filter_file)
        self._known_processes: dict[int, psutil.Process] = {}
        self._worker: int | None = None
        self._started = time.monotonic()
        self._cpu_wait_seconds = self._judge_wait_seconds = 0.0

    @property
    def last_error(self) -> str:
        """The last line on the sandbox's stderr; "" if it is empty."""
        return self._errors.last_line()

    def seconds(self) -> float:
        """Return the seconds since the start, without the time waiting for the judge or a CPU.

        The time that the main thread waited for a CPU is read from /proc on Linux.
        """
        if self._worker is None:
            with contextlib.suppress(psutil.Error):
                for process in self._process_tree():
                    is_module = process.cmdline()[-2:] == ["-m", self._module]
                    if is_module and "python" in process.name():
                        self._worker = process.pid
        wall = time.monotonic() - self._started - self._judge_wait_seconds
        with contextlib.suppress(OSError, IndexError, ValueError):
            text = Path(f"/proc/{self._worker}/task/{self._worker}/schedstat").read_text()
            # The second field is the time that the thread waited for a CPU, in nanoseconds.
            self._cpu_wait_seconds = max(self._cpu_wait_seconds, int(text.split()[1]) / 1e9)
        is_known = self._worker is not None and self._cpu_wait_seconds > 0
        return wall - self._cpu_wait_seconds if is_known else wall / _WALL_PER_SECOND

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Exclude the duration of the block, while the module waits for the judge."""
        start = time.monotonic()
        yield
        self._judge_wait_seconds += time.monotonic() - start

    def send(self, message: dict[str, Any], check_clock: Callable[[], Stop | None]) -> Stop | None:
        """Send a line of JSON to the module; return None, or the reason if sending failed.

        While the module is not reading, poll `check_clock`, which returns a reason to stop or None.
        """
        channel = self.process.stdin.fileno()
        remaining = memoryview(json.dumps(message).encode() + b"\n")
        while remaining:
            if not select.select([], [channel], [], _POLL_SECONDS)[1]:
                if stop := self.exceeded_limit() or check_clock():
                    return stop
                continue
            try:
                # A pipe that is ready accepts PIPE_BUF bytes, so this never blocks.
                remaining = remaining[os.write(channel, remaining[: select.PIPE_BUF]) :]
            except BrokenPipeError:
                return self.exit_reason()
        return None

    def exceeded_limit(self) -> Stop | None:
        """Return a `Stop` if the sandbox exceeds a limit now, or None."""
        with contextlib.suppress(psutil.Error):
            processes = self._process_tree()
            if len(processes) > self.limits.processes:
                text = f"started more than {self.limits.processes} processes"
                return Stop(StopReason.PROCESSES, text)
            # RSS counts shared memory once per process. PSS is accurate but slow, so it is computed
            # only if RSS exceeds the limit.
            sizes = [process.memory_info().rss for process in processes]
            if psutil.LINUX and sum(sizes) > self.limits.memory_bytes:
                sizes = [process.memory_full_info().pss for process in processes]
            if sum(sizes) > self.limits.memory_bytes:
                text = f"used more than {self.limits.memory_bytes / 2**30:.1f} GiB of memory"
                return Stop(StopReason.MEMORY, text)
        return None

    def exit_reason(self) -> Stop:
        """Return why the process closed its output, based on its exit status."""
        try:
            status = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return Stop(StopReason.ENDED, "closed the channel to the grader")
        number = -status if status < 0 else status - 128
        if number == signal.SIGKILL:
            limit = f"{self.limits.memory_bytes / 2**30:.1f} GiB of memory"
            text = f"was killed (signal SIGKILL), perhaps because it used more than {limit}"
            return Stop(StopReason.KILLED, text)
        if 0 < number < signal.NSIG:
            return Stop(StopReason.ENDED, f"crashed Python (signal {signal.Signals(number).name})")
        return Stop(StopReason.ENDED, f"ended the process with exit status {status}")

    def close(self) -> None:
        """Kill every process in the sandbox and delete their files."""
        with contextlib.suppress(psutil.Error):
            self._process_tree()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        # Without bubblewrap, a process may have left the process group, or even the process tree.
        # With bubblewrap, all processes end when the first one does.
        for process in psutil.process_iter() if self._folder else self._known_processes.values():
            with contextlib.suppress(psutil.Error, OSError):
                is_known = self._known_processes.get(process.pid) == process
                if is_known or process.environ().get("HOME") == str(self._folder):
                    process.kill()
        self.process.kill()
        self.process.wait()
        # The first process in the sandbox exits last, and killing a fork bomb takes a while.
        psutil.wait_procs(self._known_processes.values(), timeout=60)
        self.control_groups.remove()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        self._errors.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _process_tree(self) -> list[psutil.Process]:
        root = psutil.Process(self.process.pid)
        processes = [root, *root.children(recursive=True)]
        self._known_processes |= {process.pid: process for process in processes}
        return processes
