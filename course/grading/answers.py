"""Merges a student's answers into the original lab; all other cells come from the lab."""

from __future__ import annotations

import ast
import difflib
import enum
import re
from dataclasses import dataclass

from nbformat import NotebookNode

from course.course_folder import CourseError

_EXERCISE = re.compile(r"exercise-(\d+)(?:-\d+)?$")
_CHECK = re.compile(r"check-(\d+)$")
_LAB = re.compile(r"^[ \t]*from helpers\.checks import (lab_\w+)", re.MULTILINE)
_LESSON = re.compile(r"notebooks/source/(\d+)_")
# Minimum similarity for matching a cell without an id to a stub.
_MIN_SIMILARITY = 0.5
# Comparing is slow, so only this many cells without an id are compared to a stub.
_MAX_COMPARED = 100


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
        match = _CHECK.match(_grade_id(cell))
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
    defined = set().union(*map(_defined_names, code))
    stubs = [c.source for c in original.cells if _EXERCISE.match(_grade_id(c))]
    num_answers = sum(bool(_defined_names(stub) & defined) for stub in stubs)
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
    stubs = {_grade_id(c): c.source for c in original.cells if _EXERCISE.match(_grade_id(c))}
    answers, notes = _find_answers(stubs, submitted_cells)
    known_indices = set(answers.values())
    known_indices |= {n for n, cell in enumerate(submitted_cells) if _grade_id(cell) in stubs}
    extras = _find_extra_cells(original, submitted_cells, known_indices)
    cells, missing, used_indices = [], [], set()
    last_index = -1
    for cell in original.cells:
        grade_id = _grade_id(cell)
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
        elif check := _CHECK.match(grade_id):
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


def _find_answers(
    stubs: dict[str, str], submitted_cells: list[NotebookNode]
) -> tuple[dict[str, int], list[str]]:
    """Return the index of the answer to each exercise cell, and notes for the instructor."""
    answers: dict[str, int] = {}
    notes: list[str] = []
    code = [n for n, cell in enumerate(submitted_cells) if cell.cell_type == "code"]
    copies = {
        grade_id: [n for n in code if _grade_id(submitted_cells[n]) == grade_id]
        for grade_id in stubs
    }
    if repeated_ids := [grade_id for grade_id, indices in copies.items() if len(indices) > 1]:
        notes.append(f"{', '.join(repeated_ids)}: in several cells; the last changed one counts")
    for grade_id, indices in copies.items():
        changed_indices = [
            n for n in indices if submitted_cells[n].source.strip() != stubs[grade_id].strip()
        ]
        if changed_indices:
            answers[grade_id] = changed_indices[-1]
    matched_ids = []
    for grade_id, stub in stubs.items():
        if grade_id in answers:
            continue
        # A student may put several answers into one cell, even one with another exercise's id.
        index = _find_by_names(
            stub, submitted_cells, [n for n in code if _can_be_answer(submitted_cells[n], stubs)]
        )
        if index is None and not copies[grade_id]:
            candidates = [n for n in code if n not in answers.values()]
            candidates = [n for n in candidates if _can_be_answer(submitted_cells[n], stubs)]
            index = _find_by_similarity(stub, submitted_cells, candidates)
        if index is not None:
            answers[grade_id] = index
            matched_ids.append(grade_id)
        elif copies[grade_id]:
            answers[grade_id] = copies[grade_id][-1]
    if matched_ids:
        notes.append(
            f"{', '.join(matched_ids)}: not in its own cell; "
            "matched by the names that the cell defines"
        )
    return answers, notes


def _find_extra_cells(
    original: NotebookNode, submitted_cells: list[NotebookNode], known_indices: set[int]
) -> list[int]:
    """Return the indices of the cells that the student added, other than answers."""
    lab_sources = {cell.source.strip() for cell in original.cells}
    grade_ids = {_grade_id(cell) for cell in original.cells} - {""}
    return [
        n
        for n, cell in enumerate(submitted_cells)
        if cell.cell_type == "code"
        and n not in known_indices
        and cell.source.strip()
        and cell.source.strip() not in lab_sources
        and _grade_id(cell) not in grade_ids
    ]


def _index_of(grade_id: str, submitted_cells: list[NotebookNode], limit: int) -> int:
    """Return the index of the student's copy of a check if it is below `limit`, else `limit`."""
    return next(
        (n for n, c in enumerate(submitted_cells[:limit]) if _grade_id(c) == grade_id), limit
    )


def _changed_checks(original: NotebookNode, submitted_cells: list[NotebookNode]) -> list[str]:
    checks = {_grade_id(c): c.source for c in original.cells if _CHECK.match(_grade_id(c))}
    return sorted(
        {
            _grade_id(cell)
            for cell in submitted_cells
            if _grade_id(cell) in checks and cell.source.strip() != checks[_grade_id(cell)].strip()
        }
    )


def _can_be_answer(cell: NotebookNode, stubs: dict[str, str]) -> bool:
    is_unchanged = cell.source.strip() == stubs.get(_grade_id(cell), "").strip()
    return bool(cell.source.strip()) and not is_unchanged and not _CHECK.match(_grade_id(cell))


def _find_by_names(
    stub: str, submitted_cells: list[NotebookNode], indices: list[int]
) -> int | None:
    names = _defined_names(stub)
    if not names:
        return None
    matches = [n for n in indices if names <= _defined_names(submitted_cells[n].source)]
    return matches[-1] if matches else None


def _find_by_similarity(
    stub: str, submitted_cells: list[NotebookNode], indices: list[int]
) -> int | None:
    scores = {}
    for n in indices[:_MAX_COMPARED]:
        matcher = difflib.SequenceMatcher(None, stub, submitted_cells[n].source)
        # These upper bounds are much faster to compute than the ratio.
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= _MIN_SIMILARITY:
            scores[n] = matcher.ratio()
    best = max(scores, key=lambda n: scores[n], default=None)
    return best if best is not None and scores[best] >= _MIN_SIMILARITY else None


def _defined_names(source: str) -> set[str]:
    """Return the names of a cell's top-level functions and classes, even in invalid code."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:async )?(?:def|class) (\w+)", source, re.MULTILINE))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in body if isinstance(node, kinds)}


def _grade_id(cell: NotebookNode) -> str:
    nbgrader = cell.get("metadata", {}).get("nbgrader", {})
    grade_id = nbgrader.get("grade_id", "") if isinstance(nbgrader, dict) else ""
    return grade_id if isinstance(grade_id, str) else ""
