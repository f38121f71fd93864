"""Puts a student's answers into the original lab, so that everything else is as it was given."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import asdict, dataclass
from typing import Any

from nbformat import NotebookNode

from course.course_folder import CourseError

_EXERCISE = re.compile(r"exercise-(\d+)(?:-\d+)?$")
_CHECK = re.compile(r"check-(\d+)$")
# How alike a cell without the lab's mark has to be to what was given.
_ALIKE = 0.5


@dataclass(frozen=True)
class Cell:
    """A cell to run: "given" by the lab, the "student"'s, or a "check"; or "text", not run."""

    kind: str
    source: str
    exercise: int | None = None

    def as_job(self) -> dict[str, Any]:
        """What the process in the box is told."""
        return asdict(self)


@dataclass(frozen=True)
class Paper:
    """A student's lab, ready to be run: its cells, and what was noticed on the way."""

    cells: list[Cell]
    missing: list[int]
    notes: list[str]


def points_of(original: NotebookNode) -> dict[int, int]:
    """What each exercise of a built lab is worth."""
    points = {}
    for cell in original.cells:
        match = _CHECK.match(_grade_id(cell))
        if match:
            points[int(match[1])] = int(cell.metadata.nbgrader.points)
    if not points:
        raise CourseError("This notebook is no lab: it has no checks with points.")
    return points


def put_together(original: NotebookNode, handed_in: NotebookNode) -> Paper:
    """The original's cells in their order, with the student's answers and further cells.

    An answer is found by the mark in its metadata; where that is lost, by the names that it
    defines, or else by its likeness to what was given. Of several cells with one mark the last
    counts that is no longer as it was given. Nothing else of the original is taken from the
    student, so a check that was changed is as it was.
    """
    theirs = [cell for cell in handed_in.cells if isinstance(cell.get("source"), str)]
    answers, notes = _answers(original, theirs)
    taken = {place for places in answers.values() for place in places}
    extras = _extras(original, theirs, taken)
    cells, missing = [], []
    last = -1
    for cell in original.cells:
        mark = _grade_id(cell)
        if cell.cell_type != "code":
            cells.append(Cell("text", cell.source))
        elif exercise := _EXERCISE.match(mark):
            number = int(exercise[1])
            if mark in answers:
                place = answers[mark][-1]
                # What stands before an answer may be what it needs.
                cells += [
                    Cell("student", theirs[n].source, number) for n in extras if last < n < place
                ]
                last = max(last, place)
                cells.append(Cell("student", theirs[place].source, number))
            else:
                missing.append(number)
        elif check := _CHECK.match(mark):
            number = int(check[1])
            until = _place_of(mark, theirs, _next_answer(answers, last))
            cells += [Cell("student", theirs[n].source, number) for n in extras if last < n < until]
            last = max(last, until - 1)
            cells.append(Cell("check", cell.source, number))
        else:
            cells.append(Cell("given", cell.source))
    changed = _changed_checks(original, theirs)
    if changed:
        notes.append(f"changed checks put back: {', '.join(changed)}")
    return Paper(cells, sorted(set(missing)), notes)


def _answers(
    original: NotebookNode, theirs: list[NotebookNode]
) -> tuple[dict[str, list[int]], list[str]]:
    """Which of the student's cells answer which cell of the original; the last counts."""
    answers: dict[str, list[int]] = {}
    notes: list[str] = []
    code = [n for n, cell in enumerate(theirs) if cell.cell_type == "code"]
    stubs = {_grade_id(c): c.source for c in original.cells if _EXERCISE.match(_grade_id(c))}
    for place in code:
        mark = _grade_id(theirs[place])
        if mark in stubs:
            answers.setdefault(mark, []).append(place)
    if twice := [mark for mark, places in answers.items() if len(places) > 1]:
        notes.append(f"{', '.join(twice)}: more than once; the last that was changed counts")
    for mark, places in answers.items():
        written = [n for n in places if theirs[n].source.strip() != stubs[mark].strip()]
        answers[mark] = written or places
    taken = {place for places in answers.values() for place in places}
    found = []
    for mark, stub in stubs.items():
        if mark in answers:
            continue
        free = [n for n in code if n not in taken and _worth_a_look(theirs[n])]
        place = _by_names(stub, theirs, free)
        if place is None:
            place = _by_likeness(stub, theirs, free)
        if place is not None:
            answers[mark] = [place]
            taken.add(place)
            found.append(mark)
    if found:
        notes.append(f"{', '.join(found)}: without its mark; found by what it says")
    return answers, notes


def _extras(original: NotebookNode, theirs: list[NotebookNode], taken: set[int]) -> list[int]:
    """The student's own cells: neither answers nor what the lab gives or checks."""
    given = {cell.source.strip() for cell in original.cells}
    marks = {_grade_id(cell) for cell in original.cells} - {""}
    return [
        n
        for n, cell in enumerate(theirs)
        if cell.cell_type == "code"
        and n not in taken
        and cell.source.strip()
        and cell.source.strip() not in given
        and _grade_id(cell) not in marks
    ]


def _next_answer(answers: dict[str, list[int]], last: int) -> int:
    return min((p[-1] for p in answers.values() if p[-1] > last), default=1 << 30)


def _place_of(mark: str, theirs: list[NotebookNode], limit: int) -> int:
    """Where the student's copy of a check stands, if it does before `limit`; else `limit`."""
    return next((n for n, c in enumerate(theirs[:limit]) if _grade_id(c) == mark), limit)


def _changed_checks(original: NotebookNode, theirs: list[NotebookNode]) -> list[str]:
    checks = {_grade_id(c): c.source for c in original.cells if _CHECK.match(_grade_id(c))}
    return sorted(
        {
            _grade_id(cell)
            for cell in theirs
            if _grade_id(cell) in checks and cell.source.strip() != checks[_grade_id(cell)].strip()
        }
    )


def _worth_a_look(cell: NotebookNode) -> bool:
    return bool(cell.source.strip()) and not _CHECK.match(_grade_id(cell))


def _by_names(stub: str, theirs: list[NotebookNode], free: list[int]) -> int | None:
    wanted = _defined(stub)
    if not wanted:
        return None
    fitting = [n for n in free if wanted <= _defined(theirs[n].source)]
    return fitting[-1] if fitting else None


def _by_likeness(stub: str, theirs: list[NotebookNode], free: list[int]) -> int | None:
    scores = {n: difflib.SequenceMatcher(None, stub, theirs[n].source).ratio() for n in free}
    best = max(scores, key=lambda n: scores[n], default=None)
    return best if best is not None and scores[best] >= _ALIKE else None


def _defined(source: str) -> set[str]:
    """The functions and classes that a cell defines at its top; also where it is no Python."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:async )?(?:def|class) (\w+)", source, re.MULTILINE))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in body if isinstance(node, kinds)}


def _grade_id(cell: NotebookNode) -> str:
    about = cell.get("metadata", {}).get("nbgrader", {})
    mark = about.get("grade_id", "") if isinstance(about, dict) else ""
    return mark if isinstance(mark, str) else ""
