"""Every page is accessible and up to date; its links, stored outputs and spelling are right."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbval.plugin import get_sanitize_patterns

from course.authoring.stored_outputs import output_problems
from course.authoring.up_to_date import find_outdated
from course.course_folder import open_course
from tests.course.translation.same_code import is_same_code
from tests.rules.audit import is_compared
from tests.rules.pages import Links, lint_page

ROOT = Path(__file__).parents[2]
COURSE = open_course(ROOT)
LINKS = Links(COURSE)
PATTERNS = get_sanitize_patterns((ROOT / "tests" / "nbval_sanitize.cfg").read_text("utf-8"))


def find(*patterns):
    paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [str(path.relative_to(ROOT)) for path in paths if path.name[0] not in "._"]


TRANSLATED = find("notebooks/[a-z][a-z]/*.ipynb", "labs/[a-z][a-z]/*.ipynb")
NOTEBOOKS = find("notebooks/*.ipynb", "labs/*.ipynb") + TRANSLATED
LESSONS = find("notebooks/*.ipynb", "notebooks/[a-z][a-z]/*.ipynb")
SOLUTIONS = find("labs/solutions/*.ipynb")
PAGES = find("*.md", "docs/**/*.md", "notebooks/*.md", "labs/*.md")
PROSE = ("README.md", "docs", "notebooks", "labs", "helpers", "benchmarks", "Makefile")


@pytest.mark.parametrize("path", [*NOTEBOOKS, *SOLUTIONS, *PAGES])
def test_page_is_accessible_and_its_links_work(path):
    findings = lint_page(ROOT / path) + LINKS.dead_links(ROOT / path)
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("path", [*LESSONS, *SOLUTIONS])
def test_outputs_are_compared_and_have_no_errors_warnings_or_machine_paths(path):
    notebook = nbformat.read(ROOT / path, as_version=4)
    # The first cells, which set up the notebook and take parameters, never show anything.
    silent = {"bootstrap", "parameters"}
    code = [
        c
        for c in notebook.cells
        if c.cell_type == "code"
        and c.source.strip()
        and silent.isdisjoint(c.metadata.get("tags", []))
    ]
    compared = sum(is_compared(cell, PATTERNS) for cell in code)
    assert 3 * compared >= len(code), f"nbval compares only {compared} of {len(code)} code cells"
    assert output_problems(notebook) == []


def test_every_notebook_matches_its_source():
    assert find_outdated(COURSE) == []


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_badge_opens_its_own_notebook(path):
    assert LINKS.badge_problems(ROOT / path) == []


@pytest.mark.parametrize("path", TRANSLATED)
def test_translation_has_the_same_code_as_the_english_notebook(path):
    file = ROOT / path
    english = nbformat.read(file.parents[1] / file.name, as_version=4)
    assert is_same_code(english, nbformat.read(file, as_version=4))


def check_spelling(*paths):
    command = [sys.executable, "-m", "codespell_lib", *map(str, paths)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_prose_has_no_spelling_mistakes(tmp_path):
    process = check_spelling(*PROSE)
    assert process.returncode == 0, process.stdout + process.stderr
    (tmp_path / "page.md").write_text("A " + "seperate" + " stream.\n")
    assert check_spelling(tmp_path / "page.md").returncode != 0
