"""Finds the cell with the answer to each exercise: by its id, by its names, or by similarity."""

from __future__ import annotations

import ast
import difflib
import re

from nbformat import NotebookNode

CHECK = re.compile(r"check-(\d+)$")
# Minimum similarity for matching a cell without an id to a stub.
_MIN_SIMILARITY = 0.5
# Comparing is slow, so only this many cells without an id are compared to a stub.
_MAX_COMPARED = 100


def find_answers(
    stubs: dict[str, str], submitted_cells: list[NotebookNode]
) -> tuple[dict[str, int], list[str]]:
    """Return the index of the answer to each exercise cell, and notes for the instructor."""
    answers: dict[str, int] = {}
    notes: list[str] = []
    code = [n for n, cell in enumerate(submitted_cells) if cell.cell_type == "code"]
    copies = {
        grade_id: [n for n in code if grade_id_of(submitted_cells[n]) == grade_id]
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


def _can_be_answer(cell: NotebookNode, stubs: dict[str, str]) -> bool:
    is_unchanged = cell.source.strip() == stubs.get(grade_id_of(cell), "").strip()
    return bool(cell.source.strip()) and not is_unchanged and not CHECK.match(grade_id_of(cell))


def _find_by_names(
    stub: str, submitted_cells: list[NotebookNode], indices: list[int]
) -> int | None:
    names = defined_names(stub)
    if not names:
        return None
    matches = [n for n in indices if names <= defined_names(submitted_cells[n].source)]
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


def defined_names(source: str) -> set[str]:
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
