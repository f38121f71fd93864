"""Check that the stored notebooks and pages match their sources, without executing anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from nbformat import NotebookNode

from course.authoring.start_page import start_page
from course.authoring.stored_outputs import outputs_digest
from course.authoring.targets import Target, english_targets, targets_in_language
from course.course_folder import CourseError, CourseFolder
from course.files import read_notebook
from course.translation.catalogs import languages
from course.translation.course_translation import CourseTranslation, read_translation
from course.translation.pages import outdated_files, unreviewed


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
    all_targets = english_targets(course, [], has_names=False)
    all_targets += [
        target for translation in translations for target in targets_in_language(translation, [])
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
