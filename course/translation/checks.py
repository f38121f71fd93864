"""Compare a translation with its original: code, links, numbers, tags, tables, placeholders, math.

A translator can allow a justified difference with a comment in the PO file:
`# allow numbers: 24 hours are 1 day`. translate-toolkit's `pofilter` has similar checks, but it
does not parse Markdown, and it reports "2" for "two" and "1,400 万" for "14 million".
"""

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from course.translation.markdown import PARSER, has_words, structure

# The parts of a text that a translation keeps, in any order. Each one is removed before the next
# one is searched; the text that remains is the one that a reader reads.
_PARTS = {
    "code": ("`code`", re.compile(r"(?s)(`+)(.+?)\1|<code[^>]*>(.*?)</code>")),
    "math": ("formulas", re.compile(r"\$[^$\s](?:[^$]*[^$\s])?\$")),
    "links": (
        "the targets of links",
        re.compile(r"\]\(([^)\s]+)[^)]*\)|(?:href|src)=\"([^\"]*)\"|<(https?://[^>]+)>"),
    ),
    "tags": ("HTML tags", re.compile(r"</?[A-Za-z][^>]*>|<!--.*?-->")),
    "placeholders": ("{placeholders}", re.compile(r"\{[^{}]*\}")),
}
_SCALES = {
    "mil millones": 10**9, "millones": 10**6, "millón": 10**6, "mil": 10**3,
    "billion": 10**9, "million": 10**6, "thousand": 10**3, "億": 10**8, "亿": 10**8, "억": 10**8,
    "万": 10**4, "만": 10**4, "千": 10**3, "천": 10**3,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<digits>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?:\s?(?P<scale>{'|'.join(_SCALES)})(?!(?<=[a-z])[a-z]))?"
)
# A text with more words is not a name, so its translation must differ from the English text.
_MAX_WORDS_IN_NAME = 5


def find_differences(original: str, translation: str, comment: str = "") -> list[str]:
    """Return a sentence for each difference that is not allowed in a translation.

    Args:
        original: the English text.
        translation: the text in another language.
        comment: the translator's comment, which can allow the finding of one check.
    """
    allowed = re.findall(r"(?m)^allow (\w+)\b", comment)
    differences = _differences(original, translation)
    return [difference for difference in differences if difference.split(":")[0] not in allowed]


def _differences(original: str, translation: str) -> Iterator[str]:
    """Yield a sentence for each difference, which starts with the name of its check."""
    english, translated = _parts(original), _parts(translation)
    for check, (kind, _) in _PARTS.items():
        for problem in _compare(english[check], translated[check]):
            yield f"{check}: {problem}. Keep {kind} as in the English text."
    (bold, shown), (translated_bold, translated_shown) = _shown(original), _shown(translation)
    if bold != translated_bold:
        yield f"bold: there are {translated_bold} bold parts, and {bold} in the English text."
    [english_words], [translated_words] = english["words"], translated["words"]
    missing = (_numbers_in(english_words) - _numbers_in(translated_words)).elements()
    if numbers := ", ".join(f"{number:f}" for number in missing):
        yield f"numbers: {numbers} is missing. Write numbers in digits, as in English: 3.5, 1,024."
    if original.startswith("|"):
        expected, actual = (len(re.findall(r"(?<!\\)\|", t)) - 1 for t in (original, translation))
        if expected != actual or not re.fullmatch(r"(?s)\|.*\|", translation):
            yield f"columns: the row has {actual} columns, and the English one has {expected}."
    elif structure(original) != structure(translation):
        yield (
            "markup: Markdown parses the translation as a different kind of block. Check its "
            "first characters, and that it is a single paragraph."
        )
    for mark in ("**", "`", "*", "]("):
        if mark in translated_shown and mark not in shown:
            yield (
                f"markup: {mark} has no effect here and would be displayed. Put it directly around "
                "a word: Markdown ignores it between a letter and a punctuation mark."
            )
            break
    if translation != translation.strip() and original == original.strip():
        yield "spaces: remove the leading and trailing spaces."
    if translation.count("\n") != original.count("\n"):
        yield "spaces: the number of line breaks differs from the English text."
    words = re.findall(r"[^\W\d_]{2,}", english_words)
    if original == translation and len(words) > _MAX_WORDS_IN_NAME and has_words(original):
        yield "english: the text is not translated: it is the same as in English."


# Each language has the same English text.
@lru_cache(maxsize=8192)
def _parts(text: str) -> dict[str, list[str]]:
    """Return the parts of a text that a translation keeps, and under "words" the rest of it."""
    parts = {}
    for name, (_, pattern) in _PARTS.items():
        matches = [match[match.lastindex or 0] for match in pattern.finditer(text)]
        parts[name] = [" ".join(match.split()) for match in matches]
        text = pattern.sub(" ", text)
    return {**parts, "words": [text.replace("*", "")]}


@lru_cache(maxsize=8192)
def _shown(text: str) -> tuple[int, str]:
    """Return the number of bold parts, and the text that Markdown shows, without code."""
    tokens = PARSER.parseInline(text)[0].children or []
    bold = sum(token.type == "strong_open" for token in tokens)
    return bold, "".join(token.content for token in tokens if token.type == "text")


def _compare(english: list[str], translated: list[str]) -> Iterator[str]:
    expected, actual = Counter(english), Counter(translated)
    if missing := ", ".join((expected - actual).elements()):
        yield f"{missing} is missing"
    if extra := ", ".join((actual - expected).elements()):
        yield f"{extra} is not in the English text"


def _numbers_in(text: str) -> Counter[Decimal]:
    """Count the numbers in digits: "14 million" and "1,400 万" are the same number."""
    values, scaled_end = [], 0
    for match in _NUMBER.finditer(text):
        scale = match["scale"]
        value = Decimal(match["digits"].replace(",", "")) * _SCALES.get(scale, 1)
        # 6 万 5,536 is one number.
        if scaled_end and not text[scaled_end : match.start()].strip() and values[-1] > value:
            values[-1] += value
        else:
            values.append(value)
        # A Chinese, Japanese or Korean scale.
        scaled_end = match.end() if scale and scale > "z" else 0
    return Counter(value.normalize() for value in values)
