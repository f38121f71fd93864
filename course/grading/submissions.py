"""Finds the submissions in a folder or zip exported from a learning platform.

Each notebook is stripped of its outputs as soon as it is read, because the outputs of a whole class
may not fit in memory. The size limits protect the grader from very large files.
"""

import csv
import hashlib
import io
import json
import re
import stat
import unicodedata
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.course_folder import CourseError
from course.grading.answers import merge_answers, other_lab

# Maximum bytes of a file, and of everything in a student's zip. A notebook with many figures is
# tens of megabytes in size.
MAX_FILE_BYTES = 100_000_000
# If a student has more notebooks, such as in a clone of a large repository, only those that mention
# the lab are parsed. A copy of the course in all languages has fewer.
MAX_NOTEBOOKS = 300
# Maximum characters of a notebook without outputs. A lab has about 30,000.
MAX_CHARACTERS = 1_000_000
_NOTEBOOK_SUFFIXES = (".ipynb", ".ipynb.txt", ".ipynb.json")
# Files and folders that learning platforms and operating systems add to submissions.
_IGNORED_NAMES = {"timestamp.txt", "__macosx", "thumbs.db", "desktop.ini", "solutions"}
_NAME_COLUMNS = ("full name", "student", "name")
_ID_COLUMNS = ("identifier", "id", "sis login id")
# "Ada Lovelace_123456_assignsubmission_file_": a folder, or the start of a file name.
_MOODLE = re.compile(r"^(?P<root>(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[A-Za-z0-9]+_?)")
# "lovelaceada_LATE_12345_678910_lab-2.ipynb"
_CANVAS = re.compile(r"^(?P<name>[^_/]+)(?P<late>_LATE)?_(?P<id>\d+)_\d+_[^/]*$", re.IGNORECASE)
# Control characters, and those that change the direction of text.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
_NOT_A_NAME = re.compile(
    r"(?i)draft|final|copy|old|backup|untitled|lab|exercise|notebook|^[\W\d_]*$"
)
# Most file systems allow 255 bytes, including suffixes.
_MAX_NAME_BYTES = 120


@dataclass(frozen=True)
class Student:
    """The student who submitted a file: the name and the id on the learning platform.

    `platform` is "moodle", "canvas" or "". `root` is the part of the path that a feedback upload
    must reuse. Two files belong to the same student if both name and id are equal.
    """

    name: str
    id: str = ""
    platform: str = ""
    root: str = ""
    late: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The name and id, which together identify the student."""
        return self.name, self.id


@dataclass(frozen=True)
class Submission:
    """The submission of one student.

    `student` is a unique name. If there is no readable notebook, `notebook` is None and `problem`
    is the reason. `others` are the student's other files, which are not graded. `modified` is the
    modification time, or None if it is unknown.
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


def identify_student(path: str, lab: str) -> Student:
    """Return the student who submitted the file at `path`, relative to the submissions folder.

    >>> identify_student("Ada Lovelace_123456_assignsubmission_file_/lab.ipynb", "01_tensors").key
    ('Ada Lovelace', '123456')
    """
    first, *rest = PurePosixPath(path).parts
    if match := _MOODLE.match(path):
        return Student(match["name"], match["id"], "moodle", match["root"])
    # Canvas exports have no folders, but a student may have submitted a zip.
    is_file = not rest or first.lower().endswith(".zip")
    if is_file and (match := _CANVAS.match(first)):
        return Student(match["name"], match["id"], "canvas", first, bool(match["late"]))
    if rest:
        return Student(first, root=first)
    stem = re.sub(r"(\.ipynb)?(\.txt|\.json|\.zip)?$", "", first)
    return Student(stem.replace(lab, "").strip(" _-") or stem, root=stem)


def count_shared_folders(paths: Iterable[str], lab: str) -> int:
    """Return the number of leading folders that all paths share, without student folders.

    >>> count_shared_folders(["export/lab 1/ada/x.ipynb", "export/lab 1/bob/x.ipynb"], "01_tensors")
    2
    """
    all_parts = [PurePosixPath(path).parts for path in paths]
    shortest = min(map(len, all_parts), default=1)
    num_shared = 0
    while num_shared < shortest - 1 and len({parts[num_shared] for parts in all_parts}) == 1:
        num_shared += 1
    if num_shared == 0:
        return 0
    for depth, folder in enumerate(all_parts[0][:num_shared]):
        if _MOODLE.match(folder):
            return depth
    # The shared folders may contain student folders, or files named after students.
    names = {parts[num_shared] for parts in all_parts}
    if all(len(parts) == num_shared + 1 for parts in all_parts):
        stems = [name.split(".")[0] for name in names]
        is_class = all(identify_student(name, lab).platform for name in names) or (
            len(names) > 1 and not any(stem == lab or _NOT_A_NAME.search(stem) for stem in stems)
        )
    else:
        is_class = len(names) > 1 and not names & {lab, "labs", "notebooks", "source"}
    # nbgrader's folder is called `submitted`.
    return num_shared if is_class else int(all_parts[0][0] == "submitted")


