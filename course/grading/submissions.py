"""Finds what students submitted, in a folder or zip of any learning platform."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.course_folder import CourseError
from course.grading.answers import merge_answers, other_lab
from course.grading.students import Student, display_names, identify_student, wrapper_depth

# Bytes of one file. A notebook with many figures has tens of megabytes.
MAX_FILE_BYTES = 100_000_000
MAX_FILES_IN_ZIP = 20_000
_NOTEBOOKS = (".ipynb", ".ipynb.txt", ".ipynb.json")
# Files and folders that learning platforms and operating systems add to submissions.
_NOT_SUBMITTED = {"timestamp.txt", "__macosx", "thumbs.db", "desktop.ini", "solutions"}


@dataclass(frozen=True)
class Submission:
    """What one student submitted.

    `student` is unique among the submissions. `notebook` is None if there is no readable notebook,
    and `problem` says why. `others` are the student's other files, which are not graded.
    `modified` is when the file was last changed, if that is known.
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


@dataclass(frozen=True)
class _File:
    """A file inside what was submitted: its content, or why that cannot be read."""

    path: str
    content: bytes | None = None
    problem: str = ""
    modified: datetime | None = None


def find_submissions(
    folder: Path, lab: str, original: NotebookNode | None = None, *, due: datetime | None = None
) -> list[Submission]:
    """One submission per student, sorted by name.

    Args:
        folder: a folder or a zip exported by Moodle, Canvas or nbgrader, or with a file or a folder
            per student. A notebook may be in a zip of its own, or end in `.ipynb.txt`.
        lab: the name of the lab's notebook, without its suffix.
        original: the lab. Of several notebooks of one student, the one that belongs to this lab
            and has the most answers counts.
        due: the deadline; a file that was changed later is late.

    Raises:
        CourseError: there is no such folder, it is not a zip, or there is nothing in it.
    """
    files = sorted(_files(folder), key=lambda file: file.path)
    depth = wrapper_depth([file.path for file in files], lab)
    found: dict[tuple[str, str], list[Submission]] = {}
    students: dict[tuple[str, str], Student] = {}
    for file in files:
        inside = "/".join(PurePosixPath(file.path).parts[depth:])
        identity = identify_student(inside, lab)
        if not _is_notebook(file.path) and not identity.platform and "/" not in inside:
            continue  # for example a class list next to the submissions
        first = students.setdefault(identity.key, identity)
        students[identity.key] = replace(first, late=first.late or identity.late)
        found.setdefault(identity.key, []).append(_read(identity, file))
    if not any(_is_notebook(file.path) for file in files):
        raise CourseError(f"There is no notebook (.ipynb) in {folder}.")
    names = display_names(students.values())
    submissions = []
    for key, candidates in found.items():
        best = _best(candidates, original)
        late = students[key].late or bool(due and best.modified and best.modified > due)
        identity = replace(students[key], late=late)
        submissions.append(replace(best, student=names[key], identity=identity, late=late))
    return sorted(submissions, key=lambda one: one.student.casefold())


def _is_notebook(path: str) -> bool:
    return path.lower().endswith(_NOTEBOOKS)


def _is_read(path: str) -> bool:
    return path.lower().endswith((*_NOTEBOOKS, ".zip"))


def _files(folder: Path) -> Iterator[_File]:
    if folder.is_dir():
        for file in folder.rglob("*"):
            place = file.relative_to(folder)
            if not _is_ignored(place.parts) and not file.is_dir():
                yield from _unpack(_file(file, place.as_posix()))
        return
    if not folder.is_file():
        raise CourseError(
            f"{folder} does not exist. Give the folder or the zip with the submissions."
        )
    try:
        with zipfile.ZipFile(folder) as archive:
            for file in _members(archive, folder):
                yield from _unpack(file)
    except zipfile.BadZipFile:
        raise CourseError(
            f"{folder} is neither a folder nor a readable zip. Unpack it, and name the folder."
        ) from None


def _is_ignored(parts: Iterable[str]) -> bool:
    """Whether the path is hidden or belongs to a file that the student did not submit."""
    return any(part.startswith(".") or part.lower() in _NOT_SUBMITTED for part in parts)


def _file(file: Path, place: str) -> _File:
    try:
        info = file.lstat()
        if not stat.S_ISREG(info.st_mode):
            return _File(place, problem="it is not a regular file")
        if info.st_size > MAX_FILE_BYTES:
            return _File(place, problem=_too_large(info.st_size))
        content = file.read_bytes() if _is_read(place) else None
        return _File(place, content, "", datetime.fromtimestamp(info.st_mtime))
    except OSError as error:
        return _File(place, problem=f"it cannot be read: {error.strerror}")


