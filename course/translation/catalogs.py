"""Reads PO files, updates them to the current English texts, and looks up translations.

A translation that is marked `fuzzy` is a suggestion. It is not used until a translator has compared
it with the English text and removed the mark.
"""

import difflib
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polib

from course.course_folder import CourseError, CourseFolder
from course.files import write_atomically
from course.translation.checks import find_differences
from course.translation.documents import Document, document_names, read_document

# Minimum similarity of a new English text to an old one to suggest the old translation.
_MIN_SIMILARITY = 0.6
# A line of a PO file with a string that has no closing quotation mark.
_UNCLOSED = re.compile(r'\s*(?:msg\w+(?:\[\d+\])?\s+)?"(?!(?:[^"\\]|\\.)*"\s*$)')


@dataclass(frozen=True)
class Catalog:
    """The translations of one document into one language."""

    document: Document  # the English texts
    file: Path  # the PO file, which may not exist
    entries: dict[str, polib.POEntry]  # by English text, without obsolete ones

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


@cache
def _has_findings(english: str, translation: str, comment: str) -> bool:
    return bool(find_differences(english, translation, comment))


def is_reviewed(entry: polib.POEntry) -> bool:
    """Return whether an entry has a translation that may be used."""
    return bool(entry.msgstr.strip()) and not entry.fuzzy and not entry.obsolete


def languages(course: CourseFolder) -> list[str]:
    """Return the codes of the languages that have a folder in `locale/`."""
    return sorted(folder.name for folder in (course.root / "locale").glob("*/") if folder.is_dir())


def read_catalog(course: CourseFolder, name: str, language: str) -> Catalog:
    """Read the document called `name` and its translations.

    Raises:
        CourseError: the PO file has a syntax error or two entries for one text.
    """
    file = _po_file(course, name, language)
    entries = {entry.msgid: entry for entry in _read(file) if not entry.obsolete}
    return Catalog(read_document(course, name), file, entries)


def update(course: CourseFolder, document: Document, language: str) -> bool:
    """Update the PO file of a document to the current English texts; return whether it changed.

    Translations of unchanged texts are kept. For a changed text, the translation of the most
    similar old text is added as `fuzzy`, with the old English text. Unused translations are kept at
    the end as obsolete.
    """
    file = _po_file(course, document.name, language)
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
        entry = old.get(message.text)
        if entry is None:
            entry = polib.POEntry(msgid=message.text)
            if matches := difflib.get_close_matches(message.text, unused, 1, _MIN_SIMILARITY):
                similar = unused.pop(matches[0])
                entry.msgstr, entry.tcomment = similar.msgstr, similar.tcomment
                entry.flags, entry.previous_msgid = ["fuzzy"], similar.msgid
        elif entry.obsolete or is_reviewed(entry):
            entry.obsolete, entry.previous_msgid = False, None
        entry.comment, entry.occurrences = message.comment, [(document.source, "")]
        catalog.append(entry)
    for entry in unused.values():
        entry.obsolete, entry.occurrences, entry.comment = True, [], ""
        catalog.append(entry)
    text = str(catalog).rstrip("\n") + "\n"
    if is_changed := not file.is_file() or file.read_text(encoding="utf-8") != text:
        write_atomically(file, text)
    return is_changed


def update_all(course: CourseFolder, names: list[str]) -> None:
    """Update all PO files of the languages; create those of a new language."""
    selected = names or languages(course)
    if not selected:
        raise CourseError("There are no languages yet. To add one: course translate update es")
    for language in selected:
        if not re.fullmatch("[a-z]{2}", language):
            raise CourseError(f"{language!r} is not a language code of two lowercase letters.")
    documents = [read_document(course, name) for name in document_names(course)]
    for language in selected:
        changed = [d.name for d in documents if update(course, d, language)]
        colon = ": " if changed else ""
        print(f"{language}: {len(changed)} files changed{colon}{', '.join(changed)}")


def check(course: CourseFolder, words: list[str]) -> int:
    """Print what is left to translate, and the findings of the automatic checks.

    Each of the words is a language or the start of a PO file's path, such as `es/labs`; all PO
    files are checked if there are none. Return 1 if there are findings, otherwise 0.
    """
    names = [f"{code}/{name}" for code in languages(course) for name in document_names(course)]
    prefixes = [word.removeprefix("locale/").removesuffix(".po") for word in words]
    for word in prefixes:
        if not any(name.startswith(word) for name in names):
            codes = ", ".join(languages(course)) or "none yet"
            advice = f"Pass a language ({codes}), or a PO file such as es/notebooks/00."
            raise CourseError(f"No translation matches {word!r}. {advice}")
    findings, missing, total = [], 0, 0
    for name in (name for name in names if name.startswith(tuple(prefixes or [""]))):
        language, _, document = name.partition("/")
        catalog = read_catalog(course, document, language)
        findings += problems(course, catalog)
        total, missing = total + len(catalog.document.messages), missing + len(catalog.missing)
        if catalog.missing:
            fuzzy = sum(entry.fuzzy for entry in catalog.entries.values())
            print(f"{name}: {len(catalog.missing)} texts to translate, {fuzzy} of them fuzzy")
    for problem in findings:
        print(problem, file=sys.stderr)
    print(f"{total - missing} of {total} texts translated, {len(findings)} findings")
    return int(bool(findings))


def problems(course: CourseFolder, catalog: Catalog) -> list[str]:
    """Return a line for each finding of the automatic checks, with its location and a fix."""
    if not catalog.entries:
        return []
    file = catalog.file.relative_to(course.root).as_posix()
    findings = [
        f"{file}:{entry.linenum}: {finding}"
        for text, entry in catalog.entries.items()
        if is_reviewed(entry)
        for finding in find_differences(text, entry.msgstr, entry.tcomment)
    ]
    if changed := {m.text for m in catalog.document.messages} ^ catalog.entries.keys():
        fix = "To fix it: course translate update"
        findings.append(f"{file}: English texts that have changed: {len(changed)}. {fix}")
    return findings


def _po_file(course: CourseFolder, name: str, language: str) -> Path:
    return course.root / "locale" / language / f"{name}.po"


def _read(file: Path) -> polib.POFile:
    if not file.is_file():
        return polib.POFile()
    try:
        # polib accepts a line without a closing quotation mark, but drops its last letter.
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if _UNCLOSED.match(line):
                raise ValueError(f"line {number} has no closing quotation mark")
        return polib.pofile(str(file), wrapwidth=0, encoding="utf-8", check_for_duplicates=True)
    except (OSError, ValueError) as error:
        raise CourseError(f"{file} is not a valid PO file: {error}. Fix the file.") from None
