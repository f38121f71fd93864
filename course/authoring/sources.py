"""Read the source of a lesson or a lab (jupytext percent format): header and cells."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import jupytext
import yaml
from nbformat import NotebookNode

from course.course_folder import CourseError

# Metadata that jupytext adds to convert a notebook back to text.
_JUPYTEXT_KEYS = ("lines_to_next_cell", "lines_to_end_of_cell_marker")


@dataclass(frozen=True)
class Header:
    """The entries under `jupyter: course:` in the YAML header of a source."""

    title: str
    promise: str
    minutes: int
    objectives: list[str]
    prerequisites: list[str] = field(default_factory=list)
    credits: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Source:
    """A lesson or lab: header, cells without outputs, and the SHA-256 of the text."""

    name: str
    header: Header
    cells: list[NotebookNode]
    sha256: str


def read_source(path: Path) -> Source:
    """Read a percent-format file.

    Raises:
        CourseError: the file has no cells, or its header is incomplete or not valid.
    """
    return _parse(path.read_text(encoding="utf-8"), path)


# Cached because each language reads every source, and parsing takes 0.25 s.
@lru_cache(maxsize=64)
def _parse(text: str, path: Path) -> Source:
    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    except yaml.YAMLError as error:
        raise CourseError(f"{path}: the header is not valid YAML: {error}") from None
    if not notebook.cells:
        raise CourseError(f"{path} has no cells; a cell starts with a line `# %%`.")
    for cell in notebook.cells:
        for key in _JUPYTEXT_KEYS:
            cell.metadata.pop(key, None)
    return Source(
        name=path.stem,
        header=_read_header(notebook.metadata.get("course"), path),
        cells=notebook.cells,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def _read_header(table: object, path: Path) -> Header:
    known = Header.__dataclass_fields__
    if not isinstance(table, dict):
        raise CourseError(
            f"{path} has no header. Start the file with a comment block between two lines `# ---` "
            f"with these entries under `jupyter: course:`: {', '.join(known)}."
        )
    for key in table:
        if key not in known:
            raise CourseError(
                f"{path}: unknown entry {key!r} in the header. Known entries: {', '.join(known)}."
            )
    for key in ("title", "promise", "minutes", "objectives"):
        if key not in table:
            raise CourseError(f"{path}: the header has no {key!r}.")
    for key, value in table.items():
        problem = f"{path}: {key!r} in the header is {value!r}, not"
        if key in ("title", "promise"):
            if not isinstance(value, str) or not value.strip():
                raise CourseError(f"{problem} a non-empty string.")
        elif key == "minutes":
            if type(value) is not int or value <= 0:
                raise CourseError(f"{problem} a positive integer.")
        elif not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            colon = "Put quotes around a string that contains a colon."
            raise CourseError(f"{problem} a list of strings. {colon}")
    return Header(**{key: table[key] for key in table})
