"""Find the numbers in a sentence, to compare a translation with its original.

"14 million" and "1,400 万" are the same number. A word such as "two" may become a digit in a
translation, because Japanese, Korean and Chinese often use digits where English uses words.
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal

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
_BELOW_TWENTY = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
]
# Other words that a language may write as a number: "half of it" is "2 分の 1" in Japanese.
_WORDS = {
    0: "no none nothing without",
    1: "a an once single each every alone per half quarter",
    2: "twice both pair double doubles doubled half halves halved",
    4: "quarter",
    12: "dozen",
    100: "hundred hundreds hundredth percent",
    1000: "thousands thousandth",
}


def numbers_in(text: str) -> Counter[Decimal]:
    """Return the numbers written in digits, with their counts."""
    values: list[Decimal] = []
    scaled_end = 0
    for match in _NUMBER.finditer(text):
        scale = match["scale"]
        value = Decimal(match["digits"].replace(",", "")) * _SCALES.get(scale, 1)
        # 6 万 5,536 is one number.
        if scaled_end and not text[scaled_end : match.start()].strip() and values[-1] > value:
            values[-1] += value
        else:
            values.append(value)
        scaled_end = match.end() if scale and scale in _CJK_SCALES else 0
    return Counter(value.normalize() for value in values)


def words_as_numbers(text: str) -> set[Decimal]:
    """Return the numbers that the words of an English text may represent."""
    values = set()
    for word in re.findall(r"[a-z]+(?:-[a-z]+)*", text.lower()):
        parts = word.split("-")
        values |= {value for part in parts for value in _values_of(part)}
        if len(parts) == 2 and parts[0] in _TENS:
            values |= {_values_of(parts[0])[0] + value for value in _values_of(parts[1])}
    return {Decimal(value).normalize() for value in values}


def _values_of(word: str) -> list[int]:
    values = [number for number, words in _WORDS.items() if word in words.split()]
    if word in _BELOW_TWENTY:
        values.append(_BELOW_TWENTY.index(word))
    if word in _TENS:
        values.append(10 * _TENS.index(word) + 20)
    # A third is "1/3" in digits.
    if (ordinal := word.removesuffix("s")) in _ORDINALS:
        values += [_ORDINALS.index(ordinal) + 1, 1]
    return values
