"""The translation of the course into one language: its notebooks, pages and texts.

A notebook is built when all of its texts, and those of `helpers` and the pages, have a reviewed
translation. After that, it remains in the course: if an English text changes, the notebook shows it
in English, and `course build --check` fails until its translation is reviewed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from course.course_folder import CourseError, CourseFolder
from course.translation.catalogs import Catalog, catalogs, languages
from course.translation.documents import PAGES
from course.translation.translator import Translator, translated_path

_START_PAGE = "index.md"
# Documents with texts that appear in every notebook: banners, hints, generated cells.
_SHARED = ("helpers", "pages")


@dataclass(frozen=True)
class CourseTranslation:
    """The translations of all documents into one language.

    Attributes:
        course: the course.
        language: the code of the language.
        catalogs: the catalogs, by name of the document.
    """

    course: CourseFolder
    language: str
    catalogs: dict[str, Catalog]

    @property
    def is_built(self) -> bool:
        """Whether anything has been built in this language."""
        return any(self.output_path(document).is_file() for document in self.catalogs)

    def is_published(self, document: str) -> bool:
        """Return whether the notebook or pages built from a document belong in the course."""
        catalog = self.catalogs[document]
        if catalog.entries and self.output_path(document).is_file():
            return True
        required = {document, *(name for name in _SHARED if name in self.catalogs)}
        return all(self.catalogs[name].is_complete for name in required)

    def output_path(self, document: str) -> Path:
        """Return the file that is built from a document; for the pages, the start page."""
        if document == "helpers":
            return self.course.root / "helpers" / "translations" / f"{self.language}.json"
        page = _START_PAGE if document == "pages" else f"{document}.ipynb"
        return self.course.root / translated_path(page, self.language)

    @property
    def pages(self) -> frozenset[str]:
        """The English paths of all notebooks and pages that exist in this language."""
        notebooks = (name for name in self.catalogs if "/" in name and self.is_published(name))
        pages = (_START_PAGE, *PAGES) if self.is_published("pages") else ()
        return frozenset([*(f"{name}.ipynb" for name in notebooks), *pages])

    def translator(self, document: str) -> Translator:
        """Return the translator for the notebook or the pages of a document."""
        names = dict.fromkeys((document, "pages"))
        return Translator(
            self.language, tuple(self.catalogs[n] for n in names), self.catalogs, self.pages
        )

    def runtime_texts(self) -> dict[str, str]:
        """Return the translations that `helpers` needs, by English text or `01: Section`."""
        texts = {}
        for catalog in self.catalogs.values():
            for message in catalog.document.messages:
                translated = catalog.translation_of(message.text)
                if translated is not None and message.at_runtime:
                    texts[message.text] = translated
                if translated is not None and catalog.document.name.startswith("notebooks/"):
                    lesson = Path(catalog.document.name).name[:2]
                    texts |= _section(lesson, message.text, message.comment, translated)
        return texts


def read_translation(course: CourseFolder, language: str) -> CourseTranslation:
    """Read all translations into a language.

    Raises:
        CourseError: the language has no folder in `locale/`.
    """
    if language not in languages(course):
        known = ", ".join(languages(course)) or "none"
        raise CourseError(f"There is no folder locale/{language}. Known languages: {known}.")
    return CourseTranslation(
        course, language, {c.document.name: c for c in catalogs(course, language)}
    )


def runtime_catalog(translation: CourseTranslation) -> str:
    """Return the content of `helpers/translations/LANGUAGE.json`."""
    return (
        json.dumps(translation.runtime_texts(), ensure_ascii=False, indent=0, sort_keys=True) + "\n"
    )


def _section(lesson: str, text: str, comment: str, translation: str) -> dict[str, str]:
    if "heading" not in comment:
        return {}
    if re.search(r" \(\d+ minutes\)$", text):
        text = text.rpartition(" (")[0]
        # Parentheses, including the full-width ones of Chinese and Japanese.
        translation = re.sub(r"\s*[(\uff08][^()\uff08\uff09]*[)\uff09]$", "", translation)
    return {f"{lesson}: {text}": translation}
