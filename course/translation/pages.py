"""The files other than notebooks that are built for a language: pages, and texts of `helpers`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from course.authoring.start_page import start_page
from course.files import write_atomically
from course.translation.course_translation import CourseTranslation, runtime_catalog
from course.translation.documents import PAGES, page_text
from course.translation.translator import translated_path


def generated_files(translation: CourseTranslation) -> dict[Path, str]:
    """Return the content of each file, except notebooks, that is built for a language."""
    root = translation.course.root
    files = {}
    if translation.is_published("pages"):
        translator = translation.translator("pages")
        files[translation.output_path("pages")] = start_page(translation.course, translator)
        for page in PAGES:
            if (root / page).is_file():
                text = translator.links(
                    translator.markdown(page_text(translation.course, page)), page
                )
                files[root / translated_path(page, translation.language)] = text
    if "helpers" in translation.catalogs and translation.is_published("helpers"):
        files[translation.output_path("helpers")] = runtime_catalog(translation)
    return files


def write_generated(
    translation: CourseTranslation, log: Callable[[str], None], *, for_notebooks: bool = False
) -> list[str]:
    """Write the files that are out of date, and return their names.

    With `for_notebooks`, the texts of `helpers` are written even if some are not translated,
    because a notebook in this language cannot start without them.
    """
    files = generated_files(translation)
    if for_notebooks and "helpers" in translation.catalogs:
        files[translation.output_path("helpers")] = runtime_catalog(translation)
    written = []
    for path, text in files.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)
            written.append(path.relative_to(translation.course.root).as_posix())
            log(f"{written[-1]}: written")
    return written


def outdated_files(translation: CourseTranslation) -> list[str]:
    """Return a sentence for each file that is out of date, with the command to fix it."""
    findings = []
    for path, text in generated_files(translation).items():
        name = path.relative_to(translation.course.root).as_posix()
        if not path.is_file():
            findings.append(f"{name} has not been built.")
        elif path.read_text(encoding="utf-8") != text:
            findings.append(f"{name} is out of date.")
    return [f"{finding} To fix it: course build {translation.language}" for finding in findings]


def unreviewed(translation: CourseTranslation) -> list[str]:
    """Return a sentence for each published document with texts that need a translator."""
    findings = []
    for name, catalog in translation.catalogs.items():
        if translation.is_published(name) and (missing := catalog.missing):
            file = catalog.file.relative_to(translation.course.root).as_posix()
            examples = "; ".join(f"{text[:60]!r}" for text in missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            findings.append(
                f"{file}: missing, unreviewed or invalid translations: {examples}{more}. "
                "To fix it: "
                f"course translate update {translation.language}, then translate them "
                f"(docs/translating.md), then course translate check {translation.language}, then "
                f"course build {translation.language}"
            )
    return findings
