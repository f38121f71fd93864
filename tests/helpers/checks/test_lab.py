"""A check gives more help with every attempt, counts attempts, and draws new inputs."""

import json
import os
import random
import re
import traceback
from pathlib import Path

import pytest
import torch
from helpers.checks.lab import Lab

import simulated_cuda
from helpers.checks import check_box, lab_00
from helpers.checks.check_box import CHECK_TYPE, CheckFailed
from helpers.checks.hints import Hint

SMALL = Hint("too-small", "`double` gives {found}.", "Look at the factor.", "A section")
OTHER = Hint("not-a-number", "`double` does not return a number.", "Look at the type.")
HINTS = {"exercise_1": {hint.id: hint for hint in (SMALL, OTHER)}}


@pytest.fixture
def lab():
    lab = Lab("01_first", HINTS, seconds=5)
    inputs = []

    @lab.exercise(1, points=2, success_message="The factor is 2.")
    def exercise_1(trial, double):
        """Check a function that doubles a number."""
        x = trial.random.randint(2, 10**9)
        inputs.append((x, trial.normal(3).tolist()))
        result = trial.call(double, x)
        trial.expect(isinstance(result, int), "not-a-number")
        trial.expect(result == 2 * x, "too-small", found="less")

    @lab.exercise(2, points=3, success_message="Fine.")
    def exercise_2(trial, one, two):
        """Accept any answers."""

    lab.inputs = inputs
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


def interrupted():
    raise KeyboardInterrupt


def twice(x):
    return 2 * x


def run_wrong_answer(exercise, *answers):
    with pytest.raises(CheckFailed):
        exercise(*answers)


def test_traceback_of_an_interrupted_check_has_no_functions_of_the_check():
    with pytest.raises(KeyboardInterrupt) as caught:
        lab_00.exercise_1(interrupted)
    names = [entry.name for entry in traceback.extract_tb(caught.tb)]
    assert names[1:] == ["__call__", "interrupted"]


def test_repeated_mistake_gets_more_help(lab, outputs):
    for _ in range(4):
        run_wrong_answer(lab.exercises[1], identity)
    texts = [bundle["text/plain"] for bundle in outputs]
    assert texts[0] == ("Exercise 1: not yet. `double` gives less.\n○○ 0 of 2 exercises done")
    assert "Where to look: Look at the factor." in texts[1]
    assert "Read again" not in texts[1]
    assert "Read again: lesson 01, “A section”." in texts[2]
    assert texts[3] == texts[2]


def test_another_mistake_starts_with_its_first_hint(lab, outputs):
    for _ in range(3):
        run_wrong_answer(lab.exercises[1], identity)
    run_wrong_answer(lab.exercises[1], str)
    assert "Where to look" not in outputs[-1]["text/plain"]


def test_box_has_complete_data(lab, outputs):
    run_wrong_answer(lab.exercises[1], identity)
    lab.exercises[1](twice)
    assert outputs[0][CHECK_TYPE] == {
        "lab": "01_first", "exercise": 1, "passed": False, "points": 0, "of": 2,
        "hint": "too-small", "tries": 1,
    }  # fmt: skip
    assert outputs[1][CHECK_TYPE] == {
        "lab": "01_first", "exercise": 1, "passed": True, "points": 2, "of": 2,
        "hint": None, "tries": 2,
    }  # fmt: skip
    assert json.loads(json.dumps(outputs[0])) == outputs[0]


def test_second_run_of_a_right_answer_shows_the_same_box(lab, outputs):
    for _ in range(2):
        lab.exercises[1](twice)
    assert outputs[0] == outputs[1]


def test_exercise_is_no_longer_done_when_its_answer_becomes_wrong(lab, outputs):
    lab.exercises[1](twice)
    assert "●○ 1 of 2" in outputs[-1]["text/plain"]
    run_wrong_answer(lab.exercises[1], identity)
    assert "○○ 0 of 2" in outputs[-1]["text/plain"]


def test_every_attempt_draws_new_inputs(lab):
    verdicts = [lab.exercises[1].judge(twice) for _ in range(3)]
    assert all(verdict.passed for verdict in verdicts)
    assert len({str(inputs) for inputs in lab.inputs}) == 3


def test_seed_of_a_verdict_reproduces_its_inputs(lab):
    verdict = lab.exercises[1].judge(identity)
    lab.exercises[1].judge(identity, seed=verdict.seed)
    assert lab.inputs[0] == lab.inputs[1]


def test_missing_answer_raises_an_error_with_the_right_call(lab):
    with pytest.raises(TypeError, match=r"check.exercise_2\(one, two\)"):
        lab.exercises[2](identity)


def test_students_error_message_is_escaped_in_html(lab, outputs):
    def raise_html(x):
        raise ValueError("<script>alert(1)</script>")

    run_wrong_answer(lab.exercises[1], raise_html)
    assert "<script>" not in outputs[0]["text/html"]
    assert "&lt;script&gt;" in outputs[0]["text/html"]


def test_simulated_gpu_is_removed_after_the_check(lab):
    if torch.cuda.is_available():
        pytest.skip("there is a real GPU, and nothing is simulated")
    counts = []

    def count_gpus(x):
        counts.append(torch.cuda.device_count())
        return 2 * x

    assert lab.exercises[1].judge(count_gpus).passed
    assert counts == [2]
    assert not simulated_cuda.is_enabled()


def test_simulated_machine_keeps_its_tensors_and_number_of_gpus(lab):
    with simulated_cuda.simulated(devices=1, over_real=True):
        tensor = torch.ones(2, device="cuda")
        assert lab.exercises[1].judge(twice).passed
        assert tensor.device == torch.device("cuda:0")
        assert torch.cuda.device_count() == 1
        assert (tensor + torch.ones(2, device="cuda")).tolist() == [2, 2]


def test_settings_are_restored_after_each_call(lab, tmp_path):
    before = torch.get_default_dtype(), Path.cwd(), random.getstate(), torch.is_grad_enabled()

    def change_settings(x):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        os.chdir(tmp_path)
        random.seed(1)
        return 2 * x

    assert lab.exercises[1].judge(change_settings).passed
    after = torch.get_default_dtype(), Path.cwd(), random.getstate(), torch.is_grad_enabled()
    assert after == before


def relative_luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_box_sets_all_colors_with_enough_contrast(lab, outputs):
    run_wrong_answer(lab.exercises[1], identity)
    lab.exercises[1](twice)
    for bundle in outputs:
        html = bundle["text/html"]
        background = re.search(r"background:(#\w{6})", html)[1]
        background_luminance = relative_luminance(background) + 0.05
        colors = re.findall(r"[;\"]color:(#\w{6})", html)
        assert colors
        for color in colors:
            assert background_luminance / (relative_luminance(color) + 0.05) >= 4.5, color
        # JupyterLab removes inherited colors from stored outputs.
        assert "inherit" not in html
        for code in re.findall(r"<code style=\"(.*?)\">", html):
            assert "background-color:#" in code
            assert code.startswith("color:#")
