"""Imports stay cheap for students, and packages import each other in one direction only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

from tests.conftest import run_python

ROOT = Path(__file__).parents[2]
# Each of these takes seconds to import, or is not installed with the lessons alone.
HEAVY = {
    "jupyterlab", "jupytext", "matplotlib", "nbclient", "papermill", "pyarrow", "torch._dynamo",
    "torchvision",
}  # fmt: skip
LIGHT = (
    "helpers, helpers.lesson, helpers.devices, helpers.cifar10, "
    "helpers.evaluation, helpers.loaders, helpers.networks, helpers.training, simulated_cuda"
)
NEVER_INSTALLED = {"tests", "tools", "benchmarks"}
FORBIDDEN = {
    "helpers": NEVER_INSTALLED | {"course"},
    "simulated_cuda": NEVER_INSTALLED | {"course", "helpers"},
    "course": NEVER_INSTALLED,
}
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in FORBIDDEN
    for path in (ROOT / package).rglob("*.py")
}


def test_modules_of_the_lessons_import_nothing_heavy():
    # Lesson 01 counts fetches before its first optimizer, which imports torch's compiler.
    fetches = "helpers.devices.count_fetches(lambda: helpers.devices.torch.ones(1).item())"
    code = f"import sys, {LIGHT}; {fetches}; print(*{HEAVY} & set(sys.modules))"
    process = run_python("-c", code)
    assert (process.stdout.strip(), process.stderr) == ("", "")


def imports_of(name: str, on_import: bool) -> Iterator[str]:
    """Yield the modules that a module imports; with `on_import`, only those that it always does."""
    pending: list[ast.AST] = [ast.parse(FILES[name].read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if on_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if on_import and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = FILES[name].relative_to(ROOT).with_suffix("").parts
            package = parts[: -node.level] if node.level else ()
            base = ".".join([*package, *([node.module] if node.module else [])])
            # `from package import module` imports the module; `import name` from it does not.
            for alias in node.names:
                full_name = f"{base}.{alias.name}"
                yield full_name if full_name in FILES else base


@pytest.mark.parametrize("package", FORBIDDEN)
def test_package_imports_in_one_direction(package):
    violations = [
        f"{name} imports {module}"
        for name in FILES
        if name.split(".")[0] == package
        for module in imports_of(name, on_import=False)
        if module.split(".")[0] in FORBIDDEN[package]
    ]
    assert violations == []


def test_there_is_no_import_cycle():
    graph = networkx.DiGraph(
        (name, module)
        for name in FILES
        for module in imports_of(name, on_import=True)
        if module in FILES and module != name
    )
    assert list(networkx.simple_cycles(graph)) == []
