"""Submissions are found for every platform and file layout."""

import copy
import io
import json
import tracemalloc
import zipfile
from datetime import datetime

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course.course_folder import CourseError
from course.grading import submitted_files

from course.grading.students import file_name, identify_student
from course.grading.submissions import find_submissions
from course.grading.submitted_files import (
    MAX_NOTEBOOKS,
    read_files,
)
from tools.grade_a_class import LABS, NAME

LAB = "01_tensors"


def notebook_text(code="1", grade_ids=()):
    cells = [new_code_cell(code)]
    cells += [
        new_code_cell("2", metadata={"nbgrader": {"grade_id": grade_id}}) for grade_id in grade_ids
    ]
    return nbformat.writes(new_notebook(cells=cells))


def write_file(folder, path, text):
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
def test_student_is_identified_by_path(path, student):
    assert identify_student(path, LAB).name == student


def test_each_student_has_one_submission_sorted_by_name(tmp_path):
    for name in ("bob", "Ada", "cy"):
        write_file(tmp_path, f"{name}/x.ipynb", notebook_text())
    assert [submission.student for submission in find_submissions(tmp_path, LAB)] == [
        "Ada",
        "bob",
        "cy",
    ]


def test_notebook_with_the_most_answers_is_chosen(tmp_path):
    write_file(tmp_path, "ada/draft.ipynb", notebook_text())
    write_file(tmp_path, "ada/final.ipynb", notebook_text(grade_ids=["exercise-1", "exercise-2"]))
    (submission,) = find_submissions(tmp_path, LAB)
    assert (submission.path, submission.others) == ("ada/final.ipynb", ("ada/draft.ipynb",))


def test_hidden_copies_from_jupyter_and_macos_are_ignored(tmp_path):
    write_file(tmp_path, "ada/lab.ipynb", notebook_text())
    write_file(tmp_path, "ada/.ipynb_checkpoints/lab.ipynb", notebook_text("old"))
    write_file(tmp_path, "__MACOSX/ada/lab.ipynb", "junk")
    (submission,) = find_submissions(tmp_path, LAB)
    assert submission.others == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("{", "not a readable notebook"),
        ('{"cells": 3}', "not a readable notebook"),
        (nbformat.writes(new_notebook()), "it has no code"),
    ],
)
def test_unreadable_file_is_a_submission_with_its_problem(tmp_path, text, problem):
    write_file(tmp_path, "ada/lab.ipynb", text)
    (submission,) = find_submissions(tmp_path, LAB)
    assert submission.notebook is None
    assert problem in submission.problem


def test_a_zip_is_read_like_a_folder(tmp_path):
    file = tmp_path / "all.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("class/ada/lab.ipynb", notebook_text())
        archive.writestr("class/bob/lab.ipynb", notebook_text())
        archive.writestr("../../escape/lab.ipynb", notebook_text())
    assert {submission.student for submission in find_submissions(file, LAB)} >= {"class"}
    assert not (tmp_path.parent / "escape").exists()


def test_too_large_file_is_not_unpacked(tmp_path):
    file = tmp_path / "bomb.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/lab.ipynb", " " * 101_000_000)
        archive.writestr("b/lab.ipynb", notebook_text())
    first, second = find_submissions(file, LAB)
    assert "101 MB" in first.problem
    assert second.notebook is not None


def test_notebooks_in_a_students_zip_have_a_limit_on_total_size(tmp_path):
    (tmp_path / "ada").mkdir()
    with zipfile.ZipFile(tmp_path / "ada" / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"{number}.ipynb", " " * 40_000_000)
    write_file(tmp_path, "bob/x.ipynb", notebook_text())
    files = {file.path: file for file in read_files(tmp_path)}
    assert "120 MB" in files["ada/bomb.zip/2.ipynb"].problem
    assert "160 MB" in files["ada/bomb.zip/3.ipynb"].problem
    ada, bob = find_submissions(tmp_path, LAB)
    assert ada.notebook is None
    assert bob.notebook is not None


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (["x = 1"] * 2_001, "2,001 cells"),
        (["x = 1\n" * 200_000], "characters; the limit is 1,000,000"),
    ],
)
def test_notebook_of_unrealistic_size_is_not_read(tmp_path, cells, problem):
    notebook = new_notebook(cells=[new_code_cell(text) for text in cells])
    write_file(tmp_path, "ada/x.ipynb", nbformat.writes(notebook))
    (submission,) = find_submissions(tmp_path, LAB)
    assert problem in submission.problem


