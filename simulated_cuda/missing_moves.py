"""Mutation testing for device code: find moves, such as `.to(device)`, that no test requires.

One move at a time is removed from a copy of the project, and the tests run with simulated GPUs. If
they still pass, no test detects this mistake before the program runs on a real GPU, or another move
makes this one redundant: moves that are missed alone are then removed together.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from . import settings

# Identifiers that name a device or a dtype, and the texts of devices.
_DEVICE_NAME = re.compile(r"device|gpu|cuda|accelerator|rank|^dev$", re.IGNORECASE)
_DTYPE_NAME = re.compile("type|float|double|half|int|long|bool|complex", re.IGNORECASE)
_DEVICE_TEXT = re.compile(r"(cpu|cuda|mps|xpu|hpu|npu)(:|$)")
# Functions with an argument `device` that create no tensor or module.
_CREATE_NO_TENSOR = {"autocast", "Generator", "synchronize"}
_IGNORED = shutil.ignore_patterns(
    ".git", ".venv", "venv", "__pycache__", ".pytest_cache", ".tox", "node_modules", "build", "dist"
)


@dataclass(frozen=True)
class Move:
    """Bytes `start` to `end` of a file, what replaces them, or the reason why they must stay."""

    path: Path
    line: int
    start: int
    end: int
    text: str
    replacement: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path.resolve().relative_to(Path.cwd())}:{self.line}: {self.text}"


def without(moves: Iterable[Move], source: bytes) -> bytes:
    """Return the source of a file without these moves, one of which may contain another."""
    parts, position = [], 0
    for move in sorted(moves, key=lambda move: (move.start, -move.end)):
        if move.end > position:
            parts += [source[position : move.start], move.replacement.encode()]
            position = move.end
    return b"".join([*parts, source[position:]])


def moves_in(path: Path) -> list[Move]:
    """Return all moves in a file in order, including those that cannot be removed."""
    source = path.read_bytes()
    tree = ast.parse(source)
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    devices = _device_names(tree)
    moves = []
    for node in ast.walk(tree):
        for removed, after, replacement, reason in _removable(node, devices):
            line, start = removed.lineno, lines[removed.lineno - 1] + removed.col_offset
            if after is not None:  # up to the dot, after parentheses
                line, start = after.end_lineno, lines[after.end_lineno - 1] + after.end_col_offset
                start = source.index(b".", start)
            end = lines[removed.end_lineno - 1] + removed.end_col_offset
            if replacement is None:  # an argument: also remove the comma after or before it
                comma = re.match(rb"\s*,\s*", source[end:])
                end += comma.end() if comma else 0
                start = start if comma else len(source[:start].rstrip(b" \r\n,"))
            text = " ".join(source[start:end].decode().split())
            moves.append(Move(path, line, start, end, text, replacement or "", reason))
    return sorted(moves, key=lambda move: move.start)


def _device_names(tree: ast.Module) -> set[str]:
    """Return the names of the variables, attributes, parameters and functions that are devices."""
    names: set[str] = set()
    before = None
    while before != len(names):
        before = len(names)
        for target, value in (pair for node in ast.walk(tree) for pair in _assigned(node)):
            if _is_device(value, names):
                names.add(ast.unparse(target).split(".")[-1])
    return names


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Yield the targets to which a node assigns, each with the value or its annotation."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            yield from ((target, annotation), (target, value))
        case ast.FunctionDef(name=name, args=args):
            returned = (n.value for n in ast.walk(node) if isinstance(n, ast.Return))
            yield from ((ast.Name(name), value) for value in (node.returns, *returned))
            parameters = args.posonlyargs + args.args + args.kwonlyargs
            values = zip(parameters[::-1], (args.defaults + args.kw_defaults)[::-1], strict=False)
            annotations = ((parameter, parameter.annotation) for parameter in parameters)
            yield from ((ast.Name(p.arg), value) for p, value in (*values, *annotations))
        case ast.Call(func=ast.Attribute(attr="add_argument"), args=[*_, ast.Constant(str(flag))]):
            name = ast.Name(flag.lstrip("-").replace("-", "_"))
            yield from ((name, keyword.value) for keyword in node.keywords)


def _is_device(value: ast.expr | None, names: set[str]) -> bool:
    """Return whether an expression is a device; those called one of `names` are."""
    match value:
        case ast.Constant(value=str(text)):
            return bool(_DEVICE_TEXT.match(text))
        case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.List(elts=parts):
            return any(_is_device(part, names) for part in parts)
        case ast.IfExp(body=first, orelse=second) | ast.BinOp(left=first, right=second):
            return _is_device(first, names) or _is_device(second, names)
        case ast.Call(func=ast.Attribute(attr="cuda")):  # a tensor or a module
            return False
        case ast.Call(func=part):
            return _is_device(part, names)
        case ast.Subscript(value=owner, slice=key):
            return _is_device(owner, names) or bool(_DEVICE_NAME.search(ast.unparse(key)))
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in names or bool(_DEVICE_NAME.search(name))
    return False


def _removable(
    node: ast.AST, names: set[str]
) -> Iterator[tuple[ast.AST, ast.AST | None, str | None, str]]:
    """Yield what to remove, the node before it, its replacement (None: an argument), the reason."""

    def reason(device: str) -> str:
        return "a move to the CPU" if re.match(r"(torch\.device\()?'cpu", device) else ""

    match node:
        case ast.With(items=items):
            for context in (item.context_expr for item in items):
                text = ast.unparse(context)
                if text in names or re.search(r"(^|\.)device(\(|$)", text):
                    yield context, None, "__import__('contextlib').nullcontext()", reason(text)
        case ast.Call(func=ast.Attribute(value=tensor, attr="type_as"), args=[other]):
            yield node, tensor, f".to(({ast.unparse(other)}).dtype)", ""
        case ast.Call(func=ast.Attribute(value=tensor, attr="cuda")):
            if ast.unparse(tensor) != "torch":
                yield node, tensor, "", ""
        case ast.Call(func=ast.Attribute(value=tensor, attr="to"), args=args, keywords=keywords):
            for argument in [*(k for k in keywords if k.arg == "device"), *args[:1]][:1]:
                device = argument.value if isinstance(argument, ast.keyword) else argument
                text = ast.unparse(device)
                others = [k for k in keywords if k.arg not in ("device", "non_blocking")]
                others += [a for a in args if a is not device and not isinstance(a, ast.Constant)]
                if device is not argument or _is_device(device, names):
                    whole = (node, tensor, "") if not others else (argument, None, None)
                    yield *whole, reason(text)
                elif not isinstance(device, ast.Constant) and not _DTYPE_NAME.search(text):
                    yield node, tensor, "", f"{text} may be a device, a dtype or a tensor"
        case ast.Call(func=function, keywords=keywords):
            for keyword in keywords:
                text = ast.unparse(keyword.value)
                if keyword.arg == "map_location" and text != "None":
                    yield keyword, None, None, ""
                elif keyword.arg == "device" and text != "None":
                    no_tensor = ast.unparse(function).rpartition(".")[2] in _CREATE_NO_TENSOR
                    why = "the call creates no tensor" if no_tensor else reason(text)
                    yield keyword, None, None, why


def main(paths: Sequence[Path], arguments: Sequence[str], gpus: settings.Settings) -> int:
    """Test all removals, print a report, and return the exit status. `arguments` are for pytest.

    The status is 0 if a test failed for every removal, 1 if not, and 2 if a path is invalid or the
    tests fail before any removal.
    """
    root = Path.cwd()
    for path in paths:
        if not path.resolve().is_relative_to(root) or not path.exists():
            print(f"{path} is not a file or folder inside {root}", file=sys.stderr)
            return 2
    files = (sorted(path.rglob("*.py")) if path.is_dir() else [path] for path in paths)
    found = [move for group in files for file in group for move in moves_in(file)]
    moves = [move for move in found if not move.reason]
    if not found:
        print("No .to(device), .cuda() or device=... found.")
        return 0
    missed: list[Move] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / root.name
        shutil.copytree(root, copy, ignore=_IGNORED, symlinks=True)
        start_time = time.monotonic()
        print(f"Moves to remove: {len(moves)}. The tests must first pass with all.", flush=True)
        status, output = _run_tests(copy, arguments, gpus, None) if moves else (0, "")
        # A removal may cause an infinite loop.
        timeout = 60 + 20 * (time.monotonic() - start_time)
        if status != 0:
            sys.stderr.write(f"{output}\nThe tests must pass before any removal; see above.\n")
            return 2

        def detected(*removed: Move) -> bool:
            for path in {move.path for move in found}:
                changes = [move for move in removed if move.path == path]
                copied = copy / path.resolve().relative_to(root)
                copied.write_bytes(without(changes, path.read_bytes()))
            return _run_tests(copy, arguments, gpus, timeout)[0] != 0

        for number, move in enumerate(moves, 1):
            missed += [] if detected(move) else [move]
            outcome = "MISSED  " if move in missed else "detected"
            print(f"[{number}/{len(moves)}] {outcome} {move}", flush=True)
        tests_require_one = len(missed) > 1 and detected(*missed)
        pairs = [p for p in combinations(missed, 2) if tests_require_one and detected(*p)]
    print(f"\n{len(moves) - len(missed)} of {len(moves)} removals were detected by a test.")
    untested = [str(move) for move in missed if not any(move in pair for pair in pairs)]
    for title, lines in {
        "Not removed:": [f"{move}: {move.reason}" for move in found if move.reason],
        "A test fails without both moves of a pair, so one of them may be redundant:":
            [f"{first} and {second}" for first, second in pairs],
        "No test fails without these moves, but the program may fail on a GPU without them:":
            untested,
    }.items():  # fmt: skip
        if lines:
            print(title, *lines, sep="\n  ")
    return 1 if missed else 0


def _run_tests(
    folder: Path, arguments: Sequence[str], gpus: settings.Settings, timeout: float | None
) -> tuple[int, str]:
    """Run pytest in `folder`; return its exit status and its output."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    root = Path(__file__).resolve().parents[1]
    paths = [folder / "src", folder, os.environ.get("PYTHONPATH", folder), root]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-p", "simulated_cuda.pytest_plugin",
        f"--simulated-cuda={gpus.gpus}", f"--simulated-cuda-memory={gpus.memory}", *arguments,
    ]  # fmt: skip
    try:
        completed = subprocess.run(
            command, cwd=folder, env=environment, timeout=timeout, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, ""  # as a failed test
    return completed.returncode, completed.stdout
