"""The checks of `course doctor`: each returns findings, with the command that fixes the problem."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from course.execution import gpus

_MIN_PYTHON = (3, 11)
_MIN_TORCH = (2, 11)
_MIN_FREE = 2e9  # bytes: the archive of CIFAR-10, the cache, and room for results
_MIN_GPU_FREE = 1000  # MiB
_REQUIRED = ("torch", "torchvision", "numpy", "matplotlib", "ipykernel", "papermill", "nbclient")


class Level(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """The result of one check, and the command that fixes the problem if there is one."""

    name: str
    level: Level
    text: str
    fix: str = ""


def _pip(arguments: str) -> str:
    return f"{sys.executable} -m pip {arguments}"


def python() -> list[Finding]:
    """Check the version of Python."""
    version = f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    if sys.version_info < _MIN_PYTHON:
        text = f"{version}. The course needs Python 3.11 or newer."
        return [Finding("python", Level.PROBLEM, text, "make PYTHON=python3.12")]
    return [Finding("python", Level.OK, version)]


def packages(root: Path | None) -> list[Finding]:
    """Check that the packages required by every notebook are installed."""
    missing = [name for name in _REQUIRED if _version(name) is None]
    if missing:
        file = root / "requirements.txt" if root else None
        fix = _pip(f"install -r {file}" if file and file.exists() else "install 'gpu-course-kit'")
        text = f"Not installed for this Python: {', '.join(missing)}."
        return [Finding("packages", Level.PROBLEM, text, fix)]
    return [Finding("packages", Level.OK, f"{', '.join(_REQUIRED)} are installed")]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def torch(probe: dict[str, object]) -> list[Finding]:
    """Check that torch can be imported, and how it was built."""
    installed = _version("torch")
    if error := probe.get("error"):
        subject = f"torch {installed} is installed, but" if installed else "torch cannot be used:"
        reinstall = f"install --force-reinstall torch{f'=={installed}' if installed else ''}"
        return [Finding("torch", Level.PROBLEM, f"{subject} {error}.", _pip(reinstall))]
    version = str(probe["torch"])
    if tuple(int(number) for number in re.findall(r"\d+", version)[:2]) < _MIN_TORCH:
        text = f"{version}. The course needs torch {'.'.join(map(str, _MIN_TORCH))} or newer."
        return [Finding("torch", Level.PROBLEM, text, _pip("install --upgrade torch torchvision"))]
    cuda = probe.get("cuda")
    build = f"built for CUDA {cuda}" if cuda else "CPU-only build"
    threads = probe.get("threads")
    return [Finding("torch", Level.OK, f"{version}, {build}, {threads} threads")]


def gpu(probe: dict[str, object]) -> list[Finding]:
    """Check the GPUs that the driver reports, and whether torch can use them."""
    installed = gpus.installed_gpus()
    devices = probe.get("devices") or []
    findings = [_gpu_finding(gpu) for gpu in installed]
    if installed and not devices and "error" not in probe:
        if not probe.get("cuda"):
            text = "There is a GPU, but this torch is a CPU-only build and cannot use it."
            fix = _pip("install --force-reinstall torch torchvision")
        elif os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
            text = "There is a GPU, but CUDA_VISIBLE_DEVICES hides it."
            fix = "unset CUDA_VISIBLE_DEVICES"
        else:
            text = (
                f"There is a GPU, but torch for CUDA {probe['cuda']} cannot use it with driver "
                f"{installed[0].driver}. {probe.get('cuda_error', '')}".strip()
            )
            fix = "install a newer driver: https://www.nvidia.com/drivers"
        findings.append(Finding("GPU", Level.PROBLEM, text, fix))
    elif devices:
        findings.append(Finding("devices", Level.OK, f"torch uses {', '.join(map(str, devices))}"))
        findings += _unsupported_gpus(probe)
    elif not installed:
        text = "None found. Lessons about devices run on a simulated GPU, the others on the CPU."
        findings.append(Finding("GPU", Level.OK, text))
    return findings


def _unsupported_gpus(probe: dict[str, object]) -> list[Finding]:
    """Return a problem for each GPU that is too old for this build of torch."""
    supported = [int(number) for number in re.findall(r"sm_(\d+)", str(probe.get("architectures")))]
    oldest = min(supported, default=0)
    return [
        Finding(
            "GPU",
            Level.PROBLEM,
            f"{device} has compute capability {major}.{minor}; this build of torch supports "
            f"{oldest // 10}.{oldest % 10} and newer. Use a newer GPU, or hide this one.",
            "export CUDA_VISIBLE_DEVICES=-1",
        )
        for device, (major, minor) in zip(
            probe["devices"], probe.get("capabilities", []), strict=False
        )
        if 10 * major + minor < oldest
    ]


def _gpu_finding(gpu: gpus.Gpu) -> Finding:
    name, text = f"GPU {gpu.index}", f"{gpu.name}, driver {gpu.driver}"
    # A GPU that shares the machine's memory does not report its size.
    if gpu.memory:
        text += f", {gpu.free:,} of {gpu.memory:,} MiB free"
    if gpu.memory and gpu.free < _MIN_GPU_FREE:
        return Finding(name, Level.NOTE, text, "nvidia-smi   # shows which processes use it")
    return Finding(name, Level.OK, text)


def kernel() -> list[Finding]:
    """Check which Python JupyterLab starts for a notebook."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError as error:
        text = f"Jupyter is not installed: {error}."
        return [Finding("kernel", Level.PROBLEM, text, _pip("install jupyterlab ipykernel"))]
    fix = f"{sys.executable} -m ipykernel install --sys-prefix"
    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        return [Finding("kernel", Level.PROBLEM, "JupyterLab has no kernel named python3.", fix)]
    program = spec.argv[0] if spec.argv else ""
    # Jupyter replaces a bare `python` with its own interpreter.
    if Path(program).name == program or _same_path(program, sys.executable):
        return [Finding("kernel", Level.OK, f"python3 starts {sys.executable}")]
    text = (
        f"JupyterLab's kernel python3 belongs to another Python, {program}. "
        "`course run` and `course batch` use this Python anyway."
    )
    return [Finding("kernel", Level.NOTE, text, fix)]


