"""A lab's source becomes a notebook for students and one with answers."""

import nbformat
import pytest

from course.authoring.build import build
from course.authoring.up_to_date import find_outdated
from course.course_folder import CourseError
from tests.conftest import HEADER

LAB = '''\
# %% tags=["parameters"]
a = 1

# %% [markdown]
# ## Exercise 1

# %% exercise=1
class Net:
    def forward(self, x):
        """Return twice x."""
        ### BEGIN SOLUTION
        twice = 2 * x
        return twice
        ### END SOLUTION

    def backward(self):
        ### BEGIN SOLUTION
        return None
        ### END SOLUTION


# %% check=1 points=2
assert Net().forward(a) == 2

# %% exercise=2 task="fix the line"
def fix(x):
    ### BEGIN SOLUTION
    return x + 1
    ### END SOLUTION
    ### BEGIN GIVEN
    # y = x
    #
    # for _ in range(2):
    #     y += 1
    # return y
    ### END GIVEN


# %% check=2 points=3
fix(a)

# %% exercise=3 task="say how many"
### BEGIN SOLUTION
many = 7
### END SOLUTION

# %% check=3 points=1
many
'''


def discard(line):
    """Discard a line of the log."""


def write(course, text=LAB, name="01_first"):
    course.folder.lab_sources.mkdir(parents=True, exist_ok=True)
    path = course.folder.lab_source_path(name)
    path.write_text(HEADER.replace("TITLE", "A lab") + text, encoding="utf-8")


@pytest.fixture(scope="module")
def built_course(make_small_course):
    course = make_small_course()
    write(course)
    assert build(course.folder, ["labs/01"], log=discard) == [
        "labs/01_first",
        "labs/solutions/01_first",
    ]
    return course


def code_cells(course, folder):
    path = getattr(course.folder, folder) / "01_first.ipynb"
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"][1:]


def test_stub_states_exercise_and_task(built_course):
    source = code_cells(built_course, "labs")[1].source
    assert '        raise NotImplementedError("exercise 1: write Net.forward")' in source
    assert '        raise NotImplementedError("exercise 1: write Net.backward")' in source
    assert "twice" not in source.replace("Return twice x", "")


def test_task_replaces_function_name(built_course):
    assert code_cells(built_course, "labs")[5].source == (
        'raise NotImplementedError("exercise 3: say how many")'
    )


def test_given_code_replaces_answer(built_course):
    assert code_cells(built_course, "labs")[3].source == (
        "def fix(x):\n    y = x\n\n    for _ in range(2):\n        y += 1\n    return y"
    )


def test_solution_has_answer_without_given_code(built_course):
    assert code_cells(built_course, "solutions")[3].source == (
        "def fix(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION"
    )


def test_only_solution_is_executed(built_course):
    assert code_cells(built_course, "solutions")[4].outputs[0].data["text/plain"] == "2"
    assert all(not cell.outputs for cell in code_cells(built_course, "labs"))


def test_nbgrader_metadata_has_answers_checks_and_points(built_course):
    for folder in ("labs", "solutions"):
        metadata = [cell.metadata.nbgrader for cell in code_cells(built_course, folder)]
        assert [entry.grade_id for entry in metadata if entry.solution] == [
            "exercise-1",
            "exercise-2",
            "exercise-3",
        ]
        assert [(entry.grade_id, entry.points) for entry in metadata if entry.grade] == [
            ("check-1", 2), ("check-2", 3), ("check-3", 1)
        ]  # fmt: skip
        assert all(entry.locked for entry in metadata if not entry.solution)


def test_built_lab_is_up_to_date(built_course):
    assert find_outdated(built_course.folder) == []
    assert build(built_course.folder, [], log=discard) == []


def test_executed_student_notebook_is_outdated(small_course):
    write(small_course)
    build(small_course.folder, ["labs/01"], log=discard)
    path = small_course.folder.labs / "01_first.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="1\n")]
    nbformat.write(notebook, path)
    (finding,) = find_outdated(small_course.folder)
    assert "must not have outputs" in finding
    assert "course build labs/01_first" in finding


def test_finds_lab_without_source(built_course, small_course):
    small_course.folder.labs.mkdir()
    text = (built_course.folder.labs / "01_first.ipynb").read_text()
    (small_course.folder.labs / "01_first.ipynb").write_text(text)
    (finding,) = find_outdated(small_course.folder)
    assert "write labs/source/01_first.py, or delete labs/01_first.ipynb" in finding


@pytest.mark.parametrize(
    ("original", "broken", "message"),
    [
        ("# %% check=2", "# %% other=2", "the checks are [1, 3]"),
        ("exercise=3", "exercise=4", "number them 1, 2, 3"),
        (" points=3", "", "needs points=N"),
        ("    ### END SOLUTION\n    ### BEGIN GIVEN", "    ### BEGIN GIVEN", "needs ### BEGIN"),
        ("many = 7\n### END SOLUTION", "many = 7", "needs ### BEGIN"),
        ("fix(a)", "fix(a)\n### BEGIN SOLUTION\n### END SOLUTION", "without exercise=N"),
    ],
)
def test_refuses_inconsistent_lab_with_clear_message(small_course, original, broken, message):
    assert original in LAB
    write(small_course, LAB.replace(original, broken))
    with pytest.raises(CourseError) as error:
        build(small_course.folder, ["labs/01"], log=discard)
    assert message in str(error.value)
    assert "labs/source/01_first.py" in str(error.value)
