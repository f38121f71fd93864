"""PO files follow the English texts, and unreviewed translations are not used."""

import polib
import pytest

from course import cli
from course.course_folder import CourseError
from course.translation.catalogs import accept, problems, read_catalog, update
from course.translation.documents import read_document

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
NAME = "notebooks/01_first"


@pytest.fixture
def course(small_course):
    small_course.write("01_first", CELLS)
    return small_course


def update_catalog(course):
    update(course.folder, read_document(course.folder, NAME), "es")
    return read_catalog(course.folder, NAME, "es")


def translate_catalog(course, **changes):
    """Return a catalog in which every text has a translation."""
    catalog = update_catalog(course)
    accept(catalog, {text: (changes.get(text, f"¡{text}!"), "") for text in catalog.entries})
    return read_catalog(course.folder, NAME, "es")


def test_texts_are_in_the_order_of_the_notebook(course):
    assert list(update_catalog(course).entries) == [
        "A lesson",
        "You see what happens.",
        "see it",
        "A first section",
        "The sentence that changes in the next version.",
        "The sentence that stays, with `code`.",
    ]


def test_second_update_changes_nothing(course):
    file = translate_catalog(course).file
    before = file.read_text(encoding="utf-8")
    update_catalog(course)
    assert file.read_text(encoding="utf-8") == before


def test_changed_text_is_fuzzy_and_not_used(course):
    translate_catalog(course)
    course.write("01_first", CELLS.replace("in the next version", "in a later version"))
    catalog = update_catalog(course)
    new = "The sentence that changes in a later version."
    assert catalog.missing == [new]
    entry = catalog.entries[new]
    assert entry.msgstr == "¡The sentence that changes in the next version.!"
    assert entry.previous_msgid == "The sentence that changes in the next version."


def test_fuzzy_translation_stays_fuzzy_until_it_is_accepted(course):
    translate_catalog(course)
    course.write("01_first", CELLS.replace("in the next version", "in a later version"))
    update_catalog(course)
    catalog = update_catalog(course)
    [text] = catalog.missing
    accept(catalog, {text: ("¡Nuevo!", "")})
    assert read_catalog(course.folder, NAME, "es").is_complete


def test_removed_text_is_kept_as_obsolete_and_used_again(course):
    translate_catalog(course)
    course.write("01_first", CELLS.replace("# ## A first section\n#\n", ""))
    assert "A first section" not in update_catalog(course).entries
    course.write("01_first", CELLS)
    assert update_catalog(course).translation_of("A first section") == "¡A first section!"


def test_reports_file_line_and_finding(course):
    catalog = translate_catalog(course)
    accept(catalog, {"The sentence that stays, with `code`.": ("La frase.", "")})
    catalog = read_catalog(course.folder, NAME, "es")
    [problem] = problems(course.folder, catalog)
    location, finding = problem.split(": ", 1)
    assert finding.startswith("code: code is missing.")
    file, line = location.split(":")
    lines = (course.root / file).read_text(encoding="utf-8").splitlines()
    assert lines[int(line) - 1 :][0].startswith(("#.", "msgid"))


def test_reports_texts_missing_from_the_file(course):
    translate_catalog(course)
    course.write("01_first", CELLS + "\n# %% [markdown]\n# One more sentence.\n")
    findings = problems(course.folder, read_catalog(course.folder, NAME, "es"))
    assert [p.split(": ", 1)[1] for p in findings] == [
        "English texts that are not in the file: 1. To fix it: course translate update"
    ]


@pytest.mark.parametrize("text", ['msgid "a"\nmsgstr "b"\n\n' * 2, "<<<<<<< HEAD\n"])
def test_damaged_file_is_refused_with_its_name(course, text):
    update_catalog(course).file.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=r"01_first\.po is not a valid PO file"):
        read_catalog(course.folder, NAME, "es")


def test_file_can_be_read_by_gettext_tools(course):
    stored = polib.pofile(str(translate_catalog(course).file))
    assert stored.percent_translated() == 100
    assert stored.metadata["Language"] == "es"


