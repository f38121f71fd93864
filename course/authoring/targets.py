"""The notebooks that a course is to be built into: lessons, labs, and labs with their answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from course.authoring.assemble import assemble_lesson
from course.authoring.assemble_lab import assemble_lab
from course.authoring.lesson_source import read_source
from course.course_folder import CourseFolder, pick


@dataclass(frozen=True)
class Target:
    """One notebook to build.

    `name` is what messages call it and `asked_as` what builds it; `executed` is false for a
    student's lab, which has no outputs.
    """

    name: str
    asked_as: str
    path: Path
    executed: bool
    assemble: Callable[[], NotebookNode]


def targets(course: CourseFolder, asked: list[str]) -> list[Target]:
    """What is `asked` for, or all. A lab is asked for as `labs/NAME`, and is two notebooks."""
    labs = [word for word in asked if Path(word).parts[:1] == ("labs",)]
    lessons = [word for word in asked if word not in labs]
    found = []
    if lessons or not asked:
        found += [_lesson(course, name) for name in pick(course.lesson_names(), lessons, "Lesson")]
    if labs or not asked:
        for name in pick(course.lab_names(), labs, "Lab"):
            found += [_lab(course, name, answers=False), _lab(course, name, answers=True)]
    return found


def strays(course: CourseFolder, wanted: list[Target]) -> list[str]:
    """One sentence for each notebook in the course's folders that no source builds."""
    paths = {target.path for target in wanted}
    findings = []
    for folder, source in (
        (course.notebooks, course.sources),
        (course.labs, course.lab_sources),
        (course.solutions, course.lab_sources),
    ):
        for path in sorted(folder.glob("[!._]*.ipynb")):
            if path not in paths:
                name = path.relative_to(course.root).as_posix().removeprefix("notebooks/")
                text = (source / f"{path.stem}.py").relative_to(course.root).as_posix()
                findings.append(
                    f"{name.removesuffix('.ipynb')}: the notebook has no source. To mend it: "
                    f"write {text}, or delete {path.relative_to(course.root).as_posix()}"
                )
    return findings


def assembled(course: CourseFolder, name: str) -> NotebookNode:
    """The notebook of one lesson as its source builds it today, without outputs."""
    names = course.lesson_names()
    place = names.index(name) + 1
    following = read_source(course.source_of(names[place])) if place < len(names) else None
    return assemble_lesson(course, read_source(course.source_of(name)), following)


def _lesson(course: CourseFolder, name: str) -> Target:
    path = course.notebook_of(name)
    return Target(name, name, path, True, lambda: assembled(course, name))


def _lab(course: CourseFolder, name: str, *, answers: bool) -> Target:
    folder = course.solutions if answers else course.labs
    path = folder / f"{name}.ipynb"
    return Target(
        path.relative_to(course.root).as_posix().removesuffix(".ipynb"),
        f"labs/{name}",
        path,
        answers,
        lambda: assemble_lab(course, name, answers=answers),
    )