def display_names(students: Iterable[Student]) -> dict[tuple[str, str], str]:
    """Return a unique display name per student; the id is appended to duplicate names.

    Names that differ only in case or in characters that are invalid in file names are duplicates.
    """
    keys = dict.fromkeys(student.key for student in students)
    counts = Counter(file_name(name).casefold() for name, _ in keys)
    names: dict[tuple[str, str], str] = {}
    used_names: set[str] = set()
    for name, student_id in keys:
        is_duplicate = counts[file_name(name).casefold()] > 1 or name == "Participant"
        # A terminal must not move its cursor, or reverse the text around a name.
        base_name = _CONTROLS.sub(" ", name).strip() or "unnamed"
        base_name = f"{base_name} {student_id}".strip() if is_duplicate else base_name
        unique_name, count = base_name, 2
        while file_name(unique_name).casefold() in used_names:
            unique_name, count = f"{base_name} ({count})", count + 1
        used_names.add(file_name(unique_name).casefold())
        names[name, student_id] = unique_name
    return names


def file_name(student: str) -> str:
    """Convert a student's name to a file name that is valid on any system.

    Different long names have different file names. The composed and the decomposed form of a
    letter with an accent give the same file name.
    """
    composed = unicodedata.normalize("NFC", student)
    cleaned = re.sub(r"[^\w.@() -]+", "_", composed).strip(" .") or "unnamed"
    encoded = cleaned.encode()
    if len(encoded) <= _MAX_NAME_BYTES:
        return cleaned
    digest = hashlib.sha256(encoded).hexdigest()[:10]
    return f"{encoded[:_MAX_NAME_BYTES].decode(errors='ignore')} {digest}"


@dataclass(frozen=True)
class _File:
    """A file of `size` bytes. `read` returns its content, or raises any exception."""

    path: str
    size: int
    modified: datetime | None
    read: Callable[[], bytes]
    problem: str = ""

    def has_suffix(self, suffixes: str | tuple[str, ...]) -> bool:
        return self.path.lower().endswith(suffixes)


def find_submissions(
    folder: Path, lab: str, original: NotebookNode, *, due: datetime | None = None
) -> list[Submission]:
    """Find one submission per student, sorted by name.

    `folder` may be a zip, exported from Moodle, Canvas or nbgrader, or have a file or a folder per
    student. If a student submitted several notebooks, the notebook of the lab with the most answers
    counts. A file that was modified after `due` is marked as late.

    Raises:
        CourseError: the folder does not exist, is not a valid zip, or contains no notebook.
    """
    if not folder.exists():
        raise CourseError(
            f"{folder} does not exist. Pass the folder or zip file that contains the submissions."
        )
    try:
        files = [*(_list_folder(folder) if folder.is_dir() else _list_zip(folder))]
    except zipfile.BadZipFile:
        raise CourseError(
            f"{folder} is neither a folder nor a readable zip. Unpack it and pass the folder."
        ) from None
    if not any(file.has_suffix((*_NOTEBOOK_SUFFIXES, ".zip")) for file in files):
        raise CourseError(f"There is no notebook (.ipynb) in {folder}.")
    depth = count_shared_folders([file.path for file in files], lab)
    files_by_student: dict[tuple[str, str], list[_File]] = {}
    students: dict[tuple[str, str], Student] = {}
    for file in sorted(files, key=lambda file: file.path):
        relative_path = "/".join(PurePosixPath(file.path).parts[depth:])
        student = identify_student(relative_path, lab)
        is_in_folder = "/" in relative_path or student.platform
        if not is_in_folder and not file.has_suffix((*_NOTEBOOK_SUFFIXES, ".zip")):
            continue  # for example, a class list next to the submissions
        first = students.setdefault(student.key, student)
        students[student.key] = replace(first, late=first.late or student.late)
        files_by_student.setdefault(student.key, []).append(file)
    names = display_names(students.values())
    submissions = []
    for key, packed in files_by_student.items():
        unpacked = [part for file in packed for part in _unpack(file, [MAX_FILE_BYTES])]
        num_notebooks = sum(file.has_suffix(_NOTEBOOK_SUFFIXES) for file in unpacked)
        required = f"lab_{lab.split('_')[0]}" if num_notebooks > MAX_NOTEBOOKS else ""
        candidates = [_read(file, names[key], lab, required) for file in unpacked]
        best = _choose_best(candidates, original)
        late = students[key].late or bool(due and best.modified and best.modified > due)
        submissions.append(replace(best, identity=students[key], late=late))
    return sorted(submissions, key=lambda submission: submission.student.casefold())


