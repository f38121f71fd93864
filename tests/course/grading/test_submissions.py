import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course.course_folder import CourseError
from course.grading.submissions import find_submissions, student_of

LAB = "01_tensors"


def a_notebook(code="1", marks=()):
    cells = [new_code_cell(code)]
    cells += [new_code_cell("2", metadata={"nbgrader": {"grade_id": mark}}) for mark in marks]
    return nbformat.writes(new_notebook(cells=cells))


def put(folder, path, text):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("path", "student"),
    [
        ("Ada Lovelace_123456_assignsubmission_file_/lab.ipynb", "Ada Lovelace"),
        ("Ada Lovelace_123456_assignsubmission_file/01_tensors.ipynb", "Ada Lovelace"),
        ("Ada Lovelace_123456_assignsubmission_file_01_tensors.ipynb", "Ada Lovelace"),
        ("lovelaceada_12345_678910_01_tensors.ipynb", "lovelaceada"),
        ("lovelaceada_LATE_12345_678910_01_tensors-2.ipynb", "lovelaceada"),
        ("ada/01_tensors/01_tensors.ipynb", "ada"),
        ("ada/deep/down/answer.ipynb", "ada"),
        ("01_tensors_ada.ipynb", "ada"),
        ("ada.ipynb", "ada"),
        ("01_tensors.ipynb", "01_tensors"),
    ],
)
def test_the_student_is_read_off_what_platforms_make_of_a_name(path, student):
    assert student_of(path, LAB) == student


def test_each_student_has_one_submission_in_the_order_of_names(tmp_path):
    for name in ("bob", "Ada", "cy"):
        put(tmp_path, f"{name}/x.ipynb", a_notebook())
    assert [one.student for one in find_submissions(tmp_path, LAB)] == ["Ada", "bob", "cy"]


def test_of_several_notebooks_the_one_with_most_of_the_lab_counts(tmp_path):
    put(tmp_path, "ada/draft.ipynb", a_notebook())
    put(tmp_path, "ada/final.ipynb", a_notebook(marks=["exercise-1", "exercise-2"]))
    (one,) = find_submissions(tmp_path, LAB)
    assert (one.path, one.others) == ("ada/final.ipynb", ("ada/draft.ipynb",))


def test_copies_that_jupyter_and_macos_leave_are_passed_over(tmp_path):
    put(tmp_path, "ada/lab.ipynb", a_notebook())
    put(tmp_path, "ada/.ipynb_checkpoints/lab.ipynb", a_notebook("old"))
    put(tmp_path, "__MACOSX/ada/lab.ipynb", "junk")
    (one,) = find_submissions(tmp_path, LAB)
    assert one.others == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("{", "no notebook that can be read"),
        ('{"cells": 3}', "no notebook that can be read"),
        (nbformat.writes(new_notebook()), "it has no code"),
    ],
)
def test_what_is_no_notebook_is_a_submission_with_its_problem(tmp_path, text, problem):
    put(tmp_path, "ada/lab.ipynb", text)
    (one,) = find_submissions(tmp_path, LAB)
    assert one.notebook is None
    assert problem in one.problem


def test_a_zip_is_read_as_its_folder_is(tmp_path):
    file = tmp_path / "all.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("class/ada/lab.ipynb", a_notebook())
        archive.writestr("class/bob/lab.ipynb", a_notebook())
        archive.writestr("../../escape/lab.ipynb", a_notebook())
    students = [one.student for one in find_submissions(file, LAB)]
    assert {"class", ".."} & set(students) or students == ["ada", "bob"]
    assert not (tmp_path.parent / "escape").exists()


def test_a_file_far_too_large_is_not_unpacked(tmp_path):
    file = tmp_path / "bomb.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/lab.ipynb", " " * 31_000_000)
        archive.writestr("b/lab.ipynb", a_notebook())
    first, second = find_submissions(file, LAB)
    assert "31 MB" in first.problem
    assert second.notebook is not None


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("x")])
def test_a_folder_that_holds_no_submissions_is_told(tmp_path, make):
    place = tmp_path / "in"
    make(place)
    with pytest.raises(CourseError, match=r"does not exist|no notebook|neither a folder nor a zip"):
        find_submissions(place, LAB)
