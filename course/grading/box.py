"""A box to run a stranger's code in: no network, nobody else's files, and an end to everything.

With bubblewrap the code sees the system's programs, Python's packages and the course's `helpers`,
all of them read only, and an empty folder in memory that vanishes with it. Where there is no
bubblewrap the limits hold all the same, but files and network are open.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import site
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

import helpers

# What Python and torch need of a system; a machine has some of them.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/opt/conda", "/nix/store")
_SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "passwd")
_HOME = "/home/student"
_WRITABLE = (_HOME, "/tmp")


@dataclass(frozen=True)
class Limits:
    """What one submission may take: seconds for a cell and for all, bytes, processes.

    `grace` is how long after its time a cell that does not end is waited for.
    """

    cell_seconds: float = 30
    grace: float = 10
    seconds: float = 300
    memory: int = 3 << 30
    processes: int = 24
    disk: int = 64 << 20
    answer: int = 20 << 20


@cache
def bubblewrap() -> str | None:
    """Where bubblewrap is, if it works here; containers often forbid it."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    command = [program, "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"]
    try:
        tried = subprocess.run(command, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return program if tried.returncode == 0 else None


class Box:
    """A running Python program, shut in. Its standard input and output are pipes to here."""

    def __init__(self, module: str, limits: Limits, *, shut: bool = True) -> None:
        self.limits = limits
        self._folder: Path | None = None
        complaints, name = tempfile.mkstemp(prefix="submission-", suffix=".txt")
        self._complaints = Path(name)
        program = bubblewrap() if shut else None
        arguments = [sys.executable, "-m", module]
        environment = _environment()
        if program is not None:
            command = [program, *_walls(limits), *arguments]
            folder = "/"
        else:
            self._folder = Path(tempfile.mkdtemp(prefix="submission-"))
            environment |= {"HOME": str(self._folder), "TMPDIR": str(self._folder)}
            command, folder = arguments, str(self._folder)
        self.shut = program is not None
        self.process = subprocess.Popen(
            # Behind this program, which has to look in on it whatever it does.
            ["nice", "-n", "5", *command] if shutil.which("nice") else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(complaints)
        self._seen: dict[int, psutil.Process] = {}

    @property
    def said(self) -> str:
        """The last line that the box, or what starts in it, complained in; "" for none."""
        lines = self._complaints.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    def over_limit(self) -> str:
        """Which limit the programs in the box are over at this moment, in words; "" for none."""
        with contextlib.suppress(psutil.Error):
            first = psutil.Process(self.process.pid)
            family = [first, *first.children(recursive=True)]
            self._seen |= {one.pid: one for one in family}
            if len(family) > self.limits.processes:
                return f"started more than {self.limits.processes} processes"
            # What forks share is counted once only if need be: to find that out takes long.
            if _sum(family, "rss") > self.limits.memory < _sum(family, "pss"):
                return f"took more than {self.limits.memory / 2**30:.1f} GiB of memory"
        return ""

    def end(self) -> None:
        """End everything that runs in the box, and throw away what it wrote."""
        with contextlib.suppress(psutil.Error):
            family = psutil.Process(self.process.pid).children(recursive=True)
            self._seen |= {one.pid: one for one in family}
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        # Without walls a process may have left the group; with them the first one takes all along.
        for one in self._seen.values():
            with contextlib.suppress(psutil.Error):
                one.kill()
        self.process.kill()
        self.process.wait()
        # With walls the first process inside goes last, and a fork bomb takes its time to go.
        psutil.wait_procs(self._seen.values(), timeout=60)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        self._complaints.unlink(missing_ok=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _sum(processes: list[psutil.Process], kind: str) -> int:
    """Bytes of memory: "rss", or "pss", which counts shared memory once, on systems that tell."""
    taken = 0
    for one in processes:
        with contextlib.suppress(psutil.Error):
            whole = kind == "pss" and psutil.LINUX
            taken += one.memory_full_info().pss if whole else one.memory_info().rss
    return taken


def _environment() -> dict[str, str]:
    """Nothing of the instructor's own: no tokens, no paths."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": _HOME,
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(helpers.__file__).parents[1]),
        # Where `pip install --user` puts packages, since HOME is another one.
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "IPYTHONDIR": f"{_HOME}/.ipython",
        "MPLCONFIGDIR": f"{_HOME}/.matplotlib",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
    } | {name: os.environ[name] for name in ("CUDA_VISIBLE_DEVICES",) if name in os.environ}


def _walls(limits: Limits) -> list[str]:
    """What bubblewrap is told: later words cover what earlier ones put at the same place."""
    walls: list[str] = []
    for path in [Path(p) for p in _SYSTEM] + [Path("/etc", name) for name in _SETTINGS]:
        if path.is_symlink() and path.parent == Path("/"):
            walls += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            walls += ["--ro-bind", str(path), str(path)]
    walls += ["--proc", "/proc", "--dev", "/dev"]
    for gpu in sorted(Path("/dev").glob("nvidia*")):
        walls += ["--dev-bind-try", str(gpu), str(gpu)]
    # These first: the course may lie below one of them, and must not be covered.
    for folder in _WRITABLE:
        walls += ["--size", str(limits.disk), "--tmpfs", folder]
    own = _own_folders()
    between = _between(own)
    for folder in between:
        walls += ["--tmpfs", str(folder)]
    for path in own:
        walls += ["--ro-bind", str(path), str(path)]
    # What stands in the tree of folders between is read only too.
    for folder in [*between, Path("/")]:
        walls += ["--remount-ro", str(folder)]
    return [
        *walls,
        *("--unshare-all", "--die-with-parent", "--new-session", "--hostname", "lab"),
        *("--chdir", _HOME),
    ]


def _own_folders() -> list[Path]:
    """The folders of Python, its packages and the course that are not the system's."""
    found = {Path(p) for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    if site.ENABLE_USER_SITE and Path(site.getusersitepackages()).is_dir():
        found.add(Path(site.getusersitepackages()))
    # By the name that is used, and by the one that a link in it leads to.
    found |= {path.resolve() for path in found} | _course_folders()
    return [
        path for path in sorted(found) if not any(path.is_relative_to(system) for system in _SYSTEM)
    ]


def _course_folders() -> set[Path]:
    """The packages that a lab and its judge import."""
    packages = ("helpers", "simulated_cuda", "course")
    return {Path(importlib.util.find_spec(name).origin).parent for name in packages}


def _between(own: list[Path]) -> list[Path]:
    """The folders right below a writable one that lead to one of these.

    Each gets a place of its own. Else a student's code could rename it, and put a course of its
    making where the course was.
    """
    found = set()
    for path in own:
        for writable in _WRITABLE:
            if path.is_relative_to(writable):
                parts = path.relative_to(writable).parts
                found |= {Path(writable, parts[0])} if len(parts) > 1 else set()
    return sorted(found - set(own))
