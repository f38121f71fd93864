"""What a student gets holds no answer, and stops at nothing but what is to be written."""

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
MARKS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN GIVEN", "END GIVEN")


def students(name):
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
    """The lines of a lab's answers that stand nowhere else in its text."""
    answers, others, inside = [], [], False
    for cell in read_source(COURSE.lab_source_path(name)).cells:
        for line in map(str.strip, cell.source.splitlines()):
            if line == "### BEGIN SOLUTION":
                inside = True
            elif line == "### END SOLUTION":
                inside = False
            elif inside:
                answers.append(line)
            else:
                others.append(line.removeprefix("#").strip())
    told = "\n".join(others)
    # A lone `return` or `)` gives nothing away, nor does what the lab's text itself quotes.
    return [line for line in answers if len(line) > 8 and line not in told]


def test_there_are_labs():
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_an_answer_is_in_the_students_notebook(name):
    text = (COURSE.labs / f"{name}.ipynb").read_text(encoding="utf-8")
    lines = answer_lines(name)
    assert lines
    assert [line for line in lines if json.dumps(line)[1:-1] in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_students_notebook_holds_no_marks_no_outputs_and_no_unknown_metadata(name):
    notebook = students(name)
    text = json.dumps(notebook)
    assert [mark for mark in MARKS if mark in text] == []
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
def test_both_notebooks_differ_in_the_answers_only(name):
    def frame(notebook):
        return [
            "answer" if cell.metadata.get("nbgrader", {}).get("solution") else cell.source
            for cell in notebook.cells[1:-1]
        ]

    assert frame(students(name)) == frame(solution(name))
    assert exercise_cells(students(name)).keys() == exercise_cells(solution(name)).keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_solution_passes_its_check_as_stored(name):
    kept = [
        output.data["application/vnd.gpu-course.check+json"]
        for cell in solution(name).cells
        for output in cell.get("outputs", [])
        if "application/vnd.gpu-course.check+json" in output.get("data", {})
    ]
    checks = [c for c in solution(name).cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert [each["exercise"] for each in kept] == list(range(1, len(checks) + 1))
    assert all(each["passed"] and each["tries"] == 1 for each in kept)
    assert [each["points"] for each in kept] == [c.metadata.nbgrader.points for c in checks]


@pytest.fixture(scope="module")
def kernels():
    """Kernels that have imported torch already: half of a notebook's time here is that import."""
    started = Kernels(preloadable_modules(map(students, NAMES)))
    yield started.manager_class()
    started.close()


@pytest.mark.parametrize("name", NAMES)
def test_run_as_it_is_the_students_notebook_stops_at_its_exercises_only_and_each_says_which(
    kernels, name
):
    notebook = students(name)
    client = NotebookClient(
        notebook,
        timeout=120,
        startup_timeout=180,
        kernel_manager_class=kernels,
        resources={"metadata": {"path": str(COURSE.labs)}},
        allow_errors=True,
    )
    asyncio.run(client.async_execute())
    numbers = []
    for cell in notebook.cells:
        errors = [o for o in cell.get("outputs", []) if o.output_type == "error"]
        kept = cell.metadata.get("nbgrader", {})
        if kept.get("grade"):
            numbers.append(kept["grade_id"].removeprefix("check-"))
            said = f"exercise {numbers[-1]}: "
            assert [e.ename in ("CheckFailed", "NameError") for e in errors] == [True], cell.source
            assert errors[0].evalue.startswith(said) or errors[0].ename == "NameError"
        elif kept.get("solution"):
            number = kept["grade_id"].removeprefix("exercise-").split("-")[0]
            assert all(e.ename == "NotImplementedError" for e in errors), cell.source
            assert all(e.evalue.startswith(f"exercise {number}: ") for e in errors)
        else:
            assert errors == [], cell.source
    assert numbers
