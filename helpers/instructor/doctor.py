"""`course doctor`: says what is wrong with a machine, and the command that mends it.

It stands on the standard library and asks torch in a process of its own, so that it has an answer
also where torch is missing, broken, or ends the process that imports it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from helpers.instructor import gpus

OK = "ok"
NOTE = "note"
PROBLEM = "problem"

_LEAST_PYTHON = (3, 11)
_LEAST_FREE = 2e9  # bytes: the archive of CIFAR-10, the cache, and room for results
_LEAST_GPU_FREE = 1000  # MiB
_PROBE = Path(__file__).with_name("doctor_probe.py")
_NEEDED = ("torch", "torchvision", "numpy", "matplotlib", "ipykernel", "papermill", "nbclient")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: how it is, in words, and the command that mends it."""

    about: str
    level: str
    text: str
    mend: str = ""


def doctor(root: Path | None = None) -> list[Finding]:
    """Look at everything and return what was found; a look that fails is a finding itself.

    Args:
        root: the course's folder, whose pins are compared; None where there is none.
    """
    probe = _ask_torch()
    looks = [
        _python,
        lambda: _packages(root),
        lambda: _torch(probe),
        lambda: _gpu(probe),
        _kernel,
        lambda: _data(probe),
        lambda: _disk(root),
        lambda: _pins(root),
    ]
    findings = []
    for look in looks:
        try:
            findings += look()
        except Exception as error:
            # A doctor that falls ill helps nobody; the rest may be what the person needs.
            findings.append(Finding("doctor", NOTE, f"A look failed: {error!r}."))
    return findings


def show(findings: list[Finding]) -> str:
    """The findings as lines for a terminal."""
    marks = {OK: "ok      ", NOTE: "note    ", PROBLEM: "PROBLEM "}
    lines = []
    for finding in findings:
        lines.append(f"{marks[finding.level]} {finding.about}: {finding.text}")
        if finding.mend:
            lines.append(f"{'':9} to mend it: {finding.mend}")
    problems = sum(finding.level == PROBLEM for finding in findings)
    lines.append(f"{problems} problem{'s' if problems != 1 else ''}." if problems else "All well.")
    return "\n".join(lines)


def as_json(findings: list[Finding]) -> str:
    """The findings for another program: `problems`, and a list of `findings`."""
    problems = sum(finding.level == PROBLEM for finding in findings)
    table = {"problems": problems, "findings": [asdict(finding) for finding in findings]}
    return json.dumps(table, indent=1)


def _pip(words: str) -> str:
    return f"{sys.executable} -m pip {words}"


def _python() -> list[Finding]:
    version = f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    if sys.version_info < _LEAST_PYTHON:
        text = f"{version}. The course needs Python 3.11 or newer."
        return [Finding("python", PROBLEM, text, "make PYTHON=python3.12")]
    return [Finding("python", OK, version)]


def _packages(root: Path | None) -> list[Finding]:
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


def _ask_torch() -> dict[str, object]:
    """What torch says of itself, from a process that may fail: `trouble` says how."""
    command = [sys.executable, str(_PROBE)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return {"trouble": "importing it takes more than five minutes"}
    except OSError as error:
        return {"trouble": f"a Python to ask it cannot be started ({error})"}
    for line in reversed(done.stdout.splitlines()):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict):
            return answer
    said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    return {"trouble": f"importing it ends the process with status {done.returncode}: {said}"}


def _torch(probe: dict[str, object]) -> list[Finding]:
    installed = _version("torch")
    if trouble := probe.get("trouble"):
        what = f"torch {installed} is installed, but" if installed else "torch cannot be used:"
        again = f"install --force-reinstall torch{f'=={installed}' if installed else ''}"
        return [Finding("torch", PROBLEM, f"{what} {trouble}.", _pip(again))]
    cuda = probe.get("cuda")
    build = f"built for CUDA {cuda}" if cuda else "built for CPUs"
    threads = probe.get("threads")
    return [Finding("torch", OK, f"{probe['torch']}, {build}, {threads} threads")]


def _gpu(probe: dict[str, object]) -> list[Finding]:
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


def _kernel() -> list[Finding]:
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


def _data(probe: dict[str, object]) -> list[Finding]:
    if provenance := probe.get("data"):
        return [Finding("images", OK, str(provenance))]
    if trouble := probe.get("data_trouble"):
        if root := os.environ.get("CIFAR10_ROOT"):
            text = f"CIFAR10_ROOT is {root}, and that cannot be read: {trouble}"
            return [Finding("images", PROBLEM, text, "unset CIFAR10_ROOT   # or set it anew")]
        text = "CIFAR-10 is not on this machine; a lesson downloads it, or else draws images."
        return [Finding("images", NOTE, text, "export CIFAR10_ROOT=/path/to/a/copy")]
    return [Finding("images", NOTE, "Not looked at, because torch does not work.")]


def _disk(root: Path | None) -> list[Finding]:
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


def _pins(root: Path | None) -> list[Finding]:
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