def run(course, *args):
    return cli.main(["--root", str(course.root), "translate", *map(str, args)])


def test_working_file_is_exported_and_imported(course, capsys):
    assert run(course, "update", "es") == 0
    assert run(course, "export", "es/notebooks/01") == 0
    file = course.root / "build" / "translate" / "es" / f"{NAME}.txt"
    blocks = file.read_text(encoding="utf-8").replace("\n= \n", "\n= Traducido con `code`\n")
    file.write_text(blocks, encoding="utf-8")
    assert run(course, "import", file) == 1
    captured = capsys.readouterr()
    assert "6 stored; 1 of 6 done" in captured.out
    assert captured.err.count("code: code is not in the English text") == 5


def test_imported_translation_of_a_changed_text_is_fuzzy(course, capsys):
    run(course, "update", "es")
    run(course, "export", "es")
    file = course.root / "build" / "translate" / "es" / f"{NAME}.txt"
    blocks = file.read_text(encoding="utf-8").replace("\n= \n", "\n= Con `code`\n")
    file.write_text(blocks, encoding="utf-8")
    course.write("01_first", CELLS.replace("in the next version", "in a later version"))
    run(course, "update", "es")
    run(course, "import", file)
    assert "English texts that have changed: 1" in capsys.readouterr().out
    catalog = read_catalog(course.folder, NAME, "es")
    [text] = [text for text in catalog.missing if "later version" in text]
    assert catalog.entries[text].msgstr == "Con `code`"
    assert catalog.entries[text].previous_msgid.endswith("in the next version.")


def test_working_file_keeps_the_comment_that_allows_a_finding(course):
    run(course, "update", "es")
    run(course, "export", "es")
    file = course.root / "build" / "translate" / "es" / f"{NAME}.txt"
    first = file.read_text(encoding="utf-8").split("\n\n")[0]
    file.write_text(first + "En 7 pasos\n# allow numbers: a reason\n", encoding="utf-8")
    assert run(course, "import", file) == 0
    assert read_catalog(course.folder, NAME, "es").translation_of("A lesson") == "En 7 pasos"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@ 00000000 title\n= x\n", "there is no text 00000000"),
        ("no blocks", "has no blocks"),
        ("@ ID\nwithout a mark\n", "has no mark"),
    ],
)
def test_working_file_with_a_mistake_is_refused(course, capsys, text, message):
    run(course, "update", "es")
    run(course, "export", "es")
    file = course.root / "build" / "translate" / "es" / f"{NAME}.txt"
    text_id = file.read_text(encoding="utf-8").split()[1]
    file.write_text(text.replace("ID", text_id), encoding="utf-8")
    assert run(course, "import", file) == 1
    assert message in capsys.readouterr().err


def test_translation_with_a_finding_is_not_used(course):
    text = "The sentence that stays, with `code`."
    catalog = translate_catalog(course, **{text: "La frase sin código."})
    assert catalog.translation_of(text) is None
    assert catalog.missing == [text]


def test_line_without_a_closing_quotation_mark_is_refused(course):
    file = translate_catalog(course).file
    file.write_text(file.read_text(encoding="utf-8").replace('lesson!"', "lesson!"))
    with pytest.raises(CourseError, match="has no closing quotation mark"):
        read_catalog(course.folder, NAME, "es")


@pytest.mark.parametrize("code", ["FR", "fr_FR", "pt-BR", "french"])
def test_code_that_is_not_two_lowercase_letters_is_refused(course, capsys, code):
    assert run(course, "update", code) == 1
    assert "is not a language code of two lowercase letters" in capsys.readouterr().err
    assert not (course.root / "locale").exists()


def test_status_omits_complete_catalogs(course, capsys):
    translate_catalog(course)
    run(course, "status")
    assert "es/notebooks" not in capsys.readouterr().out


def test_unknown_language_lists_the_known_ones(course, capsys):
    run(course, "update", "es")
    assert run(course, "check", "fr") == 1
    assert "Pass a language (es)" in capsys.readouterr().err
