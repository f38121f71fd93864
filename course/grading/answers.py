"""Merges a student's answers into the original lab; all other cells come from the lab."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from nbformat import NotebookNode

from course.course_folder import CourseError
from course.grading.matching import CHECK, defined_names, find_answers, grade_id_of

_EXERCISE = re.compile(r"exercise-(\d+)(?:-\d+)?$")
_LAB = re.compile(r"^[ \t]*from helpers\.checks import (lab_\w+)", re.MULTILINE)
_LESSON = re.compile(r"notebooks/source/(\d+)_")


class CellKind(enum.StrEnum):
    """The origin of a cell: the lab, the student, or a check. Text cells are not run."""

    GIVEN = "given"
    STUDENT = "student"
    CHECK = "check"
    TEXT = "text"


@dataclass(frozen=True)
class SubmittedCell:
    """A cell of a submission and the number of its exercise."""

    kind: CellKind
    source: str
    exercise: int | None = None
    collapsed: bool = False


@dataclass(frozen=True)
class SubmissionNotebook:
    """A lab with a student's answers, ready to be run.

    `missing` lists the exercises without an answer. `answered` lists the exercises whose answer
    differs from the stub. `notes` are for the instructor.
    """

    cells: list[SubmittedCell]
    missing: list[int]
    answered: list[int]
    notes: list[str]


def exercise_points(original: NotebookNode) -> dict[int, int]:
    """Return the points of each exercise of a built lab."""
    points = {}
    for cell in original.cells:
        match = CHECK.match(grade_id_of(cell))
        if match:
            points[int(match[1])] = int(cell.metadata.nbgrader.points)
    if not points:
        raise CourseError("This notebook is not a lab: it has no checks with points.")
    return points


def other_notebook(original: NotebookNode, submitted: NotebookNode) -> str | None:
    """Return "lab 03" or "lesson 01" if `submitted` is another notebook of the course, else None.

    A lesson that defines the functions of several exercises is accepted, because a student may have
    written the answers into it. (Lesson 01 itself defines those of one exercise.)
    """
    original_labs, submitted_labs = (
        {name for cell in notebook.cells for name in _LAB.findall(str(cell.get("source", "")))}
        for notebook in (original, submitted)
    )
    if submitted_labs:
        return None if submitted_labs & original_labs else min(submitted_labs).replace("_", " ")
    metadata = submitted.metadata.get("course", {})
    lesson = _LESSON.match(str(metadata.get("source"))) if isinstance(metadata, dict) else None
    if lesson is None:
        return None
    code = [cell.source for cell in submitted.cells if cell.cell_type == "code"]
    defined = set().union(*map(defined_names, code))
    stubs = [c.source for c in original.cells if _EXERCISE.match(grade_id_of(c))]
    num_answers = sum(bool(defined_names(stub) & defined) for stub in stubs)
    return None if num_answers > 1 else f"lesson {lesson[1]}"


def find_lab_name(cells: list[SubmittedCell]) -> str:
    """Return the name of the checks module that the lab imports, such as "lab_03"."""
    for cell in cells:
        if cell.kind is CellKind.GIVEN and (match := _LAB.search(cell.source)):
            return match[1]
    raise CourseError("This lab does not import its checks: from helpers.checks import lab_...")


def merge_answers(original: NotebookNode, submitted: NotebookNode) -> SubmissionNotebook:
    """Return the original's cells, in order, with the student's answers and additional cells.

    An answer is matched by the id in its metadata. If the id is missing or the cell is unchanged,
    the answer is matched by the names that it defines, and then by its similarity to the stub. If
    several cells have the same id, the last changed cell counts. All other cells come from the
    original, so changes to a check have no effect.
    """
    submitted_cells = [cell for cell in submitted.cells if isinstance(cell.get("source"), str)]
    stubs = {grade_id_of(c): c.source for c in original.cells if _EXERCISE.match(grade_id_of(c))}
    answers, notes = find_answers(stubs, submitted_cells)
    known_indices = set(answers.values())
    known_indices |= {n for n, cell in enumerate(submitted_cells) if grade_id_of(cell) in stubs}
    extras = _find_extra_cells(original, submitted_cells, known_indices)
    cells, missing, used_indices = [], [], set()
    last_index = -1
    for cell in original.cells:
        grade_id = grade_id_of(cell)
        if cell.cell_type != "code":
            cells.append(SubmittedCell(CellKind.TEXT, cell.source))
        elif exercise := _EXERCISE.match(grade_id):
            number = int(exercise[1])
            if grade_id not in answers:
                missing.append(number)
            elif (index := answers[grade_id]) not in used_indices:
                # Additional cells before an answer may define names that it uses.
                cells += _student_cells(
                    submitted_cells, [n for n in extras if last_index < n < index], number
                )
                last_index = max(last_index, index)
                used_indices.add(index)
                cells += _student_cells(submitted_cells, [index], number)
        elif check := CHECK.match(grade_id):
            number = int(check[1])
            end = _index_of(
                grade_id,
                submitted_cells,
                min((p for p in known_indices if p > last_index), default=1 << 30),
            )
            cells += _student_cells(
                submitted_cells, [n for n in extras if last_index < n < end], number
            )
            last_index = max(last_index, end - 1)
            cells.append(SubmittedCell(CellKind.CHECK, cell.source, number))
        else:
            collapsed = cell.metadata.get("jupyter", {}).get("source_hidden", False)
            cells.append(SubmittedCell(CellKind.GIVEN, cell.source, collapsed=collapsed))
    changed_ids = _changed_checks(original, submitted_cells)
    if changed_ids:
        notes.append(f"changed checks were restored: {', '.join(changed_ids)}")
    answered = {
        int(_EXERCISE.match(grade_id)[1])
        for grade_id, index in answers.items()
        if submitted_cells[index].source.strip() != stubs[grade_id].strip()
    }
    return SubmissionNotebook(cells, sorted(set(missing)), sorted(answered), notes)


def _student_cells(
    submitted_cells: list[NotebookNode], indices: list[int], number: int
) -> list[SubmittedCell]:
    return [SubmittedCell(CellKind.STUDENT, submitted_cells[n].source, number) for n in indices]


def _find_extra_cells(
    original: NotebookNode, submitted_cells: list[NotebookNode], known_indices: set[int]
) -> list[int]:
    """Return the indices of the cells that the student added, other than answers."""
    lab_sources = {cell.source.strip() for cell in original.cells}
    grade_ids = {grade_id_of(cell) for cell in original.cells} - {""}
    return [
        n
        for n, cell in enumerate(submitted_cells)
        if cell.cell_type == "code"
        and n not in known_indices
        and cell.source.strip()
        and cell.source.strip() not in lab_sources
        and grade_id_of(cell) not in grade_ids
    ]


def _index_of(grade_id: str, submitted_cells: list[NotebookNode], limit: int) -> int:
    """Return the index of the student's copy of a check if it is below `limit`, else `limit`."""
    return next(
        (n for n, c in enumerate(submitted_cells[:limit]) if grade_id_of(c) == grade_id), limit
    )


def _changed_checks(original: NotebookNode, submitted_cells: list[NotebookNode]) -> list[str]:
    checks = {grade_id_of(c): c.source for c in original.cells if CHECK.match(grade_id_of(c))}
    return sorted(
        {
            grade_id_of(cell)
            for cell in submitted_cells
            if grade_id_of(cell) in checks
            and cell.source.strip() != checks[grade_id_of(cell)].strip()
        }
    )
