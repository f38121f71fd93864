"""Reads a lesson's text (jupytext percent format) into its header and its cells."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import yaml
from nbformat import NotebookNode

from course.course_folder import CourseError

# What jupytext notes for its own way back from notebook to text.
_NOT_OURS = ("lines_to_next_cell", "lines_to_end_of_cell_marker")


@dataclass(frozen=True)
class Header:
    """What a lesson says about itself, under `jupyter: course:` in its YAML header."""

    title: str
    promise: str
    minutes: int
    objectives: list[str]
    prerequisites: list[str] = field(default_factory=list)
    credits: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LessonSource:
    """A lesson as it was written: header, cells without outputs, SHA-256 of its text."""

    name: str
    header: Header
    cells: list[NotebookNode]
    sha256: str


def read_source(path: Path) -> LessonSource:
    """Read a percent-format file; `CourseError` names the file and what it lacks."""
    text = path.read_text(encoding="utf-8")
    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    except yaml.YAMLError as error:
        raise CourseError(f"{path}: the header is not valid YAML: {error}") from None
    if not notebook.cells:
        raise CourseError(f"{path} has no cells; a cell begins with a line `# %%`.")
    for cell in notebook.cells:
        for key in _NOT_OURS:
            cell.metadata.pop(key, None)
    return LessonSource(
        name=path.stem,
        header=_read_header(notebook.metadata.get("course"), path),
        cells=notebook.cells,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def _read_header(table: object, path: Path) -> Header:
    wanted = Header.__dataclass_fields__
    if not isinstance(table, dict):
        raise CourseError(
            f"{path} has no header. It begins with a comment block between two lines `# ---` "
            f"that holds, under `jupyter: course:`, {', '.join(wanted)}."
        )
    for key in table:
        if key not in wanted:
            raise CourseError(
                f"{path}: the header has {key!r}, which means nothing here. "
                f"Known are {', '.join(wanted)}."
            )
    for key in ("title", "promise", "minutes", "objectives"):
        if key not in table:
            raise CourseError(f"{path}: the header lacks {key!r}.")
    for key in ("title", "promise"):
        if not isinstance(table[key], str) or not table[key].strip():
            raise CourseError(f"{path}: {key!r} in the header is {table[key]!r}, not a text.")
    if type(table["minutes"]) is not int or table["minutes"] <= 0:
        raise CourseError(
            f"{path}: 'minutes' in the header is {table['minutes']!r}, not a whole number."
        )
    for key in ("objectives", "prerequisites", "credits"):
        entries = table.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise CourseError(
                f"{path}: {key!r} in the header is {entries!r}, not a list of texts. "
                "A text that has a colon in it needs quotes."
            )
    return Header(**{key: table[key] for key in table})
