"""`course similar`: find suspiciously similar submissions.

All answers to an exercise look alike. So token n-grams are compared, without those that the lab or
its published solution contains, and each is weighted by its inverse document frequency: n-grams
that few submissions have count more. Variable names are normalized before the comparison.
"""

from __future__ import annotations

import ast
import io
import itertools
import math
import tokenize
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from course.grading.answers import CellKind, merge_answers
from course.grading.submissions import Submission

_N = 4
_SKIP = {tokenize.ENCODING, tokenize.ENDMARKER, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT}
# An n-gram that most of the class has is weak evidence, but not none: all may have copied it.
_MIN_WEIGHT = 0.1
# Fewer shared n-grams than this are considered a coincidence.
_MIN_SHARED = 5


@dataclass(frozen=True)
class SimilarPair:
    """Two students, the weighted fraction of n-grams that they share (0 to 1), and an example."""

    first: str
    second: str
    similarity: float
    shared: str


def similar(
    original: NotebookNode,
    submissions: Sequence[Submission],
    *,
    solution: NotebookNode | None = None,
    threshold: float = 0.5,
) -> list[SimilarPair]:
    """The pairs whose `similarity` is at least `threshold`, most similar first.

    Code that the lab or its solution contains is ignored.
    """
    base = [original.cells, solution.cells if solution is not None else []]
    sources = [cell.source for cells in base for cell in cells if cell.cell_type == "code"]
    given = set(_ngrams(sources))
    own = {
        one.student: _ngrams(_answers(original, one))
        for one in submissions
        if one.notebook is not None
    }
    for ngrams in own.values():
        for ngram in ngrams.keys() & given:
            del ngrams[ngram]
    frequency = Counter(itertools.chain.from_iterable(own.values()))
    weight = {
        ngram: max(_MIN_WEIGHT, math.log(len(own) / count)) if len(own) > 2 else 1.0
        for ngram, count in frequency.items()
    }
    total = {student: sum(weight[ngram] for ngram in ngrams) for student, ngrams in own.items()}
    pairs = []
    for (first, a), (second, b) in itertools.combinations(own.items(), 2):
        smaller = min(total[first], total[second])
        both = a.keys() & b.keys()
        if len(both) < _MIN_SHARED or smaller <= 0:
            continue
        similarity = sum(weight[ngram] for ngram in both) / smaller
        if similarity >= threshold:
            example = max((a[ngram] for ngram in both), key=len)
            pairs.append(SimilarPair(first, second, round(min(similarity, 1.0), 3), example))
    return sorted(pairs, key=lambda pair: -pair.similarity)


def _answers(original: NotebookNode, submission: Submission) -> list[str]:
    merged = merge_answers(original, submission.notebook)
    return [cell.source for cell in merged.cells if cell.kind is CellKind.STUDENT]


def _ngrams(sources: Iterable[str]) -> dict[tuple[str, ...], str]:
    """The token n-grams of some code, with normalized variable names, and their text."""
    found: dict[tuple[str, ...], str] = {}
    for source in sources:
        tokens = _tokens(source)
        for place in range(len(tokens) - _N + 1):
            ngram = tokens[place : place + _N]
            found.setdefault(tuple(same for same, _ in ngram), " ".join(text for _, text in ngram))
    return found


def _tokens(source: str) -> list[tuple[str, str]]:
    """The tokens of some code, each as it is compared and as it is written, comments included."""
    try:
        found = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return [(word, word) for word in source.split()]
    own = _own_names(source)
    texts = [t.string for t in found if t.type not in _SKIP and t.string.strip()]
    return [("NAME" if text in own else text, text) for text in texts]


def _own_names(source: str) -> set[str]:
    """The variables that some code assigns: arguments, targets of `=`, `for` and `with`."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {node.arg for node in nodes if isinstance(node, ast.arg)}
