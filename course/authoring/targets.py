"""The notebooks to build from a course's sources, and checks that they are up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nbformat import NotebookNode

from course.authoring.assemble import IN_ENGLISH, assemble_lab, assemble_lesson
from course.authoring.sources import read_source
from course.authoring.start_page import start_page
from course.authoring.stored_outputs import outputs_digest
from course.course_folder import CourseError, CourseFolder, pick
from course.files import read_notebook
from course.translation.catalogs import languages
from course.translation.course_translation import CourseTranslation, read_translation
from course.translation.pages import outdated_files, unreviewed
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

    `labs/NAME` names a lab, which is two notebooks in English. `es` names everything published in
    Spanish; `es/NAME` and `es/labs/NAME` name one notebook, published or not. `read` returns the
    translation into a language; pass it to reuse translations that have already been read.
    """
    read = read or partial(read_translation, course)
    codes = languages(course)
    translated_names = [
        name for name in names if Path(name).parts[:1] in [(code,) for code in codes]
    ]
    result = _english_targets(
        course, [name for name in names if name not in translated_names], bool(names)
    )
    for code in codes:
        names_in_language = [
            Path(n).relative_to(code).as_posix()
            for n in translated_names
            if Path(n).parts[0] == code
        ]
        if names_in_language or not names:
            result += _targets_in_language(
                read(code), [name for name in names_in_language if name != "."]
            )
    return result


def _english_targets(course: CourseFolder, names: list[str], has_names: bool) -> list[Target]:
    labs = [name for name in names if Path(name).parts[:1] == ("labs",)]
    lessons = [name for name in names if name not in labs]
    result = []
    if lessons or not has_names:
        result += [
            _lesson_target(course, name) for name in pick(course.lesson_names(), lessons, "Lesson")
        ]
    if labs or not has_names:
        for name in pick(course.lab_names(), labs, "Lab"):
            result += [
                _lab_target(course, name, answers=False),
                _lab_target(course, name, answers=True),
            ]
    return result


def _targets_in_language(translation: CourseTranslation, names: list[str]) -> list[Target]:
    course = translation.course
    labs = [name for name in names if Path(name).parts[:1] == ("labs",)]
    lessons = [name for name in names if name not in labs]
    documents = []
    if lessons or not names:
        lesson_names = pick(course.lesson_names(), lessons, "Lesson")
        documents += [f"notebooks/{name}" for name in lesson_names]
    if labs or not names:
        documents += [f"labs/{name}" for name in pick(course.lab_names(), labs, "Lab")]
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


def find_outdated(
    course: CourseFolder, read: Callable[[str], CourseTranslation] | None = None
) -> list[str]:
    """Return a sentence for each notebook that is not up to date, with the command to fix it.

    Does not execute notebooks. If the list is empty, every notebook is up to date. `read` is
    described in `targets`.
    """
    read = read or partial(read_translation, course)
    findings = []
    # A language is checked only after its first build, so that it can be translated step by step.
    translations = [
        translation for code in languages(course) if (translation := read(code)).is_built
    ]
    all_targets = _english_targets(course, [], has_names=False)
    all_targets += [
        target for translation in translations for target in _targets_in_language(translation, [])
    ]
    for target in all_targets:
        try:
            reasons = differences(target, target.assemble(), read_stored(target.path))
        except CourseError as error:
            reasons = [str(error)]
        if reasons:
            fix = f"course build {target.argument}"
            findings.append(f"{target.name}: {'; '.join(reasons)}. To fix it: {fix}")
    findings += _notebooks_without_source(course, {target.path for target in all_targets})
    for translation in translations:
        findings += unreviewed(translation) + outdated_files(translation)
    index = course.root / "index.md"
    if index.is_file() and index.read_text(encoding="utf-8") != start_page(course):
        findings.append("index.md is out of date. To fix it: course build")
    return findings


def read_stored(path: Path) -> NotebookNode | None:
    """Return the stored notebook, or None if it has not been built."""
    return read_notebook(path) if path.exists() else None


def differences(target: Target, fresh: NotebookNode, stored: NotebookNode | None) -> list[str]:
    """Return the reasons why a stored notebook does not match its current source."""
    if stored is None:
        return ["it has not been built"]
    expected, recorded = fresh.metadata.course, stored.metadata.get("course", {})
    reasons = []
    if recorded.get("source_sha256") != expected.source_sha256:
        reasons.append("its source has changed since it was built")
    elif recorded.get("generated_sha256") != expected.generated_sha256:
        reasons.append("its generated cells (opening, setup, closing) have changed")
    elif recorded.get("translation_sha256") != expected.get("translation_sha256"):
        reasons.append("its translation has changed since it was built")
    elif edited := _edited_cells(fresh, stored):
        reasons.append(f"cell {edited[0] + 1} was edited by hand; edit the source instead")
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    has_outputs = any(cell.outputs for cell in code)
    if not target.executed:
        if has_outputs or any(cell.execution_count for cell in code):
            reasons.append("it has been executed, but the students' notebook must not have outputs")
    elif code and not has_outputs:
        reasons.append("it has code but no outputs")
    elif recorded.get("outputs_sha256") != outputs_digest(stored):
        reasons.append("its outputs have changed since it was built")
    return reasons


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


def _notebooks_without_source(course: CourseFolder, expected_paths: set[Path]) -> list[str]:
    findings = []
    folders = [
        (course.notebooks, course.sources),
        (course.labs, course.lab_sources),
        (course.solutions, course.lab_sources),
    ]
    for code in languages(course):
        folders.append((course.notebooks / code, course.sources))
        folders.append((course.labs / code, course.lab_sources))
    for folder, sources in folders:
        for path in sorted(folder.glob("[!._]*.ipynb")):
            if path not in expected_paths:
                file = path.relative_to(course.root).as_posix()
                source = (sources / f"{path.stem}.py").relative_to(course.root).as_posix()
                name = file.removeprefix("notebooks/").removesuffix(".ipynb")
                fix = f"write {source}, or delete {file}"
                findings.append(f"{name}: the notebook has no source. To fix it: {fix}")
    return findings


def _edited_cells(fresh: NotebookNode, stored: NotebookNode) -> list[int]:
    expected_cells, actual_cells = (
        [_comparable(cell) for cell in n.cells] for n in (fresh, stored)
    )
    edited = [
        n
        for n, (expected, actual) in enumerate(zip(expected_cells, actual_cells, strict=False))
        if expected != actual
    ]
    if len(expected_cells) != len(actual_cells):
        edited.append(min(len(expected_cells), len(actual_cells)))
    return edited


def _comparable(cell: NotebookNode) -> tuple[object, ...]:
    metadata = cell.metadata
    return (
        cell.cell_type,
        cell.id,
        cell.source,
        list(metadata.get("tags", [])),
        metadata.get("nbgrader"),
    )
