"""The site has every notebook with its figures and alt texts, and no broken links."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

# Sphinx reads every notebook twice. `make site` and `make test-slow` run it.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [
    path.relative_to(ROOT).with_suffix("")
    for folder in ("notebooks", "labs")
    for path in sorted((ROOT / folder).glob("[!._]*.ipynb"))
]


def build(pages: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Build the pages in a folder like `make site`."""
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
    """The whole site: the finished Sphinx process, and the folder of pages."""
    output = tmp_path_factory.mktemp("site")
    return build(ROOT, output), output / "html"


def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def test_builds_without_warnings(built):
    process, _ = built
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_notebook_has_page_and_numbered_sidebar_entry(built, notebook):
    _, folder = built
    assert (folder / notebook).with_suffix(".html").is_file()
    sidebar = soup(folder / "index.html").select_one(".bd-sidebar-primary")
    (entry,) = sidebar.select(f'a[href$="{notebook.as_posix()}.html"]')
    assert entry.get_text().strip().startswith(notebook.name[:2])
    badge = soup((folder / notebook).with_suffix(".html")).select_one('img[alt="Open in Colab"]')
    assert ((folder / notebook).parent / badge["src"]).is_file()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_figures_have_alt_text_and_file(built, notebook):
    _, folder = built
    page = (folder / notebook).with_suffix(".html")
    stored = json.loads((ROOT / notebook).with_suffix(".ipynb").read_text(encoding="utf-8"))
    outputs = [o for cell in stored["cells"] for o in cell.get("outputs", [])]
    figures = soup(page).select(".cell_output img")
    assert len(figures) == sum("image/png" in output.get("data", {}) for output in outputs)
    for figure in figures:
        assert figure["alt"].strip()
        assert (page.parent / figure["src"]).is_file()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_page_omits_set_up_cell_and_results(built, notebook):
    _, folder = built
    text = (folder / notebook).with_suffix(".html").read_text(encoding="utf-8")
    assert "find_spec" not in soup((folder / notebook).with_suffix(".html")).get_text()
    assert "vnd.gpu-course.result" not in text


def test_search_index_has_words_of_lessons(built):
    _, folder = built
    index = (folder / "searchindex.js").read_text(encoding="utf-8")
    assert re.search(r"\bstate_dict\b", index)


def test_broken_links_fail_the_build(tmp_path):
    (tmp_path / "index.md").write_text(
        "# Start\n\n[a lesson](notebooks/99_gone.ipynb), [help](README.md#no-such-section)\n"
    )
    (tmp_path / "README.md").write_text("# About\n")
    process = build(tmp_path, tmp_path / "out")
    assert process.returncode != 0
    assert "notebooks/99_gone.ipynb" in process.stderr
    assert "no-such-section" in process.stderr
