"""The bubblewrap options and environment variables of a sandboxed program."""

from __future__ import annotations

import importlib.util
import os
import shutil
import site
import subprocess
import sys
from functools import cache
from pathlib import Path

import helpers
from course.grading.limits import SandboxLimits

# System folders that Python and torch need; not every machine has all of them.
_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/opt/conda", "/nix/store")
_SETTINGS_FILES = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "passwd",
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
        completed = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return program if completed.returncode == 0 else None


def environment() -> dict[str, str]:
    """Return the sandbox's environment. It excludes the instructor's variables, such as tokens."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": _HOME,
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(helpers.__file__).parents[1]),
        # The target of `pip install --user`; Python would otherwise derive it from HOME.
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "IPYTHONDIR": f"{_HOME}/.ipython",
        "MPLCONFIGDIR": f"{_HOME}/.matplotlib",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
    } | {name: os.environ[name] for name in ("CUDA_VISIBLE_DEVICES",) if name in os.environ}


def bubblewrap_options(limits: SandboxLimits) -> list[str]:
    """Return the bubblewrap options. A later mount hides an earlier mount at the same path."""
    options: list[str] = []
    for path in [Path(p) for p in _SYSTEM_FOLDERS] + [
        Path("/etc", name) for name in _SETTINGS_FILES
    ]:
        if path.is_symlink() and path.parent == Path("/"):
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            options += ["--ro-bind", str(path), str(path)]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for gpu in sorted(Path("/dev").glob("nvidia*")):
        options += ["--dev-bind-try", str(gpu), str(gpu)]
    # Mount these before the course, because the course may be inside one of them.
    for folder in (*_WRITABLE_FOLDERS, "/dev/shm"):
        options += ["--size", str(limits.disk_bytes), "--tmpfs", folder]
    folders = own_folders()
    intermediate_folders = _folders_between(folders)
    for folder in intermediate_folders:
        options += ["--tmpfs", str(folder)]
    for path in folders:
        options += ["--ro-bind", str(path), str(path)]
    # Hide the checks, because they contain the expected values.
    check_folders = sorted((Path(helpers.__file__).parent / "checks").glob("lab_*/"))
    for folder in check_folders:
        options += ["--tmpfs", str(folder)]
    # Make the intermediate folders read-only too.
    for folder in [*intermediate_folders, *check_folders, Path("/dev"), Path("/")]:
        options += ["--remount-ro", str(folder)]
    return [*options, *_UNPRIVILEGED_OPTIONS, "--hostname", "lab", "--chdir", _HOME]


def own_folders() -> list[Path]:
    """Return the folders of Python, its packages and the course outside of system folders."""
    folders = {Path(p) for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    if site.ENABLE_USER_SITE and Path(site.getusersitepackages()).is_dir():
        folders.add(Path(site.getusersitepackages()))
    # Include each path both as is and with its symlinks resolved.
    folders |= {path.resolve() for path in folders} | _course_folders()
    return [
        path
        for path in sorted(folders)
        if not any(path.is_relative_to(system) for system in _SYSTEM_FOLDERS)
    ]


def _course_folders() -> set[Path]:
    """Return the folders of the packages that a lab and its checks import."""
    packages = ("helpers", "simulated_cuda", "course")
    return {Path(importlib.util.find_spec(name).origin).parent for name in packages}


def _folders_between(folders: list[Path]) -> list[Path]:
    """Return the folders directly inside a writable folder that contain one of `folders`.

    Each of them gets its own mount. Otherwise, a student's code could rename the folder and
    replace the course with its own copy.
    """
    result = set()
    for path in folders:
        for writable in _WRITABLE_FOLDERS:
            if path.is_relative_to(writable):
                parts = path.relative_to(writable).parts
                result |= {Path(writable, parts[0])} if len(parts) > 1 else set()
    return sorted(result - set(folders))
