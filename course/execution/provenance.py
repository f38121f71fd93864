"""Identifies what a result depends on: code, parameters, packages and machine."""

import contextlib
import functools
import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import psutil
from nbformat import NotebookNode

import helpers
import simulated_cuda
from course.execution import gpus


def run_id(notebook: NotebookNode, parameters: Mapping[str, object]) -> str:
    """Return the id of a run: 16 hex digits of a hash of code, parameters and `helpers`.

    Text cells and stored outputs are excluded because they do not affect the results.
    """
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    content = json.dumps([code, dict(parameters), helpers_digest()], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@functools.cache
def helpers_digest() -> str:
    """Return a hash of the files in `helpers` and `simulated_cuda`."""
    digest = hashlib.sha256()
    for package in (helpers, simulated_cuda):
        folder = Path(package.__file__).parent
        for file in sorted(folder.rglob("*")):
            if "__pycache__" not in file.parts and file.is_file():
                digest.update(f"{file.relative_to(folder.parent).as_posix()}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python, `helpers` and the packages, without importing them."""
    versions_by_name = {"python": platform.python_version(), "helpers": helpers_digest()}
    for name in ("torch", "torchvision", "numpy"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions_by_name[name] = metadata.version(name)
    return versions_by_name


def collect_facts(root: Path) -> dict[str, str]:
    """Return facts about the run: torch version, machine, commit of the course, command."""
    memory = f"{psutil.virtual_memory().total / 2**30:.0f} GiB"
    machine = [f"{platform.system()} {platform.machine()}", f"{os.cpu_count()} cores", memory]
    facts = {
        "torch": versions().get("torch", "not installed"),
        "python": platform.python_version(),
        "machine": ", ".join([*machine, *(gpu.name for gpu in gpus.installed_gpus())]),
        "command": shlex.join(["course", *sys.argv[1:]]),
    }
    git = ["git", "-C", str(root), "describe", "--always", "--dirty=, with uncommitted changes"]
    # Without a fact if the course is not a git clone, or git is not installed.
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        completed = subprocess.run(git, capture_output=True, text=True, timeout=30, check=True)
        facts["commit"] = completed.stdout.strip()
    return facts
