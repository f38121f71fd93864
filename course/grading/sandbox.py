"""A sandbox for students' code: no network, isolated files, and limits on time, memory and disk.

Without bubblewrap, only the limits apply.
"""

import contextlib
import importlib.util
import os
import platform
import shutil
import signal
import site
import struct
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import psutil

import helpers
from course.course_folder import CourseError
from course.grading.limits import UNPROTECTED, SandboxLimits, Stop, StopReason

# If the system does not report how long a thread waited for a CPU, this many seconds of wall time
# are counted as one second. `helpers.checks` uses the same factor.
_WALL_PER_SECOND = 6
# System folders that Python and torch need; not every machine has all of them.
_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/opt/conda", "/nix/store")
_SETTINGS_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/etc/alternatives", "/etc/localtime", "/etc/passwd"),
)
_HOME = "/home/student"
_WRITABLE_FOLDERS = (_HOME, "/tmp")
# Processes in the sandbox run as `nobody` and cannot gain privileges.
_UNPRIVILEGED_OPTIONS = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
    *("--uid", "65534", "--gid", "65534", "--die-with-parent", "--new-session"),
)


@cache
def bubblewrap() -> str | None:
    """Return the path of bubblewrap, or None if it does not work. Containers often block it."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    command = [program, "--ro-bind", "/", "/", *_UNPRIVILEGED_OPTIONS, "true"]
    try:
        subprocess.run(command, capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return program


def require_bubblewrap() -> str:
    """Return the path of bubblewrap; raise `CourseError` if it does not work on this system."""
    program = bubblewrap()
    if program is None:
        raise CourseError(
            "bubblewrap is not available on this system, so there is no sandbox for the students' "
            f"code. {UNPROTECTED}. Install it (Debian, Ubuntu: apt-get install bubblewrap), grade "
            "in a dedicated container or virtual machine, or add --no-sandbox."
        )
    return program


def environment() -> dict[str, str]:
    """Return the sandbox's environment. It excludes the instructor's variables, such as tokens."""
    gpus = {name: os.environ[name] for name in ("CUDA_VISIBLE_DEVICES",) if name in os.environ}
    return gpus | {
        "PATH": "/usr/bin:/bin",
        "HOME": _HOME,
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(helpers.__file__).parents[1]),
        # The target of `pip install --user`; Python would otherwise derive it from HOME.
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
    }


def bubblewrap_options(disk_bytes: int) -> list[str]:
    """Return the bubblewrap options. A later mount hides an earlier mount at the same path.

    Each writable folder holds at most `disk_bytes` bytes.
    """
    options: list[str] = []
    for path in filter(Path.exists, map(Path, (*_SYSTEM_FOLDERS, *_SETTINGS_FILES))):
        is_link = path.is_symlink() and path.parent == Path("/")
        options += ["--symlink", str(path.readlink())] if is_link else ["--ro-bind", str(path)]
        options.append(str(path))
    options += ["--proc", "/proc", "--dev", "/dev"]
    for gpu in sorted(Path("/dev").glob("nvidia*")):
        options += ["--dev-bind-try", str(gpu), str(gpu)]
    # Mount these before the course, because the course may be inside one of them.
    for folder in (*_WRITABLE_FOLDERS, "/dev/shm"):
        options += ["--size", str(disk_bytes), "--tmpfs", folder]
    folders = own_folders()
    # Each folder between a writable folder and one of `folders` gets its own mount. Otherwise, a
    # student's code could rename it and replace the course with its own copy.
    inside = [(top, p) for top in _WRITABLE_FOLDERS for p in folders if p.is_relative_to(top)]
    tops = {Path(top, *path.relative_to(top).parts[:1]) for top, path in inside} - set(folders)
    for folder in sorted(tops):
        options += ["--tmpfs", str(folder)]
    for path in folders:
        options += ["--ro-bind", str(path), str(path)]
    # Hide the checks, because they contain the expected values.
    checks = sorted((Path(helpers.__file__).parent / "checks").glob("lab_*/"))
    for folder in checks:
        options += ["--tmpfs", str(folder)]
    for folder in [*sorted(tops), *checks, Path("/dev"), Path("/")]:
        options += ["--remount-ro", str(folder)]
    return [*options, *_UNPRIVILEGED_OPTIONS, "--hostname", "lab", "--chdir", _HOME]


def own_folders() -> list[Path]:
    """Return the folders of Python, its packages and the course outside of system folders."""
    folders = {Path(p) for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    if site.ENABLE_USER_SITE and Path(site.getusersitepackages()).is_dir():
        folders.add(Path(site.getusersitepackages()))
    # Include each path both as is and with its symlinks resolved.
    folders |= {path.resolve() for path in folders} | _course_folders()
    return sorted(p for p in folders if not any(map(p.is_relative_to, _SYSTEM_FOLDERS)))


def _course_folders() -> set[Path]:
    """Return the folders of the packages that a lab and its checks import."""
    specs = map(importlib.util.find_spec, ("helpers", "simulated_cuda", "course"))
    return {Path(spec.origin).parent for spec in specs}


# The seccomp filter denies memfd_create, memfd_secret and shmget (memory that no process has mapped
# cannot be measured), add_key, request_key and keyctl (keyrings are shared with the host),
# perf_event_open, bpf, userfaultfd, and io_uring_setup (which can open sockets). For each machine:
# the numbers of its architecture (linux/audit.h), of `socket`, and of the denied system calls.
_SYSTEM_CALLS = {
    "x86_64": (0xC000003E, 41, (319, 447, 29, 248, 249, 250, 298, 321, 323, 425)),
    "aarch64": (0xC00000B7, 198, (279, 447, 194, 217, 218, 219, 241, 280, 282, 425)),
}
# `--unshare-net` isolates AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK; AF_VSOCK would reach the host.
_SOCKET_FAMILIES = (1, 2, 10, 16)
# Instructions of classic BPF, offsets in `struct seccomp_data`, and results.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_FAIL_WITH_ENOSYS, _ALLOW = 0x00050026, 0x7FFF0000


def seccomp_filter(machine: str = platform.machine()) -> bytes:
    """Return a BPF program that denies some system calls; empty for an unknown machine."""
    if machine not in _SYSTEM_CALLS:
        return b""
    architecture, socket_call, denied_calls = _SYSTEM_CALLS[machine]
    # Each row: the instruction, its value, and where to continue if a condition is true or false.
    program = [
        (_LOAD, _ARCHITECTURE, "", ""),
        (_IF_EQUAL, architecture, "", "deny"),  # 32-bit system calls have other numbers
        (_LOAD, _NUMBER, "", ""),
        (_IF_AT_LEAST, 0x40000000, "deny", ""),  # and so have those of x32
        *((_IF_EQUAL, number, "deny", "") for number in denied_calls),
        (_IF_EQUAL, socket_call, "", "allow"),
        (_LOAD, _FIRST_ARGUMENT, "", ""),
        *((_IF_EQUAL, family, "allow", "") for family in _SOCKET_FAMILIES),
        (_RETURN, _FAIL_WITH_ENOSYS, "", ""),
        (_RETURN, _ALLOW, "", ""),
    ]
    targets = {"deny": len(program) - 2, "allow": len(program) - 1}
    return b"".join(
        struct.pack("=HBBI", code, *(targets.get(t, n + 1) - n - 1 for t in (yes, no)), value)
        for n, (code, value, yes, no) in enumerate(program)
    )


class ControlGroups:
    """Cgroups (version 1 or 2) that limit the tasks and the memory of a sandbox, if permitted.

    Measuring from outside is too slow for a fork bomb, and misses memory that no process has
    mapped, such as the buffers of sockets. Usually only root can create cgroups, or a user in a
    desktop session.
    """

    def __init__(self, max_tasks: int, memory_bytes: int) -> None:
        limits = {"pids.max": max_tasks, "memory.max": memory_bytes, "memory.swap.max": 0}
        limits |= {f"memory.{kind}limit_in_bytes": memory_bytes for kind in ("", "memsw.")}
        self.folders: list[Path] = []
        lines: list[str] = []
        with contextlib.suppress(OSError):
            lines = Path("/proc/self/cgroup").read_text().splitlines()
        for _, controller, path in (line.split(":", 2) for line in lines):
            if controller not in ("", "pids", "memory"):
                continue
            own_group = Path("/sys/fs/cgroup", controller, path.lstrip("/"))
            # In version 2, only a group without processes of its own can have limited children.
            for parent in (own_group, *own_group.parents[:-3]):
                with contextlib.suppress(OSError):
                    folder = Path(tempfile.mkdtemp(prefix="submission-", dir=parent))
                    files = [folder / name for name in limits if (folder / name).exists()]
                    for file in files:
                        with contextlib.suppress(OSError):
                            file.write_text(str(limits[file.name]))
                    if files:
                        self.folders.append(folder)
                        break
                    folder.rmdir()

    def remove(self) -> None:
        """Remove the cgroups, after all their processes have been killed."""
        end = time.monotonic() + 5
        for folder in self.folders:
            while folder.exists() and time.monotonic() < end:
                try:
                    folder.rmdir()
                except OSError:  # a process has not ended yet
                    time.sleep(0.05)


class Sandbox:
    """A process of `python -m module` in a sandbox, with pipes to its stdin and stdout.

    `isolated`: whether to use bubblewrap.
    """

    def __init__(self, module: str, limits: SandboxLimits, *, isolated: bool = True) -> None:
        program = require_bubblewrap() if isolated else None
        self.limits = limits
        self._module = module
        self._folder: Path | None = None
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
        # Limit the size of files, and run the command in the cgroups.
        script = (
            f"ulimit -f {limits.disk_bytes // 512}\n"
            '{ while [ "$1" ]; do echo $$ > "$1/cgroup.procs"; shift; done; } 2> /dev/null\n'
            'shift; exec "$@"'
        )
        # This file has no name, so a killed grader leaves no files.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", *map(str, self.control_groups.folders), "", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=self._folder or "/",
            env=variables,
            pass_fds=[filter_file],
            start_new_session=True,
        )
        os.close(filter_file)
        self._known_processes: dict[int, psutil.Process] = {}
        self._worker: int | None = None
        self._started = time.monotonic()
        self._cpu_wait_seconds = 0.0

    def last_error(self) -> str:
        """Return at most 300 characters of the last line on stderr that is not blank, or ""."""
        file = self._errors.fileno()
        # Use `pread`, because the process shares the position in the file.
        end = os.pread(file, 10_000, max(0, os.fstat(file).st_size - 10_000))
        return end.decode("utf-8", "replace").strip().split("\n")[-1].strip()[:300]

    def seconds(self) -> float:
        """Return the seconds since the start, without the time waiting for a CPU.

        The time that the main thread waited for a CPU is read from /proc on Linux.
        """
        if self._worker is None:
            with contextlib.suppress(psutil.Error):
                for process in self._process_tree():
                    is_module = process.cmdline()[-2:] == ["-m", self._module]
                    if is_module and "python" in process.name():
                        self._worker = process.pid
        wall = time.monotonic() - self._started
        with contextlib.suppress(OSError, IndexError, ValueError):
            text = Path(f"/proc/{self._worker}/task/{self._worker}/schedstat").read_text()
            # The second field is the time that the thread waited for a CPU, in nanoseconds.
            self._cpu_wait_seconds = max(self._cpu_wait_seconds, int(text.split()[1]) / 1e9)
        is_known = self._worker is not None and self._cpu_wait_seconds > 0
        return wall - self._cpu_wait_seconds if is_known else wall / _WALL_PER_SECOND

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
