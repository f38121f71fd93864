"""Students and their submissions, identified by the paths that learning platforms generate."""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from nbformat import NotebookNode

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
    >>> identify_student("lovelaceada_LATE_12345_678910_01_tensors-2.ipynb", "01_tensors").key
    ('lovelaceada', '12345')
    >>> identify_student("lovelaceada_12345_678910_Mine.zip/01_tensors.ipynb", "01_tensors").key
    ('lovelaceada', '12345')
    >>> identify_student("ada/01_tensors/01_tensors.ipynb", "01_tensors").key
    ('ada', '')
    >>> identify_student("01_tensors_ada.ipynb", "01_tensors").key
    ('ada', '')
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
        numbered_names = (f"{base_name} ({count})" for count in itertools.count(2))
        for unique_name in itertools.chain([base_name], numbered_names):
            if file_name(unique_name).casefold() not in used_names:
                break
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
