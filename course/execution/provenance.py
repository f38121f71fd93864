"""Identifies what a result depends on: code, parameters, and the packages that it imports."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from nbformat import NotebookNode

import helpers
import simulated_cuda

_PACKAGES = ("torch", "torchvision", "numpy")


def run_id(notebook: NotebookNode, parameters: Mapping[str, object]) -> str:
    """The ID of a run: the first 16 digits of a hash of its code, its parameters and `helpers`.

    Text cells and stored outputs are not hashed, because nothing that is executed depends on them.
    """
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    content = json.dumps([code, dict(parameters), helpers_digest()], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@functools.cache
def helpers_digest() -> str:
    """A hash of the files of the packages that notebooks import."""
    digest = hashlib.sha256()
    for package in (helpers, simulated_cuda):
        folder = Path(package.__file__).parent
        for file in sorted(folder.rglob("*")):
            if "__pycache__" in file.parts or not file.is_file():
                continue
            digest.update(f"{file.relative_to(folder.parent).as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python, `helpers` and the packages, found without importing them."""
    found = {"python": platform.python_version(), "helpers": helpers_digest()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
