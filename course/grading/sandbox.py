"""A sandbox for students' code: no network, isolated files, and limits on time, memory and disk.

With bubblewrap, the code has read-only access to the system's programs and the packages of Python
and the course, and write access to an empty in-memory folder that is deleted at the end. It runs as
nobody, without capabilities, in its own user namespace. Without bubblewrap, only the limits apply.
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

from course.grading.error_output import ErrorOutput
from course.grading.isolation import bubblewrap, bubblewrap_options, environment
from course.grading.limits import SandboxLimits, Stop, StopReason
from course.grading.task_limit import TaskLimit

# If the system does not report how long a thread waited for a CPU, this many seconds of wall time
# are counted as one second. `helpers.checks` uses the same factor.
_WALL_PER_SECOND = 6
_NOBODY = 65534
_POLL_SECONDS = 0.1


class Sandbox:
    """A Python module that runs in a sandbox, with pipes to its stdin and stdout.

    Args:
        module: the module to run, as in `python -m`.
        limits: the resource limits.
        isolated: whether to use bubblewrap if it is available.
    """

    def __init__(self, module: str, limits: SandboxLimits, *, isolated: bool = True) -> None:
        self.limits = limits
        self._folder: Path | None = None
        self._errors = ErrorOutput()
        program = bubblewrap() if isolated else None
        arguments = [sys.executable, "-m", module]
        variables = environment()
        account: dict[str, Any] = {}
        if program is not None:
            command = [program, *bubblewrap_options(limits), *arguments]
            folder = "/"
        else:
            self._folder = Path(tempfile.mkdtemp(prefix="submission-"))
            variables |= {"HOME": str(self._folder), "TMPDIR": str(self._folder)}
            command, folder = arguments, str(self._folder)
            if _can_run_as_nobody():
                os.chown(folder, _NOBODY, _NOBODY)
                account = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        self.isolated = program is not None
        # Use a lower priority than this program, which has to monitor the sandbox.
        command = ["nice", "-n", "5", *command] if shutil.which("nice") else command
        # Threads are tasks too, and torch starts one per core.
        self.task_limit = TaskLimit(limits.processes * ((os.cpu_count() or 1) + 8))
        if not account:  # another user may not join the cgroup
            command = self.task_limit.apply_to(command)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.descriptor,
            cwd=folder,
            env=variables,
            start_new_session=True,
            **account,
        )
        self._known_processes: dict[int, psutil.Process] = {}
        self._module = module
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
        if self._worker is None:
            return wall / _WALL_PER_SECOND
        try:
            text = Path(f"/proc/{self._worker}/task/{self._worker}/schedstat").read_text()
            # The second field is the time that the thread waited for a CPU, in nanoseconds.
            self._cpu_wait_seconds = max(self._cpu_wait_seconds, int(text.split()[1]) / 1e9)
        except (OSError, IndexError, ValueError):
            if not self._cpu_wait_seconds:
                return wall / _WALL_PER_SECOND
        return wall - self._cpu_wait_seconds

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
        assert self.process.stdin is not None
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
            file_bytes = sum(map(_memory_file_bytes, processes))
            # RSS counts shared memory once per process. PSS is accurate but slow, so it is computed
            # only if RSS exceeds the limit.
            limit = self.limits.memory_bytes - file_bytes
            if _total_memory(processes, "rss") > limit < _total_memory(processes, "pss"):
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
            return Stop(StopReason.KILLED, "was killed (signal SIGKILL), perhaps by the OOM killer")
        if 0 < number < signal.NSIG:
            return Stop(StopReason.ENDED, f"crashed Python (signal {signal.Signals(number).name})")
        return Stop(StopReason.ENDED, f"ended the process with exit status {status}")

    def close(self) -> None:
        """Kill every process in the sandbox and delete their files."""
        with contextlib.suppress(psutil.Error):
            self._process_tree()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        # Without bubblewrap, a process may have left the process group. With bubblewrap, all
        # processes end when the first one does.
        for process in self._known_processes.values():
            with contextlib.suppress(psutil.Error):
                process.kill()
        if self._folder is not None:
            self._kill_detached(str(self._folder))
        self.process.kill()
        self.process.wait()
        # The first process in the sandbox exits last, and killing a fork bomb takes a while.
        psutil.wait_procs(self._known_processes.values(), timeout=60)
        self.task_limit.remove()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        self._errors.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _kill_detached(self, home: str) -> None:
        """Kill daemonized processes, which are no longer in the process tree."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get("HOME") == home:
                    process.kill()

    def _process_tree(self) -> list[psutil.Process]:
        root = psutil.Process(self.process.pid)
        processes = [root, *root.children(recursive=True)]
        self._known_processes |= {process.pid: process for process in processes}
        return processes


def _total_memory(processes: list[psutil.Process], kind: str) -> int:
    """Return the memory in bytes: "rss", or "pss" on Linux, which divides up shared memory."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            use_pss = kind == "pss" and psutil.LINUX
            total += process.memory_full_info().pss if use_pss else process.memory_info().rss
    return total


def _memory_file_bytes(process: psutil.Process) -> int:
    """Return the bytes in `memfd` files. RSS does not include data that was written to them."""
    sizes: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for file in Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if str(file.readlink()).startswith("/memfd:"):
                    info = file.stat()
                    sizes[info.st_ino] = info.st_blocks * 512
    return sum(sizes.values())


def _can_run_as_nobody() -> bool:
    """Return whether this program is root and `nobody` can read Python and the course."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    paths = [Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), Path(__file__).resolve()]
    folders = {entry for path in paths for entry in (path, *path.parents)}
    return all(entry.stat().st_mode & (0o001 if entry.is_dir() else 0o004) for entry in folders)
