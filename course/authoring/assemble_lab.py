"""Puts a lab's two notebooks together, not executed: the student's, and the one with answers."""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from course.authoring.assemble import (
    METADATA,
    badge,
    bootstrap,
    bullets,
    colab_address,
    course_metadata,
    set_stable_ids,
)
from course.authoring.lab_source import (
    check_lab,
    nbgrader_metadata,
    points_of,
    solution_cells,
    students_cells,
)
from course.authoring.lesson_source import LessonSource, read_source
from course.course_folder import CourseFolder


def assemble_lab(course: CourseFolder, name: str, *, answers: bool) -> NotebookNode:
    """The notebook of lab `name`, with its answers or with stubs in their place."""
    source = read_source(course.lab_source_of(name))
    check_lab(source)
    lesson_file = course.source_of(name)
    lesson = read_source(lesson_file) if lesson_file.is_file() else None
    up = "../.." if answers else ".."
    path = f"labs/{name}.ipynb"
    first = bootstrap(course)
    first.metadata["nbgrader"] = nbgrader_metadata("bootstrap")
    generated = [
        new_markdown_cell(_opening(course, source, lesson, path, up, answers=answers)),
        first,
        new_markdown_cell(_closing(source, lesson, up)),
    ]
    own = solution_cells(source) if answers else students_cells(source)
    notebook = nbformat.v4.new_notebook(
        cells=[*generated[:2], *own, generated[2]], metadata=nbformat.from_dict(METADATA)
    )
    notebook.metadata["title"] = source.header.title
    notebook.metadata["course"] = course_metadata(
        f"labs/source/{name}.py", source.sha256, generated
    )
    set_stable_ids(notebook)
    return notebook


def _opening(
    course: CourseFolder,
    source: LessonSource,
    lesson: LessonSource | None,
    path: str,
    up: str,
    *,
    answers: bool,
) -> str:
    header = source.header
    points = points_of(source)
    count = f"{len(points)} exercises, {sum(points.values())} points"
    kind = "Lab with its answers" if answers else "Lab"
    parts = [
        f"# {kind}: {header.title}",
        header.promise,
        f"About {header.minutes} minutes, {count}. {badge(course, path)}",
        "**What you practice**\n\n" + bullets(header.objectives),
    ]
    needed = list(header.prerequisites)
    if lesson is not None:
        file = f"notebooks/{source.name}.ipynb"
        needed.insert(
            0,
            f"The lesson: [{lesson.header.title}]({up}/{file}) "
            f"([in Colab]({colab_address(course, file)}))",
        )
    if needed:
        parts.append("**What you need to begin**\n\n" + bullets(needed))
    parts.append(
        "Write each answer in the place of the line that raises `NotImplementedError`, run the "
        "cell, and run the check below it. A check tries your code on inputs of its own and says "
        "what it finds. Try again as often as you like: the hints get longer, and the points stay "
        "the same."
    )
    return "\n\n".join(parts)


def _closing(source: LessonSource, lesson: LessonSource | None, up: str) -> str:
    parts = ["## What to do next", "Save the notebook: the boxes above are your record."]
    if lesson is not None:
        parts.append(
            f"If a check keeps saying no, go back to [{lesson.header.title}]"
            f"({up}/notebooks/{source.name}.ipynb): its third hint names the section."
        )
    if source.header.credits:
        parts.append("## Credits\n\n" + bullets(source.header.credits))
    return "\n\n".join(parts)
