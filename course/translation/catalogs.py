"""Reads PO files, updates them to the current English texts, and looks up translations.

A translation that is marked `fuzzy` is a suggestion. It is not used until a translator has compared
it with the English text and removed the mark.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polib

from course.course_folder import CourseError, CourseFolder
from course.files import write_atomically
from course.translation.checks import find_differences
from course.translation.documents import Document, document_names, read_document

_FUZZY = "fuzzy"
# Minimum similarity of a new English text to an old one to suggest the old translation.
_MIN_SIMILARITY = 0.6
# A line of a PO file with a string that has no closing quotation mark.
_UNCLOSED = re.compile(r'\s*(?:msg\w+(?:\[\d+\])?\s+)?"(?!(?:[^"\\]|\\.)*"\s*$)')


@dataclass(frozen=True)
class Catalog:
    """The translations of one document into one language.

    Attributes:
        language: the language code, such as "es".
        document: the English texts.
        file: the PO file.
        entries: the PO file's entries by English text, without obsolete ones; empty if there is no
            file.
    """

    language: str
    document: Document
    file: Path
    entries: dict[str, polib.POEntry]

    @property
    def name(self) -> str:
        """Language and document, as in command arguments: "es/notebooks/00_cpu_and_gpu"."""
        return f"{self.language}/{self.document.name}"

    def translation_of(self, text: str) -> str | None:
        """Return the reviewed translation of an English text; None if there is none.

        A translation that fails an automatic check is ignored, because a wrong placeholder, for
        example, would raise an error in a student's notebook.
        """
        entry = self.entries.get(text)
        if entry is None or not is_reviewed(entry):
            return None
        return None if _has_findings(text, entry.msgstr, entry.tcomment) else entry.msgstr

    @property
    def missing(self) -> list[str]:
        """The English texts without a reviewed translation, in order."""
        return [m.text for m in self.document.messages if self.translation_of(m.text) is None]

    @property
    def is_complete(self) -> bool:
        """Whether every text has a reviewed translation."""
        return bool(self.entries) and not self.missing


def catalogs(course: CourseFolder, language: str) -> list[Catalog]:
    """Read the translations of all documents into a language."""
    return [read_catalog(course, name, language) for name in document_names(course)]


def languages(course: CourseFolder) -> list[str]:
    """Return the codes of the languages that have a folder in `locale/`."""
    return sorted(folder.name for folder in locale_folder(course).glob("*/") if folder.is_dir())


def locale_folder(course: CourseFolder) -> Path:
    """Return the folder of all translations."""
    return course.root / "locale"


def read_catalog(course: CourseFolder, name: str, language: str) -> Catalog:
    """Read the document called `name` and its translations.

    Raises:
        CourseError: the PO file has a syntax error or two entries for one text.
    """
    file = locale_folder(course) / language / f"{name}.po"
    entries = {entry.msgid: entry for entry in read_po(file) if not entry.obsolete}
    return Catalog(language, read_document(course, name), file, entries)


def update(
    course: CourseFolder,
    document: Document,
    language: str,
    imported: Iterable[polib.POEntry] = (),
) -> bool:
    """Update the PO file of a document to the current English texts; return whether it changed.

    Translations of unchanged texts are kept. For a changed text, the translation of the most
    similar old text is added as `fuzzy`, with the old English text. Unused translations are kept at
    the end as obsolete. The reviewed entries in `imported` replace those of the file.
    """
    file = locale_folder(course) / language / f"{document.name}.po"
    old = {entry.msgid: entry for entry in read_po(file)}
    old |= {entry.msgid: entry for entry in imported if is_reviewed(entry)}
    texts = {message.text for message in document.messages}
    unused = {text: entry for text, entry in old.items() if text not in texts and entry.msgstr}
    catalog = _new_po(language)
    for message in document.messages:
        entry = old.get(message.text) or polib.POEntry(msgid=message.text)
        if entry.obsolete or is_reviewed(entry):
            entry.obsolete, entry.previous_msgid = False, None
        if not entry.msgstr and (
            matches := difflib.get_close_matches(message.text, unused, 1, _MIN_SIMILARITY)
        ):
            similar = unused.pop(matches[0])
            entry.msgstr, entry.tcomment = similar.msgstr, similar.tcomment
            entry.flags, entry.previous_msgid = [_FUZZY], similar.msgid
        entry.comment, entry.occurrences = message.comment, [(document.source, "")]
        catalog.append(entry)
    for entry in unused.values():
        entry.obsolete, entry.occurrences, entry.comment = True, [], ""
        catalog.append(entry)
    text = str(catalog).rstrip("\n") + "\n"
    is_changed = not file.is_file() or file.read_text(encoding="utf-8") != text
    if is_changed:
        write_atomically(file, text)
    return is_changed


def export_text(catalog: Catalog, *, everything: bool = False) -> str:
    """Return a PO file with the entries that need a translator, or all; "" if there are none."""
    part = _new_po(catalog.language)
    part.extend(e for e in catalog.entries.values() if everything or not is_reviewed(e))
    return f"{part}\n" if part else ""


def is_reviewed(entry: polib.POEntry) -> bool:
    """Return whether an entry has a translation that may be used."""
    return bool(entry.msgstr.strip()) and _FUZZY not in entry.flags and not entry.obsolete


@cache
def _has_findings(english: str, translation: str, comment: str) -> bool:
    return bool(find_differences(english, translation, comment))


def problems(course: CourseFolder, catalog: Catalog) -> list[str]:
    """Return a line for each finding of the automatic checks, with its location and a fix."""
    if not catalog.entries:
        return []
    file = catalog.file.relative_to(course.root).as_posix()
    texts = {message.text for message in catalog.document.messages}
    findings = []
    for text, entry in catalog.entries.items():
        new = []
        if text not in texts:
            new = ["the English text has changed. To fix it: course translate update"]
        elif is_reviewed(entry):
            new = find_differences(text, entry.msgstr, entry.tcomment)
        findings += [f"{file}:{entry.linenum}: {finding}" for finding in new]
    if missing := texts - catalog.entries.keys():
        findings.append(
            f"{file}: English texts that are not in the file: {len(missing)}. To fix it: "
            "course translate update"
        )
    return findings


def read_po(file: Path) -> polib.POFile:
    """Read a PO file; an empty one if the file does not exist.

    Raises:
        CourseError: the file has a syntax error or two entries for one text.
    """
    if not file.is_file():
        return polib.POFile(wrapwidth=0)
    try:
        # polib accepts a line without a closing quotation mark, but drops its last letter.
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if _UNCLOSED.match(line):
                raise ValueError(f"line {number} has no closing quotation mark")
        return polib.pofile(str(file), wrapwidth=0, encoding="utf-8", check_for_duplicates=True)
    except (OSError, ValueError) as error:
        raise CourseError(f"{file} is not a valid PO file: {error}. Fix the file.") from None


def _new_po(language: str) -> polib.POFile:
    catalog = polib.POFile(wrapwidth=0)
    catalog.metadata = {
        "Project-Id-Version": "gpu-course-kit",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    return catalog
