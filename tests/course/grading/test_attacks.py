"""Attacks on the grader get no points.

Each attack runs in the answer's process; the judge is a separate process.
`python -m tools.grade_a_class` runs every attack separately.
"""

import textwrap
from pathlib import Path

import nbformat
import pytest

from course.grading.grade import grade_submission
from course.grading.limits import SandboxLimits
from course.grading.sandbox import bubblewrap
from course.grading.submissions import Submission
from tools.grade_a_class import LABS, attack_lab
from tools.hostile_answers import ATTACKS


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


@pytest.mark.slow
@pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")
@pytest.mark.parametrize("file", sorted(LABS.glob("[0-9]*.ipynb")), ids=lambda file: file.stem)
def test_all_attacks_together_get_no_points_on_any_lab(file):
    lab = nbformat.read(file, as_version=4)
    submission = Submission("a", "a", attack_lab(lab, combined_attacks()))
    graded = grade_submission(lab, submission, SandboxLimits(cell_seconds=10))
    assert graded.points == 0, graded.marks
    assert len(graded.marks) >= 4
    assert not Path("/tmp/the-judge-unpickled-this").exists()
