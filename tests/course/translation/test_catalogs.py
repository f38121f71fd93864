"""PO files follow the English texts, and unreviewed translations are not used."""

import ast
import re
from pathlib import Path

import polib
import pytest

from course import cli
from course.course_folder import CourseError
from course.translation.catalogs import problems, read_catalog, update
from course.translation.documents import check_messages, code_messages, read_document
from tests.course.translation.pseudo import translate

CELLS = """\
# %% [markdown]
# ## A first section
#
# The sentence that changes in the next version.
#
# The sentence that stays, with `code`.

# %%
print("not translated")
"""
CHANGED = CELLS.replace("in the next version", "in a later version")
NAME = "notebooks/01_first"
EXERCISE = '''\
success = "Well done."
hints = """
not-moved: `{name}` returns a tensor on
    the CPU.
    -> Look at `.to`.
    see: Devices
"""
lab = Lab("01_first", hints="""
    too-slow: It is slow.
        -> Count the copies.
    """)
translate("A box.")
show(figure, ("One line", computed))
'''


@pytest.fixture
def course(small_course):
    small_course.write("01_first", CELLS)
    return small_course


def update_catalog(course):
    update(course.folder, read_document(course.folder, NAME), "es")
    return read_catalog(course.folder, NAME, "es")


def translate_catalog(course, **changes):
    """Return a catalog in which every text has a translation."""
    translate(update_catalog(course).file, lambda text: changes.get(text, f"¡{text}!"))
    return read_catalog(course.folder, NAME, "es")


def run(course, *args):
    return cli.main(["--root", str(course.root), "translate", *map(str, args)])


def test_finds_the_texts_that_code_shows():
    texts = {message.text for message in check_messages(EXERCISE, "exercise_1.py")}
    hints = {"`{name}` returns a tensor on the CPU.", "Look at `.to`."}
    assert texts == hints | {"It is slow.", "Count the copies.", "Well done.", "A box.", "One line"}
    [caption] = code_messages('%time 1\nfigures.show(x, alt="A line.")', "cell 1", in_cell=True)
    assert (caption.text, caption.at_runtime) == ("A line.", True)


def test_second_update_changes_nothing(course):
    file = translate_catalog(course).file
    assert not update(course.folder, read_document(course.folder, NAME), "es")
    assert polib.pofile(str(file)).metadata["Language"] == "es"


def test_translation_of_a_changed_text_is_fuzzy_until_it_is_reviewed(course):
    translate_catalog(course)
    course.write("01_first", CHANGED)
    [problem] = problems(course.folder, read_catalog(course.folder, NAME, "es"))
    assert problem.endswith("have changed: 2. To fix it: course translate update")
    update_catalog(course)
    catalog = update_catalog(course)
    new = "The sentence that changes in a later version."
    assert catalog.missing == [new]
    entry = catalog.entries[new]
    assert entry.msgstr == "¡The sentence that changes in the next version.!"
    assert entry.previous_msgid == "The sentence that changes in the next version."
    assert translate_catalog(course).missing == []
    assert update_catalog(course).entries[new].previous_msgid is None


def test_removed_text_is_kept_as_obsolete_and_used_again(course):
    translate_catalog(course)
    course.write("01_first", CELLS.replace("# ## A first section\n#\n", ""))
    assert "A first section" not in update_catalog(course).entries
    course.write("01_first", CELLS)
    assert update_catalog(course).translation_of("A first section") == "¡A first section!"


def test_translation_with_a_finding_is_reported_and_not_used(course):
    text = "The sentence that stays, with `code`."
    catalog = translate_catalog(course, **{text: "La frase."})
    assert catalog.missing == [text]
    [problem] = problems(course.folder, catalog)
    assert re.match(r"locale/es/notebooks/01_first.po:\d+: code: code is missing", problem)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('msgid "a"\nmsgstr "b"\n\n' * 2, "already exists"),
        ('msgid "a"\nmsgstr "b\n', "line 2 has no closing quotation mark"),
    ],
)
def test_damaged_file_is_refused_with_its_name(course, text, reason):
    update_catalog(course).file.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=rf"(?i)01_first\.po is not a valid PO file: .*{reason}"):
        read_catalog(course.folder, NAME, "es")


def test_commands_count_what_is_left_and_refuse_unknown_languages(course, capsys):
    run(course, "update", "es")
    assert run(course, "check", f"locale/es/{NAME}.po") == 0
    assert "01_first: 6 texts to translate, 0 of them fuzzy\n0 of 6" in capsys.readouterr().out
    translate_catalog(course, **{"A lesson": "En `7` pasos"})
    assert run(course, "check", "es/notebooks") == 1
    assert "code: 7 is not in the English text" in capsys.readouterr().err
    assert run(course, "check", "fr") == 1
    assert "Pass a language (es)" in capsys.readouterr().err
    assert run(course, "update", "pt-BR") == 1
    assert "is not a language code of two lowercase letters" in capsys.readouterr().err


_TEXTS = ast.Constant | ast.JoinedStr | ast.Name | ast.Attribute
_ALIGNED = re.compile(r"\{[^{}]+:[<>^]?[1-9]\d*[,.sd}]")


def test_translate_is_not_called_with_computed_texts():
    """A computed text would never be translated; columns of text need `helpers.tables.Table`."""
    helpers, computed_texts = Path(__file__).parents[3] / "helpers", []
    for module in sorted(helpers.rglob("*.py")):
        code = module.read_text(encoding="utf-8")
        computed_texts += [f"{module.name}: {found[0]}" for found in _ALIGNED.finditer(code)]
        for call in ast.walk(ast.parse(code)):
            is_call = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "translate"
            if is_call and not isinstance(call.args[0], _TEXTS):
                computed_texts.append(f"{module.relative_to(helpers)}:{call.lineno}")
    assert computed_texts == []
