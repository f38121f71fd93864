"""The actions of `course translate`: update, export, import, check, status."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from course.course_folder import CourseError, CourseFolder
from course.files import write_atomically
from course.translation.catalogs import (
    Catalog,
    catalogs,
    export_text,
    is_reviewed,
    languages,
    locale_folder,
    problems,
    read_catalog,
    read_po,
    update,
)
from course.translation.documents import document_names, read_document


def update_all(course: CourseFolder, names: list[str]) -> None:
    """Update all PO files of the languages; create those of a new language."""
    selected = names or languages(course)
    if not selected:
        raise CourseError("There are no languages yet. To add one: course translate update es")
    for language in selected:
        if not re.fullmatch("[a-z]{2}", language):
            raise CourseError(
                f"{language!r} is not a language code of two lowercase letters, such as fr."
            )
    documents = [read_document(course, name) for name in document_names(course)]
    for language in selected:
        changed = [d.name for d in documents if update(course, d, language)]
        colon = ": " if changed else ""
        print(f"{language}: {len(changed)} files changed{colon}{', '.join(changed)}")


def check(course: CourseFolder, names: list[str]) -> int:
    """Print the findings of the automatic checks; return 1 if there are any."""
    findings = [
        problem for catalog in _select(course, names) for problem in problems(course, catalog)
    ]
    print(*findings, sep="\n", end="\n" if findings else "", file=sys.stderr)
    print(f"{len(findings)} findings")
    return int(bool(findings))


def status(course: CourseFolder) -> None:
    """Print the number of translated texts by language and document."""
    for language in languages(course):
        total = untranslated = unreviewed = 0
        for catalog in catalogs(course, language):
            count, missing = len(catalog.document.messages), len(catalog.missing)
            fuzzy = sum("fuzzy" in entry.flags for entry in catalog.entries.values())
            total, untranslated, unreviewed = (
                total + count,
                untranslated + missing,
                unreviewed + fuzzy,
            )
            if missing:
                note = f", {fuzzy} fuzzy" if fuzzy else ""
                print(f"{catalog.name}: {count - missing} of {count}{note}")
        done = f"{total - untranslated} of {total}"
        print(f"{language}: {done} texts translated, {unreviewed} fuzzy")


def export(course: CourseFolder, names: list[str], *, everything: bool) -> None:
    """Write a PO file with the texts to translate for each document, and print its name."""
    for catalog in _select(course, names):
        if text := export_text(catalog, everything=everything):
            file = _working_folder(course) / f"{catalog.name}.po"
            write_atomically(file, text)
            print(file.relative_to(course.root))


def import_files(course: CourseFolder, files: list[Path]) -> int:
    """Store the translations of exported files, and check them; return 1 if there are findings."""
    findings, folder = [], _working_folder(course)
    for file in files:
        if not (file.is_file() and file.resolve().is_relative_to(folder)):
            raise CourseError(f"{file} is not a file in a language's folder in {folder}.")
        name = file.resolve().relative_to(folder).with_suffix("").as_posix()
        language, _, document = name.partition("/")
        imported = [entry for entry in read_po(file) if is_reviewed(entry)]
        english = read_document(course, document)
        update(course, english, language, imported)
        catalog = read_catalog(course, document, language)
        count, changed = len(english.messages), {e.msgid for e in imported} - {*catalog.entries}
        print(f"{name}: {len(imported)} imported; {count - len(catalog.missing)} of {count} done")
        if changed:
            print(f"{name}: English texts that have changed: {len(changed)}; export them again")
        findings += problems(course, catalog)
    print(*findings, sep="\n", end="\n" if findings else "", file=sys.stderr)
    return int(bool(findings))


def _select(course: CourseFolder, names: list[str]) -> list[Catalog]:
    """Return the named catalogs (by path, language, or a prefix such as es/labs), or all."""
    pairs = [(language, name) for language in languages(course) for name in document_names(course)]
    selection = [] if names else pairs
    for word in names:
        path = Path(word).resolve()
        if Path(word).exists() and path.is_relative_to(locale_folder(course)):
            word = path.relative_to(locale_folder(course)).as_posix()
        word = word.removesuffix(".po")
        matches = [pair for pair in pairs if word == pair[0] or "/".join(pair).startswith(word)]
        if not matches:
            codes = ", ".join(languages(course)) or "none yet"
            raise CourseError(
                f"No translation matches {word!r}. Pass a language ({codes}), or a PO file "
                "such as es/notebooks/00."
            )
        selection += matches
    return [read_catalog(course, name, language) for language, name in dict.fromkeys(selection)]


def _working_folder(course: CourseFolder) -> Path:
    return course.root / "build" / "translate"
