"""`course similar`: which submissions share more than they should.

Answers to one exercise are much alike by nature. What tells is what few others have: a rare
name, a comment, an order of words. So runs of tokens are compared, each weighted by how few
submissions it is found in (the inverse document frequency of text retrieval).
"""

from __future__ import annotations

import io
import itertools
import math
import tokenize
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from course.grading.paper import put_together
from course.grading.submissions import Submission

_RUN = 4
_SKIP = {tokenize.ENCODING, tokenize.ENDMARKER, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT}


@dataclass(frozen=True)
class Pair:
    """Two students, how much of what is rare they share (0 to 1), and the longest shared text."""

    first: str
    second: str
    share: float
    shared: str


def similar(
    original: NotebookNode, submissions: Sequence[Submission], *, least: float = 0.5
) -> list[Pair]:
    """The pairs that share at least `least` of their rare runs of tokens, most first.

    What the lab itself gives does not count, nor what more than a third of the class has.
    """
    given = set(_runs(c.source for c in original.cells if c.cell_type == "code"))
    own = {
        one.student: set(_runs(_answers(original, one))) - given
        for one in submissions
        if one.notebook is not None
    }
    frequency = Counter(itertools.chain.from_iterable(own.values()))
    common = max(2, len(own) / 3)
    weight = {
        run: math.log(len(own) / count) if count <= common else 0.0
        for run, count in frequency.items()
    }
    if len(own) == 2:
        # Nothing is rare among two: every run counts alike.
        weight = dict.fromkeys(frequency, 1.0)
    total = {student: sum(weight[run] for run in runs) for student, runs in own.items()}
    pairs = []
    for (first, a), (second, b) in itertools.combinations(own.items(), 2):
        smaller = min(total[first], total[second])
        # A single odd run is chance.
        both = a & b
        rare = [run for run in both if weight[run]]
        if len(rare) < 5 or smaller <= 0:
            continue
        share = sum(weight[run] for run in rare) / smaller
        if share >= least:
            pairs.append(Pair(first, second, round(min(share, 1.0), 3), _longest(rare)))
    return sorted(pairs, key=lambda pair: -pair.share)


def _answers(original: NotebookNode, submission: Submission) -> list[str]:
    paper = put_together(original, submission.notebook)
    return [cell.source for cell in paper.cells if cell.kind == "student"]


def _runs(sources: Iterable[str]) -> Iterable[tuple[str, ...]]:
    for source in sources:
        tokens = _tokens(source)
        yield from zip(*(tokens[n:] for n in range(_RUN)), strict=False)


def _tokens(source: str) -> list[str]:
    """The words and signs of some code, comments included; of what is no Python, its words."""
    try:
        found = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return source.split()
    return [token.string for token in found if token.type not in _SKIP and token.string.strip()]


def _longest(runs: list[tuple[str, ...]]) -> str:
    """An example: the run that says most."""
    return " ".join(max(runs, key=lambda run: sum(map(len, run))))
