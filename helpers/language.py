"""Translate the course's texts into the student's language.

Texts without a translation stay in English. `translations/LANGUAGE.json` maps English texts to
their translations; `course build` writes it from the PO files in `locale/`.
"""

import json
import os
from pathlib import Path
from typing import Any

ENGLISH = "en"
_FOLDER = Path(__file__).parent / "translations"
_current = ENGLISH
_translations: dict[str, str] = {}


def languages() -> list[str]:
    """Return the codes of all languages that `set_language` accepts."""
    return [ENGLISH, *sorted(file.stem for file in _FOLDER.glob("*.json"))]


def set_language(code: str) -> None:
    """Show the course's texts in the language with this code, such as "es".

    If there is no translation into it, ValueError lists the languages.
    """
    global _current, _translations
    if code not in languages():
        raise ValueError(
            f"The course has no translation into {code!r}. Choose one of: {', '.join(languages())}."
        )
    file = _FOLDER / f"{code}.json"
    _translations = {} if code == ENGLISH else json.loads(file.read_text(encoding="utf-8"))
    _current = code


def translate(text: str, /, **values: Any) -> str:
    """Return an English text in the student's language, with `{name}` replaced by the values.

    `course translate` finds the texts in calls like `translate("...")`: write the text itself as
    the first argument, not a variable or an f-string.
    """
    translation = _translations.get(text, text)
    return translation.format(**values) if values else translation


def lesson_file(lesson: str) -> str:
    """Return the path of lesson "01" from the notebook's folder, or "" if the file is missing."""
    folder = Path(__file__).parents[1] / "notebooks" / _current.replace(ENGLISH, "")
    file = next(folder.glob(f"{lesson}_*.ipynb"), None)
    is_linkable = file and file.drive == Path.cwd().drive
    return Path(os.path.relpath(file)).as_posix() if is_linkable else ""


def section_title(lesson: str, title: str) -> str:
    """Return a section's title in the student's language; `lesson` is a number such as "01"."""
    return _translations.get(f"{lesson}: {title}", title)
