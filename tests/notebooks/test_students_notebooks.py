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
COLLAPSED = {"jupyter", "cellView"}  # in JupyterLab and in Colab
CHECK_TYPE = "application/vnd.gpu-course.check+json"
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
        is_setup = "bootstrap" in cell.metadata.get("tags", [])
        assert set(cell.metadata) <= {"tags", "nbgrader"} | (COLLAPSED if is_setup else set())
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
    outputs = [output for cell in solution(name).cells for output in cell.get("outputs", [])]
    boxes = [o.data[CHECK_TYPE] for o in outputs if CHECK_TYPE in o.get("data", {})]
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
    for cell in notebook.cells:
        errors = [o for o in cell.get("outputs", []) if o.output_type == "error"]
        marking = cell.metadata.get("nbgrader", {})
        number = marking.get("grade_id", "").split("-")[1:2]
        if marking.get("grade"):
            (error,) = errors
            assert error.ename in ("CheckFailed", "NameError"), cell.source
            if error.ename == "CheckFailed":
                assert error.evalue.startswith(f"exercise {number[0]}: ")
        elif marking.get("solution"):
            assert all(e.ename == "NotImplementedError" for e in errors), cell.source
            assert all(e.evalue.startswith(f"exercise {number[0]}: ") for e in errors)
        else:
            assert errors == [], cell.source
