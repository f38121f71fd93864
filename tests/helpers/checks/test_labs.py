"""Every exercise fits its lab and its lesson, and every hint of it has a wrong answer."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = sorted(Path(__file__).parent.glob("lab_*/test_exercise_*.py"))
EXERCISES = {}
for package in sorted(path.name for path in (ROOT / "helpers" / "checks").glob("lab_*")):
    module = importlib.import_module(f"helpers.checks.{package}")
    EXERCISES |= {f"{package}/exercise_{n}": e for n, e in module.lab.exercises.items()}


@pytest.fixture(params=EXERCISES)
def exercise(request):
    return EXERCISES[request.param]


def test_points_and_arguments_match_the_lab(exercise):
    text = (ROOT / "labs" / "source" / f"{exercise.lab.name}.py").read_text()
    assert f"# %% check={exercise.number} points={exercise.points}\n" in text
    assert f"check.{exercise}({', '.join(exercise.names)})\n" in text


def test_sections_named_in_hints_exist_in_the_lesson(exercise):
    lesson = (ROOT / "notebooks" / "source" / f"{exercise.lab.name}.py").read_text()
    headings = re.findall(r"^# ##+ (.*?)(?: \(\d+ minutes\))?$", lesson, flags=re.MULTILINE)
    assert {hint.section for hint in exercise.hints.values()} <= {"", *headings}


def test_every_row_has_a_hint_and_every_hint_a_row(exercise):
    assert exercise.row_ids() == set(exercise.hints)


def test_outcomes_are_compared_only_with_a_table_of_mistakes(exercise):
    names = set(vars(exercise._module))
    assert "mistakes" in names or not names & {"outcome", "wrong_outcomes", "tolerance"}


@pytest.mark.parametrize("path", TESTS, ids=lambda path: f"{path.parent.name}/{path.stem[5:]}")
def test_every_hint_has_a_wrong_answer_and_two_answers_are_right(path):
    name = f"tests.helpers.checks.{path.parent.name}.{path.stem}"
    answers = importlib.import_module(name).answers
    hints = [hint for _, hint in answers.collected]
    assert set(answers.exercise.hints) <= set(hints)
    assert hints.count(None) >= 2


def test_every_exercise_has_a_test():
    names = (f"{path.parent.name}/{path.stem.removeprefix('test_')}" for path in TESTS)
    assert {re.match(r"lab_\d+/exercise_\d+", name)[0] for name in names} == set(EXERCISES)
