"""Tests for the collected answers to a lab, run by `test_lab_NN_answers.py`.

One file per lab lets pytest's workers share the labs.
"""

import inspect
import re
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import pytest
import torch

import simulated_cuda
from helpers.language import ENGLISH, languages, set_language
from tests.helpers.checks.collection import Answers

ROOT = Path(__file__).parents[3]
MACHINES = SIMULATED, THIS_MACHINE = ("simulated GPU", "this machine")


class AnswerTests:
    """Every answer in `answers` gets the right verdict and hint on every machine.

    The machines are the simulated GPU, as in a notebook with `practice=True`, and this machine. If
    this machine has no GPU, wrong answers are checked only where students without a GPU check them:
    on the simulated GPU if the lab has `practice=True`, and otherwise on this machine.
    """

    answers: ClassVar[Answers]

    @property
    def hints(self):
        return self.answers.checks.lab.hints

    def pytest_generate_tests(self, metafunc):
        if "answer" in metafunc.fixturenames:
            source = ROOT / "labs" / "source" / f"{self.answers.checks.lab.name}.py"
            usual = SIMULATED if "practice=True" in source.read_text() else THIS_MACHINE
            cases = [
                pytest.param(machine, a, id=f"{a.exercise}-{a.hint or 'right'}-{a.name}-{machine}")
                for machine in MACHINES
                for a in self.answers.collected
                if machine == usual or a.hint is None or torch.cuda.is_available()
            ]
            metafunc.parametrize(("machine", "answer"), cases, indirect=["machine"], scope="class")
        if "number" in metafunc.fixturenames:
            metafunc.parametrize("number", self.answers.checks.lab.exercises)

    @pytest.fixture(scope="class")
    @classmethod
    def machine(cls, request):
        simulated = request.param == SIMULATED
        with simulated_cuda.simulated(devices=2, over_real=True) if simulated else nullcontext():
            yield request.param

    @pytest.fixture(autouse=True)
    def one_thread(self):
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)

    @pytest.fixture(autouse=True)
    def language(self, request):
        """Choose a language by the test's name: the hint must not depend on the language."""
        if "answer" in request.fixturenames:
            codes = languages()
            number = zlib.crc32(request.node.name.encode())
            set_language(codes[number % len(codes)])
        yield
        set_language(ENGLISH)

    def test_answer_gets_expected_hint(self, machine, answer):
        exercise = self.answers.checks.lab.exercises[answer.exercise]
        # The same inputs in every test run; `tools.sweep_seeds` tries others.
        seed = zlib.crc32(answer.name.encode())
        verdict = exercise.judge(*answer.arguments(), seed=seed)
        text = verdict.mistake and verdict.mistake.wrong
        assert verdict.hint == answer.hint, f"{text} (seed {verdict.seed})"
        # Every placeholder in the hint is filled in.
        assert verdict.passed or "{" not in text + verdict.mistake.look

    def test_exercise_has_at_least_eight_wrong_and_three_right_answers(self, number):
        wrong, right = self.answers.count(number)
        assert wrong >= 8
        assert right >= 3

    def test_every_hint_is_given_for_some_answer(self):
        lab_hints = {(exercise, id) for exercise, hints in self.hints.items() for id in hints}
        shared = {id for _, id in lab_hints if all(id in hints for hints in self.hints.values())}
        answer_hints = {(f"exercise_{a.exercise}", a.hint) for a in self.answers.collected}
        ids = {id for _, id in answer_hints}
        assert lab_hints
        assert {hint for hint in lab_hints - answer_hints if hint[1] not in shared & ids} == set()

    def test_sections_named_in_hints_exist_in_the_lesson(self):
        checks = self.answers.checks
        lesson = (ROOT / "notebooks" / "source" / f"{checks.lab.name}.py").read_text()
        headings = re.findall(r"^# ##+ (.*?)(?: \(\d+ minutes\))?$", lesson, flags=re.MULTILINE)
        sections = {h.section for hints in self.hints.values() for h in hints.values() if h.section}
        assert sections
        assert sections - set(headings) == set()

    def test_points_and_arguments_match_the_lab(self, number):
        exercise = self.answers.checks.lab.exercises[number]
        text = (ROOT / "labs" / "source" / f"{exercise.lab.name}.py").read_text()
        assert f"# %% check={number} points={exercise.points}\n" in text
        names = list(inspect.signature(exercise.check_function).parameters)[1:]
        assert f"check.exercise_{number}({', '.join(names)})\n" in text
