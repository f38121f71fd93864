"""The stored outputs of lessons and solutions are complete and can be published."""

from pathlib import Path

import nbformat
import pytest
from nbval.plugin import get_sanitize_patterns

from course.authoring.stored_outputs import output_problems
from tests.rules.audit import compare

ROOT = Path(__file__).parents[2]
PATTERNS = get_sanitize_patterns((ROOT / "tests" / "nbval_sanitize.cfg").read_text("utf-8"))
NOTEBOOKS = [
    str(path.relative_to(ROOT))
    for pattern in ("notebooks", "notebooks/[a-z][a-z]", "labs/solutions")
    for folder in sorted(ROOT.glob(pattern))
    for path in sorted(folder.glob("*.ipynb"))
]


def test_notebooks_exist():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_enough_cells_are_compared_and_none_is_stripped(path):
    comparison = compare(nbformat.read(ROOT / path, as_version=4), PATTERNS)
    assert comparison.compares_enough, str(comparison)
    assert not comparison.stripped, str(comparison)


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_outputs_have_no_errors_warnings_or_machine_paths(path):
    problems = output_problems(nbformat.read(ROOT / path, as_version=4))
    assert not problems, "\n".join(problems)
