"""Read the source of a lesson or a lab (jupytext percent format): header and cells.

A lab's source has two additional kinds of cells: `# %% exercise=1` contains an answer between
nbgrader's markers, and `# %% check=1 points=2` contains the call that checks it. The code that
students get instead of an answer may follow it, commented out between `### BEGIN GIVEN` and
`### END GIVEN`.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import jupytext
import yaml
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from course.course_folder import CourseError

_BEGIN, _END = "### BEGIN SOLUTION", "### END SOLUTION"
_BEGIN_GIVEN, _END_GIVEN = "### BEGIN GIVEN", "### END GIVEN"
_MARKERS = (_BEGIN, _END, _BEGIN_GIVEN, _END_GIVEN)
_MARKERS_IN_ORDER = re.compile(f"(?:{_BEGIN}\n{_END}\n(?:{_BEGIN_GIVEN}\n{_END_GIVEN}\n)?)+")
# Matches whole lines, so that the code after an answer keeps its indentation.
_GIVEN = re.compile(rf"(?ms)^[ \t]*{_BEGIN_GIVEN}\n(?P<given>.*?)^[ \t]*{_END_GIVEN}\n")
_ANSWER = re.compile(
    rf"(?ms)^(?P<indent>[ \t]*){_BEGIN}\n.*?^[ \t]*{_END}\n(?:{_GIVEN.pattern[5:]})?"
)
_DEFINITION = re.compile(r"^(\s*)(?:async )?(?:def|class) (\w+)")


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
        # jupytext uses these to convert a notebook back to text.
        for key in ("lines_to_next_cell", "lines_to_end_of_cell_marker"):
            cell.metadata.pop(key, None)
    header = _read_header(notebook.metadata.get("course"), path)
    return Source(path.stem, header, notebook.cells, hashlib.sha256(text.encode()).hexdigest())


def _read_header(table: object, path: Path) -> Header:
    known = ", ".join(Header.__dataclass_fields__)
    if not isinstance(table, dict):
        raise CourseError(
            f"{path} has no header. Start the file with a comment block between two lines `# ---` "
            f"with these entries under `jupyter: course:`: {known}."
        )
    for key, value in table.items():
        entries = value if isinstance(value, list) else [value]
        if not all(isinstance(entry, str | int) for entry in entries):
            advice = "Put quotes around a text that contains a colon."
            raise CourseError(f"{path}: {key!r} in the header is {value!r}, not a text. {advice}")
    try:
        return Header(**table)
    except TypeError as error:  # names the entry that is missing or unknown
        raise CourseError(f"{path}: {error}. Known entries of the header: {known}.") from None


def lab_cells(source: Source, *, answers: bool) -> list[NotebookNode]:
    """Return the lab's cells: with answers between nbgrader's markers, or with stubs instead.

    Raises:
        CourseError: exercises, checks and answer markers do not match.
    """
    _check_lab(source)
    cells = []
    parts: Counter[int] = Counter()
    for index, cell in enumerate(source.cells):
        fields = cell.metadata
        metadata = {"tags": fields["tags"]} if "tags" in fields else {}
        if cell.cell_type != "code":
            cells.append(new_markdown_cell(cell.source, metadata=metadata))
            continue
        code = cell.source
        if "exercise" in fields:
            number = fields["exercise"]
            parts[number] += 1
            part = "" if parts[number] == 1 else f"-{parts[number]}"
            if answers:
                code = _GIVEN.sub("", code + "\n").removesuffix("\n")
            else:
                code = _replace_answers(code, number, fields.get("task"))
            nbgrader = nbgrader_metadata(f"exercise-{number}{part}", solution=True)
        elif "check" in fields:
            nbgrader = nbgrader_metadata(f"check-{fields['check']}", points=fields["points"])
        else:
            nbgrader = nbgrader_metadata(f"given-{index}")
        cells.append(new_code_cell(code, metadata={**metadata, "nbgrader": nbgrader}))
    return cells


def nbgrader_metadata(
    grade_id: str, *, points: int | None = None, solution: bool = False
) -> dict[str, object]:
    """Return nbgrader's metadata for a check (if it has points), an answer, or a locked cell."""
    metadata = {"grade": points is not None, "grade_id": grade_id, "locked": not solution}
    metadata |= {"schema_version": 3, "solution": solution, "task": False}
    return metadata if points is None else {**metadata, "points": points}


def exercise_points(source: Source) -> dict[int, int]:
    """Return the points of each exercise by number."""
    checks = [cell.metadata for cell in source.cells if "check" in cell.metadata]
    return {check["check"]: check["points"] for check in checks}


def _check_lab(source: Source) -> None:
    name = f"labs/source/{source.name}.py"
    exercises = sorted({c.metadata["exercise"] for c in source.cells if "exercise" in c.metadata})
    checks = [c.metadata["check"] for c in source.cells if "check" in c.metadata]
    if exercises != list(range(1, len(exercises) + 1)) or not exercises:
        raise CourseError(f"{name}: the exercises are {exercises}; number them 1, 2, 3 ...")
    if checks != exercises:
        raise CourseError(
            f"{name}: the checks are {checks}, the exercises {exercises}. "
            "Each exercise has one check, in the same order."
        )
    for cell in source.cells:
        lines = cell.source.splitlines()
        location = f"{name}, cell `{lines[0] if lines else ''}`"
        if "check" in cell.metadata and type(cell.metadata.get("points")) is not int:
            raise CourseError(f"{location}: a check needs points=N, where N is an integer.")
        markers = "".join(f"{line.strip()}\n" for line in lines if line.strip() in _MARKERS)
        if markers and "exercise" not in cell.metadata:
            raise CourseError(f"{location}: answer markers in a cell without exercise=N.")
        if "exercise" in cell.metadata and not _MARKERS_IN_ORDER.fullmatch(markers):
            raise CourseError(
                f"{location}: an exercise needs {_BEGIN} ... {_END} at least once, each followed "
                f"by {_BEGIN_GIVEN} ... {_END_GIVEN} if students get code instead of a stub."
            )


def _replace_answers(code: str, exercise: int, task: str | None) -> str:
    """Return the cell with every answer replaced by the given code, or else by a stub."""

    def replacement(answer: re.Match[str]) -> str:
        indent, given_code = answer["indent"], answer["given"]
        if given_code is None:
            todo = task or f"write {_enclosing_name(code[: answer.start()].splitlines(), indent)}"
            return f'{indent}raise NotImplementedError("exercise {exercise}: {todo}")\n'
        lines = [
            line.removeprefix(indent).removeprefix("#").removeprefix(" ")
            for line in given_code.splitlines()
        ]
        return "".join(f"{indent}{line}\n" if line.strip() else "\n" for line in lines)

    return _ANSWER.sub(replacement, code + "\n").removesuffix("\n")


def _enclosing_name(lines_above: list[str], indent: str) -> str:
    """Return the qualified name of the function around the next line, such as Net.forward."""
    names: list[str] = []
    for line in reversed(lines_above):
        match = _DEFINITION.match(line)
        if match and len(match[1]) < len(indent):
            names.insert(0, match[2])
            indent = match[1]
    return ".".join(names) or "your answer"
