"""Reads the submitted files from a folder or a zip, including nested zips.

Each notebook is parsed and stripped of its outputs as soon as it is read, because the outputs of a
whole class may not fit in memory. The size limits protect the grader from very large files.
"""

from __future__ import annotations

import hashlib
import io
import json
import stat
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.course_folder import CourseError
from course.grading.students import wrapper_depth

# Maximum bytes of a file, and of all notebooks in a student's zip. A notebook with many figures is
# tens of megabytes in size.
MAX_FILE_BYTES = 100_000_000
MAX_FILES_IN_ZIP = 20_000
# Maximum notebooks in a student's zip. A copy of the course in all languages has fewer. A folder
# may be a clone of a large repository, whose notebooks would take minutes to parse.
MAX_NOTEBOOKS = 300
# Maximum cells of a notebook, and characters without outputs. A lab has about 40 cells and 30,000
# characters.
MAX_CELLS = 2_000
MAX_CHARACTERS = 1_000_000
_NOTEBOOK_SUFFIXES = (".ipynb", ".ipynb.txt", ".ipynb.json")
# Files and folders that learning platforms and operating systems add to submissions.
_IGNORED_NAMES = {"timestamp.txt", "__macosx", "thumbs.db", "desktop.ini", "solutions"}


@dataclass(frozen=True)
class SubmittedFile:
    """A submitted file with its notebook or `problem`. `digest` is a hash of the content."""

    path: str
    notebook: NotebookNode | None = None
    problem: str = ""
    modified: datetime | None = None
    digest: str = ""


def is_notebook(path: str) -> bool:
    """Return whether a file has the suffix of a notebook."""
    return path.lower().endswith(_NOTEBOOK_SUFFIXES)


def read_files(folder: Path, lab: str = "") -> Iterator[SubmittedFile]:
    """Yield the files in a folder or a zip, including those in the students' zips.

    If a student's folder has more than `MAX_NOTEBOOKS` notebooks, such as a clone of a
    large repository, only those that mention `lab` are parsed.

    Raises:
        CourseError: the folder does not exist, or is not a valid zip.
    """
    if folder.is_dir():
        files = {
            path.as_posix(): file
            for file in folder.rglob("*")
            if not _is_ignored((path := file.relative_to(folder)).parts) and not file.is_dir()
        }
        large = _large_folders(list(files), lab)
        for path, file in files.items():
            yield from _read_from_disk(file, path, lab if path.startswith(large) else "")
        return
    if not folder.is_file():
        raise CourseError(
            f"{folder} does not exist. Pass the folder or zip file that contains the submissions."
        )
    try:
        with zipfile.ZipFile(folder) as archive:
            yield from _read_archive(archive, str(folder))
    except zipfile.BadZipFile:
        raise CourseError(
            f"{folder} is neither a folder nor a readable zip. Unpack it and pass the folder."
        ) from None


def _large_folders(paths: list[str], lab: str) -> tuple[str, ...]:
    """Return the students' folders with many notebooks, each with a slash at its end."""
    depth = wrapper_depth(paths, lab)
    parts = [PurePosixPath(path).parts for path in paths if is_notebook(path)]
    counts = Counter("/".join(p[: depth + 1]) + "/" for p in parts if len(p) > depth + 1)
    return tuple(name for name, count in counts.items() if lab and count > MAX_NOTEBOOKS)


def _may_be_lab(path: str, content: bytes, lab: str) -> bool:
    """Return whether a notebook has the lab's file name, or contains the name of its checks."""
    return lab in PurePosixPath(path).name or f"lab_{lab.split('_')[0]}".encode() in content


def _is_ignored(parts: Iterable[str]) -> bool:
    """Return whether a file is hidden or was not submitted by the student."""
    return any(part.startswith(".") or part.lower() in _IGNORED_NAMES for part in parts)


def _read_from_disk(file: Path, path: str, lab: str) -> Iterator[SubmittedFile]:
    """Yield the file or, if it is a zip, its notebooks.

    If `lab` is not empty, a notebook that cannot be this lab is not parsed.
    """
    try:
        info = file.lstat()
        if not stat.S_ISREG(info.st_mode):
            yield SubmittedFile(path, problem="it is not a regular file")
        elif info.st_size > MAX_FILE_BYTES:
            yield SubmittedFile(path, problem=_too_large(info.st_size))
        else:
            content = file.read_bytes() if _has_content(path) else b""
            modified = datetime.fromtimestamp(info.st_mtime)
            if lab and is_notebook(path) and not _may_be_lab(path, content, lab):
                yield SubmittedFile(path, problem="it is not a notebook of this lab")
            else:
                yield from _unpack(path, content, modified)
    except OSError as error:
        yield SubmittedFile(path, problem=f"it cannot be read: {error.strerror}")


