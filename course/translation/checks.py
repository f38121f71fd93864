"""Compare a translation with its original: code, links, numbers, tags, tables, placeholders, math.

A translator can allow a justified difference with a comment in the PO file:
`# allow numbers: 24 hours are 1 day`. translate-toolkit's `pofilter` has similar checks, but it
does not parse Markdown, and it reports "2" for "two" and "1,400 万" for "14 million".
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import repeat
from string import Formatter

from markdown_it.token import Token

from course.translation.markdown import PARSER, has_words, structure

_HTML_CODE = re.compile(r"<code[^>]*>(.*?)</code>", re.DOTALL)
_MATH = re.compile(r"\$[^$\s](?:[^$]*[^$\s])?\$")
_COLUMN = re.compile(r"(?<!\\)\|")
_ALLOWED = re.compile(r"^allow (?P<check>\w+)\b", re.MULTILINE)
_WORD_SCALES = {
    "mil millones": 10**9, "millones": 10**6, "millón": 10**6, "mil": 10**3,
    "billion": 10**9, "million": 10**6, "thousand": 10**3,
}  # fmt: skip
_CJK_SCALES = {
    "億": 10**8, "亿": 10**8, "억": 10**8, "万": 10**4, "만": 10**4, "千": 10**3, "천": 10**3,
}  # fmt: skip
_SCALES = _WORD_SCALES | _CJK_SCALES
_NUMBER = re.compile(
    r"(?P<digits>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?:\s?(?P<scale>(?:{'|'.join(_WORD_SCALES)})\b|[{''.join(_CJK_SCALES)}]))?"
)
# Words that a language may write as numbers, because Japanese, Korean and Chinese often use digits
# where English uses words: "half" is "2 分の 1" in Japanese. Any text may have an additional 1.
_NUMBER_WORDS = (
    (range(10), "zero one two three four five six seven eight nine"),
    (range(10, 16), "ten eleven twelve thirteen fourteen fifteen"),
    (range(16, 20), "sixteen seventeen eighteen nineteen"),
    (range(20, 100, 10), "twenty thirty forty fifty sixty seventy eighty ninety"),
    (range(1, 11), "first second third fourth fifth sixth seventh eighth ninth tenth"),
    (repeat(0), "no none nothing without"),
    (repeat(2), "twice both pair double doubled half halves halved"),
    (repeat(4), "quarter"),
    (repeat(12), "dozen"),
    (repeat(100), "hundred hundredth percent"),
    (repeat(1000), "thousand thousandth"),
)
_NUMBERS_OF_WORDS: dict[str, set[int]] = {}
for _numbers, _words in _NUMBER_WORDS:
    for _word, _number in zip(_words.split(), _numbers, strict=False):
        _NUMBERS_OF_WORDS.setdefault(_word, set()).add(_number)
# A text with more words is not a name, so its translation must differ from the English text.
_MAX_WORDS_IN_NAME = 5


def find_differences(original: str, translation: str, comment: str = "") -> list[str]:
    """Return a sentence for each difference that is not allowed in a translation.

    Args:
        original: the English text.
        translation: the text in another language.
        comment: the translator's comment, which can allow the finding of one check.
    """
    allowed = {match["check"] for match in _ALLOWED.finditer(comment)}
    return [
        f"{name}: {problem}"
        for name, check in _CHECKS.items()
        if name not in allowed
        for problem in check(original, translation)
    ]


# Most checks read the tokens of the same two texts, and each language has the same English text.
@lru_cache(maxsize=8192)
def _tokens(text: str) -> tuple[Token, ...]:
    """Return all inline tokens, including those in an image's alt text."""
    tokens, queue = [], deque(PARSER.parseInline(text))
    while queue:
        token = queue.popleft()
        queue.extendleft(reversed(token.children or ()))
        if token.type != "inline":
            tokens.append(token)
    return tuple(tokens)


def _code(text: str) -> Iterable[str]:
    tokens = (token.content for token in _tokens(text) if token.type == "code_inline")
    return [*tokens, *(" ".join(code.split()) for code in _HTML_CODE.findall(text))]


def _links(text: str) -> Iterable[str]:
    targets = (token.attrs.get("href") or token.attrs.get("src") for token in _tokens(text))
    return [str(target) for target in targets if target]


def _tags(text: str) -> Iterable[str]:
    return [token.content for token in _tokens(text) if token.type == "html_inline"]


def _math(text: str) -> Iterable[str]:
    words = (t.content if t.type != "code_inline" else " " for t in _tokens(text))
    return _MATH.findall("".join(words))


def _bold(text: str) -> Iterable[str]:
    return ["**" for token in _tokens(text) if token.type == "strong_open"]


def _placeholders(text: str) -> Iterable[str]:
    try:
        parsed = list(Formatter().parse(text))
    except ValueError:
        return []
    return [
        f"{{{name}{'!' + conversion if conversion else ''}{':' + spec if spec else ''}}}"
        for _, name, spec, conversion in parsed
        if name is not None
    ]


