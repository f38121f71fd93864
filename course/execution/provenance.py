"""Identifies the inputs of a result: code, parameters and imported packages."""

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
            if "__pycache__" in file.parts or not file.is_file():
                continue
            digest.update(f"{file.relative_to(folder.parent).as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python, `helpers` and the packages, without importing them."""
    versions_by_name = {"python": platform.python_version(), "helpers": helpers_digest()}
    for name in _PACKAGES:
        try:
            versions_by_name[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions_by_name
