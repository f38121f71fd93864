"""A translation of a small course is built, and the check reports texts that are not up to date."""

import json
from pathlib import Path

import nbformat
import pytest

from course.authoring.build import build
from course.authoring.up_to_date import find_outdated
from course.course_folder import open_course
from course.translation.catalogs import languages, update
from course.translation.course_translation import read_translation
from course.translation.documents import read_document
from helpers import language
from tests.course.translation.pseudo import LANGUAGE, pseudo, translate_all
from tests.course.translation.same_code import is_same_code

CELLS = """\
# %% [markdown]
# ## A section with `code`
#
# Read [the next lesson](02_second.ipynb), then **go on**.

# %%
print("code says 3")  # a comment that stays English
"""
HELPERS = 'def say(translate):\n    print(translate("The images are {name}.", name="synthetic"))\n'


@pytest.fixture(scope="module")
def built_course(make_small_course):
    course = make_small_course()
    course.write("01_first", CELLS, title="The first lesson")
    course.write("02_second", CELLS, title="The second lesson")
    (course.root / "helpers").mkdir()
    (course.root / "helpers" / "say.py").write_text(HELPERS, encoding="utf-8")
    build(course.folder, [], log=lambda line: None)
    translate_all(course.folder)
    build(course.folder, [], log=lambda line: None)
    return course


@pytest.fixture
def changed_course(built_course):
    """The built course, with one sentence of the first lesson changed in English."""
    source = built_course.folder.source_path("01_first")
    before = {path: path.read_bytes() for path in built_course.root.rglob("*.*") if path.is_file()}
    source.write_text(source.read_text().replace("**go on**", "**go further**"))
    build(built_course.folder, ["01"], log=lambda line: None)
    yield built_course.folder
    for path, content in before.items():
        path.write_bytes(content)


def test_all_texts_are_translated_and_code_is_the_same(built_course):
    path = built_course.folder.notebooks / LANGUAGE / "01_first.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert is_same_code(built_course.read("01_first"), notebook)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert f"# {pseudo('The first lesson')}" in text
    assert f"[{pseudo('The second lesson')}](02_second.ipynb)" in text
    assert "a-course/blob/v7/notebooks/xx/01_first.ipynb" in text
    [printed] = notebook.cells[3].outputs
    assert printed.text == "code says 3\n"


def test_pages_and_helper_messages_are_built(built_course):
    file = built_course.root / "helpers" / "translations" / f"{LANGUAGE}.json"
    texts = json.loads(file.read_text(encoding="utf-8"))
    assert texts["The images are {name}."] == pseudo("The images are {name}.")
    assert texts["01: A section with `code`"] == pseudo("A section with `code`")
    page = (built_course.root / "docs" / LANGUAGE / "index.md").read_text(encoding="utf-8")
    assert f"[{pseudo('The first lesson')}](../../notebooks/xx/01_first.ipynb)" in page
    assert "\n\n[English](../../index.md) · " in page
    assert find_outdated(built_course.folder) == []
    assert build(built_course.folder, [], log=lambda line: None) == []


def test_changed_english_text_fails_the_check_until_it_is_reviewed(changed_course):
    [stale, unreviewed] = find_outdated(changed_course)
    assert stale.startswith("xx/01_first: its source has changed since it was built")
    assert stale.endswith("To fix it: course build xx/01_first")
    file = "locale/xx/notebooks/01_first.po"
    assert f"{file}: missing, unreviewed or invalid translations: 'Read" in unreviewed
    lines = []
    build(changed_course, ["xx"], log=lines.append)
    assert any(line.endswith("left in English (no reviewed translation): 1") for line in lines)
    assert [finding.split(":")[0] for finding in find_outdated(changed_course)] == [file]
    translate_all(changed_course)
    build(changed_course, ["xx"], log=lambda line: None)
    assert find_outdated(changed_course) == []


def test_notebook_without_a_complete_translation_is_not_built(changed_course):
    for path in (changed_course.notebooks / LANGUAGE).glob("*.ipynb"):
        path.unlink()
    update(changed_course, read_document(changed_course, "notebooks/01_first"), LANGUAGE)
    build(changed_course, [], log=lambda line: None)
    # The link has the English title and opens the English notebook.
    page = (changed_course.root / "docs" / LANGUAGE / "index.md").read_text(encoding="utf-8")
    assert "[The first lesson](../../notebooks/01_first.ipynb)" in page
    assert f"[{pseudo('The second lesson')}](../../notebooks/xx/02_second.ipynb)" in page
    names = [path.name for path in (changed_course.notebooks / LANGUAGE).glob("*.ipynb")]
    assert names == ["02_second.ipynb"]


def test_build_says_that_no_notebook_of_a_language_is_complete(built_course):
    folder, lines = built_course.root / "locale" / "yy", []
    folder.mkdir()
    assert build(built_course.folder, ["yy"], log=lines.append) == []
    folder.rmdir()
    assert lines[0].startswith("No notebook is completely translated.")


def test_every_language_has_a_rule_for_percent_signs():
    codes = languages(open_course(Path(__file__).parents[3]))
    missing = set(codes) - language._PERCENT.keys()
    assert not missing, f"Add them to _PERCENT in helpers/language.py: {missing}"


def test_language_is_checked_only_after_its_first_build(changed_course):
    translation = read_translation(changed_course, LANGUAGE)
    for document in translation.catalogs:
        translation.output_path(document).unlink(missing_ok=True)
    assert find_outdated(changed_course) == []