def _same_parts(
    kind: str, extract: Callable[[str], Iterable[str]]
) -> Callable[[str, str], Iterator[str]]:
    """Return a check that compares the parts of two texts, in any order."""

    def check(original: str, translation: str) -> Iterator[str]:
        english, translated = list(extract(original)), list(extract(translation))
        if english == translated:
            return
        expected, actual = Counter(english), Counter(translated)
        missing, extra = (expected - actual).elements(), (actual - expected).elements()
        for problem, parts in (("is missing", missing), ("is not in the English text", extra)):
            if names := ", ".join(parts):
                yield f"{names} {problem}. Keep {kind} as in the English text."

    return check


def _numbers(original: str, translation: str) -> Iterator[str]:
    english, translated = (_plain(text) for text in (original, translation))
    expected, actual = _numbers_in(english), _numbers_in(translated)
    if missing := ", ".join(f"{value:f}" for value in (expected - actual).elements()):
        yield f"{missing} is missing. Write numbers in digits, as in English: 3.5, 1,024."
    extra = set(actual) - set(expected)
    if extra and (extra := extra - _words_as_numbers(english)):
        extra_numbers = ", ".join(f"{value:f}" for value in sorted(extra))
        yield f"{extra_numbers} is not in the English text."


def _numbers_in(text: str) -> Counter[Decimal]:
    """Count the numbers in digits: "14 million" and "1,400 万" are the same number."""
    values, scaled_end = [], 0
    for match in _NUMBER.finditer(text):
        scale = match["scale"]
        value = Decimal(match["digits"].replace(",", "")) * (_WORD_SCALES | _CJK_SCALES).get(
            scale, 1
        )
        # 6 万 5,536 is one number.
        if scaled_end and not text[scaled_end : match.start()].strip() and values[-1] > value:
            values[-1] += value
        else:
            values.append(value)
        scaled_end = match.end() if scale in _CJK_SCALES else 0
    return Counter(value.normalize() for value in values)


def _words_as_numbers(text: str) -> set[Decimal]:
    """Return the numbers that the words of an English text may represent."""
    values = {1}
    for word in re.findall(r"[a-z]+(?:-[a-z]+)*", text.lower()):
        parts = [
            _NUMBERS_OF_WORDS.get(part) or _NUMBERS_OF_WORDS.get(part.removesuffix("s"), set())
            for part in word.split("-")
        ]
        values.update(*parts)
        if len(parts) == 2:
            values.update(first + second for first in parts[0] for second in parts[1])
    return {Decimal(value).normalize() for value in values}


def _plain(text: str) -> str:
    """Return the words and numbers that a reader sees, without code, math and placeholders."""
    text = re.sub(r"\{[^}]*\}", " ", _MATH.sub(" ", _HTML_CODE.sub(" ", text)))
    return "".join(
        token.content if token.type == "text" else " "
        for token in _tokens(text)
        if token.type not in ("strong_open", "strong_close", "em_open", "em_close")
    )


def _columns(original: str, translation: str) -> Iterator[str]:
    if original.startswith("|") and original.endswith("|"):
        expected, actual = (len(_COLUMN.findall(text)) - 1 for text in (original, translation))
        if expected != actual or not translation.startswith("|") or not translation.endswith("|"):
            yield f"the row of the table has {actual} columns, and the English one has {expected}."


def _markup(original: str, translation: str) -> Iterator[str]:
    if structure(original) != structure(translation) and not original.startswith("|"):
        yield (
            "Markdown parses the translation as a different kind of block. Check its first "
            "characters, and that it is a single paragraph."
        )
    marks = ("**", "`", "*", "](")
    english, translated = (
        "".join(token.content for token in _tokens(text) if token.type == "text")
        for text in (original, translation)
    )
    for mark in marks:
        if mark in translated and mark not in english:
            yield (
                f"{mark} has no effect here and would be displayed. Put it directly around a word: "
                "Markdown ignores it between a letter and a punctuation mark."
            )
            break


def _spaces(original: str, translation: str) -> Iterator[str]:
    if translation != translation.strip() and original == original.strip():
        yield "remove the leading and trailing spaces."
    if translation.count("\n") != original.count("\n"):
        yield "the number of line breaks differs from the English text."


def _english(original: str, translation: str) -> Iterator[str]:
    words = re.findall(r"[^\W\d_]{2,}", _plain(original))
    if original == translation and len(words) > _MAX_WORDS_IN_NAME and has_words(original):
        yield "the text is not translated: it is the same as in English."


_CHECKS: dict[str, Callable[[str, str], Iterator[str]]] = {
    "code": _same_parts("`code`", _code),
    "links": _same_parts("the targets of links", _links),
    "tags": _same_parts("HTML tags", _tags),
    "math": _same_parts("formulas", _math),
    "bold": _same_parts("bold text", _bold),
    "placeholders": _same_parts("{placeholders}", _placeholders),
    "numbers": _numbers,
    "columns": _columns,
    "markup": _markup,
    "spaces": _spaces,
    "english": _english,
}
