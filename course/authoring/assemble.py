"""Assemble notebooks, not executed: opening, set-up cell, the source's cells, closing."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course.authoring.labs import (
    check_lab,
    nbgrader_metadata,
    points_of,
    solution_cells,
    students_cells,
)
from course.authoring.sources import Source, read_source
from course.course_folder import CourseFolder

# Runs first, so it uses the standard library only. It unpacks under a temporary name, so that an
# interrupted download leaves nothing that looks like the course.
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

# As JupyterLab writes it: opening and saving a lesson changes the version of Python at most.
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
    # Colab offers a GPU when it opens the lesson.
    "accelerator": "GPU",
    "colab": {"gpuType": "T4", "provenance": []},
}
# A PNG, because JupyterLab does not show SVG attachments.
_BADGE = Path(__file__).parents[2] / "docs" / "site" / "static" / "colab-badge.png"


def assemble_lesson(course: CourseFolder, source: Source, following: Source | None) -> NotebookNode:
    """Return the notebook of a lesson, without outputs.

    `following` is the next lesson, which the closing cell links to; None for the last one.
    """
    path = f"notebooks/{source.name}.ipynb"
    header = source.header
    opening = [
        f"# {header.title}",
        header.promise,
        f"About {header.minutes} minutes. {_badge(course, path)}",
        "**After this lesson, you can**\n\n" + _bullets(header.objectives),
    ]
    if header.prerequisites:
        opening.append("**Before you start, you need**\n\n" + _bullets(header.prerequisites))
    closing = _lesson_closing(course, source, following)
    setup = bootstrap(course)
    return _notebook(source, f"notebooks/source/{source.name}.py", opening, setup, None, closing)


def assemble_lab(course: CourseFolder, name: str, *, answers: bool) -> NotebookNode:
    """Return the notebook of lab `name`, with its answers or with stubs instead of them."""
    source = read_source(course.lab_source_of(name))
    check_lab(source)
    lesson_file = course.source_of(name)
    lesson = read_source(lesson_file) if lesson_file.is_file() else None
    root = "../.." if answers else ".."
    setup = bootstrap(course)
    setup.metadata["nbgrader"] = nbgrader_metadata("bootstrap")
    closing = ["## What to do next", "Save the notebook: the boxes above show your results."]
    if lesson is not None:
        closing.append(
            f"If a check keeps failing, go back to [{lesson.header.title}]"
            f"({root}/notebooks/{source.name}.ipynb): the third hint names the section."
        )
    closing += _credits(source)
    return _notebook(
        source,
        f"labs/source/{name}.py",
        _lab_opening(course, source, lesson, root, answers=answers),
        setup,
        solution_cells(source) if answers else students_cells(source),
        closing,
    )


def bootstrap(course: CourseFolder) -> NotebookNode:
    """Return the set-up cell, which makes `import helpers` work wherever the notebook is opened."""
    # The folder name in GitHub's archives; copies of two versions stay apart.
    folder = f"{course.repository.split('/')[-1]}-{course.tag.replace('/', '-')}"
    code = BOOTSTRAP.format(repository=course.repository, tag=course.tag, folder=folder)
    # Collapsed in Colab and in JupyterLab.
    hidden = {"cellView": "form", "jupyter": {"source_hidden": True}}
    return new_code_cell(code, metadata={**hidden, "tags": ["bootstrap"]})


def _notebook(
    source: Source,
    file: str,
    opening: list[str],
    setup: NotebookNode,
    cells: list[NotebookNode] | None,
    closing: list[str],
) -> NotebookNode:
    first, last = (new_markdown_cell("\n\n".join(parts)) for parts in (opening, closing))
    badge = base64.b64encode(_BADGE.read_bytes()).decode()
    first.attachments = nbformat.from_dict({_BADGE.name: {"image/png": badge}})
    own = [_copied(cell) for cell in source.cells] if cells is None else cells
    notebook = new_notebook(cells=[first, setup, *own, last], metadata=nbformat.from_dict(METADATA))
    notebook.metadata["title"] = source.header.title
    # `course build --check` compares these.
    generated = "".join(cell.source for cell in (first, setup, last))
    notebook.metadata["course"] = nbformat.from_dict(
        {"source": file, "source_sha256": source.sha256, "generated_sha256": _digest(generated)}
    )
    _set_stable_ids(notebook)
    return notebook


def _lab_opening(
    course: CourseFolder, source: Source, lesson: Source | None, root: str, *, answers: bool
) -> list[str]:
    header, points = source.header, points_of(source)
    count = f"{len(points)} exercises, {sum(points.values())} points"
    parts = [
        f"# {'Lab with answers' if answers else 'Lab'}: {header.title}",
        header.promise,
        f"About {header.minutes} minutes, {count}. {_badge(course, f'labs/{source.name}.ipynb')}",
        "**What you practice**\n\n" + _bullets(header.objectives),
    ]
    needed = list(header.prerequisites)
    if lesson is not None:
        file = f"notebooks/{source.name}.ipynb"
        colab = _colab_address(course, file)
        needed.insert(
            0, f"The lesson: [{lesson.header.title}]({root}/{file}) ([in Colab]({colab}))"
        )
    if needed:
        parts.append("**Before you start, you need**\n\n" + _bullets(needed))
    parts.append(
        "In each exercise, replace the line that raises `NotImplementedError`, or edit the given "
        "code. Run the cell, and then run the check below it, which tries your code on its own "
        "inputs. If a check fails, it shows a hint; run it again for the next hint. You can try as "
        "often as you like: the points stay the same."
    )
    return parts


def _lesson_closing(course: CourseFolder, source: Source, following: Source | None) -> list[str]:
    # Colab cannot follow a link between files of a repository, so there are two links.
    steps = []
    lab = f"{source.name}.ipynb"
    if (course.labs / lab).is_file():
        colab = _colab_address(course, f"labs/{lab}")
        steps.append(f"Practice: [the lab for this lesson](../labs/{lab}) ([in Colab]({colab}))")
    if following is not None:
        file = f"{following.name}.ipynb"
        colab = _colab_address(course, f"notebooks/{file}")
        steps.append(
            f"Continue: [{following.header.title}]({file}) ([in Colab]({colab})). "
            f"{following.header.promise}"
        )
    else:
        steps.append("This is the last lesson. Apply what you have learned to your own network.")
    parts = ["## What to do next\n\n" + _bullets(steps), *_credits(source)]
    site = f"https://github.com/{course.repository}"
    parts.append(
        f"Part of [{course.repository.split('/')[-1]}]({site}); "
        f"text and code under the [MIT license]({site}/blob/{course.tag}/LICENSE)."
    )
    return parts


def _credits(source: Source) -> list[str]:
    credits = source.header.credits
    return ["## Credits\n\n" + _bullets(credits)] if credits else []


def _badge(course: CourseFolder, path: str) -> str:
    return f"[![Open in Colab](attachment:{_BADGE.name})]({_colab_address(course, path)})"


def _colab_address(course: CourseFolder, path: str) -> str:
    site = "https://colab.research.google.com/github"
    return f"{site}/{course.repository}/blob/{course.tag}/{path}"


def _bullets(entries: list[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)


def _copied(cell: NotebookNode) -> NotebookNode:
    new_cell = new_code_cell if cell.cell_type == "code" else new_markdown_cell
    return new_cell(cell.source, metadata=dict(cell.metadata))


def _set_stable_ids(notebook: NotebookNode) -> None:
    """Derive each cell's id from its content, so that a rebuild keeps the ids."""
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        digest = _digest(cell.cell_type + "\n" + cell.source)[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
