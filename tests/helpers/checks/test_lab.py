"""A check says more with every try, counts what it should, and judges on fresh inputs."""

import json
import os
import random
from pathlib import Path

import pytest
import torch

import simulated_cuda
from helpers.checks import showing
from helpers.checks.hints import Hint
from helpers.checks.lab import Lab
from helpers.checks.showing import CHECK_TYPE, NotYet

SMALL = Hint("too-small", "`double` gives {found}.", "Look at the factor.", "A section")
OTHER = Hint("no-number", "`double` gives no number.", "Look at the type.")
HINTS = {"exercise_1": {hint.id: hint for hint in (SMALL, OTHER)}}


@pytest.fixture
def lab():
    lab = Lab("01_first", HINTS, seconds=5)
    inputs = []

    @lab.exercise(1, points=2, right="Twice it is.")
    def exercise_1(trial, double):
        """Takes a function that doubles."""
        x = trial.random.randint(2, 10**9)
        inputs.append((x, trial.normal(3).tolist()))
        found = trial.call(double, x)
        trial.expect(isinstance(found, int), "no-number")
        trial.expect(found == 2 * x, "too-small", found="less")

    @lab.exercise(2, points=3, right="Fine.")
    def exercise_2(trial, one, two):
        """Takes anything."""

    lab.inputs = inputs
    return lab


@pytest.fixture
def shown(monkeypatch):
    """What a notebook would be given to display."""
    bundles = []
    monkeypatch.setattr(showing, "get_ipython", lambda: object())
    monkeypatch.setattr(showing, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


def same(x):
    return x


def twice(x):
    return 2 * x


def try_it(exercise, *answers):
    with pytest.raises(NotYet):
        exercise(*answers)


def test_the_hint_grows_with_the_tries_at_the_same_mistake(lab, shown):
    for _ in range(4):
        try_it(lab.exercises[1], same)
    texts = [bundle["text/plain"] for bundle in shown]
    assert texts[0] == ("Exercise 1: not yet. `double` gives less.\n□□ 0 of 2 exercises done")
    assert "Where to look: Look at the factor." in texts[1]
    assert "Read again" not in texts[1]
    assert "Read again: lesson 01, “A section”." in texts[2]
    assert texts[3] == texts[2]


def test_another_mistake_begins_with_its_first_hint(lab, shown):
    for _ in range(3):
        try_it(lab.exercises[1], same)
    try_it(lab.exercises[1], str)
    assert "Where to look" not in shown[-1]["text/plain"]


def test_the_data_beside_the_box_say_what_a_program_needs(lab, shown):
    try_it(lab.exercises[1], same)
    lab.exercises[1](twice)
    assert shown[0][CHECK_TYPE] == {
        "lab": "01_first", "exercise": 1, "passed": False, "points": 0, "of": 2,
        "hint": "too-small", "tries": 1,
    }  # fmt: skip
    assert shown[1][CHECK_TYPE] == {
        "lab": "01_first", "exercise": 1, "passed": True, "points": 2, "of": 2,
        "hint": None, "tries": 2,
    }  # fmt: skip
    assert json.loads(json.dumps(shown[0])) == shown[0]


def test_a_second_run_of_a_right_answer_shows_the_same(lab, shown):
    for _ in range(2):
        lab.exercises[1](twice)
    assert shown[0] == shown[1]


def test_a_right_answer_made_wrong_is_no_longer_done(lab, shown):
    lab.exercises[1](twice)
    assert "■□ 1 of 2" in shown[-1]["text/plain"]
    try_it(lab.exercises[1], same)
    assert "□□ 0 of 2" in shown[-1]["text/plain"]


def test_the_inputs_are_other_ones_with_every_try(lab):
    verdicts = [lab.exercises[1].judge(twice) for _ in range(3)]
    assert all(verdict.passed for verdict in verdicts)
    assert len({str(each) for each in lab.inputs}) == 3


def test_the_seed_of_a_verdict_gives_its_inputs_again(lab):
    verdict = lab.exercises[1].judge(same)
    lab.exercises[1].judge(same, seed=verdict.seed)
    assert lab.inputs[0] == lab.inputs[1]


def test_a_check_called_with_too_few_answers_says_how_it_is_called(lab):
    with pytest.raises(TypeError, match=r"check.exercise_2\(one, two\)"):
        lab.exercises[2](same)


def test_what_a_student_wrote_is_shown_as_text_and_not_as_html(lab, shown):
    def evil(x):
        raise ValueError("<script>alert(1)</script>")

    try_it(lab.exercises[1], evil)
    assert "<script>" not in shown[0]["text/html"]
    assert "&lt;script&gt;" in shown[0]["text/html"]


def test_on_a_plain_cpu_the_simulated_gpu_is_gone_after_the_check(lab):
    if torch.cuda.is_available():
        pytest.skip("there is a real GPU, and nothing is simulated")
    seen = []

    def look(x):
        seen.append(torch.cuda.device_count())
        return 2 * x

    assert lab.exercises[1].judge(look).passed
    assert seen == [2]
    assert not simulated_cuda.is_enabled()


def test_a_machine_that_was_simulated_keeps_its_tensors_and_its_number_of_gpus(lab):
    with simulated_cuda.simulated(devices=1, over_real=True):
        mine = torch.ones(2, device="cuda")
        assert lab.exercises[1].judge(twice).passed
        assert mine.device == torch.device("cuda:0")
        assert torch.cuda.device_count() == 1
        assert (mine + torch.ones(2, device="cuda")).tolist() == [2, 2]


def test_settings_are_put_back_after_each_call(lab, tmp_path):
    before = torch.get_default_dtype(), Path.cwd(), random.getstate(), torch.is_grad_enabled()

    def meddle(x):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        os.chdir(tmp_path)
        random.seed(1)
        return 2 * x

    assert lab.exercises[1].judge(meddle).passed
    after = torch.get_default_dtype(), Path.cwd(), random.getstate(), torch.is_grad_enabled()
    assert after == before
