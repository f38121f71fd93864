"""`course similar`: find very similar submissions.

All answers to an exercise look alike, so the comparison ignores common code. Submissions are
compared by their token n-grams, without those in the lab or its solution. Variable names are
normalized. N-grams are weighted by inverse document frequency, so rare n-grams count more.
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

_NGRAM_LENGTH = 4
_SKIP = {tokenize.ENCODING, tokenize.ENDMARKER, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT}
# Minimum weight of a common n-gram. It is not 0 because the whole class may have copied the code.
_MIN_WEIGHT = 0.1
# Minimum number of shared n-grams in a reported pair.
_MIN_SHARED = 5


@dataclass(frozen=True)
class SimilarPair:
    """Two students, their weighted fraction of shared n-grams (0 to 1), and an example."""

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
    """Return the pairs whose `similarity` is at least `threshold`, most similar first.

    Code that the lab or its solution contains is ignored.
    """
    notebooks = [original.cells, solution.cells if solution is not None else []]
    sources = [cell.source for cells in notebooks for cell in cells if cell.cell_type == "code"]
    lab_ngrams = set(_ngrams(sources))
    ngrams_by_student = {
        submission.student: _ngrams(_student_sources(original, submission))
        for submission in submissions
        if submission.notebook is not None
    }
    for ngrams in ngrams_by_student.values():
        for ngram in ngrams.keys() & lab_ngrams:
            del ngrams[ngram]
    counts = Counter(itertools.chain.from_iterable(ngrams_by_student.values()))
    weight = {
        ngram: max(_MIN_WEIGHT, math.log(len(ngrams_by_student) / count))
        if len(ngrams_by_student) > 2
        else 1.0
        for ngram, count in counts.items()
    }
    total = {
        student: sum(weight[ngram] for ngram in ngrams)
        for student, ngrams in ngrams_by_student.items()
    }
    pairs = []
    for (first, first_ngrams), (second, second_ngrams) in itertools.combinations(
        ngrams_by_student.items(), 2
    ):
        min_total = min(total[first], total[second])
        shared = first_ngrams.keys() & second_ngrams.keys()
        if len(shared) < _MIN_SHARED or min_total <= 0:
            continue
        similarity = sum(weight[ngram] for ngram in shared) / min_total
        if similarity >= threshold:
            example = max((first_ngrams[ngram] for ngram in shared), key=len)
            pairs.append(SimilarPair(first, second, round(min(similarity, 1.0), 3), example))
    return sorted(pairs, key=lambda pair: -pair.similarity)


def _student_sources(original: NotebookNode, submission: Submission) -> list[str]:
    merged = merge_answers(original, submission.notebook)
    return [cell.source for cell in merged.cells if cell.kind is CellKind.STUDENT]


def _ngrams(sources: Iterable[str]) -> dict[tuple[str, ...], str]:
    """Return the token n-grams with normalized variable names, and the original text of each."""
    texts: dict[tuple[str, ...], str] = {}
    for source in sources:
        tokens = _tokens(source)
        for start in range(len(tokens) - _NGRAM_LENGTH + 1):
            ngram = tokens[start : start + _NGRAM_LENGTH]
            texts.setdefault(
                tuple(normalized for normalized, _ in ngram), " ".join(text for _, text in ngram)
            )
    return texts


def _tokens(source: str) -> list[tuple[str, str]]:
    """Return the tokens, including comments, as pairs of normalized and original text."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return [(word, word) for word in source.split()]
    names = _assigned_names(source)
    texts = [t.string for t in tokens if t.type not in _SKIP and t.string.strip()]
    return [("NAME" if text in names else text, text) for text in texts]


def _assigned_names(source: str) -> set[str]:
    """Return the names that the code assigns: arguments and targets of `=`, `for` and `with`."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {node.arg for node in nodes if isinstance(node, ast.arg)}
