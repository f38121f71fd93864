"""Find the texts that code shows to students: calls to `translate`, hints, and captions."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

# For each function, the arguments that are translated when they are shown, by position or name.
_HELPER_ARGUMENTS = {
    "translate": (0,),
    "Hint": (1, 2),
    "Kind": (2, 3, 4, "title", "why", "advice"),
    "exercise": ("success_message",),
    "MixedLine": (4,),
    "Opcode": (1, 4),
    "_compute": (1, 2),
    "_jump": (1,),
    "show": (1,),
}
_CELL_ARGUMENTS = {"show": ("alt",), "box": (0, 1), "progress": (0,)}


@dataclass(frozen=True)
class Message:
    """One text to translate.

    Attributes:
        text: the English text, on one line.
        comment: the location and kind of the text, for the translator.
        at_runtime: whether code shows the text while a notebook runs. `helpers` needs its
            translation.
    """

    text: str
    comment: str
    at_runtime: bool = False


def module_messages(module: Path, location: str) -> tuple[Message, ...]:
    """Return the texts that a module shows."""
    return _helper_messages(module.read_text(encoding="utf-8"), location)


# Modules and cells are parsed once for all languages.
@lru_cache(maxsize=512)
def _helper_messages(code: str, location: str) -> tuple[Message, ...]:
    return tuple(_messages(code, _HELPER_ARGUMENTS, location))


@lru_cache(maxsize=1024)
def cell_messages(code: str, location: str) -> tuple[Message, ...]:
    """Return the captions and boxes of a code cell."""
    lines = ("" if line.lstrip().startswith(("%", "!")) else line for line in code.splitlines())
    return tuple(_messages("\n".join(lines), _CELL_ARGUMENTS, location))


def hint_messages(file: Path) -> Iterator[Message]:
    """Yield the texts of a lab's `hints.toml`."""
    for exercise, hints in tomllib.loads(file.read_text(encoding="utf-8")).items():
        for id, entry in hints.items():
            if isinstance(entry, dict):
                location = f"hint {id} of {exercise}"
                yield Message(entry["wrong"], f"{location}, what is wrong", at_runtime=True)
                yield Message(entry["look"], f"{location}, where to look", at_runtime=True)


def _messages(
    code: str, translated_arguments: dict[str, tuple[int | str, ...]], location: str
) -> Iterator[Message]:
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        name = call.func.id if isinstance(call.func, ast.Name) else name
        for argument in _arguments(call, translated_arguments.get(name, ())):
            for part in argument.elts if isinstance(argument, ast.Tuple) else (argument,):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value:
                    yield Message(part.value, location, at_runtime=True)


def _arguments(call: ast.Call, parameters: tuple[int | str, ...]) -> Iterator[ast.expr]:
    for parameter in parameters:
        if isinstance(parameter, int):
            yield from call.args[parameter : parameter + 1]
        else:
            yield from (keyword.value for keyword in call.keywords if keyword.arg == parameter)
