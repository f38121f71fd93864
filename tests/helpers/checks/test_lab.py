"""A check gives more help with every attempt, counts attempts, and draws new inputs."""

import json
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

import simulated_cuda
from helpers.checks import check_box
from helpers.checks.check_box import CHECK_TYPE, CheckFailed
from helpers.checks.exercise import Exercise, Lab
from tests.course.reports.test_pages import contrast

HINTS = """
too-small: `double` gives {found}.
    -> Look at the factor.
not-a-number: `double` does not return a number.
    -> Look at the type.
"""


@pytest.fixture
def lab():
    lab = Lab("helpers.checks", "01_first")
    for number, answers in [(1, "double(x)"), (2, "one(x), two(x)")]:
        module = ModuleType(f"exercise_{number}_double")
        module.answers, module.points, module.success = answers, 2, "The factor is 2."
        module.section, module.seconds, module.hints = "A section", 5, HINTS
        module.cases = lambda draw: [{"x": draw.randint(2, 10**9)}]
        module.right = lambda case: 2 * case.x
        module.returns = "not-a-number", lambda value, case: type(value) is int
        module.mistakes = {"too-small": True}
        lab.exercises[number] = Exercise(lab, module)
    return lab


@pytest.fixture
def outputs(monkeypatch):
    """The outputs that a notebook would display."""
    bundles = []
    monkeypatch.setattr(check_box, "get_ipython", lambda: object())
    monkeypatch.setattr(check_box, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


def identity(x):
    return x


def twice(x):
    return 2 * x


def run_wrong_answer(exercise, answer):
    with pytest.raises(CheckFailed):
        exercise(answer)


def test_repeated_mistake_gets_more_help_and_another_one_starts_with_its_first_hint(lab, outputs):
    for answer in (identity, identity, identity, identity, str):
        run_wrong_answer(lab.exercises[1], answer)
    texts = [bundle["text/plain"] for bundle in outputs]
    assert re.sub(r"\d{3,}", "N", texts[0]) == (
        "Exercise 1: not yet. `double` gives N.\n○○ 0 of 2 exercises done"
    )
    assert "Where to look: Look at the factor." in texts[1]
    assert "Read again" not in texts[1]
    assert "Read again: lesson 01, “A section”." in texts[2]
    assert "Read again: lesson 01, “A section”." in texts[3]
    lesson = Path(__file__).parents[3] / "notebooks" / "01_tensors_and_devices.ipynb"
    (link,) = re.findall(r'<a href="(.*?)".*>Read again', outputs[2]["text/html"])
    assert Path(link).resolve() == lesson
    assert "Where to look" not in texts[4]


def test_box_has_complete_data_and_counts_the_tries_up_to_the_first_right_answer(lab, outputs):
    run_wrong_answer(lab.exercises[1], identity)
    for _ in range(2):
        lab.exercises[1](twice)
    data = {"lab": "01_first", "exercise": 1, "of": 2}
    wrong = {"passed": False, "points": 0, "hint": "too-small", "tries": 1}
    right = {"passed": True, "points": 2, "hint": None, "tries": 2}
    assert [output[CHECK_TYPE] for output in outputs] == [data | wrong, data | right, data | right]
    assert json.loads(json.dumps(outputs)) == outputs
    assert outputs[1] == outputs[2]
    assert "●○ 1 of 2" in outputs[-1]["text/plain"]
    run_wrong_answer(lab.exercises[1], identity)
    assert "○○ 0 of 2" in outputs[-1]["text/plain"]


def test_every_attempt_draws_new_inputs_and_a_seed_reproduces_them(lab):
    verdicts = [lab.exercises[1].check(identity) for _ in range(3)]
    assert len({verdict.facts.value for verdict in verdicts}) == 3
    again = lab.exercises[1].check(identity, seed=verdicts[0].seed)
    assert again.facts.value == verdicts[0].facts.value


def test_missing_answer_raises_an_error_with_the_right_call(lab):
    with pytest.raises(TypeError, match=r"check.exercise_2\(one, two\)"):
        lab.exercises[2](identity)


def test_machine_is_the_same_after_the_check(lab):
    assert lab.exercises[1].check(twice).passed
    assert not simulated_cuda.is_enabled()
    with simulated_cuda.simulated(devices=1, over_real=True):
        tensor = torch.ones(2, device="cuda")
        assert lab.exercises[1].check(lambda x: x * torch.cuda.device_count()).passed
        assert torch.cuda.device_count() == 1
        assert (tensor + torch.ones(2, device="cuda")).tolist() == [2, 2]


def test_box_escapes_texts_and_sets_all_colors_with_enough_contrast(lab, outputs):
    def raise_html(x):
        raise ValueError("<script>alert(1)</script>")

    run_wrong_answer(lab.exercises[1], raise_html)
    lab.exercises[1](twice)
    assert "&lt;script&gt;" in outputs[0]["text/html"]
    for bundle in outputs:
        html = bundle["text/html"]
        background = re.search(r"background:(#\w{6})", html)[1]
        colors = re.findall(r"[;\"]color:(#\w{6})", html)
        assert colors
        assert all(contrast(background, color) >= 4.5 for color in colors)
        # JupyterLab removes inherited colors from stored outputs.
        assert not re.search("inherit|<script", html)
        for code in re.findall(r"<code style=\"(.*?)\">", html):
            assert re.match(r"color:#.*background-color:#", code)
