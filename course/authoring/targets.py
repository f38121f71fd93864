"""The notebooks to build from a course's sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nbformat import NotebookNode

from course.authoring.assemble import IN_ENGLISH, assemble_lab, assemble_lesson
from course.authoring.sources import read_source
from course.course_folder import CourseFolder, select_names
from course.translation.catalogs import languages
from course.translation.course_translation import CourseTranslation, read_translation
from course.translation.translator import Translator


@dataclass(frozen=True)
class Target:
    """One notebook to build.

    Attributes:
        name: its name in messages.
        argument: the argument of `course build` that builds it.
        path: where it is stored.
        executed: whether the build executes it; False for a student's lab.
        assemble: builds the notebook from its current source, without outputs.
        translator: translates the texts. After `assemble`, its `missing` lists the texts that were
            left in English.
    """

    name: str
    argument: str
    path: Path
    executed: bool
    assemble: Callable[[], NotebookNode]
    translator: Translator = IN_ENGLISH


def targets(
    course: CourseFolder, names: list[str], read: Callable[[str], CourseTranslation] | None = None
) -> list[Target]:
    """Return the targets named in `names`, or all targets if `names` is empty.

    `labs/NAME` names a lab, which is built as two notebooks in English. `es` names everything
    published in Spanish; `es/NAME` and `es/labs/NAME` name one notebook, published or not. `read`
    returns the translation into a language; pass it to reuse translations that have already been
    read.
    """
    read = read or partial(read_translation, course)
    codes = languages(course)
    translated_names = [
        name for name in names if Path(name).parts[:1] in [(code,) for code in codes]
    ]
    result = english_targets(
        course,
        [name for name in names if name not in translated_names],
        has_names=bool(names),
    )
    for code in codes:
        names_in_language = [
            Path(n).relative_to(code).as_posix()
            for n in translated_names
            if Path(n).parts[0] == code
        ]
        if names_in_language or not names:
            result += targets_in_language(
                read(code), [name for name in names_in_language if name != "."]
            )
    return result


def english_targets(course: CourseFolder, names: list[str], *, has_names: bool) -> list[Target]:
    """Return the lessons and labs in `names`; without `has_names`, return all of them."""
    labs = [name for name in names if Path(name).parts[:1] == ("labs",)]
    lessons = [name for name in names if name not in labs]
    result = []
    if lessons or not has_names:
        result += [
            _lesson_target(course, name)
            for name in select_names(course.lesson_names(), lessons, "Lesson")
        ]
    if labs or not has_names:
        for name in select_names(course.lab_names(), labs, "Lab"):
            result += [
                _lab_target(course, name, answers=False),
                _lab_target(course, name, answers=True),
            ]
    return result


def targets_in_language(translation: CourseTranslation, names: list[str]) -> list[Target]:
    """Return the translated notebooks in `names`; without names, return all published ones."""
    course = translation.course
    labs = [name for name in names if Path(name).parts[:1] == ("labs",)]
    lessons = [name for name in names if name not in labs]
    documents = []
    if lessons or not names:
        lesson_names = select_names(course.lesson_names(), lessons, "Lesson")
        documents += [f"notebooks/{name}" for name in lesson_names]
    if labs or not names:
        documents += [f"labs/{name}" for name in select_names(course.lab_names(), labs, "Lab")]
    return [
        _translated_target(translation, document)
        for document in documents
        if names or translation.is_published(document)
    ]


def assemble_from_source(
    course: CourseFolder, name: str, translator: Translator = IN_ENGLISH
) -> NotebookNode:
    """Build the notebook of one lesson from its current source, without outputs."""
    names = course.lesson_names()
    next_index = names.index(name) + 1
    next_lesson = None
    if next_index < len(names):
        next_lesson = read_source(course.source_path(names[next_index]))
    return assemble_lesson(course, read_source(course.source_path(name)), next_lesson, translator)


def _lesson_target(course: CourseFolder, name: str) -> Target:
    path = course.notebook_path(name)
    return Target(name, name, path, True, lambda: assemble_from_source(course, name))


def _lab_target(course: CourseFolder, name: str, *, answers: bool) -> Target:
    path = (course.solutions if answers else course.labs) / f"{name}.ipynb"
    full_name = path.relative_to(course.root).as_posix().removesuffix(".ipynb")
    return Target(
        full_name,
        f"labs/{name}",
        path,
        answers,
        lambda: assemble_lab(course, name, answers=answers),
    )


def _translated_target(translation: CourseTranslation, document: str) -> Target:
    course, translator = translation.course, translation.translator(document)
    kind, name = document.split("/")
    is_lab = kind == "labs"

    def assemble() -> NotebookNode:
        if is_lab:
            return assemble_lab(course, name, answers=False, translator=translator)
        return assemble_from_source(course, name, translator)

    argument = f"{translation.language}/{'labs/' if is_lab else ''}{name}"
    return Target(
        argument, argument, translation.output_path(document), not is_lab, assemble, translator
    )