def _read_archive(
    archive: zipfile.ZipFile, name: str, student: str | None = None
) -> Iterator[SubmittedFile]:
    """Yield the files in a zip. `student` is the path of a student's zip, None for the class's."""
    members = archive.infolist()
    if len(members) > MAX_FILES_IN_ZIP:
        raise CourseError(f"{name} has {len(members):,} files; the limit is {MAX_FILES_IN_ZIP:,}.")
    total = 0
    for member in members:
        parts = [part for part in PurePosixPath(member.filename).parts if part not in ("/", "..")]
        if member.is_dir() or not parts or _is_ignored(parts):
            continue
        path = "/".join(parts)
        if student is not None:
            if not is_notebook(path):
                continue
            path = f"{student}/{path}"
        total += member.file_size if student is not None else 0
        if max(total, member.file_size) > MAX_FILE_BYTES:
            yield SubmittedFile(path, problem=_too_large(max(total, member.file_size)))
            continue
        try:
            content = _read_content(archive, member) if _has_content(path) else b""
        except Exception as error:  # zlib, a password, an unknown compression, a wrong checksum
            yield SubmittedFile(path, problem=f"it cannot be unpacked: {error}")
            continue
        try:
            modified = datetime(*member.date_time)
        except ValueError:
            modified = None
        yield from _unpack(path, content, modified)


def _read_content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the content of a file in a zip, limited to the size declared in the zip.

    `ZipFile.read` and methods other than deflate decompress everything first, which can be
    thousands of times the declared size.
    """
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("its compression method is not supported")
    with archive.open(member) as stream:
        return stream.read(member.file_size)


def _has_content(path: str) -> bool:
    return path.lower().endswith((*_NOTEBOOK_SUFFIXES, ".zip"))


def _too_large(size: int) -> str:
    return f"it is {size / 1e6:.0f} MB; the limit is {MAX_FILE_BYTES / 1e6:.0f} MB"


def _unpack(path: str, content: bytes, modified: datetime | None) -> Iterator[SubmittedFile]:
    """Yield the notebooks in a student's zip, or the file itself if it is not a zip.

    The notebooks get the time of the zip, because a student can set the times inside of it.
    """
    if not path.lower().endswith(".zip"):
        yield _parse(SubmittedFile(path, modified=modified), content)
        return
    has_notebook = False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            num_notebooks = sum(is_notebook(name) for name in archive.namelist())
            if num_notebooks > MAX_NOTEBOOKS:
                problem = f"it has {num_notebooks:,} notebooks; the limit is {MAX_NOTEBOOKS}"
                yield SubmittedFile(path, problem=problem, modified=modified)
                return
            for file in _read_archive(archive, path, student=path):
                has_notebook = True
                yield replace(file, modified=modified)
    except (zipfile.BadZipFile, CourseError, OSError, ValueError) as error:
        yield SubmittedFile(path, problem=f"it cannot be unpacked: {error}", modified=modified)
        return
    if not has_notebook:
        problem = "there is no notebook in the zip"
        yield SubmittedFile(path, problem=problem, modified=modified)


def _parse(file: SubmittedFile, content: bytes) -> SubmittedFile:
    if not is_notebook(file.path):
        problem = f"{PurePosixPath(file.path).name} is not a notebook (.ipynb)"
        return replace(file, problem=problem)
    file = replace(file, digest=hashlib.sha256(content).hexdigest())
    if not content.strip():
        return replace(file, problem="the file is empty")
    try:
        text = _remove_outputs(json.loads(content.decode("utf-8-sig")))
        if len(text) > MAX_CHARACTERS:
            problem = f"it has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}"
            return replace(file, problem=problem)
        notebook = _parse_notebook(text)
    except Exception as error:  # nbformat raises many types of exceptions
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        return replace(file, problem=f"it is not a readable notebook: {reason}")
    if len(notebook.cells) > MAX_CELLS:
        problem = f"it has {len(notebook.cells):,} cells; the limit is {MAX_CELLS:,}"
        return replace(file, problem=problem)
    if not any(cell.cell_type == "code" and cell.source.strip() for cell in notebook.cells):
        return replace(file, problem="it has no code")
    return replace(file, notebook=notebook)


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


def _parse_notebook(text: str) -> NotebookNode:
    with warnings.catch_warnings():
        # nbformat warns about problems that it fixes automatically, such as duplicate cell ids.
        warnings.simplefilter("ignore")
        notebook = nbformat.reads(text, as_version=4)
    # nbformat only logs validation errors, so check the sources here.
    if not all(isinstance(cell.get("source"), str) for cell in notebook.cells):
        raise ValueError("the source of a cell is not text")
    return notebook