@pytest.mark.parametrize(
    "change",
    [
        lambda notebook: notebook["metadata"].update(x=float("nan"), y=float("inf")),
        lambda notebook: notebook["cells"][0]["metadata"].update(nbgrader=[{"grade_id": 1}]),
        lambda notebook: notebook["cells"][0].update(source=7),
        lambda notebook: notebook.update(cells={"a": 1}),
        lambda notebook: notebook["metadata"].update(deep=json.loads("[" * 400 + "]" * 400)),
    ],
)
def test_unusual_json_is_read_or_reported(tmp_path, lab, change):
    notebook = json.loads(notebook_text())
    change(notebook)
    write_file(tmp_path, "ada/x.ipynb", json.dumps(notebook))
    write_file(tmp_path, "bob/x.ipynb", "[" * 100_000)
    write_file(tmp_path, "cy/x.ipynb", notebook_text().replace("{", '{"x": ' + "9" * 5000 + ",", 1))
    ada, bob, cy = find_submissions(tmp_path, LAB, lab)
    assert ada.notebook is not None or "not a readable notebook" in ada.problem
    assert "not a readable notebook" in bob.problem
    assert "not a readable notebook" in cy.problem


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("x")])
def test_folder_without_submissions_is_an_error(tmp_path, make):
    folder = tmp_path / "in"
    make(folder)
    with pytest.raises(CourseError, match=r"does not exist|no notebook|neither a folder nor a"):
        find_submissions(folder, LAB)


@pytest.fixture(scope="module")
def lab():
    return nbformat.read(LABS / f"{NAME}.ipynb", as_version=4)


@pytest.fixture(scope="module")
def solution():
    return nbformat.read(LABS / "solutions" / f"{NAME}.ipynb", as_version=4)


def students(folder):
    return [submission.student for submission in find_submissions(folder, LAB)]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["Ada_1_assignsubmission_file_/x", "Ada_2_assignsubmission_file_/x"], ["Ada 1", "Ada 2"]),
        (["lovelace_1_10_x", "lovelace_2_11_x"], ["lovelace 1", "lovelace 2"]),
        (
            ["Participant_5_assignsubmission_file_/x", "Participant_6_assignsubmission_file_/x"],
            ["Participant 5", "Participant 6"],
        ),
        (["Participant_5_assignsubmission_file_/x"], ["Participant 5"]),
        (["ada/x", "Ada/x", "ada./x"], ["Ada", "ada (2)", "ada. (2)"]),
        (["class/ada/x", "class/bob/x"], ["ada", "bob"]),
        (["class/ada", "class/bob"], ["ada", "bob"]),
        (["export/lab 1/ada/x", "export/lab 1/bob/x"], ["ada", "bob"]),
        (["export/lab 1/ada", "export/lab 1/bob"], ["ada", "bob"]),
        (["export/lab 1/Ada_1_assignsubmission_file_/x"], ["Ada"]),
        (["ada/x"], ["ada"]),
        (["ada"], ["ada"]),
        (["submitted/ada/01_tensors/01_tensors"], ["ada"]),
        (["ada/01_tensors/01_tensors", "ada/03_moving/03_moving"], ["ada"]),
        (["ada/draft", "ada/final"], ["ada"]),
        # One repository per student, named as GitHub Classroom does.
        (
            ["lab-01-submissions/lab-01-ada/labs/01_tensors", "lab-01-submissions/lab-01-bob/x"],
            ["lab-01-ada", "lab-01-bob"],
        ),
    ],
)
def test_students_are_neither_merged_nor_lost(tmp_path, paths, expected):
    file = tmp_path / "class.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for path in paths:
            archive.writestr(f"{path}.ipynb", notebook_text())
    assert sorted(students(file)) == sorted(expected)


