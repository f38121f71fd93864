"""What there is to translate: each document is one PO file with the texts of its sources."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course.authoring.sources import read_source
from course.course_folder import CourseError, CourseFolder
from course.translation.markdown import pieces

# The pages for students, from the root of the course. Of the README only the student's part is
# translated: the start page has the list of lessons, and the rest is for instructors.
PAGES = ("README.md", "docs/first_five_minutes.md", "docs/help.md", "docs/glossary.md")
_NOT_FOR_STUDENTS = (
    "## Lessons",
    "## For instructors",
    "## For maintainers",
    "## How it is built",
    "## What it depends on",
)
# The modules whose sentences are in every notebook and on the start page.
_GENERATING = ("course/authoring/assemble.py", "course/authoring/start_page.py")
# Calls whose arguments, by position or by name, are texts that are translated when they are shown.
_TEXTS_OF = {
    "translate": (0,),
    "Hint": (1, 2),
    "Kind": (2, 3, 4, "title", "why", "advice"),
    "exercise": ("right",),
}


@dataclass(frozen=True)
class Message:
    """One text to translate.

    Attributes:
        text: the English text, on one line.
        comment: where it is and what it is, for the translator.
    """

    text: str
    comment: str


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
            file = course.source_of(stem)
            return _document(name, _path(course, file), _texts_of_source(file))
        case "labs":
            file = course.lab_source_of(stem)
            return _document(name, _path(course, file), _texts_of_lab(course, file))
        case "helpers":
            return _document(name, name, _texts_of_helpers(course.root / "helpers"))
        case "pages":
            return _document(name, "docs", _texts_of_pages(course))
    raise CourseError(f"there is no document {name!r} to translate.")


def students_part(readme: str) -> str:
    """Return the sections of the README that are for students."""
    parts = re.split(r"(?m)^(?=## )", readme)
    return "".join(part for part in parts if not part.startswith(_NOT_FOR_STUDENTS))


def page_text(course: CourseFolder, page: str) -> str:
    """Return the part of an English page that is translated."""
    text = (course.root / page).read_text(encoding="utf-8")
    return students_part(text) if page == "README.md" else text


def _document(name: str, source: str, texts: Iterable[tuple[str, str]]) -> Document:
    places: dict[str, list[str]] = {}
    for text, place in texts:
        if place not in places.setdefault(text, []):
            places[text].append(place)
    messages = (Message(text, "; ".join(where)) for text, where in places.items())
    return Document(name, source, tuple(messages))


def _path(course: CourseFolder, file: Path) -> str:
    return file.relative_to(course.root).as_posix()


def _texts_of_source(file: Path) -> Iterator[tuple[str, str]]:
    source = read_source(file)
    header = source.header
    yield header.title, "title"
    yield header.promise, "promise, below the title"
    for kind in ("objectives", "prerequisites", "credits"):
        for text in getattr(header, kind):
            yield text, kind
    for number, cell in enumerate(source.cells, start=1):
        if cell.cell_type == "markdown":
            for piece in pieces(cell.source):
                yield piece.text, f"cell {number}, {piece.kind}"


def _texts_of_lab(course: CourseFolder, file: Path) -> Iterator[tuple[str, str]]:
    yield from _texts_of_source(file)
    checks = course.root / "helpers" / "checks" / f"lab_{file.stem[:2]}"
    if checks.is_dir():
        yield from _texts_of_hints(checks / "hints.toml")
        for module in sorted(checks.glob("*.py")):
            yield from texts_of_python(module, module.name)


def _texts_of_hints(file: Path) -> Iterator[tuple[str, str]]:
    for exercise, hints in tomllib.loads(file.read_text(encoding="utf-8")).items():
        for id, entry in hints.items():
            if isinstance(entry, dict):
                yield entry["wrong"], f"hint {id} of {exercise}, what is wrong"
                yield entry["look"], f"hint {id} of {exercise}, where to look"


def _texts_of_helpers(folder: Path) -> Iterator[tuple[str, str]]:
    for module in sorted(folder.rglob("*.py")):
        inside = module.relative_to(folder)
        # The texts of a lab's checks are in the PO file of the lab.
        if not any(part.startswith("lab_") for part in inside.parts):
            yield from texts_of_python(module, inside.as_posix())


def _texts_of_pages(course: CourseFolder) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        if (course.root / page).is_file():
            for piece in pieces(page_text(course, page)):
                yield piece.text, f"{page}, {piece.kind}"
    for name in _GENERATING:
        module = Path(__file__).parents[2] / name
        yield from texts_of_python(module, module.name)


def texts_of_python(module: Path, place: str) -> Iterator[tuple[str, str]]:
    """Yield the constant texts in calls of `translate`, `Hint` and the others of `_TEXTS_OF`."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        name = call.func.id if isinstance(call.func, ast.Name) else name
        for argument in _arguments(call, _TEXTS_OF.get(name, ())):
            for part in argument.elts if isinstance(argument, ast.Tuple) else (argument,):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value:
                    yield part.value, place


def _arguments(call: ast.Call, wanted: tuple[int | str, ...]) -> Iterator[ast.expr]:
    for place in wanted:
        if isinstance(place, int):
            yield from call.args[place : place + 1]
        else:
            yield from (word.value for word in call.keywords if word.arg == place)
