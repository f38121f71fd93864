"""The helpers use the student's language, and English where a translation is missing."""

import json

import pytest

from helpers import language, lesson
from helpers.language import section_title, set_language, translate
from helpers.plots.style import new_figure, show

TRANSLATIONS = {
    "This notebook runs on {device}.": "Este cuaderno calcula en {device}.",
    "01: Moving a tensor": "Mover un tensor",
    "A drawing.": "Un dibujo.",
}


@pytest.fixture(autouse=True)
def spanish(tmp_path, monkeypatch):
    """A translation with a few sentences."""
    (tmp_path / "es.json").write_text(json.dumps(TRANSLATIONS), encoding="utf-8")
    monkeypatch.setattr(language, "_FOLDER", tmp_path)
    yield
    monkeypatch.undo()
    set_language("en")


@pytest.mark.parametrize(
    ("variable", "argument", "title"),
    [
        ("es", None, "Este cuaderno calcula en cpu"),
        ("en", "es", "Este cuaderno calcula en cpu"),
        ("es", "en", "This notebook runs on cpu"),
    ],
)
def test_language_is_the_argument_or_that_of_the_environment(
    monkeypatch, capsys, variable, argument, title
):
    monkeypatch.setenv("COURSE_LANGUAGE", variable)
    lesson.start("cpu", language=argument)
    assert title in capsys.readouterr().out


def test_text_without_a_translation_stays_english():
    set_language("es")
    assert translate("{count} GPUs", count=2) == "2 GPUs"
    assert section_title("01", "Moving a tensor") == "Mover un tensor"
    assert section_title("02", "Moving a tensor") == "Moving a tensor"


def test_unknown_language_raises_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"no translation into 'fr'. Choose one of: en, es"):
        lesson.start("cpu", language="fr")


def test_caption_of_a_figure_is_translated(capsys):
    set_language("es")
    figure, _ = new_figure()
    show(figure, "A drawing.")
    assert "Un dibujo." in capsys.readouterr().out
