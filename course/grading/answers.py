"""Merges a student's answers into the original lab; all other cells come from the lab."""

import ast
import enum
import re
from dataclasses import dataclass

from nbformat import NotebookNode

from course.course_folder import CourseError

_EXERCISE = re.compile(r"exercise-(\d+)(?:-\d+)?$")
_CHECK = re.compile(r"check-(\d+)$")
_LAB = re.compile(r"^[ \t]*from helpers\.checks import (lab_\w+)", re.MULTILINE)


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
    points = {
        int(match[1]): int(cell.metadata.nbgrader.points)
        for cell in original.cells
        if (match := _CHECK.match(grade_id_of(cell)))
    }
    if not points:
        raise CourseError("This notebook is not a lab: it has no checks with points.")
    return points


def other_lab(original: NotebookNode, submitted: NotebookNode) -> str:
    """Return the name of the lab that `submitted` is, such as "lab 03"; "" if it is `original`."""
    original_labs, submitted_labs = (
        {name for cell in notebook.cells for name in _LAB.findall(str(cell.get("source", "")))}
        for notebook in (original, submitted)
    )
    is_other = submitted_labs and not submitted_labs & original_labs
    return min(submitted_labs).replace("_", " ") if is_other else ""


def find_lab_name(cells: list[SubmittedCell]) -> str:
    """Return the name of the checks module that the lab imports, such as "lab_03"."""
    for cell in cells:
        if cell.kind is CellKind.GIVEN and (match := _LAB.search(cell.source)):
            return match[1]
    raise CourseError("This lab does not import its checks: from helpers.checks import lab_...")


def merge_answers(original: NotebookNode, submitted: NotebookNode) -> SubmissionNotebook:
    """Return the original's cells, in order, with the student's answers and additional cells.

    An answer is matched by the id in its metadata or, if there is no changed cell with this id, by
    the names that it defines. All other cells come from the original, even the checks.
    """
    submitted_cells = [cell for cell in submitted.cells if isinstance(cell.get("source"), str)]
    ids = [grade_id_of(cell) for cell in submitted_cells]
    sources = [cell.source.strip() for cell in submitted_cells]
    lab = {grade_id_of(cell): cell.source.strip() for cell in original.cells}
    stubs = {grade_id: source for grade_id, source in lab.items() if _EXERCISE.match(grade_id)}
    answers, notes = _find_answers(stubs, submitted_cells)
    is_known = [grade_id in stubs or bool(_CHECK.match(grade_id)) for grade_id in ids]
    known = {*answers.values(), *(n for n in range(len(ids)) if is_known[n])}
    lab_sources = {"", *(cell.source.strip() for cell in original.cells)}
    # Cells that the student added.
    extras = [
        n
        for n, cell in enumerate(submitted_cells)
        if cell.cell_type == "code" and n not in known and sources[n] not in lab_sources
        if not ids[n] or ids[n] not in lab
    ]
    cells: list[SubmittedCell] = []
    missing: set[int] = set()
    used: set[int] = set()
    position = 0  # the first submitted cell that has not been reached
    for cell in original.cells:
        grade_id = grade_id_of(cell)
        exercise, check = _EXERCISE.match(grade_id), _CHECK.match(grade_id)
        if cell.cell_type != "code":
            cells.append(SubmittedCell(CellKind.TEXT, cell.source))
        elif not exercise and not check:
            collapsed = cell.metadata.get("jupyter", {}).get("source_hidden", False)
            cells.append(SubmittedCell(CellKind.GIVEN, cell.source, collapsed=collapsed))
        elif exercise and grade_id not in answers:
            missing.add(int(exercise[1]))
        else:
            number = int((exercise or check)[1])
            next_known = min((n for n in known if n >= position), default=len(ids))
            index = answers[grade_id] if exercise else next_known
            # An answer or a check may use names that the additional cells before it define.
            indices = [n for n in extras if position <= n < index]
            if exercise and index not in used:
                indices.append(index)
                used.add(index)
            cells += [
                SubmittedCell(CellKind.STUDENT, submitted_cells[n].source, number) for n in indices
            ]
            position = max(position, index + 1)
            if check:
                cells.append(SubmittedCell(CellKind.CHECK, cell.source, number))
    pairs = zip(ids, sources, strict=True)
    if changed := {i for i, source in pairs if _CHECK.match(i) and lab.get(i, source) != source}:
        notes.append(f"changed checks were restored: {', '.join(sorted(changed))}")
    answered = {int(_EXERCISE.match(i)[1]) for i, n in answers.items() if sources[n] != stubs[i]}
    return SubmissionNotebook(cells, sorted(missing), sorted(answered), notes)


def _find_answers(
    stubs: dict[str, str], cells: list[NotebookNode]
) -> tuple[dict[str, int], list[str]]:
    """Return the index of the answer to each exercise cell, and notes for the instructor."""
    code = {n: grade_id_of(cell) for n, cell in enumerate(cells) if cell.cell_type == "code"}
    # A student may put several answers into one cell, even one with another exercise's id.
    names_by_index = {
        n: _defined_names(cells[n].source)
        for n, grade_id in code.items()
        if cells[n].source.strip() not in ("", stubs.get(grade_id)) and not _CHECK.match(grade_id)
    }
    answers: dict[str, int] = {}
    matched_ids, repeated_ids = [], []
    for grade_id, stub in stubs.items():
        copies = [n for n in code if code[n] == grade_id]
        repeated_ids += [grade_id] if len(copies) > 1 else []
        required = _defined_names(stub)
        matches = [n for n, names in names_by_index.items() if required and required <= names]
        if changed_copies := [n for n in copies if cells[n].source.strip() != stub]:
            answers[grade_id] = changed_copies[-1]
        elif matches:
            answers[grade_id] = matches[-1]
            matched_ids.append(grade_id)
        elif copies:
            answers[grade_id] = copies[-1]
    notes = []
    if repeated_ids:
        notes.append(f"{', '.join(repeated_ids)}: in several cells; the last changed one counts")
    if matched_ids:
        by_names = "not in its own cell; matched by the names that the cell defines"
        notes.append(f"{', '.join(matched_ids)}: {by_names}")
    return answers, notes


def _defined_names(source: str) -> set[str]:
    """Return the names of a cell's top-level functions and classes, even in invalid code."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:async )?(?:def|class) (\w+)", source, re.MULTILINE))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in body if isinstance(node, kinds)}


def grade_id_of(cell: NotebookNode) -> str:
    """Return the id in a cell's nbgrader metadata, or ""."""
    nbgrader = cell.get("metadata", {}).get("nbgrader", {})
    grade_id = nbgrader.get("grade_id", "") if isinstance(nbgrader, dict) else ""
    return grade_id if isinstance(grade_id, str) else ""
