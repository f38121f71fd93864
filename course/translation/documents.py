"""The texts to translate: each document is one PO file with the texts of its sources.

The texts of code are found in its syntax tree: calls to `translate`, hints, captions and boxes.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from course.authoring.sources import read_source
from course.course_folder import CourseFolder
from course.translation.markdown import text_blocks
from helpers.checks.hints import read_hints

# The pages for students, relative to the root of the course. In the README, only the sections for
# students are translated: the start page lists the lessons, and the rest is for instructors.
PAGES = ("README.md", "docs/first_five_minutes.md", "docs/help.md", "docs/glossary.md")
_NOT_FOR_STUDENTS = ("Lessons", "For instructors", "For maintainers", "How it is built", "What it ")
# The start page without its list of lessons, which depends on what has been built.
START_PAGE = Path(__file__).parents[1] / "authoring" / "start_page.template"
# Modules that generate texts in every notebook and on the start page.
_GENERATOR_MODULES = ("course/authoring/generated.py", "docs/site/conf.py")
# For each function, the arguments that are translated when they are shown, by position or name.
_HELPER_ARGUMENTS = {"translate": (0,), "show": (1,)}
# Functions whose arguments are texts of figures: ours in lessons, matplotlib's in `helpers/plots`.
_LABEL_FUNCTIONS = {
    *("label", "annotate", "text", "Curve", "set_title", "suptitle", "supxlabel", "set_xlabel"),
    *("set_ylabel", "plot_curves", "plot_panels", "plot_groups", "draw_images"),
}
# Keyword arguments and variables with texts of figures, and the functions that draw figures.
_FIGURE_TEXTS = {"title", "xlabel", "ylabel", "label", "source", "unit", "names", "ends"}
_FIGURE = re.compile(r"(?:plot|draw)_\w+")
# The same for the columns of the TOML tables in `helpers`.
_TABLE_KEYS = ("title", "why", "advice", "role", "category", "meaning")
_CELL_ARGUMENTS = {"show": ("alt",), "box": (0, 1), "progress": (0,)}
_MAGIC = re.compile(r"(?m)^[ \t]*[%!].*")
# A label with these characters, or without spaces but with a point, is code.
_CODE = re.compile(r"[=@>*+]|::|^\S*\(|^\S*[._]\S*$")


@dataclass(frozen=True)
class Message:
    """One text to translate."""

    text: str  # in English, on one line
    comment: str  # its location and kind, for the translator
    at_runtime: bool = False  # shown while a notebook runs, so `helpers` needs its translation


@dataclass(frozen=True)
class Document:
    """The texts of one PO file, without repetitions, in the order in which they occur."""

    name: str  # its path below `locale/LANGUAGE`, without `.po`
    source: str  # the file or folder that it comes from
    messages: tuple[Message, ...]


def document_names(course: CourseFolder) -> list[str]:
    """Return the names of all documents: lessons, labs with their hints, helpers, pages."""
    names = [f"notebooks/{name}" for name in course.lesson_names()]
    names += [f"labs/{name}" for name in course.lab_names()]
    return [*names, *(["helpers"] if (course.root / "helpers").is_dir() else []), "pages"]


def read_document(course: CourseFolder, name: str) -> Document:
    """Read the English texts of one document; each comment lists all locations of its text."""
    kind, _, stem = name.partition("/")
    file = f"{kind}/source/{stem}.py"
    sources = {
        "notebooks": (file, _source_messages(course.root / file)),
        "labs": (file, _lab_messages(course, course.root / file)),
        "helpers": ("helpers", _helpers_messages(course.root / "helpers")),
        "pages": ("docs", _pages_messages(course)),
    }
    source, messages = sources[kind]
    merged: dict[str, Message] = {}
    for message in messages:
        previous = merged.get(message.text, message)
        if message.comment in previous.comment.split("; "):
            merged[message.text] = previous
        else:
            comment = f"{previous.comment}; {message.comment}"
            at_runtime = previous.at_runtime or message.at_runtime
            merged[message.text] = Message(message.text, comment, at_runtime)
    return Document(name, source, tuple(merged.values()))


def page_text(course: CourseFolder, page: str) -> str:
    """Return the part of an English page that is translated."""
    text = (course.root / page).read_text(encoding="utf-8")
    if page != "README.md":
        return text
    first, *sections = re.split(r"(?m)^## ", text)
    students = (part for part in sections if not part.startswith(_NOT_FOR_STUDENTS))
    return first + "".join(f"## {part}" for part in students)


# Modules and cells are parsed once for all languages.
@lru_cache(maxsize=2048)
def code_messages(
    code: str, location: str, *, in_cell: bool = False, in_figures: frozenset[str] = frozenset()
) -> tuple[Message, ...]:
    """Return the texts that a module of `helpers` shows, or the figures and boxes of a cell.

    `in_figures` are the variables whose dictionaries a figure shows: their keys are its labels.
    """
    has_labels = in_cell or location.startswith("plots/")
    arguments = _CELL_ARGUMENTS if in_cell else _HELPER_ARGUMENTS
    found, labels = [], []
    for statement in ast.parse(_MAGIC.sub("pass", code) if in_cell else code).body:
        nodes = list(ast.walk(statement))
        for node in nodes:
            if isinstance(node, ast.Call):
                names = arguments.get(_name(node.func), ())
                found += [value for n, value in enumerate(node.args) if n in names]
                found += [keyword.value for keyword in node.keywords if keyword.arg in names]
                is_label = has_labels and _name(node.func) in _LABEL_FUNCTIONS
                labels += node.args if is_label else []
                names = _FIGURE_TEXTS if has_labels else ()
                labels += [keyword.value for keyword in node.keywords if keyword.arg in names]
            elif has_labels and isinstance(node, ast.Assign):
                labels += [node.value] if _name(node.targets[0]) in _FIGURE_TEXTS else []
        if in_cell:
            is_shown = not in_figures.isdisjoint(map(_name, nodes))
            labels += [k for k in _keys(nodes) if is_shown or " " in "".join(_texts_in(k))]
    found += [label for label in labels if any(map(_is_words, _texts_in(label)))]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    texts = (text for node in found for text in _texts_in(node))
    return tuple(Message(text, location, at_runtime=True) for text in texts)


def _is_words(label: str) -> bool:
    """Return whether a label has words, and not only code, numbers and names of units."""
    constant = re.sub(r"\{.*?\}", "", label)
    return bool(re.search(r"\b[a-z]{2,}\b", constant)) and not _CODE.search(constant)


def _name(node: ast.AST | None) -> str:
    """Return the name of a function, a variable, or the variable of `name[index]`."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return getattr(node, "attr", getattr(node, "id", getattr(node, "name", "")))