@pytest.mark.parametrize("name", ["a_LATE_1_2_x.ipynb", "a_late_1_2_x.ipynb", "a_Late_1_2_x.ipynb"])
def test_late_flag_is_read_from_canvas_names(tmp_path, name):
    write_file(tmp_path, name, notebook_text())
    (submission,) = find_submissions(tmp_path, LAB)
    assert (submission.student, submission.identity.id, submission.late) == ("a", "1", True)


def test_file_changed_after_the_due_date_is_late(tmp_path):
    file = tmp_path / "class.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, day in (("ada", 1), ("bob", 3)):
            member = zipfile.ZipInfo(f"{name}/x.ipynb", (2026, 11, day, 12, 0, 0))
            archive.writestr(member, notebook_text())
    submissions = find_submissions(file, LAB, due=datetime(2026, 11, 2))
    assert {submission.student: submission.late for submission in submissions} == {
        "ada": False,
        "bob": True,
    }


@pytest.mark.parametrize("suffix", [".ipynb.txt", ".ipynb.json", ".IPYNB"])
def test_renamed_notebooks_are_read(tmp_path, suffix):
    write_file(tmp_path, f"ada/x{suffix}", notebook_text())
    (submission,) = find_submissions(tmp_path, LAB)
    assert submission.notebook is not None


def test_a_zip_is_late_by_its_own_time_and_not_by_those_of_its_files(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo("x.ipynb", (2026, 11, 1, 0, 0, 0)), notebook_text())
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        member = zipfile.ZipInfo("ada/lab.zip", (2026, 11, 3, 0, 0, 0))
        archive.writestr(member, content.getvalue())
    (submission,) = find_submissions(tmp_path / "class.zip", LAB, due=datetime(2026, 11, 2))
    assert submission.late


def test_notebooks_in_a_students_zip_have_a_limit_on_their_number(tmp_path):
    (tmp_path / "eve").mkdir()
    with zipfile.ZipFile(tmp_path / "eve" / "many.zip", "w") as archive:
        for number in range(MAX_NOTEBOOKS + 1):
            archive.writestr(f"{number}.ipynb", "")
    (file,) = read_files(tmp_path)
    assert file.problem == "it has 301 notebooks; the limit is 300"


@pytest.mark.parametrize("wrapper", ["", "export/"])
def test_only_this_lab_is_parsed_in_a_clone_with_many_notebooks(tmp_path, monkeypatch, wrapper):
    for number in range(MAX_NOTEBOOKS + 1):
        code = f"# compare with {LAB}\n{number}"
        write_file(tmp_path, f"{wrapper}ada/repo/{number}.ipynb", notebook_text(code))
    mine = notebook_text("from helpers.checks import lab_01 as check\n" + "x\n" * 3)
    write_file(tmp_path, f"{wrapper}ada/repo/mine.ipynb", mine)
    write_file(tmp_path, f"{wrapper}bob/other.ipynb", notebook_text())
    parsed = []
    monkeypatch.setattr(submitted_files, "_parse", lambda file, _: parsed.append(file) or file)
    names = [submission.student for submission in find_submissions(tmp_path, LAB)]
    assert names == ["ada", "bob"]
    expected = [f"{wrapper}ada/repo/mine.ipynb", f"{wrapper}bob/other.ipynb"]
    assert sorted(file.path for file in parsed) == expected


def test_shortened_long_names_are_unique_and_fit_into_a_file_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for name in ("\u6797" * 200, "\u6797" * 199 + "x", "\u6797" * 200 + "."):
            archive.writestr(f"{name}/x.ipynb", notebook_text())
    submissions = find_submissions(tmp_path / "class.zip", LAB)
    names = {file_name(submission.student) for submission in submissions}
    assert len(names) == 3
    assert max(len(name.encode()) for name in names) < 150


def test_names_that_differ_only_in_unicode_normalization_get_different_file_names(tmp_path):
    for name in ("Jos\u00e9", "Jose\u0301"):
        write_file(tmp_path, f"{name}/x.ipynb", notebook_text())
    first, second = find_submissions(tmp_path, LAB)
    assert {file_name(first.student), file_name(second.student)} == {"Jos\u00e9", "Jos\u00e9 (2)"}


