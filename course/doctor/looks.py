"""What `course doctor` looks at: each look returns findings, with the command that mends them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from course.execution import gpus

OK = "ok"
NOTE = "note"
PROBLEM = "problem"

_LEAST_PYTHON = (3, 11)
_LEAST_TORCH = (2, 11)
_LEAST_FREE = 2e9  # bytes: the archive of CIFAR-10, the cache, and room for results
_LEAST_GPU_FREE = 1000  # MiB
_NEEDED = ("torch", "torchvision", "numpy", "matplotlib", "ipykernel", "papermill", "nbclient")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: how it is, in words, and the command that mends it."""

    about: str
    level: str
    text: str
    mend: str = ""


def _pip(words: str) -> str:
    return f"{sys.executable} -m pip {words}"


def python() -> list[Finding]:
    """Which Python this is, and whether it is new enough."""
    version = f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    if sys.version_info < _LEAST_PYTHON:
        text = f"{version}. The course needs Python 3.11 or newer."
        return [Finding("python", PROBLEM, text, "make PYTHON=python3.12")]
    return [Finding("python", OK, version)]


def packages(root: Path | None) -> list[Finding]:
    """Whether the packages that every notebook needs are installed."""
    missing = [name for name in _NEEDED if _version(name) is None]
    if missing:
        file = root / "requirements.txt" if root else None
        mend = _pip(f"install -r {file}" if file and file.exists() else "install 'gpu-course-kit'")
        text = f"Not installed for this Python: {', '.join(missing)}."
        return [Finding("packages", PROBLEM, text, mend)]
    return [Finding("packages", OK, f"{', '.join(_NEEDED)} are installed")]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def torch(probe: dict[str, object]) -> list[Finding]:
    """Whether torch can be imported, and how it was built."""
    installed = _version("torch")
    if trouble := probe.get("trouble"):
        what = f"torch {installed} is installed, but" if installed else "torch cannot be used:"
        again = f"install --force-reinstall torch{f'=={installed}' if installed else ''}"
        return [Finding("torch", PROBLEM, f"{what} {trouble}.", _pip(again))]
    version = str(probe["torch"])
    if tuple(int(number) for number in re.findall(r"\d+", version)[:2]) < _LEAST_TORCH:
        text = f"{version}. The course needs torch {'.'.join(map(str, _LEAST_TORCH))} or newer."
        return [Finding("torch", PROBLEM, text, _pip("install --upgrade torch torchvision"))]
    cuda = probe.get("cuda")
    build = f"built for CUDA {cuda}" if cuda else "built for CPUs"
    threads = probe.get("threads")
    return [Finding("torch", OK, f"{version}, {build}, {threads} threads")]


def gpu(probe: dict[str, object]) -> list[Finding]:
    """The GPUs that the driver knows, and whether torch can use them."""
    cards = gpus.installed()
    seen = probe.get("devices") or []
    findings = [_card(card) for card in cards]
    if cards and not seen and "trouble" not in probe:
        if not probe.get("cuda"):
            text = "There is a GPU, but this build of torch is for CPUs and cannot use it."
            mend = _pip("install --force-reinstall torch torchvision")
        elif os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
            text = "There is a GPU, but CUDA_VISIBLE_DEVICES hides it."
            mend = "unset CUDA_VISIBLE_DEVICES"
        else:
            text = (
                f"There is a GPU, but torch for CUDA {probe['cuda']} cannot use it with driver "
                f"{cards[0].driver}. {probe.get('cuda_trouble', '')}".strip()
            )
            mend = "install a newer driver: https://www.nvidia.com/drivers"
        findings.append(Finding("GPU", PROBLEM, text, mend))
    elif seen:
        findings.append(Finding("devices", OK, f"torch uses {', '.join(map(str, seen))}"))
    elif not cards:
        text = "None is found. Lessons about devices run on a simulated one, the others on the CPU."
        findings.append(Finding("GPU", OK, text))
    return findings


