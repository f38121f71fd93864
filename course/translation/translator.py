"""Translate a notebook or a page: its texts, its links, and its call to `lesson.start`."""

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from babel import Locale, UnknownLocaleError

from course.course_folder import CourseError
from course.translation.catalogs import Catalog
from course.translation.markdown import structure, translate_markdown
from helpers.language import ENGLISH, localize

_LINK = re.compile(r"(?<=\]\()[^)\s\"]+(?=\))|(?<=(?:href|.src)=\")[^)\s\"]+(?=\")")
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)
_COLAB = re.compile(
    r"(https://colab\.research\.google\.com/github/[^/]+/[^/]+/blob/[^/]+/)([^#?]+)"
)
_START = re.compile(r"(?m)^([^#\n]*\blesson\.start\()((?:[^()]|\([^()]*\))*)\)")


@dataclass(frozen=True)
class Translator:
    """Translates the texts of one document; a text without a translation stays in English."""

    language: str = ENGLISH
    catalogs: tuple[Catalog, ...] = ()  # to look up texts in, in this order
    # Of the documents that this one links to, by name.
    linked_catalogs: Mapping[str, Catalog] = field(default_factory=dict)
    pages: Collection[str] = ()  # English paths of the notebooks and pages in this language
    missing: list[str] = field(default_factory=list)  # looked up, but without a translation

    def translate(self, text: str, /, **values: Any) -> str:
        """Return the translation of a text, with `{name}` replaced by the values."""
        found = (catalog.translation_of(text) for catalog in self.catalogs)
        translated = next((translation for translation in found if translation is not None), None)
        if translated is None:
            if self.catalogs and text not in self.missing:
                self.missing.append(text)
            translated = text
        return localize(translated.format(**values) if values else translated, self.language)

    def title(self, document: str, text: str) -> str:
        """Return the title or promise of another notebook, in the language of the linked file."""
        catalog = f"{document}.ipynb" in self.pages and self.linked_catalogs.get(document)
        return (catalog and catalog.translation_of(text)) or text

    def markdown(self, text: str) -> str:
        """Return Markdown with every text translated.

        Raises:
            CourseError: a translation changes the structure, for example a list becomes a heading.
        """
        if not self.catalogs:
            return text
        translated = translate_markdown(text, self.translate)
        if structure(translated) != structure(text):
            raise CourseError(
                f"{self.catalogs[0].file}: with the translations, the structure of headings, lists "
                f"and tables differs from the English one:\n{translated}"
            )
        return translated

    def links(self, text: str, page: str) -> str:
        """Return Markdown of an English page with its links adapted to the translated page."""
        if self.language == ENGLISH:
            return text
        return _LINK.sub(lambda link: self._target(link[0], page), text)

    def code(self, code: str) -> str:
        """Return code with `language="es"` added to the calls to `lesson.start`."""

        def call(match: re.Match[str]) -> str:
            comma = ", " if match[2] else ""
            return f'{match[1]}{match[2]}{comma}language="{self.language}")'

        return code if self.language == ENGLISH else _START.sub(call, code)

    def translated_page(self, page: str) -> str:
        """Return the path of a page's translation, or of the English page if there is none."""
        return translated_path(page, self.language) if page in self.pages else page

    def _target(self, target: str, page: str) -> str:
        if match := _COLAB.fullmatch(target):
            return match[1] + self.translated_page(match[2])
        if _EXTERNAL.match(target):
            return target
        path, hash_sign, anchor = target.partition("#")
        target_page = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        folder = posixpath.dirname(translated_path(page, self.language))
        return posixpath.relpath(self.translated_page(target_page), folder) + hash_sign + anchor


def translated_path(page: str, language: str) -> str:
    """Return the path of a page's translation: `notebooks/es/00.ipynb`, `docs/es/index.md`."""
    if language == ENGLISH:
        return page
    folder, name = posixpath.split(page)
    return posixpath.join(folder or "docs", language, name)


def language_name(language: str) -> str:
    """Return the name of a language in that language, `español` for `es`; its code if unknown."""
    try:
        return Locale.parse(language, sep="-").get_display_name() or language
    except UnknownLocaleError:
        return language