def _keys(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    """Yield the keys of dictionaries: of `{key: 1}`, `{key: 1 for ...}` and `name[key] = 1`."""
    for node in nodes:
        yield from filter(None, getattr(node, "keys", ()))
        yield from [node.key] if isinstance(node, ast.DictComp) else []
        targets = getattr(node, "targets", ()) if isinstance(node, ast.Assign) else ()
        yield from (target.slice for target in targets if isinstance(target, ast.Subscript))


def _texts_in(node: ast.AST) -> Iterator[str]:
    """Yield the texts of an expression; a value in an f-string becomes a placeholder."""
    for part in getattr(node, "elts", [getattr(node, "elt", node)]):
        if isinstance(part, ast.IfExp):
            yield from (*_texts_in(part.body), *_texts_in(part.orelse))
        text = getattr(part, "value", None)
        if isinstance(part, ast.JoinedStr):
            text = "".join(
                v.value if isinstance(v, ast.Constant) else f"{{{_placeholder(v)}}}"
                for v in part.values
            )
        if isinstance(text, str) and text:
            yield text


def _placeholder(value: ast.FormattedValue) -> str:
    """Return a name for a value in an f-string: `speed` for `{speed:.1f}`."""
    return re.sub(r"\W+", "_", ast.unparse(value.value)).strip("_").lstrip("0123456789_")


def check_messages(code: str, location: str) -> Iterator[Message]:
    """Yield the texts of a module of `helpers/checks`: those of its calls, hints and success."""
    yield from code_messages(code, location)
    for node in ast.walk(ast.parse(code)):
        targets = [getattr(target, "id", "") for target in getattr(node, "targets", ())]
        names = [*targets, getattr(node, "arg", "")]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "read_hints":
            names, value = ["hints"], node.args[0]
        text = getattr(value, "value", None)
        if isinstance(text, str) and "success" in names:
            yield Message(text, f"{location}, right", at_runtime=True)
        if isinstance(text, str) and "hints" in names:
            for hint in read_hints(text).values():
                for kind in ("wrong", "look"):
                    comment = f"{location}, hint {hint.id}, {kind}"
                    yield Message(getattr(hint, kind), comment, at_runtime=True)


def _source_messages(file: Path) -> Iterator[Message]:
    source = read_source(file)
    header = source.header
    yield Message(header.title, "title")
    yield Message(header.promise, "promise, below the title")
    for kind in ("objectives", "prerequisites", "credits"):
        for text in getattr(header, kind):
            yield Message(text, kind)
    codes = [_MAGIC.sub("pass", cell.source) for cell in source.cells if cell.cell_type == "code"]
    calls = [node for node in ast.walk(ast.parse("\n".join(codes))) if isinstance(node, ast.Call)]
    drawn = [
        node for call in calls if _FIGURE.fullmatch(_name(call.func)) for node in ast.walk(call)
    ]
    in_figures = frozenset(node.id for node in drawn if isinstance(node, ast.Name))
    for number, cell in enumerate(source.cells, start=1):
        if cell.cell_type == "markdown":
            for block in text_blocks(cell.source):
                yield Message(block.text, f"cell {number}, {block.kind}")
        else:
            location = f"cell {number}, shown by its code"
            yield from code_messages(cell.source, location, in_cell=True, in_figures=in_figures)


def _lab_messages(course: CourseFolder, file: Path) -> Iterator[Message]:
    yield from _source_messages(file)
    checks = course.root / "helpers" / "checks" / f"lab_{file.stem[:2]}"
    for module in sorted(checks.glob("*.py")):
        yield from check_messages(module.read_text(encoding="utf-8"), module.name)


def _helpers_messages(folder: Path) -> Iterator[Message]:
    for module in sorted(folder.rglob("*.py")):
        location = module.relative_to(folder).as_posix()
        if "/lab_" not in location:  # the texts of a lab's checks are in the PO file of the lab
            yield from check_messages(module.read_text(encoding="utf-8"), location)
    for file in sorted(folder.glob("plots/**/*.json")):
        location = file.relative_to(folder).as_posix()
        data = json.loads(file.read_text(encoding="utf-8"))
        for text in data if file.name == "labels.json" else _texts_of_drawings(data):
            yield Message(text, location, at_runtime=True)
    for file in sorted(folder.rglob("*.toml")):
        tables = tomllib.loads(file.read_text(encoding="utf-8")).values()
        for value in (row.get(key, []) for rows in tables for row in rows for key in _TABLE_KEYS):
            for text in [value] if isinstance(value, str) else value:
                yield Message(text, file.relative_to(folder).as_posix(), at_runtime=True)


def _texts_of_drawings(data: Any) -> Iterator[str]:
    """Yield the texts of a file in `plots/drawings`, without code, which is monospaced."""
    if isinstance(data, dict):
        yield from (data[key] for key in ("title", "alt") if key in data)
    for value in data.values() if isinstance(data, dict) else data:
        match value:
            case [str(), [*_, str(text)], *options]:  # a shape
                yield from [text] if _is_words(text) and "monospace" not in str(options) else []
            case dict() | list():
                yield from _texts_of_drawings(value)


def _pages_messages(course: CourseFolder) -> Iterator[Message]:
    for block in text_blocks(START_PAGE.read_text(encoding="utf-8")):
        yield Message(block.text, f"index.md, {block.kind}")
    for page in PAGES:
        if (course.root / page).is_file():
            for block in text_blocks(page_text(course, page)):
                yield Message(block.text, f"{page}, {block.kind}")
    for name in _GENERATOR_MODULES:
        module = Path(__file__).parents[2] / name
        yield from code_messages(module.read_text(encoding="utf-8"), module.name)
