"""What may stand in a stored output and what may not, and how a notebook's outputs are tidied."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from nbformat import NotebookNode

# A path from the root of a disk, but not part of an address or an HTML tag. What lies below /dev
# and /proc is the same on every Linux.
_ABSOLUTE_PATH = re.compile(
    r"(?<![\w.~/:<>=\\\-\"'])/(?!dev/|proc/)(?:[\w.@+\-]+/)+[\w.@+\-]+"
    r"|(?<=[\"'=:( ])/(?!/|dev/|proc/)(?:[\w.@+\-]+/)+[\w.@+\-]+"
    r"|(?<!\w)[A-Za-z]:\\{1,2}[\w.@+\- ]+\\"
    r"|(?<![\w.])~/[\w.@+\-]+"
)
_WARNING = re.compile(r"^\S+:\d+: \w*Warning: .*|^\[W\d+ .*|^\w*Warning: .*", re.MULTILINE)
# A figure's pixels as letters, in which a path can be found by chance.
_PIXELS = re.compile(r"(?<=;base64,)[\w+/=]+")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

# The type of what `helpers.lesson.report` stores. Repeated here, because importing it from there
# would load torch.
RESULT_TYPE = "application/vnd.gpu-course.result+json"
_TEXT_TYPES = ("text/", "application/json", RESULT_TYPE)


def tidy(notebook: NotebookNode) -> None:
    """Take out what differs from one execution to the next and no reader needs."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata.pop("papermill", None)
    for cell in notebook.cells:
        for key in ("execution", "papermill"):
            cell.metadata.pop(key, None)


def output_texts(output: NotebookNode) -> list[str]:
    """Everything in one output that is text, whatever its type; no images."""
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return [f"{output.ename}: {output.evalue}"]
    texts = []
    for kind, value in output.data.items():
        if kind.startswith(_TEXT_TYPES):
            text = value if isinstance(value, str) else json.dumps(value)
            texts.append(_PIXELS.sub("", text))
    return texts


def output_problems(notebook: NotebookNode) -> list[str]:
    """One sentence for each thing in the stored outputs that must not be there.

    These are errors, anything on stderr, warnings, and paths that only one machine has.
    """
    problems = []
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", []):
            where = f"cell {number} ({first_line(cell.source)})"
            text = "\n".join(output_texts(output))
            if output.output_type == "error":
                problems.append(f"{where} ends in an error: {text}")
            elif output.output_type == "stream" and output.name == "stderr":
                problems.append(f"{where} writes to stderr: {first_line(text)}")
            elif found := _WARNING.search(text):
                problems.append(f"{where} shows a warning: {first_line(found.group())}")
            if found := _machine_path(text):
                problems.append(f"{where} shows a path of one machine: {found}")
    return problems


def _machine_path(text: str) -> str | None:
    home = str(Path.home())
    # A home folder of "/" or "/root" would be found in every other address.
    if len(home) > len("/root") and home in text:
        return home
    found = _ABSOLUTE_PATH.search(text)
    return found.group() if found else None


def outputs_digest(notebook: NotebookNode) -> str:
    """SHA-256 over all stored outputs, to tell whether they are the ones the build stored."""
    stored = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()


def first_line(text: str) -> str:
    """The first line of `text` that says something, cut to fit a message."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else line[:77] + "..."


def plain_text(text: str) -> str:
    """`text` without the codes that colour it in a terminal."""
    return _COLOURS.sub("", text)
