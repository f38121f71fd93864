"""Mutation testing for device code: find moves, such as `.to(device)`, that no test requires.

One move at a time is removed from a copy of the project, and the tests run with simulated GPUs. If
they still pass, no test detects this mistake before the program runs on a real GPU.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import settings

_DEVICE_NAME = re.compile(r"device|gpu|cuda|rank", re.IGNORECASE)
_IGNORED = shutil.ignore_patterns(
    ".git", ".venv", "venv", "__pycache__", ".pytest_cache", ".tox", "node_modules", "build", "dist"
)
_TESTS_FAILED = 1


@dataclass(frozen=True)
class Move:
    """Source text that can be removed: bytes `start` to `end` of the file `path`."""

    path: Path
    line: int
    start: int
    end: int
    text: str

    def removed_from(self, source: bytes) -> bytes:
        """Return the source without this move."""
        return source[: self.start] + source[self.end :]


def moves_in(path: Path) -> list[Move]:
    """Return all calls of `.to(device)` and `.cuda()` and all `device=...` arguments in a file."""
    source = path.read_bytes()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return lines[line - 1] + column

    moves = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        for first, last in _removable(node):
            start, end = offset(*first), offset(*last)
            if source[start:end].startswith(b"device") and source[end : end + 1] == b",":
                end += 2
            elif source[start:end].startswith(b"device"):
                start = len(source[:start].rstrip(b" \n,"))
            text = " ".join(source[start:end].decode().split())
            moves.append(Move(path, first[0], start, end, text))
    return sorted(moves, key=lambda move: move.start)


def _removable(call: ast.Call) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the start and end, as (line, column), of each removable part of a call."""
    end = call.end_lineno, call.end_col_offset
    function = call.func
    if isinstance(function, ast.Attribute):
        receiver = function.value.end_lineno, function.value.end_col_offset
        is_method = not isinstance(function.value, ast.Name) or function.value.id != "torch"
        if function.attr == "cuda" and is_method:
            yield receiver, end
            return
        if function.attr == "to" and call.args + call.keywords:
            others = {keyword.arg for keyword in call.keywords} - {"device", "non_blocking"}
            devices = [*call.args, *(k.value for k in call.keywords if k.arg == "device")]
            if not others and len(devices) == 1 and _is_device(devices[0]):
                yield receiver, end
                return
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg == "device" and _is_device(value) and not _creates_no_tensor(function):
            start = keyword.lineno, keyword.col_offset
            yield start, (value.end_lineno, value.end_col_offset)


def _is_device(value: ast.expr) -> bool:
    """Return whether an expression looks like a device other than the CPU."""
    text = ast.unparse(value)
    return bool(_DEVICE_NAME.search(text)) and not text.startswith(("'cpu", "torch.device('cpu"))


def _creates_no_tensor(function: ast.expr) -> bool:
    """Return whether a function takes a `device` argument but creates no tensor or module."""
    text = ast.unparse(function)
    return text.endswith(("autocast", "Generator", "synchronize", ".to"))


def main(paths: Sequence[Path], arguments: Sequence[str], gpus: settings.Settings) -> int:
    """Test all removals and print a report.

    Args:
        paths: files and folders to search for moves, inside the current folder.
        arguments: arguments for pytest.
        gpus: the simulated GPUs.

    Returns:
        The exit status: 0 if a test failed for every removal, 1 if not, and 2 if a path is invalid
        or the tests fail before any removal.
    """
    root = Path.cwd()
    for path in paths:
        if not path.resolve().is_relative_to(root) or not path.exists():
            print(f"{path} is not a file or folder inside {root}", file=sys.stderr)
            return 2
    files = (sorted(path.rglob("*.py")) if path.is_dir() else [path] for path in paths)
    moves = [move for group in files for file in group for move in moves_in(file)]
    if not moves:
        print("No .to(device), .cuda() or device=... found.")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / root.name
        shutil.copytree(root, copy, ignore=_IGNORED, symlinks=True)
        start_time = time.monotonic()
        status, output = _run_tests(copy, arguments, gpus, None)
        # A removal may cause an infinite loop.
        timeout = 60 + 20 * (time.monotonic() - start_time)
        if status != 0:
            print(output, file=sys.stderr)
            print("The tests must pass before moves are removed; see above.", file=sys.stderr)
            return 2

        missed = []
        for number, move in enumerate(moves, 1):
            path = move.path.resolve().relative_to(root)
            source = (copy / path).read_bytes()
            (copy / path).write_bytes(move.removed_from(source))
            detected = _run_tests(copy, arguments, gpus, timeout)[0] != 0
            (copy / path).write_bytes(source)
            description = f"{path}:{move.line}: {move.text}"
            outcome = "detected" if detected else "MISSED  "
            print(f"[{number}/{len(moves)}] {outcome} {description}", flush=True)
            missed += [] if detected else [description]
    print(f"\n{len(moves) - len(missed)} of {len(moves)} removals were detected by a test.")
    if missed:
        print("No test fails without these moves, but the program may fail on a GPU without them:")
        print("\n".join(f"  {description}" for description in missed))
    return 1 if missed else 0


def _run_tests(
    folder: Path, arguments: Sequence[str], gpus: settings.Settings, timeout: float | None
) -> tuple[int, str]:
    """Run pytest in `folder`; return its exit status and its output."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    sources = [str(path) for path in (folder / "src", folder) if path.is_dir()]
    root = str(Path(__file__).resolve().parents[1])
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([*sources, *([before] if before else []), root])
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-p", "simulated_cuda.pytest_plugin",
        f"--simulated-cuda={gpus.gpus}", f"--simulated-cuda-memory={gpus.memory}", *arguments,
    ]  # fmt: skip
    try:
        completed = subprocess.run(
            command, cwd=folder, env=environment, timeout=timeout, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return _TESTS_FAILED, ""
    return completed.returncode, completed.stdout + completed.stderr
