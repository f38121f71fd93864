"""Everybody can read every page of the course, and every link of it leads somewhere."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import pytest

from course.course_folder import open_course
from tests.rules.links import Links
from tests.rules.lint import (
    headings,
    lint_notebook,
    markdown_images_without_alt,
    markdown_tables_without_header,
    outline_faults,
)

ROOT = Path(__file__).parents[2]
COURSE = open_course(ROOT)
LINKS = Links(COURSE)
NOTEBOOKS = [
    str(path.relative_to(ROOT))
    for folder in ("notebooks", "labs", "labs/solutions")
    for path in sorted((ROOT / folder).glob("[!._]*.ipynb"))
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
def test_figures_headings_tables_and_cells_of_a_notebook_serve_every_reader(path):
    findings = lint_notebook(read(path))
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("path", PAGES)
def test_images_headings_and_tables_of_a_page_serve_every_reader(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    findings = [
        *markdown_images_without_alt(text),
        *outline_faults(headings(text)),
        *markdown_tables_without_header(text),
    ]
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("path", [*NOTEBOOKS, *PAGES])
def test_every_link_inside_the_course_leads_somewhere(path):
    findings = LINKS.dead_links(ROOT / path)
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if not p.startswith("labs/solutions")])
def test_the_badge_of_a_notebook_opens_that_notebook(path):
    findings = LINKS.badge_faults(ROOT / path)
    assert not findings, "\n".join(findings)


def test_the_words_are_spelled_as_in_a_dictionary():
    there = [name for name in PROSE if (ROOT / name).exists()]
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *there], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_misspelling_would_be_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A " + "seperate" + " stream.\n")
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", str(page)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "separate" in done.stdout
