"""`course doctor`: find problems on a machine, with the command that fixes each one.

Uses the standard library only and imports torch in a separate process, so that it also works where
torch is missing, broken, or crashes the process.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from course.execution import gpus

_PROBE = Path(__file__).with_name("probe.py")
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


def doctor(root: Path | None = None) -> list[Finding]:
    """Run all checks and return their findings; a check that raises is reported as a finding.

    Args:
        root: folder of the course; None outside of a course.
    """
    probe = _probe_torch()
    python = f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    findings = [Finding("python", Level.OK, python)]
    for check, argument in (
        (_check_packages, root),
        (_check_torch, probe),
        (_check_gpus, probe),
        (_check_kernel, sys.executable),
        (_check_images, probe),
        (_check_disk, root),
    ):
        try:
            result = check(argument)
            findings += result if isinstance(result, list) else [result]
        except Exception as error:
            # The other checks still run: one of them may find the cause.
            text = f"A check raised an error: {error!r}. The other checks ran."
            findings.append(Finding("doctor", Level.NOTE, text))
    return findings


def count_problems(findings: list[Finding]) -> int:
    """Return the number of findings that are problems."""
    return sum(finding.level == Level.PROBLEM for finding in findings)


def format_findings(findings: list[Finding]) -> str:
    """Format the findings as lines for a terminal."""
    labels = {Level.OK: "ok      ", Level.NOTE: "note    ", Level.PROBLEM: "PROBLEM "}
    lines = []
    for finding in findings:
        lines.append(f"{labels[finding.level]} {finding.name}: {finding.text}")
        lines += [f"{'':9} to fix it: {finding.fix}"] if finding.fix else []
    problems = count_problems(findings)
    return "\n".join([*lines, f"{problems or 'No'} problem{'s' if problems != 1 else ''}."])


def as_json(findings: list[Finding]) -> str:
    """Format the findings as JSON: the number of `problems`, and the list of `findings`."""
    all_findings = [asdict(finding) for finding in findings]
    return json.dumps({"problems": count_problems(findings), "findings": all_findings}, indent=1)


def _probe_torch() -> dict[str, object]:
    """Return the JSON that `probe.py` prints; if it fails, `error` is the message."""
    command = [sys.executable, str(_PROBE)]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return {"error": "importing it takes more than five minutes"}
    # The import of torch, or a crash, may print other lines.
    if reports := re.findall(r"(?m)^\{.*\}$", completed.stdout):
        return json.loads(reports[-1])
    message = (completed.stderr.strip().splitlines() or ["no message"])[-1]
    return {"error": f"importing it ends the process with status {completed.returncode}: {message}"}


def _pip(arguments: str) -> str:
    return f"{sys.executable} -m pip {arguments}"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _check_packages(root: Path | None) -> Finding:
    versions = {name: _version(name) for name in _REQUIRED}
    missing = [name for name, version in versions.items() if version is None]
    if not missing:
        text = ", ".join(f"{name} {version}" for name, version in versions.items())
        return Finding("packages", Level.OK, text)
    fix = _pip(f"install -r {root / 'requirements.txt'}" if root else "install 'gpu-course-kit'")
    text = f"Not installed for this Python: {', '.join(missing)}."
    return Finding("packages", Level.PROBLEM, text, fix)


def _check_torch(probe: dict[str, object]) -> Finding:
    installed = _version("torch")
    if error := probe.get("error"):
        subject = f"torch {installed} is installed, but" if installed else "torch cannot be used:"
        reinstall = f"install --force-reinstall torch{f'=={installed}' if installed else ''}"
        return Finding("torch", Level.PROBLEM, f"{subject} {error}.", _pip(reinstall))
    version, cuda = str(probe["torch"]), probe.get("cuda")
    if tuple(int(number) for number in re.findall(r"\d+", version)[:2]) < _MIN_TORCH:
        text = f"{version}. The course needs torch {'.'.join(map(str, _MIN_TORCH))} or newer."
        return Finding("torch", Level.PROBLEM, text, _pip("install --upgrade torch torchvision"))
    build = f"built for CUDA {cuda}" if cuda else "CPU-only build"
    return Finding("torch", Level.OK, f"{version}, {build}, {probe.get('threads')} threads")


def _check_gpus(probe: dict[str, object]) -> list[Finding]:
    """Check the GPUs that the driver reports, and whether torch can use them."""
    installed, devices = gpus.installed_gpus(), probe.get("devices") or []
    findings = []
    for gpu in installed:
        text, level, fix = f"{gpu.name}, driver {gpu.driver}", Level.OK, ""
        # A GPU that shares the machine's memory does not report its size.
        if gpu.memory:
            text += f", {gpu.free:,} of {gpu.memory:,} MiB free"
        if gpu.memory and gpu.free < _MIN_GPU_FREE:
            level, fix = Level.NOTE, "nvidia-smi   # shows which processes use it"
        findings.append(Finding(f"GPU {gpu.index}", level, text, fix))
    if devices:
        text = f"torch uses {', '.join(map(str, devices))}"
        findings.append(Finding("devices", Level.OK, text))
        supported = re.findall(r"sm_(\d+)", str(probe.get("architectures")))
        oldest = divmod(min(map(int, supported), default=0), 10)
        for device, (major, minor) in zip(devices, probe.get("capabilities", []), strict=False):
            if (major, minor) < oldest:
                text = (
                    f"{device} has compute capability {major}.{minor}; this build of torch "
                    f"supports {oldest[0]}.{oldest[1]} and newer. Use a newer GPU or hide this one."
                )
                fix = "export CUDA_VISIBLE_DEVICES=-1"
                findings.append(Finding("GPU", Level.PROBLEM, text, fix))
        return findings
    if not installed:
        text = "None found. Lessons about devices run on a simulated GPU, the others on the CPU."
        return [Finding("GPU", Level.OK, text)]
    if "error" in probe:
        return findings
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
    return [*findings, Finding("GPU", Level.PROBLEM, text, fix)]


def _check_kernel(executable: str) -> Finding:
    """Check which Python JupyterLab starts for a notebook."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError as error:
        text = f"Jupyter is not installed: {error}."
        return Finding("kernel", Level.PROBLEM, text, _pip("install jupyterlab ipykernel"))
    fix = f"{executable} -m ipykernel install --sys-prefix"
    try:
        program = "".join(KernelSpecManager().get_kernel_spec("python3").argv[:1])
    except NoSuchKernel:
        return Finding("kernel", Level.PROBLEM, "JupyterLab has no kernel named python3.", fix)
    # Jupyter replaces a bare `python` with its own interpreter. Symlinks are not resolved, because
    # the Python of a venv is a symlink to the base Python.
    if Path(program).name == program or Path(program).absolute() == Path(executable).absolute():
        return Finding("kernel", Level.OK, f"python3 starts {executable}")
    text = (
        f"JupyterLab's kernel python3 belongs to another Python, {program}. "
        "`course run` and `course batch` use this Python anyway."
    )
    return Finding("kernel", Level.NOTE, text, fix)


