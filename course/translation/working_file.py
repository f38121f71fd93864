"""A compact text file for translators: English texts, and a line for each translation.

    @ 3f2a91c0 cell 3, paragraph
    > The **CPU** runs your browser.
    = La **CPU** ejecuta tu navegador.
    # allow numbers: the reason, if an automatic check is wrong here

A changed text has two more lines: `~` with the old English text and `?` with its translation.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from course.course_folder import CourseError
from course.translation.catalogs import Catalog, is_reviewed

_BLOCK = re.compile(r"(?m)^@ (?P<id>[0-9a-f]{8})\b")


def working_text(catalog: Catalog, *, everything: bool = False) -> str:
    """Return the working file of a catalog: the texts without a reviewed translation, or all."""
    blocks = []
    for message in catalog.document.messages:
        entry = catalog.entries.get(message.text)
        is_done = entry is not None and is_reviewed(entry)
        if entry is None or (is_done and not everything):
            continue
        lines = [f"@ {_id(message.text)} {message.comment}", _prefix(">", message.text)]
        if not is_done and entry.msgstr:
            if entry.previous_msgid:
                lines.append(_prefix("~", entry.previous_msgid))
            lines.append(_prefix("?", entry.msgstr))
        lines.append(_prefix("=", entry.msgstr if is_done else ""))
        if entry.tcomment:
            lines.append(_prefix("#", entry.tcomment))
        blocks.append("\n".join(lines))
    return "".join(block + "\n\n" for block in blocks)


def read_working_file(
    file: Path, catalog: Catalog
) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Return the translations in a working file with their comments, by English text.

    The second result has the translations of English texts that have changed since the file was
    written. Blocks without a translation are skipped. The English lines may be missing.

    Raises:
        CourseError: a block has unexpected lines, or its text is not in the catalog.
    """
    texts = {_id(text): text for text in catalog.entries}
    content = file.read_text(encoding="utf-8")
    starts = list(_BLOCK.finditer(content))
    if not starts:
        raise CourseError(f"{file} has no blocks; each one starts with a line `@ ID`.")
    translations, outdated = {}, {}
    for start, next_start in zip(starts, [*starts[1:], None], strict=True):
        text = texts.get(start["id"])
        location = f"{file}, line {content.count(chr(10), 0, start.start()) + 1}"
        block = content[start.start() : next_start.start() if next_start else len(content)]
        lines = [line.rstrip() for line in block.splitlines()[1:] if line.strip()]
        for line in lines:
            if not line.startswith((">", "~", "?", "=", "#")):
                raise CourseError(
                    f"{location}: the line {line[:40]!r} has no marker. Start each line of a "
                    "translation with `= `."
                )
        translation, english = _unprefix("=", lines), _unprefix(">", lines)
        if not translation.strip():
            continue
        if text is not None:
            translations[text] = (translation, _unprefix("#", lines))
        elif english:
            outdated[english] = translation
        else:
            raise CourseError(
                f"{location}: there is no text {start['id']} in {catalog.document.name}. If the "
                "English text has changed, write the working file again: course translate export"
            )
    return translations, outdated


def _id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _prefix(mark: str, text: str) -> str:
    return "\n".join(f"{mark} {line}" for line in text.split("\n"))


def _unprefix(mark: str, lines: list[str]) -> str:
    return "\n".join(line[1:].removeprefix(" ") for line in lines if line.startswith(mark))
