"""Every page is accessible, its links work, and its spelling is correct."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import pytest

from course.course_folder import open_course
from tests.course.translation.same_code import is_same_code
from tests.rules.links import Links
from tests.rules.lint import (
    headings,
    lint_notebook,
    markdown_images_without_alt,
    markdown_tables_without_header,
    outline_problems,
)

ROOT = Path(__file__).parents[2]
COURSE = open_course(ROOT)
LINKS = Links(COURSE)
NOTEBOOKS = [
    str(path.relative_to(ROOT))
    for pattern in (
        "notebooks",
        "notebooks/[a-z][a-z]",
        "labs",
        "labs/[a-z][a-z]",
        "labs/solutions",
    )
    for folder in sorted(ROOT.glob(pattern))
    for path in sorted(folder.glob("[!._]*.ipynb"))
]
PAGES = [
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md", "notebooks/*.md", "labs/*.md")
    for path in sorted(ROOT.glob(pattern))
]
PROSE = ("README.md", "docs", "notebooks", "labs", "helpers", "benchmarks", "Makefile")


@cache
def read(path):
    return nbformat.read(ROOT / path, as_version=4)


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook_is_accessible(path):
    findings = lint_notebook(read(path))
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if len(Path(path).parent.name) == 2])
def test_translation_has_the_same_code_as_the_english_notebook(path):
    english = Path(path).parents[1] / Path(path).name
    assert is_same_code(read(str(english)), read(path))


@pytest.mark.parametrize("path", PAGES)
def test_page_is_accessible(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    findings = [
        *markdown_images_without_alt(text),
        *outline_problems(headings(text)),
        *markdown_tables_without_header(text),
    ]
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("path", [*NOTEBOOKS, *PAGES])
def test_links_inside_the_course_work(path):
    findings = LINKS.dead_links(ROOT / path)
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if not p.startswith("labs/solutions")])
def test_badge_opens_its_own_notebook(path):
    findings = LINKS.badge_problems(ROOT / path)
    assert not findings, "\n".join(findings)


def test_prose_has_no_spelling_mistakes():
    paths = [name for name in PROSE if (ROOT / name).exists()]
    process = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *paths], cwd=ROOT, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stdout + process.stderr


def test_spelling_check_finds_a_mistake(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A " + "seperate" + " stream.\n")
    process = subprocess.run(
        [sys.executable, "-m", "codespell_lib", str(page)], cwd=ROOT, capture_output=True, text=True
    )
    assert process.returncode != 0
    assert "separate" in process.stdout
