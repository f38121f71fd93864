"""Attacks on the grader get no points, even without the search for internals in the code.

Each attack runs in the answer's process; the judge is a separate process.
"""

import textwrap
from pathlib import Path

import nbformat
import pytest

from course.grading import marking
from course.grading.internals import uses_of_internals
from course.grading.isolation import bubblewrap
from course.grading.limits import SandboxLimits
from course.grading.results import MarkStatus, grade_submission
from course.grading.students import Submission
from tools.grade_a_class import LABS, attack_lab
from tools.hostile_answers import ATTACKS

LAB_FILES = sorted(LABS.glob("[0-9]*.ipynb"))
LIMITS = SandboxLimits(cell_seconds=10)
needs_bubblewrap = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")


def combined_attacks():
    """Return one source with every attack; `answer` tries them one after the other."""
    parts = ["answers = []"]
    for source in ATTACKS.values():
        code = textwrap.indent(source, "    ")
        parts.append(f"try:\n{code}\n    answers.append(answer)\nexcept Exception:\n    pass")
    parts.append(
        "def answer(*args, attacks=tuple(answers), **kwargs):\n"
        "    result = None\n"
        "    for attack in attacks:\n"
        "        try:\n            result = attack(*args, **kwargs)\n"
        "        except Exception:\n            pass\n"
        "    return result"
    )
    return "\n".join(parts)


@pytest.fixture
def no_search_for_internals(monkeypatch):
    monkeypatch.setattr(marking, "uses_of_internals", lambda source: [])


def grade_attack(file, source):
    lab = nbformat.read(file, as_version=4)
    return grade_submission(lab, Submission("a", "a", attack_lab(lab, source)), LIMITS)


@pytest.mark.slow
@needs_bubblewrap
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_no_points(no_search_for_internals, name):
    graded = grade_attack(LAB_FILES[1], ATTACKS[name])
    assert graded.points == 0, graded.marks
    assert not any(mark.status is MarkStatus.TO_REVIEW for mark in graded.marks)
    assert not Path("/tmp/the-judge-unpickled-this").exists()


@pytest.mark.slow
@needs_bubblewrap
@pytest.mark.parametrize("file", LAB_FILES, ids=lambda file: file.stem)
def test_all_attacks_together_get_no_points_on_any_lab(no_search_for_internals, file):
    graded = grade_attack(file, combined_attacks())
    assert graded.points == 0, graded.marks
    assert len(graded.marks) >= 4


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_found_for_review(name):
    assert uses_of_internals(ATTACKS[name])
