"""Assemble unexecuted notebooks: opening, setup cell, the source's cells, closing."""

from __future__ import annotations

import base64
import copy
import hashlib
from collections import Counter

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course.authoring.generated import (
    BADGE,
    lab_closing,
    lab_opening,
    lesson_closing,
    lesson_opening,
)
from course.authoring.labs import (
    check_lab,
    nbgrader_metadata,
    solution_cells,
    student_cells,
)
from course.authoring.sources import Source, read_source
from course.course_folder import CourseFolder
from course.translation.translator import Translator
from helpers.language import ENGLISH

# This cell runs first, so it uses only the standard library. It unpacks the archive into a
# temporary folder, so that an interrupted download does not leave an incomplete copy.
BOOTSTRAP = """\
# @title Set up
# Makes the package `helpers` importable, and downloads the course where it is missing.
import importlib.util
import io
import os
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

if importlib.util.find_spec("helpers") is None:
    source = os.environ.get("COURSE_SOURCE") or "https://github.com/{repository}/archive/{tag}.zip"
    copy = Path.cwd() / "{folder}"
    places = [Path.cwd(), *Path.cwd().parents, Path(source), copy]
    found = [place for place in places if (place / "helpers" / "lesson.py").is_file()]
    try:
        if not found:
            url = Path(source).resolve().as_uri() if Path(source).is_file() else source
            archive = io.BytesIO(urllib.request.urlopen(url, timeout=30).read())
            with TemporaryDirectory(dir=".") as unpacked:
                zipfile.ZipFile(archive).extractall(unpacked)
                next(Path(unpacked).glob("*/helpers")).parent.rename(copy)
    except Exception as error:
        answered = isinstance(error, (urllib.error.HTTPError, zipfile.BadZipFile, StopIteration))
        advice = "Check this address" if answered else "Check the network connection"
        raise RuntimeError(
            f"The course could not be downloaded from {{source}} ({{error!r}}). {{advice}} and run "
            "this cell again, or open the notebook inside a full copy of the course."
        ) from None
    sys.path.insert(0, str(found[0] if found else copy))

from helpers import packages

packages.require()"""

# Matches JupyterLab's metadata, so that saving a lesson there changes only the Python version.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3.12.0",
    },
    # Colab opens the lesson on a machine with a GPU.
    "accelerator": "GPU",
    "colab": {"gpuType": "T4", "provenance": []},
}
IN_ENGLISH = Translator()


def assemble_lesson(
    course: CourseFolder,
    source: Source,
    next_lesson: Source | None,
    translator: Translator = IN_ENGLISH,
) -> NotebookNode:
    """Return the notebook of a lesson in the language of `translator`, without outputs.

    `next_lesson` is the next lesson, which the closing cell links to; None for the last one.
    """
    path = f"notebooks/{source.name}.ipynb"
    opening = lesson_opening(course, source, translator)
    closing = lesson_closing(course, source, next_lesson, translator)
    cells = copy.deepcopy(source.cells)
    return _notebook(source, path, opening, bootstrap(course), cells, closing, translator)


def assemble_lab(
    course: CourseFolder, name: str, *, answers: bool, translator: Translator = IN_ENGLISH
) -> NotebookNode:
    """Return the notebook of lab `name`, with answers or with stubs."""
    source = read_source(course.lab_source_path(name))
    check_lab(source)
    lesson_file = course.source_path(name)
    lesson = read_source(lesson_file) if lesson_file.is_file() else None
    root = "../.." if answers else ".."
    setup = bootstrap(course)
    setup.metadata["nbgrader"] = nbgrader_metadata("bootstrap")
    closing = lab_closing(source, lesson, root, translator)
    page = f"labs/{'solutions/' if answers else ''}{source.name}.ipynb"
    opening = lab_opening(course, source, lesson, root, translator, answers=answers)
    cells = solution_cells(source) if answers else student_cells(source)
    return _notebook(source, page, opening, setup, cells, closing, translator)


def bootstrap(course: CourseFolder) -> NotebookNode:
    """Return the setup cell, which makes `import helpers` work wherever the notebook is opened."""
    # The folder name in GitHub's archives, so that two versions have different folders.
    folder = f"{course.repository.split('/')[-1]}-{course.tag.replace('/', '-')}"
    code = BOOTSTRAP.format(repository=course.repository, tag=course.tag, folder=folder)
    # Collapsed in Colab and in JupyterLab.
    cell_options = {"cellView": "form", "jupyter": {"source_hidden": True}}
    return new_code_cell(code, metadata={**cell_options, "tags": ["bootstrap"]})


def _notebook(
    source: Source,
    page: str,
    opening: list[str],
    setup: NotebookNode,
    cells: list[NotebookNode],
    closing: list[str],
    translator: Translator,
) -> NotebookNode:
    opening_cell, closing_cell = (
        new_markdown_cell("\n\n".join(paragraphs)) for paragraphs in (opening, closing)
    )
    badge = base64.b64encode(BADGE.read_bytes()).decode()
    opening_cell.attachments = nbformat.from_dict({BADGE.name: {"image/png": badge}})
    for cell in cells:
        translate = translator.markdown if cell.cell_type == "markdown" else translator.code
        cell.source = translate(cell.source)
    notebook = new_notebook(
        cells=[opening_cell, setup, *cells, closing_cell],
        metadata=nbformat.from_dict(METADATA),
    )
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = translator.links(cell.source, page)
    notebook.metadata["title"] = translator.translate(source.header.title)
    # `course build --check` compares these digests.
    generated = "".join(cell.source for cell in (opening_cell, setup, closing_cell))
    source_path = f"{page.split('/')[0]}/source/{source.name}.py"
    notebook.metadata["course"] = nbformat.from_dict(
        {
            "source": source_path,
            "source_sha256": source.sha256,
            "generated_sha256": _digest(generated),
        }
    )
    if translator.language != ENGLISH:
        translated = "".join(cell.source for cell in cells if cell.cell_type == "markdown")
        notebook.metadata["course"]["language"] = translator.language
        notebook.metadata["course"]["translation_sha256"] = _digest(translated)
    _set_stable_ids(notebook)
    return notebook


def _set_stable_ids(notebook: NotebookNode) -> None:
    """Derive each cell's id from its content, so that rebuilding keeps the ids."""
    counts: Counter[str] = Counter()
    for cell in notebook.cells:
        digest = _digest(cell.cell_type + "\n" + cell.source)[:12]
        counts[digest] += 1
        cell.id = digest if counts[digest] == 1 else f"{digest}-{counts[digest]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
