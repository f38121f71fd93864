"""The site has every notebook with its figures and their texts, and no link that leads nowhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [
    path.relative_to(ROOT).with_suffix("")
    for folder in ("notebooks", "labs")
    for path in sorted((ROOT / folder).glob("[!._]*.ipynb"))
]


def build(pages: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Build the pages in a folder as `make site` does."""
    command = ["-c", ROOT / "docs" / "site", "-b", "html", "-W", "--keep-going", "-n", "-q"]
    doctrees = ["-d", output / "doctrees"]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *command, *doctrees, pages, output / "html"],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The whole site: what Sphinx said of it, and the folder of its pages."""
    output = tmp_path_factory.mktemp("site")
    return build(ROOT, output), output / "html"


def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def test_the_course_is_built_without_a_warning(built):
    process, _ = built
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_a_notebook_has_its_page_and_is_in_the_side_bar(built, notebook):
    _, folder = built
    assert (folder / notebook).with_suffix(".html").is_file()
    side_bar = soup(folder / "index.html").select_one(".bd-sidebar-primary")
    assert side_bar.select(f'a[href$="{notebook.as_posix()}.html"]')


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_every_figure_has_its_text_and_its_file(built, notebook):
    _, folder = built
    page = (folder / notebook).with_suffix(".html")
    stored = (ROOT / notebook).with_suffix(".ipynb").read_text(encoding="utf-8")
    figures = soup(page).select(".cell_output img")
    assert len(figures) == stored.count('"image/png": "')
    for figure in figures:
        assert figure["alt"].strip()
        assert (page.parent / figure["src"]).is_file()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_a_page_shows_neither_the_bootstrap_cell_nor_what_is_recorded_for_reports(built, notebook):
    _, folder = built
    text = (folder / notebook).with_suffix(".html").read_text(encoding="utf-8")
    assert "find_spec" not in soup((folder / notebook).with_suffix(".html")).get_text()
    assert "vnd.gpu-course.result" not in text


def test_the_search_knows_the_words_of_the_lessons(built):
    _, folder = built
    index = (folder / "searchindex.js").read_text(encoding="utf-8")
    assert re.search(r"\bstate_dict\b", index)


def test_links_that_lead_nowhere_fail_the_build(tmp_path):
    (tmp_path / "index.md").write_text(
        "# Start\n\n[a lesson](notebooks/99_gone.ipynb), [help](README.md#no-such-section)\n"
    )
    (tmp_path / "README.md").write_text("# About\n")
    process = build(tmp_path, tmp_path / "out")
    assert process.returncode != 0
    assert "notebooks/99_gone.ipynb" in process.stderr
    assert "no-such-section" in process.stderr
