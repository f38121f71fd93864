"""nbgrader releases a lab, grades its submissions, and generates feedback."""

import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from tools.grade_a_class import LABS, NAME, ClassBuilder

pytestmark = pytest.mark.slow
CLASS = ClassBuilder()


def exits_and_drops_a_result():
    notebook = CLASS.with_answer(6, "def keep_rows(results):\n    exit()")
    cell = next(c for c in notebook.cells if "def move_all" in c.source)
    right = "return [tensor.to(device) for tensor in tensors]"
    assert right in cell.source
    cell.source = cell.source.replace(right, "[t.to(device) for t in tensors]\n    return tensors")
    return notebook


def replaces_the_check():
    notebook = nbformat.read(LABS / f"{NAME}.ipynb", as_version=4)
    cell = next(c for c in notebook.cells if "as check" in c.source)
    cell.source = "from unittest.mock import MagicMock as M\nimport torch\nlesson = check = M()"
    return notebook


SUBMISSIONS = {"bob": exits_and_drops_a_result(), "cyd": replaces_the_check()}
EXPECTED_POINTS = {"bob": CLASS.full_points_except(1, 6), "cyd": dict.fromkeys(CLASS.max_points, 0)}


@pytest.fixture(scope="module")
def graded_course(tmp_path_factory):
    """An nbgrader course with two submissions, graded and with feedback."""
    root = tmp_path_factory.mktemp("nbgrader")
    (root / "source" / "lab").mkdir(parents=True)
    shutil.copy(LABS / "solutions" / f"{NAME}.ipynb", root / "source" / "lab")
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
    def structure(notebook):
        return [
            (marking.grade_id, marking.get("points"), marking.solution or cell.source)
            for cell in notebook.cells
            if (marking := cell.metadata.get("nbgrader"))
        ]

    released = nbformat.read(graded_course[0] / "release" / "lab" / f"{NAME}.ipynb", as_version=4)
    assert structure(released) == structure(CLASS.original)
    answers = [c.source for c in released.cells if c.metadata.get("nbgrader", {}).get("solution")]
    assert all("raise NotImplementedError" in source for source in answers)
    assert not any("SOLUTION" in source for source in answers)


@pytest.mark.parametrize("student", SUBMISSIONS)
def test_answers_get_the_expected_points(graded_course, student):
    with graded_course[1].gradebook as gradebook:
        notebook = gradebook.find_submission_notebook(NAME, "lab", student)
        points = {
            int(grade.cell.name.removeprefix("check-")): grade.auto_score
            for grade in notebook.grades
        }
        assert points == EXPECTED_POINTS[student]
        assert notebook.max_score == sum(CLASS.max_points.values())
        assert not notebook.needs_manual_grade


def test_feedback_shows_the_hints(graded_course):
    file = graded_course[0] / "feedback" / "bob" / "lab" / f"{NAME}.html"
    page = file.read_text(encoding="utf-8")
    assert "but a tensor is on cpu" in page
    assert "exits the program" in page
