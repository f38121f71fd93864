"""The students' notebooks contain no answers and fail only where an answer is missing."""

import asyncio
import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from course.authoring.sources import read_source
from course.course_folder import open_course
from course.execution.kernels import Kernels, preloadable_modules

ROOT = Path(__file__).parents[2]
COURSE = open_course(ROOT)
NAMES = COURSE.lab_names()
MARKERS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN GIVEN", "END GIVEN")


def student_notebook(name):
    return nbformat.read(COURSE.labs / f"{name}.ipynb", as_version=4)


def solution(name):
    return nbformat.read(COURSE.solutions / f"{name}.ipynb", as_version=4)


def exercise_cells(notebook):
    return {
        cell.metadata.nbgrader.grade_id: cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }


def answer_lines(name):
    """Return the lines of a lab's answers that occur nowhere else in the lab."""
    answers, others, in_answer = [], [], False
    for cell in read_source(COURSE.lab_source_path(name)).cells:
        for line in map(str.strip, cell.source.splitlines()):
            if line == "### BEGIN SOLUTION":
                in_answer = True
            elif line == "### END SOLUTION":
                in_answer = False
            elif in_answer:
                answers.append(line)
            else:
                others.append(line.removeprefix("#").strip())
    other_text = "\n".join(others)
    # Short lines such as `return` reveal nothing; neither do lines that the lab's text quotes.
    return [line for line in answers if len(line) > 8 and line not in other_text]


def test_labs_exist():
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_student_notebook_contains_no_answer_lines(name):
    text = (COURSE.labs / f"{name}.ipynb").read_text(encoding="utf-8")
    lines = answer_lines(name)
    assert lines
    assert [line for line in lines if json.dumps(line)[1:-1] in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_student_notebook_has_no_markers_outputs_or_unknown_metadata(name):
    notebook = student_notebook(name)
    text = json.dumps(notebook)
    assert [mark for mark in MARKERS if mark in text] == []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    # The setup cell is collapsed in JupyterLab ("jupyter") and in Colab ("cellView").
    collapsed = {"jupyter", "cellView"}
    for cell in notebook.cells:
        extra = collapsed if "bootstrap" in cell.metadata.get("tags", []) else set()
        assert set(cell.metadata) <= {"tags", "nbgrader"} | extra
    known = {"grade", "grade_id", "locked", "points", "schema_version", "solution", "task"}
    assert all(set(cell.metadata.get("nbgrader", {})) <= known for cell in notebook.cells)


@pytest.mark.parametrize("name", NAMES)
def test_student_notebook_and_solution_differ_only_in_the_answers(name):
    def cells_without_answers(notebook):
        return [
            "answer" if cell.metadata.get("nbgrader", {}).get("solution") else cell.source
            for cell in notebook.cells[1:-1]
        ]

    assert cells_without_answers(student_notebook(name)) == cells_without_answers(solution(name))
    assert exercise_cells(student_notebook(name)).keys() == exercise_cells(solution(name)).keys()


@pytest.mark.parametrize("name", NAMES)
def test_stored_solution_passes_every_check(name):
    boxes = [
        output.data["application/vnd.gpu-course.check+json"]
        for cell in solution(name).cells
        for output in cell.get("outputs", [])
        if "application/vnd.gpu-course.check+json" in output.get("data", {})
    ]
    checks = [c for c in solution(name).cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert [box["exercise"] for box in boxes] == list(range(1, len(checks) + 1))
    assert all(box["passed"] and box["tries"] == 1 for box in boxes)
    assert [box["points"] for box in boxes] == [c.metadata.nbgrader.points for c in checks]


@pytest.fixture(scope="module")
def kernels():
    """Kernels with torch preloaded, since its import takes half of a notebook's run time."""
    kernels = Kernels(preloadable_modules(map(student_notebook, NAMES)))
    yield kernels
    kernels.close()


@pytest.mark.parametrize("name", NAMES)
def test_student_notebook_fails_only_at_its_exercises_with_their_numbers(kernels, name):
    notebook = student_notebook(name)
    client = NotebookClient(
        notebook,
        timeout=120,
        startup_timeout=180,
        km=kernels.make_manager(),
        resources={"metadata": {"path": str(COURSE.labs)}},
        allow_errors=True,
    )
    asyncio.run(client.async_execute(cleanup_kc=True))
    numbers = []
    for cell in notebook.cells:
        errors = [o for o in cell.get("outputs", []) if o.output_type == "error"]
        metadata = cell.metadata.get("nbgrader", {})
        if metadata.get("grade"):
            numbers.append(metadata["grade_id"].removeprefix("check-"))
            prefix = f"exercise {numbers[-1]}: "
            assert [e.ename in ("CheckFailed", "NameError") for e in errors] == [True], cell.source
            assert errors[0].evalue.startswith(prefix) or errors[0].ename == "NameError"
        elif metadata.get("solution"):
            number = metadata["grade_id"].removeprefix("exercise-").split("-")[0]
            assert all(e.ename == "NotImplementedError" for e in errors), cell.source
            assert all(e.evalue.startswith(f"exercise {number}: ") for e in errors)
        else:
            assert errors == [], cell.source
    assert numbers
