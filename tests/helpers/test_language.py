"""The helpers use the student's language, and English where a translation is missing."""

import json

import pytest
import torch

import simulated_cuda
from helpers import explain, language, lesson
from helpers.checks import lab_01
from helpers.checks.check_box import CheckBox, CheckFailed
from helpers.language import section_title, set_language, translate
from helpers.plots.style import new_figure, show

NOT_A_LIST = lab_01.lab.hints["exercise_1"]["not-a-list"]
TRANSLATIONS = {
    "This notebook runs on {device}.": "Este cuaderno calcula en {device}.",
    NOT_A_LIST.wrong: "`move_all` devuelve {what}.",
    NOT_A_LIST.look: "Devuelve una lista.",
    "Where to look: {look}": "Dónde mirar: {look}",
    "Read again: lesson {lesson}, “{section}”.": "Vuelve a leer: lección {lesson}, «{section}».",
    "01: Moving a tensor": "Mover un tensor",
    "Exercise {number}: not yet.": "Ejercicio {number}: aún no.",
    "is on {device}": "está en {device}",
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


def test_check_gives_the_same_hint_in_every_language(capsys):
    verdicts = []
    for code in ("en", "es"):
        set_language(code)
        verdicts.append(lab_01.exercise_1.judge(lambda tensors, device: 5).hint)
    assert verdicts == ["not-a-list"] * 2
    for _ in range(3):
        with pytest.raises(CheckFailed, match="devuelve an int"):
            lab_01.exercise_1(lambda tensors, device: 5)
    shown = capsys.readouterr().out
    assert "Ejercicio 1: aún no." in shown
    assert "Dónde mirar: Devuelve una lista." in shown
    assert "«Mover un tensor»" in shown


def test_explanation_is_translated():
    set_language("es")
    with simulated_cuda.simulated(over_real=True):
        x, y = torch.ones(2, device="cuda"), torch.ones(2)
        with pytest.raises(RuntimeError) as caught:
            x + y
        assert "`y` está en cpu" in repr(explain.explanation_of(caught.value))


def test_caption_of_a_figure_is_translated(capsys):
    set_language("es")
    figure, _ = new_figure()
    show(figure, "A drawing.")
    assert "Un dibujo." in capsys.readouterr().out


def test_box_of_a_right_answer_is_english_without_a_translation(capsys):
    set_language("es")
    data = {"exercise": 2, "passed": True}
    CheckBox(data, [translate("Right.")], done=1, count=2).show()
    assert "Exercise 2: right. Right." in capsys.readouterr().out
