"""The notebooks to build, and whether the stored ones match their sources."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

from nbformat import NotebookNode

from course.authoring.assemble import IN_ENGLISH, assemble_lab, assemble_lesson
from course.authoring.generated import start_page
from course.authoring.stored_outputs import outputs_digest
from course.course_folder import CourseError, CourseFolder, select_names
from course.files import read_notebook
from course.translation.catalogs import languages
from course.translation.course_translation import CourseTranslation, read_translation
from course.translation.translator import Translator


@dataclass(frozen=True)
class Target:
    """One notebook to build."""

    name: str  # in messages and as an argument of `course build`
    path: Path
    executed: bool  # by the build; False for a student's lab
    assemble: Callable[[], NotebookNode]  # from its current source, without outputs
    translator: Translator = IN_ENGLISH  # after `assemble`, it knows which texts were `missing`


def targets(
    course: CourseFolder, names: list[str], read: Callable[[str], CourseTranslation]
) -> list[Target]:
    """Return the targets named in `names`, or all targets if `names` is empty.

    `labs/NAME` names a lab, which is built as two notebooks in English. `es` names everything
    published in Spanish; `es/NAME` and `es/labs/NAME` name one notebook, published or not. `read`
    returns the translation into a language.
    """
    in_english, translated = list(names), []
    for code in languages(course):
        requested = [Path(name) for name in names if Path(name).parts[:1] == (code,)]
        in_english = [name for name in in_english if Path(name) not in requested]
        if requested or not names:
            in_language = [p.relative_to(code).as_posix() for p in requested if p.name != code]
            translated += _targets_in(course, in_language, read(code))
    return (_targets_in(course, in_english) if in_english or not names else []) + translated


def _targets_in(
    course: CourseFolder, names: list[str], translation: CourseTranslation | None = None
) -> list[Target]:
    """Return the targets in English, or the published or named ones in another language."""
    labs = [name for name in names if Path(name).parts[:1] == ("labs",)]
    lessons = [name for name in names if name not in labs]
    result = []
    for kind, all_names, requested in (
        ("notebooks", course.lesson_names(), lessons),
        ("labs", course.lab_names(), labs),
    ):
        word = "Lab" if kind == "labs" else "Lesson"
        for name in select_names(all_names, requested, word) if requested or not names else []:
            document = f"{kind}/{name}"
            if translation is None or names or translation.is_published(document):
                result += _targets_of(course, document, translation)
    return result


def _targets_of(
    course: CourseFolder, document: str, translation: CourseTranslation | None
) -> list[Target]:
    """Return the target of a lesson or a translated lab, or both targets of a lab in English."""
    kind, name = document.split("/")
    target = name if kind == "notebooks" else document
    path, translator = course.root / f"{document}.ipynb", IN_ENGLISH
    if translation is not None:
        target = f"{translation.language}/{target}"
        path, translator = translation.output_path(document), translation.translator(document)
    if kind == "notebooks":
        assemble = partial(assemble_lesson, course, name, translator)
        return [Target(target, path, True, assemble, translator)]
    assemble = partial(assemble_lab, course, name, answers=False, translator=translator)
    result = [Target(target, path, False, assemble, translator)]
    if translation is None:
        solutions = course.solutions / f"{name}.ipynb"
        assemble = partial(assemble_lab, course, name, answers=True)
        result.append(Target(f"labs/solutions/{name}", solutions, True, assemble))
    return result


def find_outdated(course: CourseFolder) -> list[str]:
    """Return a sentence for each notebook that is not up to date, with the command to fix it.

    Does not execute notebooks. If the list is empty, every notebook is up to date.
    """
    # A language is checked only after its first build, so that it can be translated step by step.
    all_translations = (read_translation(course, code) for code in languages(course))
    translations = [translation for translation in all_translations if translation.is_built]
    findings = []
    for target in (t for each in (None, *translations) for t in _targets_in(course, [], each)):
        try:
            stored = read_notebook(target.path) if target.path.exists() else None
            reasons = differences(target, target.assemble(), stored)
        except CourseError as error:
            reasons = [str(error)]
        if reasons:
            text = "; ".join(reasons)
            findings.append(f"{target.name}: {text}. To fix it: course build {target.name}")
    for translation in translations:
        findings += translation.findings()
    index = course.root / "index.md"
    if index.is_file() and index.read_text(encoding="utf-8") != start_page(course):
        findings.append("index.md is out of date. To fix it: course build")
    return findings


def differences(target: Target, fresh: NotebookNode, stored: NotebookNode | None) -> list[str]:
    """Return the reasons why a stored notebook does not match its current source."""
    if stored is None:
        return ["it has not been built"]
    expected, recorded = fresh.metadata.course, stored.metadata.get("course", {})
    cells = zip_longest(*(map(_comparable, notebook.cells) for notebook in (fresh, stored)))
    edited = [number for number, (new, old) in enumerate(cells, start=1) if new != old]
    reasons = []
    if recorded.get("source_sha256") != expected.source_sha256:
        reasons.append("its source has changed since it was built")
    elif recorded.get("generated_sha256") != expected.generated_sha256:
        reasons.append("its generated cells (header, setup, footer) have changed")
    elif recorded.get("translation_sha256") != expected.get("translation_sha256"):
        reasons.append("its translation has changed since it was built")
    elif edited:
        reasons.append(f"cell {edited[0]} was edited by hand; edit the source instead")
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


def _comparable(cell: NotebookNode) -> tuple[object, ...]:
    metadata = cell.metadata
    tags = list(metadata.get("tags", []))
    return cell.cell_type, cell.id, cell.source, tags, metadata.get("nbgrader")
