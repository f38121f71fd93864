"""Imports stay cheap for students, and packages import each other in one direction only."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each of these takes seconds to import, or is not installed with the lessons alone.
HEAVY = (
    "jupyterlab",
    "jupytext",
    "matplotlib",
    "nbclient",
    "papermill",
    "pyarrow",
    "torch._dynamo",
    "torchvision",
)
MODULES = (
    "helpers",
    "helpers.lesson",
    "helpers.devices",
    "helpers.synthetic_images",
    "helpers.cifar10",
    "helpers.evaluation",
    "helpers.loaders",
    "helpers.networks",
    "helpers.training",
    "simulated_cuda",
)
# One process for all, since importing torch takes seconds; each module counts what it adds.
CODE = f"""
import importlib, json, sys
found = {{}}
for name in {MODULES}:
    before = set(sys.modules)
    importlib.import_module(name)
    found[name] = [heavy for heavy in {HEAVY} if heavy in set(sys.modules) - before]
print(json.dumps(found))
"""
FORBIDDEN = {
    "helpers": ("course", "tests", "tools", "benchmarks"),
    "simulated_cuda": ("course", "helpers", "tests", "tools", "benchmarks"),
    "course": ("tests", "tools", "benchmarks"),
}


@pytest.fixture(scope="module")
def heavy_imports():
    process = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    return json.loads(process.stdout)


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_nothing_heavy(heavy_imports, module):
    assert heavy_imports[module] == []


def imports_of(path: Path, top_level_only: bool) -> set[str]:
    """Return the modules of this repository that a file imports, as dotted names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = set()
    for node in _statements(tree) if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(ROOT).with_suffix("").parts[: -node.level]
            base = ".".join(package if node.level else ()) if node.level else ""
            name = ".".join(part for part in (base, node.module) if part)
            # `from package import module` imports the module; `import name` from it does not.
            modules |= {_module(f"{name}.{alias.name}") or name for alias in node.names}
    return {module for name in modules if (module := _module(name))}


def _statements(tree: ast.Module):
    """Return the statements that run on import, without those for type checkers."""
    pending = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        pending += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def _module(name: str) -> str | None:
    """Return `name` if it is a module of the three packages, without `.__init__`."""
    path = ROOT.joinpath(*name.split("."))
    if name.split(".")[0] not in FORBIDDEN:
        return name if name.split(".")[0] in ("tests", "tools", "benchmarks") else None
    return name if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file() else None


def python_files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("package", FORBIDDEN)
def test_package_imports_in_one_direction(package):
    violations = [
        f"{name_of(path)} imports {module}"
        for path in python_files(package)
        for module in sorted(imports_of(path, top_level_only=False))
        if module.split(".")[0] in FORBIDDEN[package]
    ]
    assert violations == []


@pytest.mark.parametrize("package", FORBIDDEN)
def test_package_has_no_import_cycle(package):
    graph = {
        name_of(path): imports_of(path, top_level_only=True) - {name_of(path)}
        for path in python_files(package)
    }
    assert find_cycle(graph) == []


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the names in one import cycle, or an empty list."""
    visited: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in visited:
            return []
        for other in sorted(graph.get(name, ())):
            if cycle := visit(other, [*path, name]):
                return cycle
        visited.add(name)
        return []

    return next((cycle for name in sorted(graph) if (cycle := visit(name, []))), [])


def test_find_cycle_returns_the_cycle():
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}}) == []
