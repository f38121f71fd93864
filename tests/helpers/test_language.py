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
    "images per batch": "imágenes por lote",
    "{name}: final loss {loss}": "{name}: pérdida final {loss}",
    "new network": "red nueva",
    "{count:,} images": "{count:,} imágenes",
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


def test_texts_of_a_figure_are_translated_and_code_is_not():
    set_language("es")
    figure, axis = new_figure()
    axis.plot([1000, 2000], [1, 2], label=f"new network: final loss {0.5:.2f}")
    axis.set(xlabel="images per batch", xticks=[1000, 2000], xticklabels=["1,000", "2,000"])
    axis.text(1500, 1, "images per batch", family="monospace")
    axis.legend()
    show(figure, "A drawing.")
    assert axis.get_xlabel() == "imágenes por lote"
    assert axis.get_legend().get_texts()[0].get_text() == "red nueva: pérdida final 0.50"
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1\u202f000", "2\u202f000"]
    assert axis.texts[0].get_text() == "images per batch"


@pytest.mark.parametrize(
    ("code", "text", "shown"),
    [
        ("es", "1,024 12,345,678, 5% `(1,024)` 3.5 2 %", "1_024 12_345_678, 5_% `(1,024)` 3.5 2_%"),
        ("ja", "1,024 5 % <p style='width:5 %'>", "1,024 5% <p style='width:5 %'>"),
        ("en", "1,024 5 %", "1,024 5 %"),
    ],
)
def test_numbers_are_written_as_in_the_language(code, text, shown):
    assert language.localize(text, code) == shown.replace("_", "\u202f")


def test_lists_have_the_marks_of_the_language(monkeypatch):
    monkeypatch.setattr(language, "_current", "ja")
    assert language.list_marks("a: f(1, 2), b; c: 3") == "a\uff1af(1, 2)\u3001b\uff1bc\uff1a3"
