"""The numbers in a sentence, so that a translation can be compared with its original.

"14 million" and "1,400 万" are the same number. A number word such as "two" may become a digit in
a translation, because Japanese, Korean and Chinese count in digits where English uses words.
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
_WORDS = {
    0: "no none zero nothing without",
    1: "a an one once single first each every alone per half third quarter tenth",
    2: "two twice second both pair double doubles doubled half halves",
    3: "three third three-quarters", 4: "four fourth quarter quarters", 5: "five fifth",
    6: "six sixth", 7: "seven seventh", 8: "eight eighth", 9: "nine ninth", 10: "ten tenth tens",
    11: "eleven", 12: "twelve dozen", 15: "fifteen", 16: "sixteen", 20: "twenty", 30: "thirty",
    32: "thirty-two", 100: "hundred hundredth hundreds percent",
    1000: "thousand thousandth thousands",
}  # fmt: skip


def numbers_in(text: str) -> Counter[Decimal]:
    """Return the numbers written in digits, with how often each occurs."""
    values: list[Decimal] = []
    end_of_scaled = 0
    for found in _NUMBER.finditer(text):
        scale = found["scale"]
        value = Decimal(found["digits"].replace(",", "")) * _SCALES.get(scale, 1)
        # 6 万 5,536 is one number.
        if end_of_scaled and not text[end_of_scaled : found.start()].strip() and values[-1] > value:
            values[-1] += value
        else:
            values.append(value)
        end_of_scaled = found.end() if scale and scale in _CJK_SCALES else 0
    return Counter(value.normalize() for value in values)


def words_as_numbers(text: str) -> set[Decimal]:
    """Return the numbers that an English text has as words."""
    words = set(re.findall(r"[a-z]+(?:-[a-z]+)*", text.lower()))
    parts = words | {part for word in words for part in word.split("-")}
    return {Decimal(number).normalize() for number, of in _WORDS.items() if parts & set(of.split())}
