"""The files besides notebooks that are built for a language: pages, and texts of `helpers`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from course.authoring.start_page import start_page
from course.files import write_atomically
from course.translation.documents import PAGES, page_text
from course.translation.edition import Edition, said_file
from course.translation.words import translated_path


def generated_files(edition: Edition) -> dict[Path, str]:
    """Return the content of each file, besides notebooks, that is built for a language."""
    root = edition.course.root
    files = {}
    if edition.is_published("pages"):
        words = edition.words("pages")
        files[edition.file_of("pages")] = start_page(edition.course, words)
        for page in PAGES:
            if (root / page).is_file():
                text = words.links(words.markdown(page_text(edition.course, page)), page)
                files[root / translated_path(page, edition.language)] = text
    if "helpers" in edition.catalogs and edition.is_published("helpers"):
        files[edition.file_of("helpers")] = said_file(edition)
    return files


def write_generated(
    edition: Edition, say: Callable[[str], None], *, for_notebooks: bool = False
) -> list[str]:
    """Write the files that are out of date, and return their names.

    With `for_notebooks`, the texts of `helpers` are written even if some are not translated,
    because a notebook in this language cannot start without it.
    """
    files = generated_files(edition)
    if for_notebooks and "helpers" in edition.catalogs:
        files[edition.file_of("helpers")] = said_file(edition)
    written = []
    for path, text in files.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)
            written.append(path.relative_to(edition.course.root).as_posix())
            say(f"{written[-1]}: written")
    return written


def outdated_files(edition: Edition) -> list[str]:
    """Return a sentence for each file that is out of date, with the command to fix it."""
    findings = []
    for path, text in generated_files(edition).items():
        name = path.relative_to(edition.course.root).as_posix()
        if not path.is_file():
            findings.append(f"{name} has not been built.")
        elif path.read_text(encoding="utf-8") != text:
            findings.append(f"{name} is out of date.")
    return [f"{finding} To fix it: course build {edition.language}" for finding in findings]


def unreviewed(edition: Edition) -> list[str]:
    """Return a sentence for each published document with texts that need a translator."""
    findings = []
    for name, catalog in edition.catalogs.items():
        if edition.is_published(name) and (missing := catalog.missing):
            file = catalog.file.relative_to(edition.course.root).as_posix()
            shown = "; ".join(f"{text[:60]!r}" for text in missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            findings.append(
                f"{file}: no reviewed translation of {shown}{more}. To fix it: "
                f"course translate update {edition.language}, then translate them "
                f"(docs/translating.md), then course build {edition.language}"
            )
    return findings
