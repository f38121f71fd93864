"""Pairs of copied answers are reported, and independent answers are not."""

import copy

import pytest

from course.grading.similar import similar, similarity_to_solution
from course.grading.submissions import Submission
from tools.grade_a_class import grade_id

COPIED = """def compute_mean(batches):
    # the runningg total of all teh numbers
    subtotal, how_many = 0.0, 0
    for chunk in batches:
        subtotal = subtotal + chunk.double().sum()
        how_many += chunk.numel()
    return (subtotal / how_many).item()"""
RENAMED = COPIED.replace("subtotal", "v1").replace("how_many", "v2").replace("chunk", "v3")
INVALID = "def compute_mean(batches:\n  one two three four five six seven eight nine ten"
INDEPENDENT = [
    """def compute_mean(batches):
    return (sum(b.sum() for b in batches) / sum(b.numel() for b in batches)).item()""",
    """def compute_mean(batches):
    return torch.cat([x.flatten() for x in batches]).mean().item()""",
    """def compute_mean(batches):
    n = 0
    s = torch.zeros((), device=batches[0].device)
    for batch in batches:
        n += len(batch.flatten())
        s += torch.sum(batch)
    return float(s) / n""",
]


@pytest.fixture
def find_pairs(builder):
    """A function that compares answers to exercise 5, and returns the numbers of similar ones."""

    def find(answers, *, keep_ids=True, solution=None):
        submissions = [Submission("unreadable", "", None, "the file is empty")]
        for number, answer in enumerate(answers):
            notebook = copy.deepcopy(builder.with_answer(5, answer))
            for cell in notebook.cells if not keep_ids and number == 0 else []:
                cell.metadata.pop("nbgrader", None)
            submissions.append(Submission(str(number), "", notebook))
        pairs = similar(builder.original, submissions, solution=solution, threshold=0.7)
        return [(int(pair.first), int(pair.second)) for pair in pairs]

    return find


def test_a_copied_answer_is_found_and_independent_ones_are_not(find_pairs, builder):
    answers = [COPIED, RENAMED, *INDEPENDENT]
    assert find_pairs(answers, solution=builder.solution) == [(0, 1)]


def test_copies_of_the_published_solution_are_found(builder):
    own = copy.deepcopy(builder.original)
    next(c for c in own.cells if grade_id(c) == "exercise-5").source = INDEPENDENT[2]
    notebooks = {"copied": builder.solution, "own": own}
    submissions = [Submission(name, "", notebook) for name, notebook in notebooks.items()]
    found = similarity_to_solution(builder.original, builder.solution, submissions)
    assert found["copied"] > 0.95
    assert found["own"] < 0.5


def test_invalid_code_is_compared_word_by_word(find_pairs):
    assert find_pairs([INVALID, INVALID]) == [(0, 1)]


def test_an_answer_without_its_id_is_compared(find_pairs):
    assert find_pairs([COPIED, COPIED], keep_ids=False) == [(0, 1)]


def test_a_class_of_copies_is_found(find_pairs, builder):
    assert len(find_pairs([COPIED] * 24, solution=builder.solution)) == 24 * 23 / 2


def test_the_lab_and_its_published_solution_do_not_count(find_pairs, builder):
    stub = next(c.source for c in builder.original.cells if grade_id(c) == "exercise-5")
    for answer in (stub, builder.answer(5)):
        assert find_pairs([answer] * 3, solution=builder.solution) == []
