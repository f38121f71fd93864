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
from course.grading import submissions as submissions_module
from course.grading.submissions import MAX_NOTEBOOKS, absent_students, file_name, find_submissions
from tools.grade_a_class import LABS, NAME

LAB = "01_tensors"
ORIGINAL = nbformat.read(LABS / f"{NAME}.ipynb", as_version=4)
SOLUTION = (LABS / "solutions" / f"{NAME}.ipynb").read_text()


def notebook_text(code="1"):
    return nbformat.writes(new_notebook(cells=[new_code_cell(code)]))


def find(folder, **options):
    return find_submissions(folder, LAB, ORIGINAL, **options)


def write_file(folder, path, content=None):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    content = notebook_text() if content is None else content
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def zip_of(files, method=zipfile.ZIP_DEFLATED, day=1):
    """Return the bytes of a zip with these files (names, or a dictionary with their contents)."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, text in (files if isinstance(files, dict) else dict.fromkeys(files)).items():
            member = zipfile.ZipInfo(name, (2026, 11, day, 12, 0, 0))
            member.compress_type = method
            archive.writestr(member, notebook_text() if text is None else text)
    return content.getvalue()


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["bob/x", "Ada/x", "cy/x"], ["Ada", "bob", "cy"]),
        (["Ada_1_assignsubmission_file_/x", "Ada_2_assignsubmission_file_/x"], ["Ada 1", "Ada 2"]),
        (["lovelace_1_10_x", "lovelace_2_11_x"], ["lovelace 1", "lovelace 2"]),
        (["Participant_5_assignsubmission_file_/x"], ["Participant 5"]),
        (["Ada L_12_assignsubmission_file_x"], ["Ada L"]),
        (["lovelaceada_12_67_01_tensors"], ["lovelaceada"]),
        (["ada/x", "Ada/x", "ada./x"], ["Ada", "ada (2)", "ada. (2)"]),
        (["class/ada/x", "class/bob/x"], ["ada", "bob"]),
        (["class/ada", "class/bob"], ["ada", "bob"]),
        (["export/lab 1/ada/x", "export/lab 1/bob/x"], ["ada", "bob"]),
        (["export/lab 1/Ada_1_assignsubmission_file_/x"], ["Ada"]),
        (["ada/x"], ["ada"]),
        (["submitted/ada/01_tensors/01_tensors"], ["ada"]),
        (["ada/01_tensors/01_tensors", "ada/03_moving/03_moving"], ["ada"]),
        (["ada/draft", "ada/final"], ["ada"]),
        # One repository per student, named as GitHub Classroom does.
        (["labs/lab-01-ada/labs/01_tensors", "labs/lab-01-bob/x"], ["lab-01-ada", "lab-01-bob"]),
        # Names cannot control the terminal.
        (["a\x1b[2J\nb\u202e/x"], ["a [2J b"]),
    ],
)
def test_students_are_neither_merged_nor_lost(tmp_path, paths, expected):
    (tmp_path / "class.zip").write_bytes(zip_of([f"{path}.ipynb" for path in paths]))
    assert [submission.student for submission in find(tmp_path / "class.zip")] == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the file is empty"),
        ("{", "not a readable notebook"),
        ('{"cells": 3}', "not a readable notebook"),
        ("[" * 100_000, "not a readable notebook"),
        (notebook_text().replace("{", '{"x": ' + "9" * 5000 + ",", 1), "not a readable notebook"),
        (notebook_text().replace('"1"', "7"), "not a readable notebook"),
        (nbformat.writes(new_notebook()), "it has no code"),
        (notebook_text("x = 1\n" * 200_000), "characters; the limit is 1,000,000"),
        (" " * 101_000_000, "it is 101 MB; the limit is 100 MB"),
    ],
)
def test_unreadable_file_is_a_submission_with_its_problem(tmp_path, content, problem):
    write_file(tmp_path, "ada/lab.ipynb", content)
    (submission,) = find(tmp_path)
    assert submission.notebook is None
    assert problem in submission.problem


@pytest.mark.parametrize(
    ("suffix", "encoding"),
    [("txt", "utf-8-sig"), ("json", "utf-16"), ("IPYNB", "utf-16-le"), ("ipynb", "latin-1")],
)
def test_notebooks_with_other_suffixes_and_encodings_are_read(tmp_path, suffix, encoding):
    text = json.dumps(json.loads(notebook_text("ä = 'Straße'")), ensure_ascii=False)
    name = f"x.ipynb.{suffix}" if len(suffix) < 5 else f"x.{suffix}"
    write_file(tmp_path, f"ada/{name}", text.encode(encoding))
    (submission,) = find(tmp_path)
    assert submission.notebook.cells[0].source == "ä = 'Straße'"


@pytest.mark.parametrize(
    "change",
    [
        lambda notebook: notebook["metadata"].update(x=float("nan"), y=float("inf")),
        lambda notebook: notebook["cells"][0]["metadata"].update(nbgrader=[{"grade_id": 1}]),
        lambda notebook: notebook["cells"][0].update(source="text = '\ud800'"),
        lambda notebook: notebook["cells"][0].update(
            outputs=[{"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}]
        ),
    ],
    ids=["NaN", "metadata", "surrogate", "large output"],
)
def test_unusual_notebooks_are_read(tmp_path, change):
    notebook = json.loads(notebook_text())
    change(notebook)
    write_file(tmp_path, "ada/x.ipynb", json.dumps(notebook))
    (ada,) = find(tmp_path)
    assert len(nbformat.writes(ada.notebook).encode()) < 1000


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("x")])
def test_folder_without_submissions_is_an_error(tmp_path, make):
    folder = tmp_path / "in"
    make(folder)
    with pytest.raises(CourseError, match=r"does not exist|no notebook|neither a folder nor a"):
        find(folder)


def test_files_that_are_not_submissions_are_ignored_or_reported(tmp_path):
    hidden = ("grades.csv", "__MACOSX/cy/x.ipynb", "cy/.ipynb_checkpoints/x.ipynb")
    for path in ("ada/report.pdf", "bob/lab.py", "cy/x.ipynb", *hidden):
        write_file(tmp_path, path)
    ada, bob, cy = find(tmp_path)
    assert ada.problem == "report.pdf is not a notebook (.ipynb)"
    assert bob.problem == "lab.py is not a notebook (.ipynb)"
    assert (cy.path, cy.others) == ("cy/x.ipynb", ())


def test_notebook_of_this_lab_with_the_most_answers_is_chosen(tmp_path):
    one_answer = copy.deepcopy(ORIGINAL)
    for cell in one_answer.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "exercise-1":
            cell.source = "def move_all(tensors, device):\n    return []"
    (other,) = (LABS / "solutions").glob("03*.ipynb")
    # A copy of the course, with the published solutions and the lessons.
    lesson = next(LABS.parent.glob("notebooks/01*.ipynb")).read_text()
    write_file(tmp_path, "ada/course/labs/a.ipynb", nbformat.writes(one_answer))
    write_file(tmp_path, "ada/course/labs/b.ipynb", nbformat.writes(ORIGINAL))
    write_file(tmp_path, "ada/course/labs/solutions/a.ipynb", SOLUTION)
    write_file(tmp_path, "ada/course/notebooks/c.ipynb", lesson)
    write_file(tmp_path, "bob/lab_03.ipynb", other.read_text())
    ada, bob = find(tmp_path)
    assert ada.path == "ada/course/labs/a.ipynb"
    assert ada.others == ("ada/course/labs/b.ipynb", "ada/course/notebooks/c.ipynb")
    assert (bob.notebook, bob.problem) == (None, "it is lab 03, not this lab")


@pytest.mark.parametrize("name", ["a_LATE_1_2_x.ipynb", "a_late_1_2_x.ipynb"])
def test_late_flag_is_read_from_canvas_names(tmp_path, name):
    write_file(tmp_path, name)
    (submission,) = find(tmp_path)
    identity = submission.identity
    assert (submission.student, identity.id, identity.platform) == ("a", "1", "canvas")
    assert submission.late


@pytest.mark.parametrize(("due", "is_late"), [(2, True), (4, False)])
def test_a_zip_is_late_by_its_own_time_and_not_by_those_of_its_files(tmp_path, due, is_late):
    inner = zip_of(["x.ipynb"], day=1)
    (tmp_path / "class.zip").write_bytes(zip_of({"ada/lab.zip": inner, "bob/x.ipynb": None}, day=3))
    submissions = find(tmp_path / "class.zip", due=datetime(2026, 11, due))
    assert [submission.late for submission in submissions] == [is_late, is_late]


def test_notebooks_in_zips_are_read_even_in_a_zip_in_a_zip(tmp_path):
    write_file(tmp_path, "ada/my lab.zip", zip_of({"deep.zip": zip_of(["../lab/x.ipynb"])}))
    write_file(tmp_path, "bob.zip", zip_of(["x.ipynb"]))
    ada, bob = find(tmp_path)
    assert (ada.student, ada.path) == ("ada", "ada/my lab.zip/deep.zip/lab/x.ipynb")
    assert (bob.student, bob.path) == ("bob", "bob.zip/x.ipynb")
    assert None not in (ada.notebook, bob.notebook)


def test_corrupt_or_oversized_zips_affect_only_their_submissions(tmp_path):
    size = 100_000_000
    corrupt = bytearray(zip_of({"x.ipynb": notebook_text("x" * 50)}))
    corrupt[50:70] = b"\xff" * 20
    wrong_size = zip_of({"x.ipynb": " " * size}).replace(size.to_bytes(4, "little"), b"\5\0\0\0")
    zips = {
        "a": (bytes(corrupt), "cannot be unpacked"),
        "b": ("not a zip", "cannot be unpacked"),
        "c": (zip_of(["x.ipynb"], zipfile.ZIP_LZMA), "not supported"),
        "d": (wrong_size, ""),
        "e": (zip_of({f"{n}.ipynb": " " * 40_000_000 for n in range(3)}), "120 MB"),
        "f": (zip_of({"notes.txt": ""}), "there is no notebook in the zip"),
    }
    for name, (content, _) in zips.items():
        write_file(tmp_path, f"{name}/x.zip", content)
    write_file(tmp_path, "z/x.ipynb")
    tracemalloc.start()
    *unreadable, readable = find(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert readable.notebook is not None
    for submission in unreadable:
        assert submission.notebook is None
        assert zips[submission.student][1] in submission.problem
    assert peak < 150_000_000


def test_only_this_lab_is_parsed_in_a_clone_with_many_notebooks(tmp_path, monkeypatch):
    for number in range(MAX_NOTEBOOKS + 1):
        code = f"# compare with {LAB}\n{number}"
        write_file(tmp_path, f"export/ada/repo/{number}.ipynb", notebook_text(code))
    mine = notebook_text("from helpers.checks import lab_01 as check\n" + "x\n" * 3)
    write_file(tmp_path, "export/ada/repo/mine.ipynb", mine)
    other = notebook_text()
    write_file(tmp_path, "export/bob/other.ipynb", other)
    parsed = []
    parse = submissions_module._parse
    monkeypatch.setattr(submissions_module, "_parse", lambda c: parsed.append(c) or parse(c))
    assert [submission.student for submission in find(tmp_path)] == ["ada", "bob"]
    assert parsed == [mine.encode(), other.encode()]


def test_long_and_accented_names_have_unique_file_names(tmp_path):
    long_names = ("\u6797" * 80, "\u6797" * 79 + "x", "\u6797" * 80 + ".")
    names = [*long_names, "Jos\u00e9", "Jose\u0301"]
    (tmp_path / "class.zip").write_bytes(zip_of([f"{name}/x.ipynb" for name in names]))
    files = {file_name(submission.student) for submission in find(tmp_path / "class.zip")}
    assert len(files) == 5
    assert {"Jos\u00e9", "Jos\u00e9 (2)"} < files
    assert max(len(name.encode()) for name in files) < 150


@pytest.mark.parametrize(
    ("path", "rows", "absent"),
    [
        ("ada/x.ipynb", "name\nada\nBob\n", "Bob"),
        ("ada/x.ipynb", "Full name,Identifier\nada,Participant 1\nBob,Participant 2\n", "Bob"),
        ("ada/x.ipynb", "Student,ID\n    Points Possible,\nada,1\nBob,2\n", "Bob"),
        ("ada/x.ipynb", "name\nada\nJörg\n", "Jörg"),
        ("wells_33_1_Mine.zip", 'Student,ID\n"Wells, Lane",33\n"Doe, Jo",1\n', "Doe, Jo"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_each_student_on_the_class_list_has_a_row(tmp_path, path, rows, absent, encoding):
    write_file(tmp_path, f"in/{path}", zip_of(["x.ipynb"]) if path.endswith("zip") else None)
    write_file(tmp_path, "list.csv", rows.encode(encoding))
    (submission,) = absent_students(tmp_path / "list.csv", find(tmp_path / "in"))
    assert (submission.student, submission.problem) == (absent, "nothing was submitted")


@pytest.mark.parametrize("text", ["email\nada@example.org\n", "%PDF-1.4", ""])
def test_class_list_without_names_is_an_error(tmp_path, text):
    write_file(tmp_path, "list.csv", text)
    with pytest.raises(CourseError, match="no column"):
        absent_students(tmp_path / "list.csv", [])