def _card(card: gpus.Gpu) -> Finding:
    about, text = f"GPU {card.index}", f"{card.name}, driver {card.driver}"
    # One that shares the machine's memory does not say how much it has.
    if card.memory:
        text += f", {card.free:,} of {card.memory:,} MiB free"
    if card.memory and card.free < _LEAST_GPU_FREE:
        return Finding(about, NOTE, text, "nvidia-smi   # shows which processes use it")
    return Finding(about, OK, text)


def kernel() -> list[Finding]:
    """Which Python JupyterLab starts for a notebook."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError as error:
        text = f"Jupyter is not there: {error}."
        return [Finding("kernel", PROBLEM, text, _pip("install jupyterlab ipykernel"))]
    here = f"{sys.executable} -m ipykernel install --sys-prefix"
    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        return [Finding("kernel", PROBLEM, "JupyterLab knows no kernel named python3.", here)]
    program = spec.argv[0] if spec.argv else ""
    # Jupyter takes a bare `python` to be the one that it runs on itself.
    if Path(program).name == program or _same(program, sys.executable):
        return [Finding("kernel", OK, f"python3 starts {sys.executable}")]
    text = (
        f"The kernel python3 that JupyterLab starts belongs to another Python, {program}. "
        "`course run` and `course batch` use this one all the same."
    )
    return [Finding("kernel", NOTE, text, here)]


def _same(one: str, other: str) -> bool:
    """Whether two paths are one program in one environment, which a link may lie outside of."""
    return Path(one).absolute() == Path(other).absolute()


def data(probe: dict[str, object]) -> list[Finding]:
    """Whether CIFAR-10 is on this machine, and where it came from."""
    if provenance := probe.get("data"):
        return [Finding("images", OK, str(provenance))]
    if trouble := probe.get("data_trouble"):
        if root := os.environ.get("CIFAR10_ROOT"):
            text = f"CIFAR10_ROOT is {root}, and that cannot be read: {trouble}"
            return [Finding("images", PROBLEM, text, "unset CIFAR10_ROOT   # or set it anew")]
        text = "CIFAR-10 is not on this machine; a lesson downloads it, or else draws images."
        if probe.get("unreachable"):
            text = (
                "CIFAR-10 is not on this machine, and no server that has it can be reached now. "
                "Lessons run on images that the program draws, and say so."
            )
        return [Finding("images", NOTE, text, "export CIFAR10_ROOT=/path/to/a/copy")]
    return [Finding("images", NOTE, "Not looked at, because torch does not work.")]


def disk(root: Path | None) -> list[Finding]:
    """Whether there is room for images and results."""
    findings = []
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for what, folder in (("disk", root or Path.cwd()), ("disk of the cache", cache)):
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        text = f"{free / 1e9:.1f} GB free at {folder}"
        if not os.access(folder, os.W_OK):
            findings.append(Finding(what, NOTE, f"{folder} cannot be written to."))
        elif free < _LEAST_FREE:
            text += f"; the course wants {_LEAST_FREE / 1e9:.0f} GB"
            findings.append(Finding(what, PROBLEM, text, f"du -sh {folder}/* | sort -h"))
        else:
            findings.append(Finding(what, OK, text))
    return findings


def pins(root: Path | None) -> list[Finding]:
    """Which packages are not those that the course was built with."""
    file = root / "requirements.txt" if root else None
    if file is None or not file.exists():
        return [Finding("versions", NOTE, "There are no pins to compare with.")]
    differing, compared = [], 0
    for line in file.read_text(encoding="utf-8").splitlines():
        pin = re.match(r"([\w.-]+)==(\S+)\s*(;?)", line)
        # What only some systems need is not looked for.
        if pin is None or pin[3]:
            continue
        compared += 1
        if (found := _version(pin[1])) != pin[2]:
            differing.append(f"{pin[1]} {found or 'missing'} (pinned: {pin[2]})")
    if not differing:
        return [Finding("versions", OK, f"all {compared} are those that the course was built with")]
    shown = ", ".join(differing[:6]) + (", ..." if len(differing) > 6 else "")
    text = f"{len(differing)} of {compared} are not those the course was built with: {shown}"
    return [Finding("versions", NOTE, text, _pip(f"install -r {file}"))]
