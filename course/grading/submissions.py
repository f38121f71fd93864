"""Finds the submissions in a folder or zip exported from a learning platform."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from nbformat import NotebookNode

from course.course_folder import CourseError
from course.grading.answers import merge_answers, other_notebook
from course.grading.students import Student, display_names, identify_student, wrapper_depth
from course.grading.submitted_files import SubmittedFile, is_notebook, read_files


@dataclass(frozen=True)
class Submission:
    """The submission of one student.

    `student` is a unique name. If there is no readable notebook, `notebook` is None and `problem`
    is the reason. `others` are the student's other files, which are not graded. `modified` is the
    modification time, or None if it is unknown.
    """

    student: str
    path: str
    notebook: NotebookNode | None = None
    problem: str = ""
    digest: str = ""
    others: tuple[str, ...] = ()
    identity: Student = field(default_factory=lambda: Student(""))
    modified: datetime | None = None
    late: bool = False


def find_submissions(
    folder: Path, lab: str, original: NotebookNode | None = None, *, due: datetime | None = None
) -> list[Submission]:
    """Find one submission per student, sorted by name.

    Args:
        folder: a folder or a zip exported from Moodle, Canvas or nbgrader, or one with a file or a
            folder per student. A notebook may be inside another zip or end in `.ipynb.txt`.
        lab: the name of the lab's notebook, without its suffix.
        original: the lab. If a student submitted several notebooks, the notebook of this lab with
            the most answers counts.
        due: the deadline. A file that was modified later is marked as late.

    Raises:
        CourseError: the folder does not exist, is not a valid zip, or contains no notebook.
    """
    files = sorted(read_files(folder, lab), key=lambda file: file.path)
    depth = wrapper_depth([file.path for file in files], lab)
    candidates_by_student: dict[tuple[str, str], list[Submission]] = {}
    students: dict[tuple[str, str], Student] = {}
    for file in files:
        relative_path = "/".join(PurePosixPath(file.path).parts[depth:])
        identity = identify_student(relative_path, lab)
        if not is_notebook(file.path) and not identity.platform and "/" not in relative_path:
            continue  # for example, a class list next to the submissions
        student = students.setdefault(identity.key, identity)
        students[identity.key] = replace(student, late=student.late or identity.late)
        candidates_by_student.setdefault(identity.key, []).append(_make_submission(identity, file))
    if not any(is_notebook(file.path) for file in files):
        raise CourseError(f"There is no notebook (.ipynb) in {folder}.")
    names = display_names(students.values())
    submissions = []
    for key, candidates in candidates_by_student.items():
        best = _choose_best(candidates, original)
        late = students[key].late or bool(due and best.modified and best.modified > due)
        identity = replace(students[key], late=late)
        submissions.append(replace(best, student=names[key], identity=identity, late=late))
    return sorted(submissions, key=lambda submission: submission.student.casefold())


def _make_submission(student: Student, file: SubmittedFile) -> Submission:
    return Submission(
        student.name,
        file.path,
        file.notebook,
        file.problem,
        file.digest,
        identity=student,
        modified=file.modified,
    )


def _choose_best(candidates: list[Submission], original: NotebookNode | None) -> Submission:
    best = max(candidates, key=lambda candidate: _rank(candidate, original))
    others = tuple(candidate.path for candidate in candidates if candidate is not best)
    if best.notebook is not None and original is not None:
        other = other_notebook(original, best.notebook)
        if other is not None:
            best = replace(best, notebook=None, problem=f"it is {other}, not this lab")
    return replace(best, others=others)


def _rank(submission: Submission, original: NotebookNode | None) -> tuple[Any, ...]:
    """Return a sort key that prefers notebooks of this lab, then more answers, then later files."""
    modified = submission.modified or datetime.min
    if submission.notebook is None:
        return (is_notebook(submission.path), False, 0, 0, modified, submission.path)
    if original is None:
        return (True, True, 0, len(submission.notebook.cells), modified, submission.path)
    if other_notebook(original, submission.notebook) is not None:
        # Comparing the cells is slow, and a copy of the course has over 100 notebooks.
        return (True, False, 0, 0, modified, submission.path)
    merged = merge_answers(original, submission.notebook)
    exercises = len({cell.exercise for cell in merged.cells} - {None})
    num_answers = exercises - len(merged.missing)
    return (True, True, len(merged.answered), num_answers, modified, submission.path)