def _list_folder(folder: Path) -> Iterator[_File]:
    for file in folder.rglob("*"):
        path = file.relative_to(folder)
        if not file.is_dir() and not _is_ignored(path):
            info = file.lstat()
            problem = "" if stat.S_ISREG(info.st_mode) else "it is not a regular file"
            modified = datetime.fromtimestamp(info.st_mtime)
            yield _File(path.as_posix(), info.st_size, modified, file.read_bytes, problem)


def _list_zip(file: Path | io.BytesIO) -> Iterator[_File]:
    archive = zipfile.ZipFile(file)  # closed when no `read` below refers to it any longer
    for member in archive.infolist():
        path = PurePosixPath(*(p for p in member.filename.split("/") if p not in ("", "..")))
        if member.is_dir() or not path.name or _is_ignored(path):
            continue
        try:
            modified = datetime(*member.date_time)
        except ValueError:
            modified = None

        def read(member: zipfile.ZipInfo = member) -> bytes:
            # `ZipFile.read`, and methods other than deflate, decompress everything first, which can
            # be thousands of times the declared size.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("its compression method is not supported")
            with archive.open(member) as stream:
                return stream.read(member.file_size)

        yield _File(str(path), member.file_size, modified, read)


def _is_ignored(path: PurePosixPath | Path) -> bool:
    """Return whether a file is hidden or was not submitted by the student."""
    return any(part.startswith(".") or part.lower() in _IGNORED_NAMES for part in path.parts)


def _unpack(file: _File, remaining_bytes: list[int]) -> Iterator[_File]:
    """Yield the file or, if it is a zip, its notebooks, even from zips inside the zip.

    The notebooks get the time of the zip, because a student can set the times inside of it.
    """
    if file.problem or not file.has_suffix(".zip"):
        yield file
        return
    try:
        if file.size > MAX_FILE_BYTES or file.path.lower().count(".zip/") > 3:
            raise ValueError("it is too large")
        parts = [*_list_zip(io.BytesIO(file.read()))]
    except Exception as error:  # a password, a wrong checksum, an unknown compression
        yield replace(file, problem=f"it cannot be unpacked: {error}")
        return
    parts = [part for part in parts if part.has_suffix((*_NOTEBOOK_SUFFIXES, ".zip"))]
    if not parts:
        yield replace(file, problem="there is no notebook in the zip")
    for part in parts:
        remaining_bytes[0] -= part.size
        problem = _too_large(MAX_FILE_BYTES - remaining_bytes[0])
        path = f"{file.path}/{part.path}"
        part = replace(part, path=path, modified=file.modified, problem=problem)
        yield from _unpack(part, remaining_bytes)


def _too_large(size: int) -> str:
    """Return the problem of a file with `size` bytes, or ""."""
    text = f"it is {size / 1e6:.0f} MB; the limit is {MAX_FILE_BYTES / 1e6:.0f} MB"
    return text if size > MAX_FILE_BYTES else ""


def _read(file: _File, student: str, lab: str, required: str) -> Submission:
    """Return a file as a submission, with its notebook or the problem.

    A notebook without the lab's name in its name and the text `required` is not parsed.
    """
    name = PurePosixPath(file.path).name
    notebook, digest = None, ""
    problem = file.problem or _too_large(file.size)
    if not problem and not file.has_suffix(_NOTEBOOK_SUFFIXES):
        problem = f"{name} is not a notebook (.ipynb)"
    if not problem:
        try:
            content = file.read()
            digest = hashlib.sha256(content).hexdigest()
            if lab in name or required.encode() in content:
                notebook, problem = _parse(content)
            else:
                problem = "it is not a notebook of this lab"
        except Exception as error:  # the same exceptions as in `_unpack`
            problem = f"it cannot be unpacked: {error}"
    return Submission(student, file.path, notebook, problem, digest, modified=file.modified)


