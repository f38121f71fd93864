"""The notebooks to build from a course's sources, and whether each of them is up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nbformat import NotebookNode

from course.authoring.assemble import IN_ENGLISH, assemble_lab, assemble_lesson
from course.authoring.sources import read_source
from course.authoring.stored_outputs import outputs_digest
from course.course_folder import CourseError, CourseFolder, pick
from course.files import read_notebook
from course.translation.catalogs import languages
from course.translation.edition import Edition, edition
from course.translation.pages import outdated_files, unreviewed
from course.translation.words import Words


@dataclass(frozen=True)
class Target:
    """One notebook to build.

    Attributes:
        name: its name in messages.
        argument: the argument of `course build` that builds it.
        path: where it is stored.
        executed: False for a student's lab, which has no outputs.
        assemble: builds the notebook from its current source, without outputs.
        words: the language; after `assemble`, `words.missing` has the texts left in English.
    """

    name: str
    argument: str
    path: Path
    executed: bool
    assemble: Callable[[], NotebookNode]
    words: Words = IN_ENGLISH


def targets(
    course: CourseFolder, names: list[str], read: Callable[[str], Edition] | None = None
) -> list[Target]:
    """Return the named targets, or all.

    `labs/NAME` names a lab, which is two notebooks in English. `es` names all that is published in
    Spanish, `es/NAME` and `es/labs/NAME` one notebook, published or not. `read` returns the
    edition of a language; pass it to reuse editions that have already been read.
    """
    read = read or partial(edition, course)
    known = languages(course)
    spoken = [name for name in names if Path(name).parts[:1] in [(code,) for code in known]]
    found = _in_english(course, [name for name in names if name not in spoken], bool(names))
    for code in known:
        asked = [Path(n).relative_to(code).as_posix() for n in spoken if Path(n).parts[0] == code]
        if asked or not names:
            found += _in_edition(read(code), [name for name in asked if name != "."])
    return found


def _in_english(course: CourseFolder, names: list[str], only_these: bool) -> list[Target]:
    labs = [name for name in names if Path(name).parts[:1] == ("labs",)]
    lessons = [name for name in names if name not in labs]
    found = []
    if lessons or not only_these:
        found += [_lesson(course, name) for name in pick(course.lesson_names(), lessons, "Lesson")]
    if labs or not only_these:
        for name in pick(course.lab_names(), labs, "Lab"):
            found += [_lab(course, name, answers=False), _lab(course, name, answers=True)]
    return found


def _in_edition(spoken: Edition, names: list[str]) -> list[Target]:
    course = spoken.course
    labs = [name for name in names if Path(name).parts[:1] == ("labs",)]
    lessons = [name for name in names if name not in labs]
    chosen = []
    if lessons or not names:
        picked = pick(course.lesson_names(), lessons, "Lesson")
        chosen += [f"notebooks/{name}" for name in picked]
    if labs or not names:
        chosen += [f"labs/{name}" for name in pick(course.lab_names(), labs, "Lab")]
    return [_translated(spoken, name) for name in chosen if names or spoken.is_published(name)]


def assembled(course: CourseFolder, name: str, words: Words = IN_ENGLISH) -> NotebookNode:
    """Build the notebook of one lesson from its current source, without outputs."""
    names = course.lesson_names()
    place = names.index(name) + 1
    following = read_source(course.source_of(names[place])) if place < len(names) else None
    return assemble_lesson(course, read_source(course.source_of(name)), following, words)


def outdated(course: CourseFolder) -> list[str]:
    """Return a sentence for each notebook that is not up to date, with the command to fix it.

    Executes nothing. An empty list means that every notebook is what `build` would write.
    """
    findings = []
    # A language is checked from its first build on, so that translators can finish it file by file.
    editions = [spoken for code in languages(course) if (spoken := edition(course, code)).is_built]
    wanted = _in_english(course, [], only_these=False)
    wanted += [target for spoken in editions for target in _in_edition(spoken, [])]
    for target in wanted:
        try:
            reasons = differences(target, target.assemble(), read_stored(target.path))
        except CourseError as error:
            reasons = [str(error)]
        if reasons:
            fix = f"course build {target.argument}"
            findings.append(f"{target.name}: {'; '.join(reasons)}. To fix it: {fix}")
    findings += _without_source(course, {target.path for target in wanted})
    for spoken in editions:
        findings += unreviewed(spoken) + outdated_files(spoken)
    return findings


def read_stored(path: Path) -> NotebookNode | None:
    """Return the stored notebook, or None if it has not been built."""
    return read_notebook(path) if path.exists() else None


def differences(target: Target, fresh: NotebookNode, stored: NotebookNode | None) -> list[str]:
    """Return the reasons why a stored notebook differs from what its current source builds."""
    if stored is None:
        return ["it has not been built"]
    wanted, noted = fresh.metadata.course, stored.metadata.get("course", {})
    reasons = []
    if noted.get("source_sha256") != wanted.source_sha256:
        reasons.append("its source has changed since it was built")
    elif noted.get("generated_sha256") != wanted.generated_sha256:
        reasons.append("its generated cells (opening, set-up, closing) have changed")
    elif noted.get("translation_sha256") != wanted.get("translation_sha256"):
        reasons.append("its translation has changed since it was built")
    elif edited := _edited_cells(fresh, stored):
        reasons.append(f"cell {edited[0] + 1} was edited by hand; edit the source instead")
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    has_outputs = any(cell.outputs for cell in code)
    if not target.executed:
        if has_outputs or any(cell.execution_count for cell in code):
            reasons.append("it has been executed, and students get it without outputs")
    elif code and not has_outputs:
        reasons.append("it has code but no outputs")
    elif noted.get("outputs_sha256") != outputs_digest(stored):
        reasons.append("its outputs differ from those that the build stored")
    return reasons


def _lesson(course: CourseFolder, name: str) -> Target:
    path = course.notebook_of(name)
    return Target(name, name, path, True, lambda: assembled(course, name))


def _lab(course: CourseFolder, name: str, *, answers: bool) -> Target:
    path = (course.solutions if answers else course.labs) / f"{name}.ipynb"
    full_name = path.relative_to(course.root).as_posix().removesuffix(".ipynb")
    return Target(
        full_name,
        f"labs/{name}",
        path,
        answers,
        lambda: assemble_lab(course, name, answers=answers),
    )


def _translated(spoken: Edition, document: str) -> Target:
    course, words = spoken.course, spoken.words(document)
    kind, name = document.split("/")
    is_lab = kind == "labs"

    def assemble() -> NotebookNode:
        if is_lab:
            return assemble_lab(course, name, answers=False, words=words)
        return assembled(course, name, words)

    argument = f"{spoken.language}/{'labs/' if is_lab else ''}{name}"
    return Target(argument, argument, spoken.file_of(document), not is_lab, assemble, words)


def _without_source(course: CourseFolder, wanted: set[Path]) -> list[str]:
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
            if path not in wanted:
                file = path.relative_to(course.root).as_posix()
                source = (sources / f"{path.stem}.py").relative_to(course.root).as_posix()
                name = file.removeprefix("notebooks/").removesuffix(".ipynb")
                fix = f"write {source}, or delete {file}"
                findings.append(f"{name}: the notebook has no source. To fix it: {fix}")
    return findings


def _edited_cells(fresh: NotebookNode, stored: NotebookNode) -> list[int]:
    built, found = ([_compared(cell) for cell in n.cells] for n in (fresh, stored))
    edited = [n for n, (one, other) in enumerate(zip(built, found, strict=False)) if one != other]
    if len(built) != len(found):
        edited.append(min(len(built), len(found)))
    return edited


def _compared(cell: NotebookNode) -> tuple[object, ...]:
    kept = cell.metadata
    return cell.cell_type, cell.id, cell.source, list(kept.get("tags", [])), kept.get("nbgrader")
