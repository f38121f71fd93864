"""A test language: English with accents, such as `Thé CPÚ`; code and links do not change."""

import re

import polib

from course.translation.catalogs import read_catalog, update
from course.translation.documents import document_names, read_document

LANGUAGE = "xx"
_UNCHANGED = re.compile(
    r"(`+[^`]+`+|<code>.*?</code>|\]\([^)]*\)|<[^>]+>|\{[^}]*\}|\$[^$]+\$|\bhttp\S+"
    r"|\b(?:thousand|million|billion)\b)"
)
_ACCENTS = str.maketrans("aeiouAEIOU", "áéíóúÁÉÍÓÚ")


def pseudo(text):
    """Translate a text into the test language."""
    parts = _UNCHANGED.split(text)
    return "".join(part if n % 2 else part.translate(_ACCENTS) for n, part in enumerate(parts))


def translate(file, translate_text):
    """Store a reviewed translation of each text in a PO file, as a translator does."""
    catalog = polib.pofile(str(file), wrapwidth=0)
    for entry in catalog:
        if not entry.obsolete:
            entry.msgstr, entry.flags = translate_text(entry.msgid), []
    catalog.save()


def translate_all(course, language=LANGUAGE):
    """Write PO files in which every text of a course is translated."""
    for name in document_names(course):
        update(course, read_document(course, name), language)
        translate(read_catalog(course, name, language).file, pseudo)