def _parse(content: bytes) -> tuple[NotebookNode | None, str]:
    """Return the notebook without its outputs, or None and the problem."""
    if not content.strip():
        return None, "the file is empty"
    try:
        text = _remove_outputs(json.loads(_decode(content)))
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"it has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}")
        with warnings.catch_warnings():
            # nbformat warns about problems that it fixes, such as duplicate cell ids.
            warnings.simplefilter("ignore")
            notebook = nbformat.reads(text, as_version=4)
        # nbformat only logs validation errors, so check the sources here.
        if not all(isinstance(cell.get("source"), str) for cell in notebook.cells):
            raise ValueError("the source of a cell is not text")
    except Exception as error:  # nbformat raises many types of exceptions
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        return None, f"it is not a readable notebook: {reason}"
    if not any(cell.cell_type == "code" and cell.source.strip() for cell in notebook.cells):
        return None, "it has no code"
    return notebook, ""


def _decode(content: bytes) -> str:
    """Decode a text in UTF-8, UTF-16 or UTF-32, or else in Latin-1, which has no invalid bytes."""
    try:
        return content.decode(json.detect_encoding(content))
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _remove_outputs(data: dict[str, Any]) -> str:
    """Return the JSON of a notebook without outputs, attachments, widgets and lone surrogates."""
    for cell in data["cells"] if isinstance(data.get("cells"), list) else []:
        if isinstance(cell, dict):
            cell.pop("attachments", None)
            if cell.get("cell_type") == "code":
                cell["outputs"] = []
    if isinstance(data.get("metadata"), dict):
        data["metadata"].pop("widgets", None)
    # A lone surrogate (half of a UTF-16 pair) is valid in JSON but cannot be encoded as UTF-8.
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()


def _choose_best(candidates: list[Submission], original: NotebookNode) -> Submission:
    """Return the notebook of this lab with the most answers; of equals, the latest."""

    def rank(candidate: Submission) -> tuple[Any, ...]:
        last = candidate.modified or datetime.min, candidate.path
        if candidate.notebook is None or other_lab(original, candidate.notebook):
            return (candidate.path.lower().endswith(_NOTEBOOK_SUFFIXES), 0, 0, *last)
        merged = merge_answers(original, candidate.notebook)
        return (True, 1 + len(merged.answered), -len(merged.missing), *last)

    best = max(candidates, key=rank)
    if best.notebook is not None and (other := other_lab(original, best.notebook)):
        best = replace(best, notebook=None, problem=f"it is {other}, not this lab")
    return replace(best, others=tuple(c.path for c in candidates if c.path != best.path))


def absent_students(class_list: Path, submissions: Sequence[Submission]) -> list[Submission]:
    """Return an empty submission for each student on the list who submitted nothing.

    The list is a CSV file with a column "name" and optionally "id", such as Moodle's grading
    worksheet or Canvas's exported gradebook. Students are matched by id if there is one, and
    otherwise by name.
    """
    try:
        rows = list(csv.reader(io.StringIO(_decode(class_list.read_bytes()), newline="")))
    except (OSError, csv.Error) as error:
        raise CourseError(f"The class list {class_list} cannot be read: {error}.") from None
    columns = [name.strip().casefold() for name in rows[0]] if rows else []
    if not any(name in columns for name in _NAME_COLUMNS):
        found = f"has {', '.join(columns)[:200]}" if columns else "is empty"
        expected = " or ".join(map(repr, _NAME_COLUMNS))
        raise CourseError(f"The class list {class_list} has no column {expected}; it {found}.")
    known = [submission.identity for submission in submissions]
    ids = {student.id for student in known} - {""}
    names = {file_name(student.name).casefold() for student in known}
    platform = next((student.platform for student in known if student.platform), "")
    absent = []
    for row in rows[1:]:
        cells = dict(zip(columns, map(str.strip, row), strict=False))
        name = next((cells[column] for column in _NAME_COLUMNS if column in cells), "")
        student_id = next((cells[column] for column in _ID_COLUMNS if column in cells), "")
        student_id = student_id.removeprefix("Participant ")
        is_known = student_id in ids if student_id and ids else file_name(name).casefold() in names
        if name and name != "Points Possible" and not is_known:
            absent.append(Student(name, student_id, platform))
    unique_names = display_names([*known, *absent])
    return [
        Submission(unique_names[student.key], "", problem="nothing was submitted", identity=student)
        for student in absent
    ]
