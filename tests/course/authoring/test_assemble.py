import pytest
from course.authoring.targets import assemble_from_source

TEXT = "# %% [markdown]\n# ## A section\n\n# %%\n1 + 1\n"


@pytest.fixture
def course(small_course):
    small_course.write("01_first", TEXT, title="First")
    small_course.write("02_second", TEXT, title="Second")
    return small_course


def test_lesson_follows_opening_and_set_up_cell(course):
    notebook = assemble_from_source(course.folder, "01_first")
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds == ["markdown", "code", "markdown", "code", "markdown"]
    assert notebook.cells[1].metadata.tags == ["bootstrap"]
    assert notebook.cells[3].source == "1 + 1"


def test_opening_has_title_promise_time_and_objectives(course):
    opening = assemble_from_source(course.folder, "01_first").cells[0].source
    assert opening.startswith("# First\n\nYou see what happens.\n\nAbout 5 minutes.")
    assert "- see it" in opening


def test_badge_opens_published_copy(course):
    opening = assemble_from_source(course.folder, "01_first").cells[0].source
    site = "https://colab.research.google.com/github/somebody/a-course/blob/v7"
    assert f"({site}/notebooks/01_first.ipynb)" in opening


def test_closing_links_to_next_lesson(course):
    closing = assemble_from_source(course.folder, "01_first").cells[-1].source
    assert "Continue: [Second](02_second.ipynb)" in closing


def test_last_lesson_has_no_link_to_a_next_lesson(course):
    assert "Continue" not in assemble_from_source(course.folder, "02_second").cells[-1].source


def test_closing_links_to_lab_if_there_is_one(course):
    assert "labs/" not in assemble_from_source(course.folder, "01_first").cells[-1].source
    course.folder.labs.mkdir()
    (course.folder.labs / "01_first.ipynb").write_text("{}")
    assert (
        "(../labs/01_first.ipynb)"
        in assemble_from_source(course.folder, "01_first").cells[-1].source
    )


def test_cells_keep_their_ids_when_other_cells_change(course):
    before = [cell.id for cell in assemble_from_source(course.folder, "01_first").cells]
    course.write("01_first", TEXT.replace("A section", "Another") + "\n# %%\n2\n", title="First")
    after = [cell.id for cell in assemble_from_source(course.folder, "01_first").cells]
    assert len(set(before) - set(after)) == 1


def test_equal_cells_have_different_ids(course):
    course.write("01_first", "# %%\n1\n\n# %%\n1\n")
    ids = [cell.id for cell in assemble_from_source(course.folder, "01_first").cells]
    assert len(set(ids)) == len(ids)
