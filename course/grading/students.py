"""Identifies students from the file names that learning platforms generate."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

# "Ada Lovelace_123456_assignsubmission_file_": a folder, or the start of a file name.
_MOODLE = re.compile(r"^(?P<root>(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[A-Za-z0-9]+_?)")
# "lovelaceada_LATE_12345_678910_lab-2.ipynb"
_CANVAS = re.compile(r"^(?P<name>[^_/]+)(?P<late>_LATE)?_(?P<id>\d+)_\d+_[^/]*$", re.IGNORECASE)
# Control characters, and those that change the direction of text.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
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


def wrapper_depth(paths: Iterable[str], lab: str) -> int:
    """Return the number of leading folders that all paths share, without student folders.

    >>> wrapper_depth(["export/lab 1/ada/x.ipynb", "export/lab 1/bob/x.ipynb"], "01_tensors")
    2
    """
    all_parts = [PurePosixPath(path).parts for path in paths]
    num_shared = 0
    while all_parts and all(
        p[num_shared : num_shared + 1] == all_parts[0][num_shared : num_shared + 1]
        for p in all_parts
    ):
        if any(len(parts) == num_shared + 1 for parts in all_parts):
            break
        num_shared += 1
    if not all_parts or num_shared == 0:
        return 0
    for depth, folder in enumerate(all_parts[0][:num_shared]):
        if _MOODLE.match(folder):
            return depth
    # The shared folders may contain student folders, or files named after students.
    names = {parts[num_shared] for parts in all_parts}
    if all(len(parts) == num_shared + 1 for parts in all_parts):
        has_platform_names = all(identify_student(name, lab).platform for name in names)
        has_student_names = len(names) > 1 and all(
            _is_named_after_student(name, lab) for name in names
        )
        is_class = has_platform_names or has_student_names
    else:
        is_class = len(names) > 1 and not names & {lab, "labs", "notebooks", "source"}
    # nbgrader's folder is called `submitted`.
    return num_shared if is_class else int(all_parts[0][0] == "submitted")


def _is_named_after_student(file: str, lab: str) -> bool:
    stem = file.split(".")[0]
    is_generic = re.search(r"(?i)draft|final|copy|old|backup|untitled|lab|exercise|notebook", stem)
    return stem != lab and not is_generic and any(character.isalpha() for character in stem)


def display_names(students: Iterable[Student]) -> dict[tuple[str, str], str]:
    """Return a unique display name per student; the id is appended to duplicate names.

    Names that differ only in case or in characters that are invalid in file names are duplicates.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for key in dict.fromkeys(student.key for student in students):
        groups.setdefault(file_name(key[0]).casefold(), []).append(key)
    names: dict[tuple[str, str], str] = {}
    used_names: set[str] = set()
    for keys in groups.values():
        for name, student_id in keys:
            base_name = _without_controls(name)
            if len(keys) > 1 or name == "Participant":
                base_name = f"{base_name} {student_id}".strip()
            unique_name, count = base_name, 1
            while file_name(unique_name).casefold() in used_names:
                count += 1
                unique_name = f"{base_name} ({count})"
            used_names.add(file_name(unique_name).casefold())
            names[name, student_id] = unique_name
    return names


def _without_controls(name: str) -> str:
    """Replace characters that move the cursor of a terminal or reverse the text around them."""
    return _CONTROLS.sub(" ", name).strip() or "unnamed"


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
