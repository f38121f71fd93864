"""Sources are read, and a lab's source becomes a notebook for students and one with answers."""

import nbformat
import pytest

from course.authoring.build import build
from course.authoring.sources import lab_cells, read_source
from course.authoring.up_to_date import find_outdated
from course.course_folder import CourseError
from tests.conftest import HEADER

GOOD = {"title": "A title", "promise": "A promise.", "minutes": "5", "objectives": "[one]"}
LAB = """\
# %% exercise=1
class Net:
    def forward(self, x):
        ### BEGIN SOLUTION
        return 2 * x
        ### END SOLUTION

# %% check=1 points=2
Net().forward(1)

# %% exercise=2 task="fix the line"
def fix(x):
    ### BEGIN SOLUTION
    return x + 1
    ### END SOLUTION
    ### BEGIN GIVEN
    # for _ in range(2):
    #
    #     y += 1
    ### END GIVEN

# %% check=2 points=3
fix(1)

# %% exercise=3 task="say how many"
### BEGIN SOLUTION
many = 7
### END SOLUTION

# %% check=3 points=1
many
"""


def write(path, entries, cells="# %%\n1 + 1\n"):
    header = "".join(f"#     {key}: {value}\n" for key, value in entries.items())
    path.write_text(f"# ---\n# jupyter:\n#   course:\n{header}# ---\n\n{cells}", encoding="utf-8")
    return path


def write_lab(course, text=LAB):
    course.folder.lab_sources.mkdir(parents=True, exist_ok=True)
    course.folder.lab_source_path("01_first").write_text(HEADER + text, encoding="utf-8")
    return course.folder.lab_source_path("01_first")


def test_reads_header_and_cells_without_metadata_of_blank_lines(tmp_path):
    cells = '# %% [markdown]\n# Text\n\n# %% tags=["a"]\ndef f():\n    pass\n\n\n\n# %%\n1\n'
    source = read_source(write(tmp_path / "01_x.py", GOOD, cells))
    assert (source.name, source.header.title, source.header.minutes) == ("01_x", "A title", 5)
    assert [cell.source for cell in source.cells[::2]] == ["Text", "1"]
    assert [cell.metadata for cell in source.cells] == [{}, {"tags": ["a"]}, {}]


def test_line_endings_do_not_change_the_hash(tmp_path):
    original, copy = write(tmp_path / "a.py", GOOD), tmp_path / "b.py"
    copy.write_bytes(original.read_bytes().replace(b"\n", b"\r\n"))
    assert read_source(original).sha256 == read_source(copy).sha256


@pytest.mark.parametrize(
    ("change", "cells", "message"),
    [
        ({"title": "{a: b}"}, "# %%\n1", r"'title' in the header is \{'a': 'b'\}, not a text"),
        ({"objectives": "[{a: b}]"}, "# %%\n1", "not a text. Put quotes"),
        ({"credit": "[a]"}, "# %%\n1", "unexpected keyword argument 'credit'"),
        ({"promise": "a: b: c"}, "# %%\n1", "not valid YAML"),
        ({}, "", "no cells"),
    ],
)
def test_reports_invalid_source_with_its_value(tmp_path, change, cells, message):
    with pytest.raises(CourseError, match=message):
        read_source(write(tmp_path / "x.py", GOOD | change, cells))
    with pytest.raises(CourseError, match=r"missing .*'title'"):
        read_source(write(tmp_path / "y.py", {"promise": "A promise."}))
    (tmp_path / "z.py").write_text("# %%\n1\n")
    with pytest.raises(CourseError, match="has no header"):
        read_source(tmp_path / "z.py")


def test_students_get_stubs_or_given_code_instead_of_answers(small_course):
    cells = lab_cells(read_source(write_lab(small_course)), answers=False)
    assert '        raise NotImplementedError("exercise 1: write Net.forward")' in cells[0].source
    assert cells[2].source == "def fix(x):\n    for _ in range(2):\n\n        y += 1"
    assert cells[4].source == 'raise NotImplementedError("exercise 3: say how many")'
    answer = lab_cells(read_source(write_lab(small_course)), answers=True)[2].source
    assert answer == "def fix(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION"


def test_lab_is_built_for_nbgrader_and_only_the_solution_is_executed(small_course):
    write_lab(small_course)
    folder, names = small_course.folder, ["labs/01_first", "labs/solutions/01_first"]
    assert build(folder, ["labs/01"], log=lambda line: None) == names
    assert find_outdated(folder) == []
    lab, solution = (nbformat.read(folder.root / f"{name}.ipynb", as_version=4) for name in names)
    assert lab.cells[3].outputs == []
    assert solution.cells[3].outputs[0].data["text/plain"] == "2"
    for notebook in (lab, solution):
        metadata = [c.metadata.nbgrader for c in notebook.cells if c.cell_type == "code"]
        answers = [entry.grade_id for entry in metadata if entry.solution]
        assert answers == ["exercise-1", "exercise-2", "exercise-3"]
        checks = [(entry.grade_id, entry.points) for entry in metadata if entry.grade]
        assert checks == [("check-1", 2), ("check-2", 3), ("check-3", 1)]
        assert all(entry.locked for entry in metadata if not entry.solution)
    lab.cells[2].outputs = [nbformat.v4.new_output("stream", text="1\n")]
    nbformat.write(lab, folder.labs / "01_first.ipynb")
    [executed] = find_outdated(folder)
    assert "must not have outputs. To fix it: course build labs/01_first" in executed


@pytest.mark.parametrize(
    ("original", "broken", "message"),
    [
        ("# %% check=2", "# %% other=2", "the checks are [1, 3]"),
        ("exercise=3", "exercise=4", "number them 1, 2, 3"),
        (" points=3", "", "needs points=N"),
        ("    ### END SOLUTION\n    ### BEGIN GIVEN", "    ### BEGIN GIVEN", "needs ### BEGIN"),
        ("fix(1)", "fix(1)\n### BEGIN SOLUTION\n### END SOLUTION", "without exercise=N"),
    ],
)
def test_refuses_inconsistent_lab_with_clear_message(small_course, original, broken, message):
    path = write_lab(small_course, LAB.replace(original, broken))
    with pytest.raises(CourseError) as error:
        lab_cells(read_source(path), answers=False)
    assert message in str(error.value)
    assert "labs/source/01_first.py" in str(error.value)
