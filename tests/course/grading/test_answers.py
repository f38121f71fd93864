"""How a student's answers get into the original lab."""

import copy

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from course.course_folder import CourseError
from course.grading.answers import merge_answers, other_lab, points_of
from tools.grade_a_class import grade_id


def source_of(merged, exercise, kind="student"):
    return [c.source for c in merged.cells if c.kind == kind and c.exercise == exercise]


def test_points_come_from_the_lab(desk):
    assert points_of(desk.original) == desk.of


def test_a_notebook_without_checks_is_refused():
    with pytest.raises(CourseError, match="is not a lab"):
        points_of(nbformat.v4.new_notebook(cells=[new_code_cell("1")]))


def test_only_answers_are_taken_from_the_student(desk):
    handed_in = desk.with_answer(1, "def move_all(tensors, device): return 7")
    for cell in handed_in.cells:
        if grade_id(cell).startswith(("check", "given")):
            cell.source = "forged()"
    merged = merge_answers(desk.original, handed_in)
    assert source_of(merged, 1) == ["def move_all(tensors, device): return 7"]
    assert not any("forged" in cell.source for cell in merged.cells)
    assert any("changed checks were restored" in note for note in merged.notes)


def test_answers_without_ids_are_found_by_what_they_define(desk):
    handed_in = copy.deepcopy(desk.solution)
    for cell in handed_in.cells:
        cell.metadata = nbformat.NotebookNode()
    merged = merge_answers(desk.original, handed_in)
    assert merged.missing == []
    assert [source_of(merged, n) for n in desk.of] == [[desk.answer(n)] for n in desk.of]


def test_changed_cell_counts_if_two_have_one_id(desk):
    handed_in = copy.deepcopy(desk.original)
    handed_in.cells = copy.deepcopy(desk.solution.cells) + handed_in.cells
    merged = merge_answers(desk.original, handed_in)
    assert source_of(merged, 5) == [desk.answer(5)]


def test_only_a_deleted_exercise_is_missing(desk):
    handed_in = copy.deepcopy(desk.solution)
    handed_in.cells = [c for c in handed_in.cells if grade_id(c) != "exercise-3"]
    assert merge_answers(desk.original, handed_in).missing == [3]


def test_additional_cell_runs_before_the_answer_that_it_precedes(desk):
    handed_in = copy.deepcopy(desk.solution)
    place = next(n for n, c in enumerate(handed_in.cells) if grade_id(c) == "exercise-4")
    handed_in.cells.insert(place, new_code_cell("PIECE = 512"))
    assert source_of(merge_answers(desk.original, handed_in), 4)[0] == "PIECE = 512"


def test_all_answers_in_one_cell_are_found(desk):
    handed_in = copy.deepcopy(desk.original)
    everything = "\n\n".join(desk.answer(n) for n in desk.of)
    for cell in handed_in.cells:
        if grade_id(cell) == "exercise-1":
            cell.source = everything
    merged = merge_answers(desk.original, handed_in)
    students = [cell.source for cell in merged.cells if cell.kind == "student"]
    assert students == [everything]
    assert merged.missing == []
    assert merged.written == sorted(desk.of)


def test_stubs_are_not_written(desk):
    assert merge_answers(desk.original, desk.original).written == []


def test_another_lab_is_recognized(desk):
    other = nbformat.v4.new_notebook(
        cells=[new_code_cell("import torch\n\nfrom helpers.checks import lab_03 as check")]
    )
    assert other_lab(desk.original, other) == "lab_03"
    assert other_lab(desk.original, desk.solution) is None