def test_name_cannot_control_the_terminal(tmp_path):
    write_file(tmp_path, "a\x1b[2J\nb\u202e/x.ipynb", notebook_text())
    (submission,) = find_submissions(tmp_path, LAB)
    assert submission.student == "a [2J b"


def test_a_notebook_in_a_zip_is_read(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("lab/x.ipynb", notebook_text())
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "my lab.zip").write_bytes(content.getvalue())
    (submission,) = find_submissions(tmp_path, LAB)
    assert (submission.student, submission.path) == ("ada", "ada/my lab.zip/lab/x.ipynb")
    assert submission.notebook is not None


def test_corrupt_zip_member_affects_only_one_submission(tmp_path):
    file = tmp_path / "class.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("ada", "bob"):
            archive.writestr(f"{name}/x.ipynb", notebook_text(name * 50))
    data = bytearray(file.read_bytes())
    start = data.index(b"ada/x.ipynb") + len(b"ada/x.ipynb")
    data[start : start + 40] = b"\xff" * 40
    file.write_bytes(data)
    ada, bob = find_submissions(file, LAB)
    assert ada.notebook is None
    assert "cannot be unpacked" in ada.problem
    assert bob.notebook is not None


def test_pdf_and_script_are_reported_as_not_a_notebook(tmp_path):
    write_file(tmp_path, "ada/report.pdf", "%PDF")
    write_file(tmp_path, "bob/lab.py", "x = 1")
    write_file(tmp_path, "cy/x.ipynb", notebook_text())
    write_file(tmp_path, "grades.csv", "not a submission")
    ada, bob, cy = find_submissions(tmp_path, LAB)
    assert ada.problem == "report.pdf is not a notebook (.ipynb)"
    assert bob.problem == "lab.py is not a notebook (.ipynb)"
    assert cy.notebook is not None


