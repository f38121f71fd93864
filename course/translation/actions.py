"""The actions of `course translate`: extract, update, export, import, check, status."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import polib

from course.course_folder import CourseError, CourseFolder
from course.files import write_atomically
from course.translation.catalogs import (
    Catalog,
    accept,
    catalogs,
    languages,
    locale_folder,
    problems,
    propose,
    read_catalog,
    update,
)
from course.translation.documents import document_names, read_document
from course.translation.working_file import read_working_file, working_text


def extract(course: CourseFolder, out: Path) -> None:
    """Write the English texts of each document as a template, `NAME.pot`."""
    names = document_names(course)
    for document in (read_document(course, name) for name in names):
        template = polib.POFile(wrapwidth=0)
        template.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
        for message in document.messages:
            template.append(
                polib.POEntry(
                    msgid=message.text,
                    comment=message.comment,
                    occurrences=[(document.source, "")],
                )
            )
        write_atomically(out / f"{document.name}.pot", f"{template}\n")
    print(f"{len(names)} templates in {out}")


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
        print(f"{language}: {len(changed)} files changed{': ' if changed else ''}", end="")
        print(", ".join(changed))


def check(course: CourseFolder, names: list[str]) -> int:
    """Print the findings of the automatic checks; return 1 if there are any."""
    findings = [
        problem for catalog in _select(course, names) for problem in problems(course, catalog)
    ]
    for problem in findings:
        print(problem, file=sys.stderr)
    print(f"{len(findings)} findings")
    return int(bool(findings))


def status(course: CourseFolder) -> None:
    """Print the number of translated texts by language and document."""
    for language in languages(course):
        translated = total = unreviewed = 0
        for catalog in catalogs(course, language):
            count, missing = len(catalog.document.messages), len(catalog.missing)
            fuzzy = sum("fuzzy" in entry.flags for entry in catalog.entries.values())
            translated, total, unreviewed = (
                translated + count - missing,
                total + count,
                unreviewed + fuzzy,
            )
            if missing:
                print(f"{language}/{catalog.document.name}: {count - missing} of {count}", end="")
                print(f", {fuzzy} fuzzy" if fuzzy else "")
        print(f"{language}: {translated} of {total} texts translated, {unreviewed} fuzzy")


def export(course: CourseFolder, names: list[str], *, everything: bool) -> None:
    """Write a working file for each PO file, and print its name."""
    for catalog in _select(course, names):
        if text := working_text(catalog, everything=everything):
            file = _working_folder(course) / f"{catalog.name}.txt"
            write_atomically(file, text)
            print(file.relative_to(course.root))


def import_files(course: CourseFolder, files: list[Path]) -> int:
    """Store the translations of working files, and check them; return 1 if there are findings."""
    findings = []
    for file in files:
        try:
            name = file.resolve().relative_to(_working_folder(course)).with_suffix("").as_posix()
        except ValueError:
            raise CourseError(
                f"{file} is not in a language's folder in {_working_folder(course)}."
            ) from None
        language, _, document = name.partition("/")
        catalog = read_catalog(course, document, language)
        translations, outdated = read_working_file(file, catalog)
        accept(catalog, translations)
        for english in propose(catalog, outdated):
            findings.append(f"{file}: this English text no longer exists: {english}")
        stored = read_catalog(course, document, language)
        count = len(stored.document.messages)
        print(f"{name}: {len(translations)} stored; {count - len(stored.missing)} of {count} done")
        if outdated:
            print(f"{name}: English texts that have changed: {len(outdated)}; export them again")
        findings += problems(course, stored)
    for problem in findings:
        print(problem, file=sys.stderr)
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
