"""A build stores outputs, keeps them if only text changed, and reports outdated notebooks."""

import nbformat
import pytest

from course import cli
from course.authoring.assemble import METADATA
from course.authoring.build import build
from course.authoring.stored_outputs import RESULT_TYPE, output_problems
from course.authoring.up_to_date import find_outdated
from course.course_folder import CourseError, CourseFolder

LESSON = """\
# %% tags=["parameters"]
a = 1

# %% [markdown]
# ## A section

# %%
print("a is", a)
a * 3
"""
HTML = '<img alt="{}" src="data:image/png;base64,iVBOR+/home/ada/AAA/BBB=">'
PATHS = [
    {"text/plain": "saved in /home/ada/course/output/net.pt"},
    {"text/plain": "PosixPath('/content/drive')"},
    {"text/plain": "path=/mnt/disk/data"},
    {"text/plain": "~/course/output"},
    {"text/plain": r"'C:\\Users\\ada\\course'"},
    {"text/html": "<b>from /home/ada/data.zip</b>"},
    {"text/html": HTML.format("from /home/ada/data.zip")},
    {RESULT_TYPE: {"provenance": "/home/ada/data.zip"}},
]
NOT_PATHS = [
    {"text/plain": "1,234 images/s, and/or 1/2/3, a / b, ../labs/04.ipynb, /dev/nvidia0"},
    {"text/html": '</table><a href="https://example.org/a/b/c">https://github.com/a/b/c</a>'},
    {"text/html": HTML.format("A line.")},
    {"image/png": "iVBORw0KGgo/home/ada/AAA/BBB="},
]


@pytest.fixture(scope="module")
def built_course(make_small_course):
    course = make_small_course()
    course.write("01_first", LESSON)
    build(course.folder, [], log=lambda line: None)
    return course


@pytest.fixture
def course(small_course, built_course):
    """A copy of a built course that a test may change."""
    small_course.write("01_first", LESSON)
    text = built_course.folder.notebook_path("01_first").read_text(encoding="utf-8")
    small_course.folder.notebook_path("01_first").write_text(text, encoding="utf-8")
    return small_course


def test_stores_valid_outputs_and_nothing_specific_to_this_machine(built_course):
    notebook = built_course.read("01_first")
    nbformat.validate(notebook)
    printed, value = notebook.cells[4].outputs
    assert (printed.text, value.data["text/plain"]) == ("a is 1\n", "3")
    assert all(set(cell.metadata) <= {"tags", "cellView", "jupyter"} for cell in notebook.cells)
    assert set(notebook.metadata) == {*METADATA, "title", "course"}


def test_building_again_gives_same_bytes(course):
    path = course.folder.notebook_path("01_first")
    before = path.read_bytes()
    assert build(course.folder, [], log=lambda line: None) == []
    assert build(course.folder, [], force=True, log=lambda line: None) == ["01_first"]
    assert path.read_bytes() == before


def test_text_change_keeps_outputs_without_executing(course):
    outputs = course.read("01_first").cells[4].outputs
    course.write("01_first", LESSON.replace("A section", "Another one"))
    lines = []
    build(course.folder, [], log=lines.append)
    assert lines == ["01_first: text changed, outputs kept"]
    assert course.read("01_first").cells[4].outputs == outputs


@pytest.mark.parametrize(
    ("code", "messages"),
    [
        ("int('many')", ["01_first: cell 3 failed", "ValueError: invalid literal"]),
        ("import os; os._exit(1)", ["cell 3 ended the kernel"]),
        ("import sys; print('x', file=sys.stderr)", ["writes to stderr: x"]),
        pytest.param("import time; time.sleep(60)", ["longer than 8 s"], marks=pytest.mark.slow),
    ],
)
def test_failing_cell_or_forbidden_output_keeps_old_notebook(course, code, messages):
    path = course.folder.notebook_path("01_first")
    before = path.read_bytes()
    course.write("01_first", f"# %%\n{code}\n")
    with pytest.raises(CourseError) as caught:
        build(course.folder, [], cell_timeout=8 if "sleep" in code else 600)
    assert all(message in str(caught.value) for message in messages)
    assert "\x1b" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("edit", "finding"),
    [
        (lambda nb: nb.cells[3].update(source="## Edited"), "cell 4 was edited by hand"),
        (lambda nb: nb.cells[2].metadata.clear(), "cell 3 was edited by hand"),
        (lambda nb: nb.cells.append(nbformat.v4.new_markdown_cell("x")), "cell 7 was edited"),
        (lambda nb: nb.cells[4].outputs.clear(), "it has code but no outputs"),
        (lambda nb: nb.cells[4].outputs[0].update(text="a is 2\n"), "its outputs have changed"),
    ],
)
def test_finds_notebook_edited_by_hand(course, edit, finding):
    notebook = course.read("01_first")
    edit(notebook)
    course.put("01_first", notebook)
    [found] = find_outdated(course.folder)
    assert finding in found


def test_finds_outdated_broken_and_missing_notebooks(course):
    course.write("01_first", LESSON.replace("a * 3", "a * 4"))
    course.write("02_broken", LESSON)
    course.folder.notebook_path("02_broken").write_text("<<<<<<< HEAD")
    course.write("03_new", LESSON)
    first, broken, new = find_outdated(course.folder)
    assert "01_first: its source has changed since it was built" in first
    assert first.endswith("To fix it: course build 01_first")
    assert "not a valid notebook" in broken
    assert "03_new: it has not been built" in new
    course.write("01_first", LESSON)
    first = find_outdated(CourseFolder(course.root, "somebody/a-course", "v8"))[0]
    assert "its generated cells (header, setup, footer) have changed" in first


@pytest.mark.parametrize(("code", "status"), [("a * 3", 0), ("open('made', 'w')", 1)])
def test_command_lists_outdated_notebooks_and_executes_nothing(course, capsys, code, status):
    course.write("01_first", LESSON.replace("a * 3", code))
    assert cli.main(["--root", str(course.root), "build", "--check"]) == status
    captured = capsys.readouterr()
    assert ("course build 01_first" in captured.err) == bool(status)
    assert ("nothing was executed" in captured.out) == (not status)
    assert not (course.folder.notebooks / "made").exists()
    assert cli.main(["--root", str(course.root), "build", "01_first", "--check"]) == 1
    assert "--check compares the whole course" in capsys.readouterr().err


@pytest.mark.parametrize("data", [*PATHS, *NOT_PATHS])
def test_finds_paths_of_this_machine(cells, data):
    problems = output_problems(cells.notebook(cells.code("show()", cells.display_data(data))))
    assert ["path of this machine" in problem for problem in problems] == [True] * (data in PATHS)


def test_finds_errors_stderr_and_warnings_with_their_cell(cells):
    notebook = cells.notebook(
        cells.text("# Title"),
        cells.code("fail()", cells.error("ValueError", "no")),
        cells.code("noise()", cells.stream("something\n", name="stderr")),
        cells.code("warn()", cells.stream("module.py:7: UserWarning: old\n")),
    )
    assert output_problems(notebook) == [
        "cell 2 (fail()) ends in an error: ValueError: no",
        "cell 3 (noise()) writes to stderr: something",
        "cell 4 (warn()) shows a warning: module.py:7: UserWarning: old",
    ]
