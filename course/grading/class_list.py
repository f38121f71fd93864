"""Reads a class list so that the gradebook also has a row for each absent student."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from course.course_folder import CourseError
from course.grading.students import Student, display_names, file_name
from course.grading.submissions import Submission

_NAME_COLUMNS = ("full name", "student", "name")
_ID_COLUMNS = ("identifier", "id", "sis login id")


def absent_students(class_list: Path, submissions: Sequence[Submission]) -> list[Submission]:
    """Return an empty submission for each student on the list who submitted nothing.

    The list is a CSV file with a column "name" and optionally "id", such as Moodle's grading
    worksheet or Canvas's exported gradebook. Students are matched by id if there is one, and
    otherwise by name.
    """
    try:
        with class_list.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = [name.strip().casefold() for name in reader.fieldnames or []]
            rows = [
                {str(key or "").strip().casefold(): str(value or "") for key, value in row.items()}
                for row in reader
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"The class list {class_list} cannot be read: {error}.") from None
    if not any(column in columns for column in _NAME_COLUMNS):
        found = f"has {', '.join(columns)[:200]}" if columns else "is empty"
        raise CourseError(
            f"The class list {class_list} has no column "
            f"{' or '.join(map(repr, _NAME_COLUMNS))}; it {found}."
        )
    ids = {submission.identity.id for submission in submissions} - {""}
    names = {file_name(submission.identity.name).casefold() for submission in submissions}
    platforms = [submission.identity.platform for submission in submissions]
    platform = next(filter(None, platforms), "")
    students = []
    for row in rows:
        name = next((row[column].strip() for column in _NAME_COLUMNS if column in row), "")
        student_id = next((row[column].strip() for column in _ID_COLUMNS if column in row), "")
        student_id = re.sub(r"^Participant ", "", student_id)
        if not name or name == "Points Possible" or student_id in ids:
            continue
        if file_name(name).casefold() in names and not (student_id and ids):
            continue
        students.append(Student(name, student_id, platform))
    unique_names = display_names([*(submission.identity for submission in submissions), *students])
    problem = "nothing was submitted"
    return [
        Submission(unique_names[student.key], "", problem=problem, identity=student)
        for student in students
    ]
