"""The whole course is translated into a test language without losing texts or changing code."""

import ast
from pathlib import Path

import polib
import pytest

from course.authoring.assemble import assemble_lab
from course.authoring.targets import assemble_from_source
from course.course_folder import open_course
from course.grading.answers import CellKind, merge_answers
from course.translation.catalogs import Catalog
from course.translation.checks import find_differences
from course.translation.course_translation import CourseTranslation
from course.translation.documents import document_names, read_document
from helpers.checks.hints import read_hints
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
        entries = {
            m.text: polib.POEntry(msgid=m.text, msgstr=pseudo(m.text)) for m in document.messages
        }
        catalogs[name] = Catalog(LANGUAGE, document, Path(f"{name}.po"), entries)
    return CourseTranslation(COURSE, LANGUAGE, catalogs)


def test_checks_accept_every_text(translation):
    findings = [
        f"{name}: {finding}"
        for name, catalog in translation.catalogs.items()
        for text, entry in catalog.entries.items()
        for finding in find_differences(text, entry.msgstr)
    ]
    assert findings == []


def code_cells(merged):
    return [(cell.kind, cell.source) for cell in merged.cells if cell.kind is not CellKind.TEXT]


@pytest.mark.parametrize("name", COURSE.lesson_names())
def test_translated_notebook_has_the_same_code_and_no_english_text(translation, name):
    for document in (f"notebooks/{name}", f"labs/{name}"):
        translator = translation.translator(document)
        if document.startswith("labs/"):
            english = assemble_lab(COURSE, name, answers=False)
            notebook = assemble_lab(COURSE, name, answers=False, translator=translator)
        else:
            english, notebook = (
                assemble_from_source(COURSE, name),
                assemble_from_source(COURSE, name, translator),
            )
        assert translator.missing == []
        assert is_same_code(english, notebook)
        if document.startswith("labs/"):
            # A submission in any language is graded like one in English.
            assert code_cells(merge_answers(english, notebook)) == code_cells(
                merge_answers(english, english)
            )
        code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
        assert f'language="{LANGUAGE}")' in code


def test_every_hint_is_in_the_runtime_texts(translation):
    texts = translation.runtime_texts()
    for folder in sorted((HELPERS / "checks").glob("lab_*")):
        for hints in read_hints(folder).values():
            for hint in hints.values():
                assert texts[hint.wrong] == pseudo(hint.wrong)
                assert texts[hint.look] == pseudo(hint.look)
                if hint.section:
                    assert f"{folder.name[-2:]}: {hint.section}" in texts


def test_translate_is_not_called_with_computed_texts():
    """A computed text, such as an f-string, would never be translated."""
    computed_texts = []
    for module in sorted(HELPERS.rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            is_translate_call = (
                isinstance(node, ast.Call) and getattr(node.func, "id", "") == "translate"
            )
            if is_translate_call and not isinstance(
                node.args[0], ast.Constant | ast.Name | ast.Attribute
            ):
                computed_texts.append(f"{module.relative_to(HELPERS)}:{node.lineno}")
    assert computed_texts == []
