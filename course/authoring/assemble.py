"""Puts a notebook together, not executed: opening, bootstrap, the lesson's cells, closing."""

from __future__ import annotations

import hashlib
from collections import Counter

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course.authoring.lesson_source import LessonSource
from course.course_folder import CourseFolder

# Runs before anything else, so it may lean on nothing but Python itself. It unpacks under another
# name first, so that a broken fetch leaves nothing that looks like the course.
BOOTSTRAP = """\
# Sets up: makes the course's package `helpers` importable, and fetches it where it is not.
import importlib.util
import io
import os
import sys
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
            archive = io.BytesIO(urllib.request.urlopen(source, timeout=30).read())
            with TemporaryDirectory(dir=".") as half:
                zipfile.ZipFile(archive).extractall(half)
                next(Path(half).glob("*/helpers")).parent.rename(copy)
    except Exception as problem:
        raise RuntimeError(
            f"The course could not be fetched from {{source}} ({{problem!r}}). Is there a network? "
            "Run this cell again, or open the notebook inside a whole copy of the course."
        ) from None
    sys.path.insert(0, str(found[0] if found else copy))

from helpers import packages

packages.require()"""

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    # Without the versions that a kernel adds: they differ from machine to machine.
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
    # Colab offers a GPU when it opens the lesson.
    "accelerator": "GPU",
    "colab": {"gpuType": "T4", "provenance": []},
}


def assemble_lesson(
    course: CourseFolder, source: LessonSource, following: LessonSource | None
) -> NotebookNode:
    """The whole notebook of a lesson as it must stand in the course, without outputs.

    `following` is the next lesson, which the closing cell leads to; None after the last one.
    """
    path = f"notebooks/{source.name}.ipynb"
    lab = f"{source.name}.ipynb"
    generated = [
        new_markdown_cell(opening(course, source, path)),
        bootstrap(course),
        new_markdown_cell(
            closing(course, source, following, (course.labs / lab).is_file()),
        ),
    ]
    cells = [*generated[:2], *map(_copied, source.cells), generated[2]]
    notebook = new_notebook(cells=cells, metadata=nbformat.from_dict(METADATA))
    notebook.metadata["title"] = source.header.title
    notebook.metadata["course"] = course_metadata(
        f"notebooks/source/{source.name}.py", source.sha256, generated
    )
    set_stable_ids(notebook)
    return notebook


def course_metadata(file: str, sha256: str, generated: list[NotebookNode]) -> NotebookNode:
    """What a notebook keeps of its making, for `course build --check` to compare."""
    return nbformat.from_dict(
        {
            "source": file,
            "source_sha256": sha256,
            "generated_sha256": _digest("".join(cell.source for cell in generated)),
        }
    )


def opening(course: CourseFolder, source: LessonSource, path: str) -> str:
    """The first cell: title, promise, time, badge, objectives, prerequisites."""
    header = source.header
    parts = [
        f"# {header.title}",
        header.promise,
        f"About {header.minutes} minutes. {badge(course, path)}",
        "**When you are through, you can**\n\n" + bullets(header.objectives),
    ]
    if header.prerequisites:
        parts.append("**What you need to begin**\n\n" + bullets(header.prerequisites))
    return "\n\n".join(parts)


def badge(course: CourseFolder, path: str) -> str:
    """Markdown of the badge that opens the published copy of the notebook in Colab."""
    image = "https://colab.research.google.com/assets/colab-badge.svg"
    return f"[![Open in Colab]({image})]({colab_address(course, path)})"


def bootstrap(course: CourseFolder) -> NotebookNode:
    """The cell that makes `import helpers` work wherever the notebook was opened."""
    # As GitHub calls what it sends, so that two versions side by side do not mix.
    folder = f"{course.repository.split('/')[-1]}-{course.tag.replace('/', '-')}"
    code = BOOTSTRAP.format(repository=course.repository, tag=course.tag, folder=folder)
    return new_code_cell(code, metadata={"tags": ["bootstrap"]})


def closing(
    course: CourseFolder, source: LessonSource, following: LessonSource | None, has_lab: bool
) -> str:
    """The last cell: the next lesson, the lab if there is one, credits, licence."""
    # Colab cannot follow a link between files of a repository, hence both links.
    ways = []
    if has_lab:
        lab = f"{source.name}.ipynb"
        ways.append(
            f"Practise: [the lab that goes with this lesson](../labs/{lab}) "
            f"([in Colab]({colab_address(course, f'labs/{lab}')}))"
        )
    if following is not None:
        file = f"{following.name}.ipynb"
        colab = colab_address(course, f"notebooks/{file}")
        ways.append(
            f"Go on: [{following.header.title}]({file}) ([in Colab]({colab})). "
            f"{following.header.promise}"
        )
    else:
        ways.append("This is the last lesson. Take what you have learned to a network of your own.")
    parts = ["## What to do next\n\n" + bullets(ways)]
    if source.header.credits:
        parts.append("## Credits\n\n" + bullets(source.header.credits))
    site = f"https://github.com/{course.repository}"
    parts.append(
        f"Part of [{course.repository.split('/')[-1]}]({site}); "
        f"text and code under the [MIT licence]({site}/blob/{course.tag}/LICENSE)."
    )
    return "\n\n".join(parts)


def set_stable_ids(notebook: NotebookNode) -> None:
    """Derive each cell's id from what it holds, so that a rebuild changes no id by chance."""
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        digest = _digest(cell.cell_type + "\n" + cell.source)[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def _copied(cell: NotebookNode) -> NotebookNode:
    new_cell = new_code_cell if cell.cell_type == "code" else new_markdown_cell
    return new_cell(cell.source, metadata=dict(cell.metadata))


def bullets(entries: list[str]) -> str:
    """Markdown of a list."""
    return "\n".join(f"- {entry}" for entry in entries)


def colab_address(course: CourseFolder, path: str) -> str:
    """Where Colab opens the published copy of a notebook."""
    site = "https://colab.research.google.com/github"
    return f"{site}/{course.repository}/blob/{course.tag}/{path}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
