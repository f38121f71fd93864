"""nbgrader releases a lab, grades its submissions, and generates feedback."""

import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NAME = "01_tensors_and_devices"
POINTS = {1: 2, 2: 3, 3: 2, 4: 2, 5: 3, 6: 2}


def read(path):
    return nbformat.read(path, as_version=4)


def answers(notebook):
    return {
        cell.metadata.nbgrader.grade_id: cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }


def submission(**replacements):
    """Return the student's notebook with the right answers; `exercise_1=...` replaces one."""
    notebook = read(ROOT / "labs" / f"{NAME}.ipynb")
    right = answers(read(ROOT / "labs" / "solutions" / f"{NAME}.ipynb"))
    for grade_id, cell in answers(notebook).items():
        cell.source = replacements.get(grade_id.replace("-", "_"), right[grade_id].source)
    return notebook


def notebook_with_replaced_check():
    notebook = read(ROOT / "labs" / f"{NAME}.ipynb")
    cell = next(c for c in notebook.cells if "as check" in c.source)
    cell.source = "from unittest.mock import MagicMock as M\nimport torch\nlesson = check = M()"
    return notebook


SUBMISSIONS = {
    "bob": submission(
        exercise_1=(
            "def move_all(tensors, device):\n"
            "    for t in tensors:\n        t.to(device)\n    return tensors"
        ),
        exercise_6="def to_numpy(X):\n    exit()",
    ),
    "cyd": notebook_with_replaced_check(),
}
EXPECTED_POINTS = {
    "bob": {**POINTS, 1: 0, 6: 0},
    "cyd": dict.fromkeys(POINTS, 0),
}


@pytest.fixture(scope="module")
def graded_course(tmp_path_factory):
    """An nbgrader course with two submissions, graded and with feedback."""
    root = tmp_path_factory.mktemp("nbgrader")
    source = root / "source" / "lab"
    source.mkdir(parents=True)
    shutil.copy(ROOT / "labs" / "solutions" / f"{NAME}.ipynb", source)
    for student, notebook in SUBMISSIONS.items():
        folder = root / "submitted" / student / "lab"
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{NAME}.ipynb")
    config = Config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.course_id = "gpu"
    api = NbGraderAPI(config=config)
    with pytest.MonkeyPatch.context() as patch:
        # nbgrader starts `alembic` by name.
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        steps = [api.generate_assignment("lab")]
        for student in SUBMISSIONS:
            steps += [api.autograde("lab", student), api.generate_feedback("lab", student)]
    assert [step["log"] for step in steps if not step["success"]] == []
    return root, api


def test_student_notebook_has_the_stubs_and_structure_of_nbgraders_release(graded_course):
    root, _ = graded_course
    released = read(root / "release" / "lab" / f"{NAME}.ipynb")
    for cell in answers(released).values():
        assert "raise NotImplementedError" in cell.source
        assert "SOLUTION" not in cell.source

    def structure(notebook):
        cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
        return [
            (c.metadata.nbgrader.grade_id, c.metadata.nbgrader.get("points"))
            + (() if c.metadata.nbgrader.solution else (c.source,))
            for c in cells
        ]

    assert structure(released) == structure(read(ROOT / "labs" / f"{NAME}.ipynb"))


@pytest.mark.parametrize("student", SUBMISSIONS)
def test_answers_get_the_expected_points(graded_course, student):
    _, api = graded_course
    with api.gradebook as gradebook:
        notebook = gradebook.find_submission_notebook(NAME, "lab", student)
        points = {
            int(grade.cell.name.removeprefix("check-")): grade.auto_score
            for grade in notebook.grades
        }
        assert points == EXPECTED_POINTS[student]
        assert notebook.max_score == sum(POINTS.values())
        assert notebook.score == sum(EXPECTED_POINTS[student].values())
        assert not notebook.needs_manual_grade


def test_feedback_shows_the_hints(graded_course):
    root, _ = graded_course
    page = (root / "feedback" / "bob" / "lab" / f"{NAME}.html").read_text(encoding="utf-8")
    assert "is still on cpu" in page
    assert "exits the program" in page
