"""A build stores outputs, keeps them if only text changed, and reports outdated notebooks."""

import json

import nbformat
import pytest

from course import cli
from course.authoring.assemble import METADATA
from course.authoring.build import build
from course.authoring.up_to_date import find_outdated
from course.course_folder import CourseError

LESSON = """\
# %% tags=["parameters"]
a = 1

# %% [markdown]
# ## A section

# %%
print("a is", a)
a * 3
"""


def discard(line):
    """Discard a line of the log."""


@pytest.fixture(scope="module")
def built_course(make_small_course):
    course = make_small_course()
    course.write("01_first", LESSON)
    build(course.folder, [], log=discard)
    return course


@pytest.fixture
def course(small_course, built_course):
    """A copy of a built course that a test may change."""
    small_course.write("01_first", LESSON)
    text = built_course.folder.notebook_path("01_first").read_text(encoding="utf-8")
    small_course.folder.notebook_path("01_first").write_text(text, encoding="utf-8")
    return small_course


def test_outputs_are_stored(built_course):
    printed, value = built_course.read("01_first").cells[4].outputs
    assert (printed.text, value.data["text/plain"]) == ("a is 1\n", "3")


def test_built_notebook_is_valid_and_up_to_date(built_course):
    nbformat.validate(built_course.read("01_first"))
    assert find_outdated(built_course.folder) == []


def test_stores_nothing_specific_to_this_machine(built_course):
    notebook = built_course.read("01_first")
    text = built_course.folder.notebook_path("01_first").read_text(encoding="utf-8")
    allowed = {"tags", "cellView", "jupyter"}
    assert all(set(cell.metadata) <= allowed for cell in notebook.cells)
    assert set(notebook.metadata.language_info) == set(METADATA["language_info"])
    assert not {"widgets", "papermill"} & set(notebook.metadata)
    assert str(built_course.root) not in text


def test_building_again_gives_same_bytes(course):
    path = course.folder.notebook_path("01_first")
    before = path.read_bytes()
    assert build(course.folder, [], force=True, log=discard) == ["01_first"]
    assert path.read_bytes() == before


def test_skips_notebooks_that_are_up_to_date(course):
    assert build(course.folder, [], log=discard) == []


def test_text_change_keeps_outputs_without_executing(course):
    notebook = course.read("01_first")
    course.write("01_first", LESSON.replace("A section", "Another one"))
    lines = []
    build(course.folder, [], log=lines.append)
    assert lines == ["01_first: text changed, outputs kept"]
    rebuilt = course.read("01_first")
    assert rebuilt.cells[3].source == "## Another one"
    assert rebuilt.cells[4].outputs == notebook.cells[4].outputs
    assert find_outdated(course.folder) == []


def test_outputs_edited_by_hand_are_not_kept(course):
    notebook = course.read("01_first")
    notebook.cells[4].outputs[1].data["text/plain"] = "4"
    course.put("01_first", notebook)
    course.write("01_first", LESSON.replace("A section", "Another one"))
    build(course.folder, [], log=discard)
    assert course.read("01_first").cells[4].outputs[1].data["text/plain"] == "3"


def test_failing_cell_keeps_old_notebook(course):
    path = course.folder.notebook_path("01_first")
    before = path.read_bytes()
    course.write("01_first", LESSON + "\n# %%\nint('many')\n")
    with pytest.raises(CourseError) as caught:
        build(course.folder, [], log=discard)
    assert "01_first: cell 6 failed" in str(caught.value)
    assert "int('many')" in str(caught.value)
    assert "ValueError: invalid literal" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert path.read_bytes() == before
    assert [p.name for p in course.folder.notebooks.iterdir()].count(path.name) == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os._exit(1)", "the kernel died in cell 3"),
        ("import sys; print('x', file=sys.stderr)", "writes to stderr: x"),
        ("import warnings; warnings.warn('old')", "writes to stderr"),
        ("import os; os.getcwd()", "shows a path of this machine"),
    ],
)
def test_forbidden_outputs_stop_the_build(small_course, code, message):
    small_course.write("01_first", f"# %%\n{code}\n")
    with pytest.raises(CourseError, match=message):
        build(small_course.folder, [], log=discard)
    assert not small_course.folder.notebook_path("01_first").exists()


def test_cell_timeout_stops_the_build(small_course):
    small_course.write("01_first", "# %%\nimport time; time.sleep(60)\n")
    with pytest.raises(CourseError, match="cell 3 takes longer than 1 s"):
        build(small_course.folder, [], cell_timeout=1, log=discard)


def only_finding(course):
    [finding] = find_outdated(course.folder)
    return finding


def test_finds_changed_source(course):
    course.write("01_first", LESSON.replace("a * 3", "a * 4"))
    assert "its source has changed since it was built" in only_finding(course)
    assert only_finding(course).endswith("course build 01_first")


def test_finds_edited_cell(course):
    notebook = course.read("01_first")
    notebook.cells[3].source = "## Edited"
    course.put("01_first", notebook)
    assert "cell 4 was edited by hand" in only_finding(course)


def test_finds_removed_tag(course):
    notebook = course.read("01_first")
    notebook.cells[2].metadata = {}
    course.put("01_first", notebook)
    assert "cell 3 was edited by hand" in only_finding(course)


def test_finds_added_cell(course):
    notebook = course.read("01_first")
    notebook.cells.append(nbformat.v4.new_markdown_cell("One more"))
    course.put("01_first", notebook)
    assert "cell 7 was edited by hand" in only_finding(course)


def test_finds_generated_cells_from_earlier_release(course):
    pyproject = course.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("v7", "v8"))
    course.folder = type(course.folder)(course.root, "somebody/a-course", "v8")
    assert "its generated cells" in only_finding(course)


def test_finds_notebook_that_was_never_built(small_course):
    small_course.write("01_first", LESSON)
    assert "has not been built" in only_finding(small_course)


def test_finds_notebook_without_source(course, cells):
    course.put("02_alone", cells.notebook())
    assert "02_alone: the notebook has no source" in only_finding(course)


def test_finds_stripped_outputs(course):
    notebook = course.read("01_first")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    course.put("01_first", notebook)
    assert "it has code but no outputs" in only_finding(course)


def test_finds_edited_output(course):
    notebook = course.read("01_first")
    notebook.cells[4].outputs[0].text = "a is 2\n"
    course.put("01_first", notebook)
    assert "its outputs have changed since it was built" in only_finding(course)


def test_finds_file_that_is_not_a_notebook(course):
    course.folder.notebook_path("01_first").write_text("<<<<<<< HEAD")
    assert "not a valid notebook" in only_finding(course)


@pytest.mark.parametrize(("code", "status"), [("a * 3", 0), ("a * 4", 1)])
def test_command_lists_outdated_notebooks_and_fails(course, capsys, code, status):
    course.write("01_first", LESSON.replace("a * 3", code))
    assert cli.main(["--root", str(course.root), "build", "--check"]) == status
    captured = capsys.readouterr()
    assert ("course build 01_first" in captured.err) == bool(status)
    assert ("nothing was executed" in captured.out) == (not status)


def test_name_together_with_check_is_refused(course, capsys):
    assert cli.main(["--root", str(course.root), "build", "01_first", "--check"]) == 1
    assert "--check compares the whole course" in capsys.readouterr().err


def test_checking_executes_nothing(small_course):
    marker = small_course.root / "executed"
    small_course.write("01_first", f"# %%\nopen({json.dumps(str(marker))}, 'w').close()\n")
    find_outdated(small_course.folder)
    assert not marker.exists()
