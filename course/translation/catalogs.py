"""Reads PO files, updates them to the current English texts, and looks up translations.

A translation that is marked `fuzzy` is a suggestion. It is not used until a translator has compared
it with the English text and removed the mark.
"""

from __future__ import annotations

import difflib
import re
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
# A line of a PO file with a string, and the end of such a line.
_STRING = re.compile(r'\s*(msg\w+(\[\d+\])?\s+)?"')
_CLOSED = re.compile(r'[^\\](\\\\)*"\s*$')


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
    document = read_document(course, name)
    file = _po_file(course, document, language)
    entries = {entry.msgid: entry for entry in _read(file) if not entry.obsolete}
    return Catalog(language, document, file, entries)


def update(course: CourseFolder, document: Document, language: str) -> bool:
    """Update the PO file of a document to the current English texts; return whether it changed.

    Translations of unchanged texts are kept. For a changed text, the translation of the most
    similar old text is added as `fuzzy`, with the old English text. Unused translations are kept at
    the end as obsolete.
    """
    file = _po_file(course, document, language)
    old = {entry.msgid: entry for entry in _read(file)}
    texts = {message.text for message in document.messages}
    unused = {text: entry for text, entry in old.items() if text not in texts and entry.msgstr}
    catalog = polib.POFile(wrapwidth=0)
    catalog.metadata = {
        "Project-Id-Version": course.repository.split("/")[-1],
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    for message in document.messages:
        entry = polib.POEntry(msgid=message.text, comment=message.comment)
        entry.occurrences = [(document.source, "")]
        if (previous := old.get(message.text)) is not None:
            entry.msgstr, entry.tcomment = previous.msgstr, previous.tcomment
            entry.flags, entry.previous_msgid = list(previous.flags), previous.previous_msgid
            if previous.obsolete:
                entry.previous_msgid = None
        elif matches := difflib.get_close_matches(message.text, unused, 1, _MIN_SIMILARITY):
            entry.msgstr, entry.tcomment = unused[matches[0]].msgstr, unused[matches[0]].tcomment
            entry.flags, entry.previous_msgid = [_FUZZY], matches[0]
            del unused[matches[0]]
        catalog.append(entry)
    for entry in unused.values():
        entry.obsolete, entry.occurrences, entry.comment = True, [], ""
        catalog.append(entry)
    return _write(file, catalog)


def is_reviewed(entry: polib.POEntry) -> bool:
    """Return whether an entry has a translation that may be used."""
    return bool(entry.msgstr.strip()) and _FUZZY not in entry.flags and not entry.obsolete


@cache
def _has_findings(english: str, translation: str, comment: str) -> bool:
    return bool(find_differences(english, translation, comment))


def accept(catalog: Catalog, translations: dict[str, tuple[str, str]]) -> None:
    """Store translations with their comments by English text, and remove their `fuzzy` marks."""
    stored = _read(catalog.file)
    for entry in stored:
        if not entry.obsolete and entry.msgid in translations:
            entry.msgstr, entry.tcomment = translations[entry.msgid]
            entry.flags = [flag for flag in entry.flags if flag != _FUZZY]
            entry.previous_msgid = None
    _write(catalog.file, stored)


def propose(catalog: Catalog, translations: dict[str, str]) -> list[str]:
    """Store translations of changed English texts as `fuzzy`; return the texts without a match.

    Each translation is proposed for the most similar untranslated text.
    """
    stored = _read(catalog.file)
    untranslated = {e.msgid: e for e in stored if not e.obsolete and not e.msgstr}
    unmatched = []
    for english, translation in translations.items():
        if matches := difflib.get_close_matches(english, untranslated, 1, _MIN_SIMILARITY):
            entry = untranslated.pop(matches[0])
            entry.msgstr, entry.flags, entry.previous_msgid = translation, [_FUZZY], english
        else:
            unmatched.append(english)
    _write(catalog.file, stored)
    return unmatched


def problems(course: CourseFolder, catalog: Catalog) -> list[str]:
    """Return a line for each finding of the automatic checks, with its location and a fix."""
    if not catalog.entries:
        return []
    file = catalog.file.relative_to(course.root).as_posix()
    texts = {message.text for message in catalog.document.messages}
    findings = []
    for entry in catalog.entries.values():
        if entry.msgid not in texts:
            findings.append(
                f"{file}:{entry.linenum}: the English text has changed. To fix it: "
                f"course translate update"
            )
        elif is_reviewed(entry):
            findings += [
                f"{file}:{entry.linenum}: {finding}"
                for finding in find_differences(entry.msgid, entry.msgstr, entry.tcomment)
            ]
    missing = [text for text in texts if text not in catalog.entries]
    if missing:
        findings.append(
            f"{file}: English texts that are not in the file: {len(missing)}. To fix it: "
            "course translate update"
        )
    return findings


def _po_file(course: CourseFolder, document: Document, language: str) -> Path:
    return locale_folder(course) / language / f"{document.name}.po"


def _read(file: Path) -> polib.POFile:
    if not file.is_file():
        return polib.POFile(wrapwidth=0)
    try:
        # polib accepts a line without a closing quotation mark, but drops its last letter.
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if _STRING.match(line) and not _CLOSED.search(line):
                raise ValueError(f"line {number} has no closing quotation mark")
        return polib.pofile(str(file), wrapwidth=0, encoding="utf-8", check_for_duplicates=True)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise CourseError(f"{file} is not a valid PO file: {error}. Fix the file.") from None


def _write(file: Path, catalog: polib.POFile) -> bool:
    text = str(catalog).rstrip("\n") + "\n"
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    write_atomically(file, text)
    return True