def _check_images(probe: dict[str, object]) -> Finding:
    """Check whether CIFAR-10 is on this machine, and report its source."""
    if provenance := probe.get("data"):
        return Finding("images", Level.OK, str(provenance))
    error, root = probe.get("data_error"), os.environ.get("CIFAR10_ROOT")
    if not error:
        return Finding("images", Level.NOTE, "Not checked, because torch does not work.")
    if root:
        text = f"CIFAR10_ROOT is {root}, which cannot be read: {error}"
        fix = "unset CIFAR10_ROOT   # or set it to another path"
        return Finding("images", Level.PROBLEM, text, fix)
    text = "CIFAR-10 is not on this machine; lessons download it or generate images."
    return Finding("images", Level.NOTE, text, "export CIFAR10_ROOT=/path/to/a/copy")


def _check_disk(root: Path | None) -> list[Finding]:
    """Check the free disk space for images and results."""
    findings = []
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for name, folder in (("disk", root or Path.cwd()), ("cache disk", cache)):
        folder = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(folder).free
        level, text, fix = Level.OK, f"{free / 1e9:.1f} GB free at {folder}", ""
        if not os.access(folder, os.W_OK):
            level, text = Level.NOTE, f"{folder} is not writable."
        elif free < _MIN_FREE:
            level, fix = Level.PROBLEM, f"du -sh {folder}/* | sort -h"
            text += f"; the course requires at least {_MIN_FREE / 1e9:.0f} GB"
        findings.append(Finding(name, level, text, fix))
    return findings
