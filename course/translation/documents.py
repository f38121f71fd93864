"""The texts to translate: each document is one PO file with the texts of its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course.authoring.sources import read_source
from course.course_folder import CourseError, CourseFolder
from course.translation.code_messages import Message, cell_messages, hint_messages, module_messages
from course.translation.markdown import text_blocks

# The pages for students, relative to the root of the course. In the README, only the sections for
# students are translated: the start page lists the lessons, and the rest is for instructors.
PAGES = ("README.md", "docs/first_five_minutes.md", "docs/help.md", "docs/glossary.md")
_NOT_FOR_STUDENTS = (
    "## Lessons",
    "## For instructors",
    "## For maintainers",
    "## How it is built",
    "## What it depends on",
)
# The start page without its list of lessons, which depends on what has been built.
START_PAGE = Path(__file__).parents[1] / "authoring" / "start_page.template"
# Modules that generate texts in every notebook and on the start page.
_GENERATOR_MODULES = (
    "course/authoring/generated.py",
    "course/authoring/start_page.py",
    "docs/site/conf.py",
)


@dataclass(frozen=True)
class Document:
    """The texts of one PO file, without repetitions, in the order in which they occur.

    Attributes:
        name: its path below `locale/LANGUAGE`, without `.po`.
        source: the file or folder that it comes from.
    """

    name: str
    source: str
    messages: tuple[Message, ...]


def document_names(course: CourseFolder) -> list[str]:
    """Return the names of all documents: lessons, labs with their hints, helpers, pages."""
    names = [f"notebooks/{name}" for name in course.lesson_names()]
    names += [f"labs/{name}" for name in course.lab_names()]
    return [*names, *(["helpers"] if (course.root / "helpers").is_dir() else []), "pages"]


def read_document(course: CourseFolder, name: str) -> Document:
    """Read the English texts of one document."""
    kind, _, stem = name.partition("/")
    match kind:
        case "notebooks":
            file = course.source_path(stem)
            return _document(name, _path(course, file), _source_messages(file))
        case "labs":
            file = course.lab_source_path(stem)
            return _document(name, _path(course, file), _lab_messages(course, file))
        case "helpers":
            return _document(name, name, _helpers_messages(course.root / "helpers"))
        case "pages":
            return _document(name, "docs", _pages_messages(course))
    raise CourseError(f"There is no document {name!r} to translate.")


def student_sections(readme: str) -> str:
    """Return the sections of the README that are for students."""
    parts = re.split(r"(?m)^(?=## )", readme)
    return "".join(part for part in parts if not part.startswith(_NOT_FOR_STUDENTS))


def page_text(course: CourseFolder, page: str) -> str:
    """Return the part of an English page that is translated."""
    text = (course.root / page).read_text(encoding="utf-8")
    return student_sections(text) if page == "README.md" else text


def _document(name: str, source: str, messages: Iterable[Message]) -> Document:
    """Return a document without duplicate texts; each comment lists all locations of its text."""
    merged: dict[str, Message] = {}
    for message in messages:
        previous = merged.get(message.text)
        if previous is None:
            merged[message.text] = message
        elif message.comment not in previous.comment.split("; "):
            comment = f"{previous.comment}; {message.comment}"
            merged[message.text] = Message(
                message.text, comment, previous.at_runtime or message.at_runtime
            )
    return Document(name, source, tuple(merged.values()))


def _path(course: CourseFolder, file: Path) -> str:
    return file.relative_to(course.root).as_posix()


def _source_messages(file: Path) -> Iterator[Message]:
    source = read_source(file)
    header = source.header
    yield Message(header.title, "title")
    yield Message(header.promise, "promise, below the title")
    for kind in ("objectives", "prerequisites", "credits"):
        for text in getattr(header, kind):
            yield Message(text, kind)
    for number, cell in enumerate(source.cells, start=1):
        if cell.cell_type == "markdown":
            for block in text_blocks(cell.source):
                yield Message(block.text, f"cell {number}, {block.kind}")
        else:
            yield from cell_messages(cell.source, f"cell {number}, shown by its code")


def _lab_messages(course: CourseFolder, file: Path) -> Iterator[Message]:
    yield from _source_messages(file)
    checks = course.root / "helpers" / "checks" / f"lab_{file.stem[:2]}"
    if checks.is_dir():
        yield from hint_messages(checks / "hints.toml")
        for module in sorted(checks.glob("*.py")):
            yield from module_messages(module, module.name)


def _helpers_messages(folder: Path) -> Iterator[Message]:
    for module in sorted(folder.rglob("*.py")):
        relative = module.relative_to(folder)
        # The texts of a lab's checks are in the PO file of the lab.
        if not any(part.startswith("lab_") for part in relative.parts):
            yield from module_messages(module, relative.as_posix())


def _pages_messages(course: CourseFolder) -> Iterator[Message]:
    for block in text_blocks(START_PAGE.read_text(encoding="utf-8")):
        yield Message(block.text, f"index.md, {block.kind}")
    for page in PAGES:
        if (course.root / page).is_file():
            for block in text_blocks(page_text(course, page)):
                yield Message(block.text, f"{page}, {block.kind}")
    for name in _GENERATOR_MODULES:
        module = Path(__file__).parents[2] / name
        yield from module_messages(module, module.name)
