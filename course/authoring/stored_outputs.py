"""Check and clean the stored outputs of notebooks."""

import hashlib
import json
import re
from pathlib import Path

from nbformat import NotebookNode

# An absolute path that is not part of a URL or an HTML tag. Paths in /dev and /proc are allowed,
# because they are the same on every Linux system.
_ABSOLUTE_PATH = re.compile(
    r"(?<![\w.~/:<>=\\\-\"'])/(?!dev/|proc/)(?:[\w.@+\-]+/)+[\w.@+\-]+"
    r"|(?<=[\"'=:( ])/(?!/|dev/|proc/)(?:[\w.@+\-]+/)+[\w.@+\-]+"
    r"|(?<!\w)[A-Za-z]:\\{1,2}[\w.@+\- ]+\\"
    r"|(?<![\w.])~/[\w.@+\-]+"
)
_WARNING = re.compile(r"^\S+:\d+: \w*Warning: .*|^\[W\d+ .*|^\w*Warning: .*", re.MULTILINE)
# Base64-encoded images, which may contain text that looks like a path.
_IMAGE_DATA = re.compile(r"(?<=;base64,)[\w+/=]+")

# MIME type of the values that `helpers.lesson.report` stores. Duplicated here, because importing
# `helpers.lesson` would import torch.
RESULT_TYPE = "application/vnd.gpu-course.result+json"
_TEXT_TYPES = ("text/", "application/json", RESULT_TYPE)


def _text(output: NotebookNode) -> str:
    """Return all text in one output, without images."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    values = [value for key, value in output.data.items() if key.startswith(_TEXT_TYPES)]
    texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
    return "\n".join(_IMAGE_DATA.sub("", text) for text in texts)


def output_problems(notebook: NotebookNode) -> list[str]:
    """Return a sentence for each error, stderr output, warning, or machine-specific path."""
    # A home folder of "/" or "/root" is part of many other paths.
    home = re.escape(str(Path.home())) if len(str(Path.home())) > len("/root") else r"(?!)"
    problems = []
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", []):
            location = f"cell {number} ({first_line(cell.source)})"
            text = _text(output)
            if output.output_type == "error":
                problems.append(f"{location} ends in an error: {text}")
            elif output.output_type == "stream" and output.name == "stderr":
                problems.append(f"{location} writes to stderr: {first_line(text)}")
            elif match := _WARNING.search(text):
                problems.append(f"{location} shows a warning: {first_line(match.group())}")
            if match := re.search(home, text) or _ABSOLUTE_PATH.search(text):
                problems.append(f"{location} shows a path of this machine: {match.group()}")
    return problems


def outputs_digest(notebook: NotebookNode) -> str:
    """Return a SHA-256 of all stored outputs, to detect changes after the build."""
    stored = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()


def first_line(text: str) -> str:
    """Return the first line of `text` that is not blank, shortened to 80 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else line[:77] + "..."
