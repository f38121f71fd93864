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
NBGRADER_KEYS = {"grade", "grade_id", "locked", "points", "schema_version", "solution", "task"}


def student_notebook(name):
    return nbformat.read(COURSE.labs / f"{name}.ipynb", as_version=4)


def solution(name):
    return nbformat.read(COURSE.solutions / f"{name}.ipynb", as_version=4)


def answer_lines(name):
    """Return the lines of a lab's answers that occur nowhere else in the lab."""
    answers, others, in_answer = [], [], False
    for cell in read_source(COURSE.lab_source_path(name)).cells:
        for line in map(str.strip, cell.source.splitlines()):
            if line in ("### BEGIN SOLUTION", "### END SOLUTION"):
                in_answer = "BEGIN" in line
            elif in_answer:
                answers.append(line)
            else:
                others.append(line.removeprefix("#").strip())
    other_text = "\n".join(others)
    # Short lines such as `return` reveal nothing; neither do lines that the lab's text quotes.
    return [line for line in answers if len(line) > 8 and line not in other_text]


@pytest.mark.parametrize("name", NAMES)
def test_student_notebook_has_no_answers_markers_outputs_or_unknown_metadata(name):
    notebook = student_notebook(name)
    text = (COURSE.labs / f"{name}.ipynb").read_text(encoding="utf-8")
    lines = answer_lines(name)
    assert lines
    assert [line for line in (*lines, *MARKERS) if json.dumps(line)[1:-1] in text] == []
    for cell in notebook.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None
        # The setup cell is collapsed in JupyterLab ("jupyter") and in Colab ("cellView").
        is_setup = "bootstrap" in cell.metadata.get("tags", [])
        extra = {"jupyter", "cellView"} if is_setup else set()
        assert set(cell.metadata) <= {"tags", "nbgrader"} | extra
        assert set(cell.metadata.get("nbgrader", {})) <= NBGRADER_KEYS


@pytest.mark.parametrize("name", NAMES)
def test_student_notebook_and_solution_differ_only_in_the_answers(name):
    def cells_without_answers(notebook):
        markings = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells[1:-1]]
        return [
            marking["grade_id"] if marking.get("solution") else cell.source
            for marking, cell in zip(markings, notebook.cells[1:-1], strict=True)
        ]

    assert cells_without_answers(student_notebook(name)) == cells_without_answers(solution(name))


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
    yield kernels.manager_class()
    kernels.close()


@pytest.mark.parametrize("name", NAMES)
def test_student_notebook_fails_only_at_its_exercises_with_their_numbers(kernels, name):
    notebook = student_notebook(name)
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
