"""Answers to lab 10 that are the lab's solution after an edit."""

import ast
import linecache
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from helpers import kernels
from tests.helpers.checks.answers import Answers

# On Linux only.
triton = pytest.importorskip("triton")
LAB = Path(__file__).parents[4] / "labs" / "source" / "10_write_your_own_kernel.py"


def define(code: str, name: str) -> dict[str, Any]:
    """Return what `code` defines; Triton can read its source, as that of a notebook's cell."""
    kernels.enable()
    file = f"<{name}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    names = {"torch": torch, "triton": triton, "tl": triton.language}
    exec(compile(code, file, "exec"), names)
    return names


class OneProgram(ast.NodeTransformer):
    """Launches one program, which loops over those of the grid."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Subscript):
            node.keywords.append(ast.keyword("GRID", node.func.slice))
            node.func.slice = ast.parse("(1,)", mode="eval").body
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if node.decorator_list:
            code = re.sub(r"tl\.program_id\((\d)\)", r"p\1", ast.unparse(node.body))
            loops = "for p0 in range(GRID[0]):\n for p1 in range((*GRID, 1)[1]):\n"
            node.body = ast.parse(loops + textwrap.indent(code, "  ")).body
            node.args.args.append(ast.arg("GRID", ast.parse("tl.constexpr", mode="eval").body))
        return node


class ThirdAxis(ast.NodeTransformer):
    """Launches `depth` programs instead of each one, of which all but the first do nothing."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Subscript):
            grid = f"(*{ast.unparse(node.func.slice)}, 1)[:2] + ({self.depth},)"
            node.func.slice = ast.parse(grid, mode="eval").body
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if node.decorator_list:
            code = textwrap.indent(ast.unparse(node.body), " ")
            node.body = ast.parse(f"if tl.program_id(2) == 0:\n{code}").body
        return node


def editor(answers: Answers, *, given: bool = False) -> Callable[..., None]:
    """Return a function that collects the lab's solution after edits; `given`: the given code.

    Its arguments: the hint that the answer must get (None: it is right), a name that says what is
    wrong, and pairs of a text and what replaces it everywhere. With `one_program`, a single program
    does all the work; with `depth`, that many programs take the place of each one.
    """
    number = answers.exercise.number
    cell = re.search(rf"^# %% exercise={number}\n(.*?)\n# %%", LAB.read_text(), re.M | re.S)[1]
    if given:
        cell = re.sub(r"### BEGIN SOLUTION.*?### END SOLUTION", "", cell, flags=re.S)
        cell = re.sub(r"^( *)# (?=.*)", r"\1", cell, flags=re.M)

    def collect(
        hint: str | None,
        name: str,
        *edits: tuple[str, str],
        one_program: bool = False,
        depth: int = 0,
    ) -> None:
        code = cell
        for old, replacement in edits:
            assert old in code, f"{old!r} is not in the solution"
            code = code.replace(old, replacement)
        if one_program:
            code = ast.unparse(OneProgram().visit(ast.parse(code)))
        if depth:
            code = ast.unparse(ThirdAxis(depth).visit(ast.parse(code)))
        answer = define(code, f"exercise {number} {name}")[answers.exercise.names[0]]
        answer.__name__ = name
        answers.collected.append((answer, hint))

    return collect


def collect_common(collect: Callable[..., None], new: str, result: str, argument: str) -> None:
    """Collect mistakes that are possible in all exercises.

    `new` is the expression of the solution that creates the result, which the variable `result`
    holds. `argument` is the name of the first argument.
    """
    end = f"return {result}"
    collect(None, "as_in_the_lab")
    collect("wrong-kind", "returns_a_list", (end, f"return [{result}]"))
    collect("wrong-kind", "result_in_double", (new, f"{new}.double()"))
    collect("result-elsewhere", "result_on_the_cpu", (new, f"{new}.cpu()"))
    collect("input-changed", "clears_the_input", (end, f"{argument}.zero_()\n    {end}"))
    collect("torch-computes", "result_from_torch", (end, f"{end} + 0"))
    collect("one-program", "loops_over_the_grid", one_program=True)
    collect("idle-programs", "two_of_three_are_idle", depth=3)
    collect("raised", "a_million_programs", depth=10**6)
