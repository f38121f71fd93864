"""The site has every notebook with its figures and alt texts, and no broken links."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from course.authoring.build import build as build_notebooks
from course.authoring.generated import start_page
from course.course_folder import open_course
from course.translation.documents import START_PAGE
from tests.conftest import run_python
from tests.course.translation.pseudo import pseudo, translate_all

# Sphinx reads every notebook twice. `make site` and `make test-slow` run it.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [
    path.relative_to(ROOT).with_suffix("")
    for folder in ("notebooks", "labs")
    for path in sorted((ROOT / folder).glob("[!._]*.ipynb"))
]


def build(
    pages: Path, output: Path, settings: Path = ROOT / "docs" / "site", language: str = "en"
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Build the pages in a folder as `make site` does; return the process and its HTML folder."""
    command = ["-c", settings, "-b", "html", "-W", "--keep-going", "-n", "-q"]
    doctrees = ["-d", output / "doctrees"]
    environment = os.environ | {"COURSE_SITE_LANGUAGE": language}
    arguments = ("-m", "sphinx", *command, *doctrees, pages, output / "html")
    process = run_python(*arguments, env=environment, timeout=300)
    return process, output / "html"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of pages of the whole site, built without warnings."""
    process, folder = build(ROOT, tmp_path_factory.mktemp("site"))
    assert (process.returncode, process.stderr) == (0, "")
    return folder


def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_notebook_has_page_with_its_figures_and_a_sidebar_entry(site, notebook):
    sidebar = soup(site / "index.html").select_one(".bd-sidebar-primary")
    (entry,) = sidebar.select(f'a[href$="{notebook.as_posix()}.html"]')
    assert entry.get_text().strip().startswith(notebook.name[:2])
    file = (site / notebook).with_suffix(".html")
    page = soup(file)
    assert "find_spec" not in page.get_text()  # the setup cell
    assert "vnd.gpu-course.result" not in str(page)
    stored = json.loads((ROOT / notebook).with_suffix(".ipynb").read_text(encoding="utf-8"))
    outputs = [o for cell in stored["cells"] for o in cell.get("outputs", [])]
    figures = page.select(".cell_output img")
    assert len(figures) == sum("image/png" in output.get("data", {}) for output in outputs)
    for figure in (*figures, page.select_one('img[alt="Open in Colab"]')):
        assert figure["alt"].strip()
        assert (file.parent / figure["src"]).is_file()


def test_search_finds_words_of_lessons_and_its_buttons_are_labeled(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert re.search(r"\bstate_dict\b", index)
    buttons = soup(site / "index.html").select(".search-button-field")
    assert buttons
    # A small screen shows only the icon, so the text alone is not a label.
    for button in buttons:
        assert button["aria-label"] == " ".join(button.get_text().split())


def test_broken_links_fail_the_build(tmp_path):
    (tmp_path / "index.md").write_text(
        "# Start\n\n[a lesson](notebooks/99_gone.ipynb), [help](README.md#no-such-section)\n"
    )
    (tmp_path / "README.md").write_text("# About\n")
    process, _ = build(tmp_path, tmp_path / "out")
    assert process.returncode != 0
    assert "notebooks/99_gone.ipynb" in process.stderr
    assert "no-such-section" in process.stderr


@pytest.fixture(scope="module")
def spanish_site(make_small_course):
    """The site of a small course in English and accented English, which is labeled Spanish."""
    course = make_small_course()
    course.write("00_first", "# %% [markdown]\n# Some words.\n\n# %%\nprint(1)\n", title="First")
    # The start page links to these sections.
    linked = re.findall(r"help\.md#([\w-]+)", START_PAGE.read_text(encoding="utf-8"))
    sections = "".join(f'\n<a id="{name}"></a>\n\n## About {name}\n' for name in linked)
    for name, text in {
        "README.md": "# A course\n",
        "docs/help.md": f"# Help\n\n[Read more](for_instructors.md#a-class).\n{sections}",
        "docs/for_instructors.md": "# For instructors\n\n## A class\n\nGrading.\n",
        "docs/glossary.md": "# Glossary\n",
        "docs/first_five_minutes.md": "# The first five minutes\n",
    }.items():
        (course.root / name).parent.mkdir(exist_ok=True)
        (course.root / name).write_text(text, encoding="utf-8")
    for folder in ("docs/site", "course"):
        shutil.copytree(ROOT / folder, course.root / folder)
    translate_all(course.folder, "es")
    build_notebooks(course.folder, [], log=lambda line: None)
    process, folder = build(course.root, course.root / "out", course.root / "docs" / "site", "es")
    assert (process.returncode, process.stderr) == (0, "")
    return folder


def test_translated_site_has_its_language_search_and_links_to_the_others(spanish_site):
    page = soup(spanish_site / "notebooks" / "es" / "00_first.html")
    assert page.html["lang"] == "es"
    assert pseudo("Some words.") in page.get_text()
    # One list is in the header, the other one in the menu of a small screen.
    links = {(link["href"], link["hreflang"]) for link in page.select(".course-languages a")}
    assert links == {("../../../notebooks/00_first.html", "en")}
    assert page.select_one(".course-languages span")["lang"] == "es"
    assert {link["hreflang"]: link["href"] for link in page.select("link[hreflang]")} == {
        "en": "https://somebody.github.io/a-course/notebooks/00_first.html",
        "es": "https://somebody.github.io/a-course/es/notebooks/es/00_first.html",
    }
    index = (spanish_site / "searchindex.js").read_text(encoding="utf-8")
    assert '"notebooks/es/00_first"' in index
    assert '"notebooks/00_first"' not in index


def test_translated_page_links_to_the_english_site_if_there_is_no_translation(spanish_site):
    page = soup(spanish_site / "docs" / "es" / "help.html")
    links = [link["href"] for link in page.select("article a.external, article a.reference")]
    assert "../../../docs/for_instructors.html#a-class" in links


def test_english_start_page_links_to_the_translated_site(spanish_site):
    course = spanish_site.parents[1]
    start = course / "index.md"
    start.write_text(start_page(open_course(course)), encoding="utf-8")
    process, english = build(course, course / "english", course / "docs" / "site")
    assert process.returncode == 0, process.stderr
    page = soup(english / "index.html")
    assert page.select_one('article a[href="es/docs/es/index.html"]')
    assert (spanish_site / "docs" / "es" / "index.html").is_file()
    refresh = soup(spanish_site / "index.html").select_one("meta[http-equiv=refresh]")
    assert refresh["content"].endswith("url=docs/es/index.html")
