"""The translation of the course into one language: its notebooks, pages and texts.

A notebook is built when all of its texts, and those of `helpers` and the pages, have a reviewed
translation. After that, it remains in the course: if an English text changes, the notebook shows it
in English, and `course build --check` fails until its translation is reviewed.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from course.authoring.generated import start_page
from course.course_folder import CourseFolder
from course.translation.catalogs import Catalog, read_catalog
from course.translation.documents import PAGES, document_names, page_text
from course.translation.markdown import sort_tables
from course.translation.translator import Translator, translated_path


@dataclass(frozen=True)
class CourseTranslation:
    """The translations of all documents into one language."""

    course: CourseFolder
    language: str  # its code
    catalogs: dict[str, Catalog]  # by name of the document

    @property
    def is_built(self) -> bool:
        """Whether anything has been built in this language."""
        return any(self.output_path(document).is_file() for document in self.catalogs)

    def is_published(self, document: str) -> bool:
        """Return whether the notebook or pages built from a document belong in the course."""
        catalog = self.catalogs[document]
        if catalog.entries and self.output_path(document).is_file():
            return True
        # The texts of these two appear in every notebook: banners, hints, generated cells.
        shared = [self.catalogs[name] for name in ("helpers", "pages") if name in self.catalogs]
        return all(catalog.entries and not catalog.missing for catalog in (catalog, *shared))

    def output_path(self, document: str) -> Path:
        """Return the file that is built from a document; for the pages, the start page."""
        if document == "helpers":
            return self.course.root / "helpers" / "translations" / f"{self.language}.json"
        page = "index.md" if document == "pages" else f"{document}.ipynb"
        return self.course.root / translated_path(page, self.language)

    @property
    def pages(self) -> frozenset[str]:
        """The English paths of the notebooks, pages and pictures that exist in this language."""
        names = [name for name in self.catalogs if "/" in name and self.is_published(name)]
        pages = ("index.md", *PAGES) if self.is_published("pages") else ()
        pictures = self.course.root.glob(f"docs/{self.language}/*.png")
        files = [*(f"{name}.ipynb" for name in names), *(f"docs/{p.name}" for p in pictures)]
        return frozenset([*files, *pages])

    def translator(self, document: str) -> Translator:
        """Return the translator for the notebook or the pages of a document."""
        own = tuple(self.catalogs[name] for name in dict.fromkeys((document, "pages")))
        return Translator(self.language, own, self.catalogs, self.pages)

    def runtime_texts(self) -> dict[str, str]:
        """Return the translations that `helpers` needs, by English text or `01: Section`."""
        texts = {}
        for name, catalog in self.catalogs.items():
            for message in catalog.document.messages:
                text, translated = message.text, catalog.translation_of(message.text)
                if translated is None:
                    continue
                if message.at_runtime:
                    texts[text] = translated
                if name.startswith("notebooks/") and "heading" in message.comment:
                    if re.search(r" \(\d+ minutes\)$", text):
                        text = text.rpartition(" (")[0]
                        # Parentheses, including the full-width ones of Chinese and Japanese.
                        translated = re.sub(
                            r"\s*[(\uff08][^()\uff08\uff09]*[)\uff09]$", "", translated
                        )
                    texts[f"{Path(name).name[:2]}: {text}"] = translated
        return texts

    def outdated_files(self, *, for_notebooks: bool = False) -> dict[Path, str]:
        """Return the new content of each file, except notebooks, that is not up to date.

        With `for_notebooks`, the texts of `helpers` are included even if some are not translated,
        because a notebook in this language cannot start without them.
        """
        root, files = self.course.root, {}
        if self.is_published("pages"):
            translator = self.translator("pages")
            files[self.output_path("pages")] = start_page(self.course, translator)
            for page in PAGES:
                if (root / page).is_file():
                    text = translator.markdown(page_text(self.course, page))
                    if page == "docs/glossary.md" and self.language != "ja":
                        text = sort_tables(text, self.language)
                    path = root / translated_path(page, self.language)
                    files[path] = translator.links(text, page)
        if "helpers" in self.catalogs and (for_notebooks or self.is_published("helpers")):
            texts = json.dumps(self.runtime_texts(), ensure_ascii=False, indent=0, sort_keys=True)
            files[self.output_path("helpers")] = f"{texts}\n"
        return {p: t for p, t in files.items() if not p.is_file() or p.read_text("utf-8") != t}

    def findings(self) -> list[str]:
        """Return a sentence for each published document or file that is not up to date."""
        findings, build = [], f"course build {self.language}"
        for name, catalog in self.catalogs.items():
            if self.is_published(name) and (missing := catalog.missing):
                file = catalog.file.relative_to(self.course.root).as_posix()
                examples = "; ".join(f"{text[:60]!r}" for text in missing[:3])
                more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
                findings.append(
                    f"{file}: missing, unreviewed or invalid translations: {examples}{more}. "
                    f"To fix it: course translate update {self.language}, then translate them "
                    f"(docs/translating.md), then course translate check {self.language}, then "
                    f"{build}"
                )
        for path in self.outdated_files():
            state = "is out of date" if path.is_file() else "has not been built"
            name = path.relative_to(self.course.root).as_posix()
            findings.append(f"{name} {state}. To fix it: {build}")
        return findings


def read_translation(course: CourseFolder, language: str) -> CourseTranslation:
    """Read all translations into a language, one of those that `languages` returns."""
    catalogs = {name: read_catalog(course, name, language) for name in document_names(course)}
    return CourseTranslation(course, language, catalogs)
