"""The stored outputs of lessons and solutions are complete and can be published."""

from pathlib import Path

import nbformat
import pytest
from nbval.plugin import get_sanitize_patterns

from course.authoring.stored_outputs import output_problems
from tests.rules.audit import is_compared

ROOT = Path(__file__).parents[2]
PATTERNS = get_sanitize_patterns((ROOT / "tests" / "nbval_sanitize.cfg").read_text("utf-8"))
NOTEBOOKS = [
    str(path.relative_to(ROOT))
    for pattern in ("notebooks", "notebooks/[a-z][a-z]", "labs/solutions")
    for folder in sorted(ROOT.glob(pattern))
    for path in sorted(folder.glob("*.ipynb"))
]


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_outputs_are_compared_and_have_no_errors_warnings_or_machine_paths(path):
    notebook = nbformat.read(ROOT / path, as_version=4)
    code = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    compared = sum(is_compared(cell, PATTERNS) for cell in code)
    assert 3 * compared >= len(code), f"nbval compares only {compared} of {len(code)} code cells"
    problems = output_problems(notebook)
    assert not problems, "\n".join(problems)