def _same_path(first: str, second: str) -> bool:
    """Return whether two paths are the same program."""
    # Symlinks are not resolved, because the Python of a venv is a symlink to the base Python.
    return Path(first).absolute() == Path(second).absolute()


def data(probe: dict[str, object]) -> list[Finding]:
    """Check whether CIFAR-10 is on this machine, and report its source."""
    if provenance := probe.get("data"):
        return [Finding("images", Level.OK, str(provenance))]
    if error := probe.get("data_error"):
        if root := os.environ.get("CIFAR10_ROOT"):
            text = f"CIFAR10_ROOT is {root}, which cannot be read: {error}"
            fix = "unset CIFAR10_ROOT   # or set it to another path"
            return [Finding("images", Level.PROBLEM, text, fix)]
        text = "CIFAR-10 is not on this machine; lessons download it or generate images."
        if probe.get("unreachable"):
            text = (
                "CIFAR-10 is not on this machine, and none of its servers can be reached. "
                "Lessons use synthetic images and state this in their output."
            )
        return [Finding("images", Level.NOTE, text, "export CIFAR10_ROOT=/path/to/a/copy")]
    return [Finding("images", Level.NOTE, "Not checked, because torch does not work.")]


def disk(root: Path | None) -> list[Finding]:
    """Check the free disk space for images and results."""
    findings = []
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for name, folder in (("disk", root or Path.cwd()), ("cache disk", cache)):
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        text = f"{free / 1e9:.1f} GB free at {folder}"
        if not os.access(folder, os.W_OK):
            findings.append(Finding(name, Level.NOTE, f"{folder} is not writable."))
        elif free < _MIN_FREE:
            text += f"; the course requires at least {_MIN_FREE / 1e9:.0f} GB"
            findings.append(Finding(name, Level.PROBLEM, text, f"du -sh {folder}/* | sort -h"))
        else:
            findings.append(Finding(name, Level.OK, text))
    return findings


def pins(root: Path | None) -> list[Finding]:
    """Compare the installed packages with the versions that the course was built with."""
    file = root / "requirements.txt" if root else None
    if file is None or not file.exists():
        return [Finding("versions", Level.NOTE, "There are no pinned versions to compare against.")]
    differences, count = [], 0
    for line in file.read_text(encoding="utf-8").splitlines():
        pin = re.match(r"([\w.-]+)==(\S+)\s*(;?)", line)
        # Packages with a marker are needed on some systems only.
        if pin is None or pin[3]:
            continue
        count += 1
        if (version := _version(pin[1])) != pin[2]:
            differences.append(f"{pin[1]} {version or 'missing'} (pinned: {pin[2]})")
    if not differences:
        text = f"all {count} packages have the versions that the course was built with"
        return [Finding("versions", Level.OK, text)]
    examples = ", ".join(differences[:6]) + (", ..." if len(differences) > 6 else "")
    text = (
        f"{len(differences)} of {count} packages differ from the versions that the course was "
        f"built with: {examples}"
    )
    return [Finding("versions", Level.NOTE, text, _pip(f"install -r {file}"))]
