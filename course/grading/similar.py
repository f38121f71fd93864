"""`course similar`: find very similar submissions, and copies of the published solution.

Submissions are compared by their token n-grams with normalized variable names, without those in the
lab or its solution, and weighted by inverse document frequency, so that rare n-grams count more.
"""

import ast
import io
import itertools
import math
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from course.grading.answers import CellKind, merge_answers
from course.grading.submissions import Submission

_NGRAM_LENGTH = 4
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
    """Return the pairs whose `similarity` is at least `threshold`, most similar first."""
    lab_cells = [*original.cells, *(solution.cells if solution is not None else [])]
    lab_ngrams = _ngrams(cell.source for cell in lab_cells if cell.cell_type == "code")
    ngrams = {
        student: {n: own[n] for n in own.keys() - lab_ngrams.keys()}
        for student, own in _student_ngrams(original, submissions)
    }
    counts = Counter(itertools.chain.from_iterable(ngrams.values()))
    # The frequencies in a class of two say nothing.
    weights = {
        ngram: max(_MIN_WEIGHT, math.log(len(ngrams) / count)) if len(ngrams) > 2 else 1.0
        for ngram, count in counts.items()
    }
    totals = {student: sum(map(weights.get, own)) for student, own in ngrams.items()}
    pairs = []
    for first, second in itertools.combinations(ngrams, 2):
        shared = ngrams[first].keys() & ngrams[second].keys()
        if len(shared) < _MIN_SHARED:
            continue
        similarity = sum(map(weights.get, shared)) / min(totals[first], totals[second])
        if similarity >= threshold:
            example = max((ngrams[first][ngram] for ngram in shared), key=len)
            pairs.append(SimilarPair(first, second, round(min(similarity, 1.0), 3), example))
    return sorted(pairs, key=lambda pair: -pair.similarity)


def similarity_to_solution(
    original: NotebookNode, solution: NotebookNode, submissions: Sequence[Submission]
) -> dict[str, float]:
    """Return the fraction of each student's code that is in the solution, with the same names.

    Code that the lab contains does not count, and students with too little code are left out.
    """
    lab, published = (
        {*_ngrams(cell.source for cell in notebook.cells if cell.cell_type == "code").values()}
        for notebook in (original, solution)
    )
    fractions = {}
    for student, own in _student_ngrams(original, submissions):
        if len(texts := {*own.values()} - lab) >= _MIN_SHARED:
            fractions[student] = len(texts & published) / len(texts)
    return fractions


def _student_ngrams(
    original: NotebookNode, submissions: Sequence[Submission]
) -> Iterator[tuple[str, dict[tuple[str, ...], str]]]:
    for submission in submissions:
        if submission.notebook is not None:
            cells = merge_answers(original, submission.notebook).cells
            own = _ngrams(cell.source for cell in cells if cell.kind is CellKind.STUDENT)
            yield submission.student, own


def _ngrams(sources: Iterable[str]) -> dict[tuple[str, ...], str]:
    """Return the token n-grams with normalized variable names, and the original text of each."""
    texts: dict[tuple[str, ...], str] = {}
    for source in sources:
        tokens = _tokens(source)
        for start in range(len(tokens) - _NGRAM_LENGTH + 1):
            normalized, original = zip(*tokens[start : start + _NGRAM_LENGTH], strict=True)
            texts.setdefault(normalized, " ".join(original))
    return texts


def _tokens(source: str) -> list[tuple[str, str]]:
    """Return the tokens, including comments, as pairs of normalized and original text."""
    try:
        tokens = [t.string for t in tokenize.generate_tokens(io.StringIO(source).readline)]
        nodes = list(ast.walk(ast.parse(source)))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError, MemoryError):
        return [(word, word) for word in source.split()]
    variables = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    variables |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return [("NAME" if text in variables else text, text) for text in tokens if text.strip()]
