"""The whole course is translated into a test language without losing texts or changing code."""

import ast
from pathlib import Path

import polib
import pytest

from course.authoring.assemble import assemble_lab, assemble_lesson
from course.course_folder import open_course
from course.grading.answers import CellKind, merge_answers
from course.translation.catalogs import Catalog
from course.translation.checks import find_differences
from course.translation.course_translation import CourseTranslation
from course.translation.documents import document_names, read_document
from tests.course.translation.pseudo import LANGUAGE, pseudo
from tests.course.translation.same_code import is_same_code

COURSE = open_course(Path(__file__).parents[3])
HELPERS = COURSE.root / "helpers"


@pytest.fixture(scope="module")
def translation():
    """The complete course in the test language, in memory."""
    catalogs = {}
    for name in document_names(COURSE):
        document = read_document(COURSE, name)
        texts = [message.text for message in document.messages]
        entries = {text: polib.POEntry(msgid=text, msgstr=pseudo(text)) for text in texts}
        catalogs[name] = Catalog(document, Path(f"{name}.po"), entries)
    return CourseTranslation(COURSE, LANGUAGE, catalogs)


def test_checks_accept_every_text(translation):
    entries = [e for catalog in translation.catalogs.values() for e in catalog.entries.values()]
    assert [e.msgid for e in entries if find_differences(e.msgid, e.msgstr)] == []


@pytest.mark.parametrize("name", COURSE.lesson_names())
def test_translated_notebook_has_the_same_code_and_no_english_text(translation, name):
    translator = translation.translator(f"notebooks/{name}")
    notebook = assemble_lesson(COURSE, name, translator)
    assert translator.missing == []
    assert is_same_code(assemble_lesson(COURSE, name), notebook)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert f'language="{LANGUAGE}")' in code


@pytest.mark.parametrize("name", COURSE.lab_names())
def test_submission_of_a_translated_lab_is_graded_like_one_in_english(translation, name):
    translator = translation.translator(f"labs/{name}")
    english = assemble_lab(COURSE, name, answers=False)
    notebook = assemble_lab(COURSE, name, answers=False, translator=translator)
    assert translator.missing == []
    assert is_same_code(english, notebook)
    translated, original = (
        [(c.kind, c.source) for c in merge_answers(english, nb).cells if c.kind != CellKind.TEXT]
        for nb in (notebook, english)
    )
    assert translated == original


def test_every_text_of_a_check_is_in_the_runtime_texts(translation):
    texts = translation.runtime_texts()
    labs = [name for name in translation.catalogs if name.startswith("labs/")]
    hints = [m for name in labs for m in read_document(COURSE, name).messages if m.at_runtime]
    assert len(hints) > 10 * len(labs)
    assert all(texts[hint.text] == pseudo(hint.text) for hint in hints)


def test_translate_is_not_called_with_computed_texts():
    """A computed text, such as an f-string, would never be translated."""
    computed_texts = []
    for module in sorted(HELPERS.rglob("*.py")):
        for call in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            is_call = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "translate"
            if is_call and not isinstance(call.args[0], ast.Constant | ast.Name | ast.Attribute):
                computed_texts.append(f"{module.relative_to(HELPERS)}:{call.lineno}")
    assert computed_texts == []
