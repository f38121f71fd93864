"""Finds what students handed in, whatever the learning platform made of the names."""

from __future__ import annotations

import contextlib
import hashlib
import re
import stat
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import nbformat
from nbformat import NotebookNode

from course.course_folder import CourseError

# A notebook with figures has a few megabytes; what is far larger was not written by hand.
LARGEST = 30_000_000
MOST_IN_ZIP = 5_000

# "Ada Lovelace_123456_assignsubmission_file_": a folder, or the beginning of a file's name.
_MOODLE = re.compile(r"^(?P<student>.+?)_\d+_assignsubmission_\w+?_?(?=/|$|[^/]*\.ipynb)")
# "lovelaceada_LATE_12345_678910_lab-2.ipynb"
_CANVAS = re.compile(r"^(?P<student>[^_/]+)_(?:LATE_)?\d+_\d+_[^/]*\.ipynb$")


@dataclass(frozen=True)
class Submission:
    """One notebook that was handed in.

    `notebook` is None where it cannot be read, and `problem` says why. `others` names further
    notebooks of the same student that were set aside.
    """

    student: str
    path: str
    notebook: NotebookNode | None = None
    problem: str = ""
    digest: str = ""
    others: tuple[str, ...] = ()


def find_submissions(folder: Path, lab: str) -> list[Submission]:
    """One submission a student, in the order of their names.

    `folder` is a folder, or a zip, of notebooks: one a student in any depth of folders, with the
    names that Moodle, Canvas or nbgrader give, or files named after the students. Of several
    notebooks of one student the one with the most cells of the lab counts.

    Raises:
        CourseError: there is no such folder, it is no zip, or there is no notebook in it.
    """
    found: dict[str, list[Submission]] = {}
    for path, content in _files(folder):
        submission = _read(student_of(path, lab), path, content)
        found.setdefault(submission.student, []).append(submission)
    if not found:
        raise CourseError(f"There is no notebook (.ipynb) in {folder}.")
    return [_best(found[student]) for student in sorted(found, key=str.casefold)]


def student_of(path: str, lab: str) -> str:
    """The student that a path inside the folder of submissions belongs to.

    >>> student_of("Ada Lovelace_123456_assignsubmission_file_/lab.ipynb", "01_tensors")
    'Ada Lovelace'
    >>> student_of("lovelaceada_LATE_12345_678910_01_tensors-2.ipynb", "01_tensors")
    'lovelaceada'
    >>> student_of("ada/01_tensors/01_tensors.ipynb", "01_tensors")
    'ada'
    >>> student_of("01_tensors_ada.ipynb", "01_tensors")
    'ada'
    """
    first, *rest = PurePosixPath(path).parts
    if match := _MOODLE.match(path):
        return match["student"]
    if not rest and (match := _CANVAS.match(path)):
        return match["student"]
    if rest:
        return first
    stem = first.removesuffix(".ipynb")
    return stem.replace(lab, "").strip(" _-") or stem


def _files(folder: Path) -> Iterator[tuple[str, bytes | str]]:
    """The paths of all notebooks with their content, or with the reason why there is none."""
    if folder.is_dir():
        for file in sorted(folder.rglob("*.ipynb")):
            place = file.relative_to(folder)
            # Copies that Jupyter and macOS leave behind.
            if any(part.startswith(".") or part == "__MACOSX" for part in place.parts):
                continue
            yield place.as_posix(), _content_of(file)
        return
    if not folder.is_file():
        raise CourseError(f"{folder} does not exist. Name the folder, or the zip, of submissions.")
    try:
        with zipfile.ZipFile(folder) as archive:
            yield from _files_in(archive, folder)
    except zipfile.BadZipFile:
        raise CourseError(
            f"{folder} is neither a folder nor a zip that can be read. Unpack it, and name the "
            "folder."
        ) from None


def _files_in(archive: zipfile.ZipFile, name: Path) -> Iterator[tuple[str, bytes | str]]:
    members = archive.infolist()
    if len(members) > MOST_IN_ZIP:
        raise CourseError(f"{name} holds {len(members):,} files: that is no class's submissions.")
    inside = {PurePosixPath(member.filename).parts[0] for member in members if member.filename}
    for member in sorted(members, key=lambda one: one.filename):
        parts = PurePosixPath(member.filename).parts
        if not member.filename.endswith(".ipynb") or any(p.startswith((".", "__")) for p in parts):
            continue
        # A zip made of one folder: the students' folders are inside it.
        path = "/".join(parts[1:] if len(inside) == 1 and len(parts) > 1 else parts)
        if member.file_size > LARGEST:
            yield (
                path,
                f"it has {member.file_size / 1e6:.0f} MB; at most {LARGEST / 1e6:.0f} are read",
            )
            continue
        try:
            yield path, archive.read(member)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError) as error:
            yield path, f"it cannot be unpacked: {error}"


def _content_of(file: Path) -> bytes | str:
    try:
        about = file.stat()
        if not stat.S_ISREG(about.st_mode) or file.is_symlink():
            return "it is no ordinary file"
        if about.st_size > LARGEST:
            return f"it has {about.st_size / 1e6:.0f} MB; at most {LARGEST / 1e6:.0f} are read"
        return file.read_bytes()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


def _read(student: str, path: str, content: bytes | str) -> Submission:
    if isinstance(content, str):
        return Submission(student, path, problem=content)
    digest = hashlib.sha256(content).hexdigest()
    problem = ""
    notebook = None
    if not content.strip():
        problem = "the file is empty"
    else:
        try:
            with warnings.catch_warnings():
                # Of cells merged by hand that have one id, for instance; it mends them itself.
                warnings.simplefilter("ignore")
                notebook = nbformat.reads(content.decode("utf-8-sig"), as_version=4)
            if not any(cell.cell_type == "code" and cell.source.strip() for cell in notebook.cells):
                problem = "it has no code"
        except Exception as error:  # nbformat raises whatever its parts raise
            reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
            problem = f"it is no notebook that can be read: {reason}"
    return Submission(student, path, None if problem else notebook, problem, digest)


def _best(submissions: list[Submission]) -> Submission:
    best = max(submissions, key=_cells_of_a_lab)
    return replace(best, others=tuple(one.path for one in submissions if one is not best))


def _cells_of_a_lab(submission: Submission) -> tuple[int, int]:
    cells = submission.notebook.cells if submission.notebook is not None else []
    known = 0
    for cell in cells:
        with contextlib.suppress(AttributeError, KeyError, TypeError):
            known += bool(cell.metadata["nbgrader"]["grade_id"])
    return known, len(cells)
