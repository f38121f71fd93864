"""Pairs of copied answers are reported, and independent answers are not."""

import copy

from nbformat.v4 import new_code_cell

from course.grading.similar import similar
from course.grading.students import Submission
from tools.grade_a_class import ClassBuilder, grade_id

builder = ClassBuilder()
COPIED = """def compute_mean(batches):
    # the runningg total of all teh numbers
    subtotal, how_many = 0.0, 0
    for chunk in batches:
        subtotal = subtotal + chunk.double().sum()
        how_many += chunk.numel()
    return (subtotal / how_many).item()"""
RENAMED = COPIED.replace("def compute_mean", "def  compute_mean")
INDEPENDENT = {
    "a": """def compute_mean(batches):
    return (sum(b.sum() for b in batches) / sum(b.numel() for b in batches)).item()""",
    "b": """def compute_mean(batches):
    return torch.cat([x.flatten() for x in batches]).mean().item()""",
    "c": """def compute_mean(batches):
    n = 0
    s = torch.zeros((), device=batches[0].device)
    for batch in batches:
        n += len(batch.flatten())
        s += torch.sum(batch)
    return float(s) / n""",
    "d": """def compute_mean(batches):
    sums = torch.stack([part.sum() for part in batches])
    counts = [part.numel() for part in batches]
    return sums.sum().item() / sum(counts)""",
}


def submission(student, answer):
    return Submission(student, student, builder.with_answer(5, answer))


def test_a_copied_answer_is_found_and_an_independent_one_is_not():
    others = [submission(name, answer) for name, answer in INDEPENDENT.items()]
    pairs = similar(
        builder.original,
        [submission("x", COPIED), submission("y", RENAMED), *others],
        threshold=0.7,
    )
    assert [(pair.first, pair.second) for pair in pairs] == [("x", "y")]
    assert pairs[0].similarity == 1.0


def test_code_from_the_lab_itself_does_not_count():
    stubs = [Submission(name, name, builder.original) for name in "ab"]
    assert similar(builder.original, stubs) == []


def test_invalid_code_is_compared_word_by_word():
    broken = "def compute_mean(batches:\n  one two three four five six seven eight nine ten"
    pairs = similar(builder.original, [submission("a", broken), submission("b", broken)])
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b")]


def test_unreadable_notebook_is_ignored():
    unreadable = Submission("a", "a", None, "the file is empty")
    assert similar(builder.original, [unreadable, submission("b", COPIED)]) == []


def test_an_answer_without_its_id_is_compared():
    without_ids = copy.deepcopy(builder.with_answer(5, COPIED))
    for cell in without_ids.cells:
        if grade_id(cell):
            cell.metadata.pop("nbgrader")
    without_ids.cells.append(new_code_cell("1"))
    pairs = similar(builder.original, [submission("a", COPIED), Submission("b", "b", without_ids)])
    assert len(pairs) == 1


def test_a_class_of_copies_is_found():
    copies = [submission(f"s{n}", COPIED) for n in range(24)]
    pairs = similar(builder.original, copies, solution=builder.solution, threshold=0.7)
    assert len(pairs) == 24 * 23 / 2


def test_the_published_solution_does_not_count():
    copies = [Submission(f"s{n}", "", builder.solution) for n in range(3)]
    assert similar(builder.original, copies, solution=builder.solution) == []


def test_copy_with_renamed_variables_is_found():
    renamed = COPIED
    for n, name in enumerate(("subtotal", "how_many", "chunk")):
        renamed = renamed.replace(name, f"v{n}")
    others = [submission(name, answer) for name, answer in INDEPENDENT.items()]
    pairs = similar(
        builder.original,
        [submission("x", COPIED), submission("y", renamed), *others],
        threshold=0.9,
    )
    assert ("x", "y") in [(pair.first, pair.second) for pair in pairs]
