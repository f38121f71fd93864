"""A student's answers are merged into the original lab."""

import copy
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course.course_folder import CourseError
from course.grading.answers import exercise_points, merge_answers, other_lab
from tools.grade_a_class import grade_id


def source_of(merged, exercise):
    cells = [cell for cell in merged.cells if cell.kind == "student"]
    return [cell.source for cell in cells if cell.exercise == exercise]


def test_a_notebook_without_checks_is_refused():
    with pytest.raises(CourseError, match="is not a lab"):
        exercise_points(nbformat.v4.new_notebook(cells=[new_code_cell("1")]))


def test_only_answers_are_taken_from_the_student(builder):
    submitted = builder.with_answer(1, "def move_all(tensors, device): return 7")
    for cell in submitted.cells:
        if grade_id(cell).startswith(("check", "given")):
            cell.source = "forged()"
    merged = merge_answers(builder.original, submitted)
    assert source_of(merged, 1) == ["def move_all(tensors, device): return 7"]
    assert not any("forged" in cell.source for cell in merged.cells)
    assert any("changed checks were restored" in note for note in merged.notes)


def test_answers_are_found_by_their_definitions_or_as_the_changed_copy(builder):
    without_ids, merged_by_hand = copy.deepcopy(builder.solution), copy.deepcopy(builder.original)
    for cell in without_ids.cells:
        cell.metadata = nbformat.NotebookNode()
    merged_by_hand.cells = copy.deepcopy(builder.solution.cells) + merged_by_hand.cells
    for submitted in (without_ids, merged_by_hand):
        merged = merge_answers(builder.original, submitted)
        assert merged.missing == []
        for number in builder.max_points:
            assert source_of(merged, number) == [builder.answer(number)]


def test_only_a_deleted_exercise_is_missing_and_stubs_are_not_answers(builder):
    submitted = copy.deepcopy(builder.original)
    submitted.cells = [c for c in submitted.cells if grade_id(c) != "exercise-3"]
    merged = merge_answers(builder.original, submitted)
    assert (merged.missing, merged.answered) == ([3], [])


@pytest.mark.parametrize(("offset", "position"), [(0, 0), (1, -1)])
def test_extra_cells_run_before_the_answer_or_check_that_they_precede(builder, offset, position):
    submitted = copy.deepcopy(builder.solution)
    index = next(n for n, c in enumerate(submitted.cells) if grade_id(c) == "exercise-4")
    submitted.cells.insert(index + offset, new_code_cell("PIECE = 512"))
    sources = source_of(merge_answers(builder.original, submitted), 4)
    assert len(sources) == 2
    assert sources[position] == "PIECE = 512"


def test_all_answers_in_one_cell_are_found(builder):
    submitted = copy.deepcopy(builder.original)
    all_answers = "\n\n".join(builder.answer(n) for n in builder.max_points)
    for cell in submitted.cells:
        if grade_id(cell) == "exercise-1":
            cell.source = all_answers
    merged = merge_answers(builder.original, submitted)
    students = [cell.source for cell in merged.cells if cell.kind == "student"]
    assert students == [all_answers]
    assert merged.missing == []
    assert merged.answered == sorted(builder.max_points)


def test_another_lab_is_recognized(builder):
    cell = new_code_cell("import torch\n\nfrom helpers.checks import lab_03 as check")
    assert other_lab(builder.original, new_notebook(cells=[cell])) == "lab 03"
    assert other_lab(builder.original, builder.solution) == ""


def test_many_blank_lines_and_many_cells_without_ids_are_read_quickly(builder):
    cell = "for value in values:\n    total = total + value if value else total\n" * 8
    cells = [new_code_cell("\n" * 50_000), *(new_code_cell(f"{cell}{n}") for n in range(300))]
    notebook = new_notebook(cells=cells)
    start = time.process_time()
    assert other_lab(builder.original, notebook) == ""
    assert merge_answers(builder.original, notebook).missing == list(builder.max_points)
    assert time.process_time() - start < 10
