"""Translate the course's texts into the student's language.

Texts without a translation stay in English. `translations/LANGUAGE.json` maps English texts to
their translations; `course build` writes it from the PO files in `locale/`.
"""

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

ENGLISH = "en"
_FOLDER = Path(__file__).parent / "translations"
_current = ENGLISH
_translations: dict[str, str] = {}
# In an f-string, `course translate` finds only placeholders of this form.
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
# How numbers are written in a language; the parts in `_KEPT`, such as code, are not changed.
_KEPT = r"`[^`]*`|\$[^$]*\$|<[^>]*>|\]\([^)]*\)|\{[^}]*\}"
_THIN_SPACE = "\N{NARROW NO-BREAK SPACE}"
_PERCENT = {"es": _THIN_SPACE, "ja": "", "ko": "", "zh": ""}  # before a percent sign
_THOUSANDS = {"es": _THIN_SPACE}
# The marks between the items of a list, where a language does not write those of English.
_LIST_MARKS = {n: {", ": "\u3001", "; ": "\uff1b", ": ": "\uff1a"} for n in ("ja", "zh")}
_NUMBERS = re.compile(rf"{_KEPT}|(?<=\d),(?=\d{{3}}(?!\d))|(?<=\d)\s?(?=%)")


def languages() -> list[str]:
    """Return the codes of all languages that `set_language` accepts."""
    return [ENGLISH, *sorted(file.stem for file in _FOLDER.glob("*.json"))]


def set_language(code: str) -> None:
    """Show the course's texts in the language with this code, such as "es".

    If there is no translation into it, ValueError lists the languages.
    """
    global _current, _translations
    _templates.cache_clear()
    if code not in languages():
        raise ValueError(
            f"The course has no translation into {code!r}. Choose one of: {', '.join(languages())}."
        )
    file = _FOLDER / f"{code}.json"
    _translations = {} if code == ENGLISH else json.loads(file.read_text(encoding="utf-8"))
    _current = code


def current_language() -> str:
    """Return the code of the language in which the texts are shown."""
    return _current


def translate(text: str, /, **values: Any) -> str:
    """Return an English text in the student's language, with `{name}` replaced by the values.

    `course translate` finds the texts in calls like `translate("...")`: write the text itself as
    the first argument, not a variable or an f-string. The titles and labels of figures, and boxes
    in lessons, may be f-strings: they are recognized by their constant parts.
    """
    translation = _translations.get(text) or _from_template(text)
    return localize(translation.format(**values) if values else translation, _current)


def localize(text: str, language: str) -> str:
    """Return a text with its numbers as that language writes them: 1,024 and 5% in English."""

    def part(match: re.Match[str]) -> str:
        marks = _THOUSANDS if match[0] == "," else {} if match[0].strip() else _PERCENT
        return marks.get(language, match[0])

    return text if language == ENGLISH else _NUMBERS.sub(part, text)


def list_marks(text: str) -> str:
    """Return a list such as "a: 1, 2; b: 3" with the marks of the student's language."""
    marks = _LIST_MARKS.get(_current, {})
    return re.sub(r"[,;:] (?![^(]*\))", lambda mark: marks.get(mark[0], mark[0]), text)


def _from_template(text: str) -> str:
    """Return the translation of a text that an f-string has made, else the text itself."""
    for pattern, translation in _templates() if re.search("[A-Za-z]{3}", text) else ():
        if match := pattern.fullmatch(text):
            return translation.format(**{n: translate(v) for n, v in match.groupdict().items()})
    return text


@cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern and the translation of each text with placeholders, the longest first."""
    found = []
    for text, translation in _translations.items():
        constant, *parts = _PLACEHOLDER.split(text)
        letters = len(re.sub("[^A-Za-z]", "", constant + "".join(parts[1::2])))
        if not parts or letters < 2 or "{" in constant + "".join(parts[1::2]):
            continue
        pattern, names = re.escape(constant), set()
        for name, end in zip(parts[::2], parts[1::2], strict=True):
            pattern += (f"(?P={name})" if name in names else f"(?P<{name}>.+?)") + re.escape(end)
            names.add(name)
        found.append((letters, re.compile(pattern), translation))
    return [row[1:] for row in sorted(found, key=lambda row: -row[0])]


def lesson_file(lesson: str) -> str:
    """Return the path of lesson "01" from the notebook's folder, or "" if the file is missing."""
    folder = Path(__file__).parents[1] / "notebooks" / _current.replace(ENGLISH, "")
    file = next(folder.glob(f"{lesson}_*.ipynb"), None)
    is_linkable = file and file.drive == Path.cwd().drive
    return Path(os.path.relpath(file)).as_posix() if is_linkable else ""


def section_title(lesson: str, title: str) -> str:
    """Return a section's title in the student's language; `lesson` is a number such as "01"."""
    return localize(_translations.get(f"{lesson}: {title}", title), _current)
