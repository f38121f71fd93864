import copy

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from course.course_folder import CourseError
from course.grading.paper import points_of, put_together
from tools.grade_a_class import Desk, grade_id


@pytest.fixture
def desk():
    return Desk()


def source_of(paper, exercise, kind="student"):
    return [c.source for c in paper.cells if c.kind == kind and c.exercise == exercise]


def test_points_are_read_off_the_lab(desk):
    assert points_of(desk.original) == desk.of


def test_a_notebook_that_is_no_lab_is_refused():
    with pytest.raises(CourseError, match="is no lab"):
        points_of(nbformat.v4.new_notebook(cells=[new_code_cell("1")]))


def test_answers_are_the_students_and_everything_else_is_the_labs(desk):
    handed_in = desk.with_answer(1, "def move_all(tensors, device): return 7")
    for cell in handed_in.cells:
        if grade_id(cell).startswith(("check", "given")):
            cell.source = "forged()"
    paper = put_together(desk.original, handed_in)
    assert source_of(paper, 1) == ["def move_all(tensors, device): return 7"]
    assert not any("forged" in cell.source for cell in paper.cells)
    assert any("changed checks put back" in note for note in paper.notes)


def test_answers_without_their_marks_are_found_by_what_they_define(desk):
    handed_in = copy.deepcopy(desk.solution)
    for cell in handed_in.cells:
        cell.metadata = nbformat.NotebookNode()
    paper = put_together(desk.original, handed_in)
    assert paper.missing == []
    assert [source_of(paper, n) for n in desk.of] == [[desk.answer(n)] for n in desk.of]


def test_of_two_cells_with_one_mark_the_one_that_was_changed_counts(desk):
    handed_in = copy.deepcopy(desk.original)
    handed_in.cells = copy.deepcopy(desk.solution.cells) + handed_in.cells
    paper = put_together(desk.original, handed_in)
    assert source_of(paper, 5) == [desk.answer(5)]


def test_a_deleted_exercise_is_missing_and_the_others_are_not(desk):
    handed_in = copy.deepcopy(desk.solution)
    handed_in.cells = [c for c in handed_in.cells if grade_id(c) != "exercise-3"]
    assert put_together(desk.original, handed_in).missing == [3]


def test_a_cell_of_the_students_own_runs_before_the_answer_that_it_precedes(desk):
    handed_in = copy.deepcopy(desk.solution)
    place = next(n for n, c in enumerate(handed_in.cells) if grade_id(c) == "exercise-4")
    handed_in.cells.insert(place, new_code_cell("PIECE = 512"))
    assert source_of(put_together(desk.original, handed_in), 4)[0] == "PIECE = 512"
