"""Every collected answer gets the verdict and the hint meant for it, wherever it is judged.

Once on the simulated GPU, as a notebook that practises, and once on the machine as it is: a plain
CPU, or a real GPU.
"""

import importlib
import inspect
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from helpers import simulated_cuda
from helpers.checks.lab import hint_ids

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LABS = {
    path.stem.removesuffix("_answers"): importlib.import_module(f"tests.checks.{path.stem}").answers
    for path in sorted(HERE.glob("lab_*_answers.py"))
}
ALL = [
    pytest.param(lab, answer, id=f"{lab}-{answer.exercise}-{answer.hint or 'right'}-{answer.name}")
    for lab, answers in LABS.items()
    for answer in answers.collected
]
EXERCISES = [
    pytest.param(lab, number, id=f"{lab}-{number}")
    for lab, answers in LABS.items()
    for number in answers.checks.lab.exercises
]


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=["simulated GPU", "this machine"])
def machine(request):
    practises = request.param == "simulated GPU"
    with simulated_cuda.simulated(devices=2, over_real=True) if practises else nullcontext():
        yield request.param


@pytest.mark.parametrize(("lab", "answer"), ALL)
def test_an_answer_gets_the_verdict_meant_for_it(machine, lab, answer):
    exercise = LABS[lab].checks.lab.exercises[answer.exercise]
    verdict = exercise.judge(*answer.handed_in())
    said = verdict.mistake and verdict.mistake.wrong
    assert verdict.hint == answer.hint, f"{said} (seed {verdict.seed})"
    # Every value of the hint's text is filled in.
    assert verdict.passed or "{" not in said + verdict.mistake.look


@pytest.mark.parametrize(("lab", "number"), EXERCISES)
def test_an_exercise_has_eight_wrong_answers_and_three_right_ones(lab, number):
    wrong, right = LABS[lab].count(number)
    assert wrong >= 8
    assert right >= 3


@pytest.mark.parametrize("lab", LABS)
def test_every_hint_of_a_lab_is_earned_by_an_answer(lab):
    own = hint_ids(LABS[lab].checks, general=False)
    assert own - {answer.hint for answer in LABS[lab].collected} == set()


@pytest.mark.parametrize("lab", LABS)
def test_every_section_that_a_hint_names_is_in_the_lesson(lab):
    checks = LABS[lab].checks
    lesson = (ROOT / "notebooks" / "source" / f"{checks.lab.name}.py").read_text()
    headings = re.findall(r"^# ##+ (.*?)(?: \(\d+ minutes\))?$", lesson, flags=re.MULTILINE)
    named = {v.section for v in vars(checks).values() if getattr(v, "section", "")}
    assert named
    assert named - set(headings) == set()


@pytest.mark.parametrize(("lab", "number"), EXERCISES)
def test_the_points_of_a_check_are_those_of_the_labs_text(lab, number):
    exercise = LABS[lab].checks.lab.exercises[number]
    text = (ROOT / "labs" / "source" / f"{exercise.lab.name}.py").read_text()
    assert f"# %% check={number} points={exercise.points}\n" in text
    names = list(inspect.signature(exercise.judging).parameters)[1:]
    assert f"check.exercise_{number}({', '.join(names)})\n" in text