def _members(archive: zipfile.ZipFile, name: Path | str) -> Iterator[_File]:
    members = archive.infolist()
    if len(members) > MAX_FILES_IN_ZIP:
        raise CourseError(f"{name} has {len(members):,} files, more than a class submits.")
    for member in members:
        parts = [part for part in PurePosixPath(member.filename).parts if part not in ("/", "..")]
        if member.is_dir() or not parts or _is_ignored(parts):
            continue
        path = "/".join(parts)
        if member.file_size > MAX_FILE_BYTES:
            yield _File(path, problem=_too_large(member.file_size))
            continue
        try:
            content = archive.read(member) if _is_read(path) else None
        except Exception as error:  # zlib, a password, an unknown compression, a wrong checksum
            yield _File(path, problem=f"it cannot be unpacked: {error}")
            continue
        try:
            modified = datetime(*member.date_time)
        except ValueError:
            modified = None
        yield _File(path, content, "", modified)


def _too_large(size: int) -> str:
    return f"it is {size / 1e6:.0f} MB; the limit is {MAX_FILE_BYTES / 1e6:.0f} MB"


def _unpack(file: _File) -> Iterator[_File]:
    """The notebooks in a zip that a student submitted; any other file as it is."""
    if not file.path.lower().endswith(".zip") or file.content is None:
        yield file
        return
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            inside = list(_members(archive, file.path))
    except (zipfile.BadZipFile, CourseError, OSError, ValueError) as error:
        yield replace(file, content=None, problem=f"it cannot be unpacked: {error}")
        return
    notebooks = [one for one in inside if _is_notebook(one.path)]
    for one in notebooks:
        yield replace(one, path=f"{file.path}/{one.path}")
    if not notebooks:
        yield replace(file, content=None, problem="there is no notebook in the zip")


def _read(student: Student, file: _File) -> Submission:
    made = Submission(student.name, file.path, identity=student, modified=file.modified)
    if file.content is None:
        problem = f"{PurePosixPath(file.path).name} is not a notebook (.ipynb)"
        return replace(made, problem=file.problem or problem)
    made = replace(made, digest=hashlib.sha256(file.content).hexdigest())
    if not file.content.strip():
        return replace(made, problem="the file is empty")
    try:
        notebook = _notebook(file.content)
    except Exception as error:  # nbformat raises many types of exceptions
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        return replace(made, problem=f"it is not a readable notebook: {reason}")
    if not any(cell.cell_type == "code" and cell.source.strip() for cell in notebook.cells):
        return replace(made, problem="it has no code")
    return replace(made, notebook=notebook)


def _notebook(content: bytes) -> NotebookNode:
    """A notebook without its outputs, and without characters that cannot be encoded."""
    data: Any = json.loads(content.decode("utf-8-sig"))
    for cell in data["cells"] if isinstance(data.get("cells"), list) else []:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            cell["outputs"] = []
    # A lone surrogate (half of a UTF-16 pair) is valid in JSON but cannot be encoded as UTF-8.
    text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()
    with warnings.catch_warnings():
        # nbformat warns, for example, about duplicate cell ids, which it fixes itself.
        warnings.simplefilter("ignore")
        return nbformat.reads(text, as_version=4)


def _best(candidates: list[Submission], original: NotebookNode | None) -> Submission:
    best = max(candidates, key=lambda one: _rank(one, original))
    others = tuple(one.path for one in candidates if one is not best)
    if best.notebook is not None and original is not None:
        lab = other_lab(original, best.notebook)
        if lab is not None:
            problem = f"it is {lab.replace('_', ' ')}, another lab"
            best = replace(best, notebook=None, problem=problem)
    return replace(best, others=others)


def _rank(submission: Submission, original: NotebookNode | None) -> tuple[Any, ...]:
    """A sort key for one student's files: of this lab, then most answers, then latest."""
    latest = submission.modified or datetime.min
    if submission.notebook is None:
        return (_is_notebook(submission.path), False, 0, 0, latest, submission.path)
    if original is None:
        return (True, True, 0, len(submission.notebook.cells), latest, submission.path)
    merged = merge_answers(original, submission.notebook)
    exercises = len({cell.exercise for cell in merged.cells} - {None})
    known = exercises - len(merged.missing)
    own = other_lab(original, submission.notebook) is None
    return (True, own, len(merged.written), known, latest, submission.path)