def test_large_outputs_are_dropped_before_reading(tmp_path):
    notebook = json.loads(notebook_text())
    text = {"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}
    notebook["cells"][0]["outputs"] = [text]
    write_file(tmp_path, "ada/x.ipynb", json.dumps(notebook))
    (submission,) = find_submissions(tmp_path, LAB)
    assert submission.notebook.cells[0].outputs == []


def test_lone_surrogates_are_replaced(tmp_path):
    write_file(
        tmp_path, "ada/x.ipynb", notebook_text("text = 'SURROGATE'").replace("SURROGATE", "\\ud800")
    )
    (submission,) = find_submissions(tmp_path, LAB)
    nbformat.writes(submission.notebook).encode()


def test_notebook_without_answers_is_not_chosen(tmp_path, lab, solution):
    write_file(tmp_path, "ada/1.ipynb", nbformat.writes(solution))
    write_file(tmp_path, "ada/2.ipynb", nbformat.writes(lab))
    (submission,) = find_submissions(tmp_path, NAME, lab)
    assert (submission.path, submission.others) == ("ada/1.ipynb", ("ada/2.ipynb",))


def test_the_notebook_of_this_lab_is_chosen(tmp_path, lab, solution):
    (other,) = (LABS / "solutions").glob("03*.ipynb")
    write_file(tmp_path, f"ada/{NAME}/{NAME}.ipynb", nbformat.writes(solution))
    write_file(tmp_path, f"ada/{other.stem}/{other.name}", other.read_text())
    write_file(tmp_path, f"bob/{other.stem}/{other.name}", other.read_text())
    ada, bob = find_submissions(tmp_path, NAME, lab)
    assert ada.path == f"ada/{NAME}/{NAME}.ipynb"
    assert bob.notebook is None
    assert bob.problem == "it is lab 03, not this lab"


def test_the_lab_is_found_in_a_copy_of_the_course(tmp_path, lab, solution):
    answered = copy.deepcopy(lab)
    for cell, other in zip(answered.cells, lab.cells, strict=True):
        if "exercise-1" in str(cell.metadata) and cell.source == other.source:
            cell.source = "def move_all(tensors, device):\n    return []"
    write_file(tmp_path, f"ada/course/labs/{NAME}.ipynb", nbformat.writes(answered))
    write_file(tmp_path, f"ada/course/labs/solutions/{NAME}.ipynb", nbformat.writes(solution))
    write_file(tmp_path, "ada/course/notebooks/01_tensors_and_devices.ipynb", notebook_text())
    (submission,) = find_submissions(tmp_path, NAME, lab)
    assert submission.path == f"ada/course/labs/{NAME}.ipynb"


@pytest.mark.parametrize(
    "rows",
    [
        "name\nada\nBob\n",
        "Full name,Identifier\nada,Participant 1\nBob,Participant 2\n",
        "Student,ID,Section\n    Points Possible,,\nada,1,\nBob,2,\n",
    ],
)
def test_each_student_on_the_class_list_has_a_row(tmp_path, rows):
    write_file(tmp_path, "in/ada/x.ipynb", notebook_text())
    write_file(tmp_path, "list.csv", rows)
    submissions = find_submissions(tmp_path / "in", LAB)
    (absent,) = absent_students(tmp_path / "list.csv", submissions)
    assert (absent.student, absent.problem) == ("Bob", "nothing was submitted")


@pytest.mark.parametrize("text", ["email\nada@example.org\n", "%PDF-1.4", ""])
def test_class_list_without_names_is_an_error(tmp_path, text):
    write_file(tmp_path, "list.csv", text)
    with pytest.raises(CourseError, match="no column"):
        absent_students(tmp_path / "list.csv", [])


@pytest.mark.parametrize(
    ("path", "identity"),
    [
        (
            "Ada Lovelace_123_assignsubmission_file_/lab.ipynb",
            ("Ada Lovelace", "123", "moodle", "Ada Lovelace_123_assignsubmission_file_"),
        ),
        (
            "Participant_103_assignsubmission_file_01_tensors.ipynb",
            ("Participant", "103", "moodle", "Participant_103_assignsubmission_file_"),
        ),
        (
            "wellslane_334244_394803489_Mine.zip/01_tensors.ipynb",
            ("wellslane", "334244", "canvas", "wellslane_334244_394803489_Mine.zip"),
        ),
    ],
)
def test_identity_has_name_id_platform_and_folder(path, identity):
    student = identify_student(path, LAB)
    assert (student.name, student.id, student.platform, student.root) == identity


def test_student_who_submitted_a_zip_to_canvas_is_not_absent(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("lab/x.ipynb", notebook_text())
    with zipfile.ZipFile(tmp_path / "canvas.zip", "w") as archive:
        archive.writestr("wellslane_334244_1_Mine.zip", content.getvalue())
        archive.writestr("smithbob_340934_2_x.ipynb", notebook_text())
        archive.writestr("smithbob_340934_3_screenshot.png", b"")
    submissions = find_submissions(tmp_path / "canvas.zip", LAB)
    assert [
        (submission.student, submission.notebook is not None) for submission in submissions
    ] == [
        ("smithbob", True),
        ("wellslane", True),
    ]
    students = tmp_path / "gradebook.csv"
    students.write_text('Student,ID\n"Wells, Lane",334244\n"Smith, Bob",340934\n"Doe, Jo",1\n')
    assert [submission.student for submission in absent_students(students, submissions)] == [
        "Doe, Jo"
    ]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_methods_that_decompress_without_a_limit_are_not_read(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "class.zip", "w", method) as archive:
        archive.writestr("ada/x.ipynb", notebook_text())
    (submitted,) = read_files(tmp_path / "class.zip")
    assert "not supported" in submitted.problem


def test_unpacking_stops_at_the_size_that_the_zip_states(tmp_path):
    file = tmp_path / "class.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ada/x.ipynb", " " * 100_000_000)
    size = (100_000_000).to_bytes(4, "little")
    file.write_bytes(file.read_bytes().replace(size, (5).to_bytes(4, "little")))
    tracemalloc.start()
    (submitted,) = read_files(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert submitted.notebook is None
    assert peak < 20_000_000
