"""Which pairs of submissions are reported."""

import copy

from nbformat.v4 import new_code_cell

from course.grading.similar import similar
from course.grading.submissions import Submission
from tools.grade_a_class import Desk, grade_id

desk = Desk()
COPIED = """def mean_of(batches):
    # the runningg total of all teh numbers
    zwischensumme, wieviele = 0.0, 0
    for brocken in batches:
        zwischensumme = zwischensumme + brocken.double().sum()
        wieviele += brocken.numel()
    return (zwischensumme / wieviele).item()"""
RENAMED = COPIED.replace("def mean_of", "def  mean_of")
INDEPENDENT = {
    "a": """def mean_of(batches):
    return (sum(b.sum() for b in batches) / sum(b.numel() for b in batches)).item()""",
    "b": """def mean_of(batches):
    return torch.cat([x.flatten() for x in batches]).mean().item()""",
    "c": """def mean_of(batches):
    n = 0
    s = torch.zeros((), device=batches[0].device)
    for batch in batches:
        n += len(batch.flatten())
        s += torch.sum(batch)
    return float(s) / n""",
    "d": """def mean_of(batches):
    sums = torch.stack([part.sum() for part in batches])
    counts = [part.numel() for part in batches]
    return sums.sum().item() / sum(counts)""",
}


def handed_in(student, answer):
    return Submission(student, student, desk.with_answer(5, answer))


def test_a_copied_answer_is_found_and_an_independent_one_is_not():
    others = [handed_in(name, answer) for name, answer in INDEPENDENT.items()]
    pairs = similar(
        desk.original, [handed_in("x", COPIED), handed_in("y", RENAMED), *others], least=0.7
    )
    assert [(pair.first, pair.second) for pair in pairs] == [("x", "y")]
    assert pairs[0].share == 1.0


def test_code_given_by_the_lab_does_not_count():
    stubs = [Submission(name, name, desk.original) for name in "ab"]
    assert similar(desk.original, stubs) == []


def test_invalid_code_is_compared_by_its_words():
    broken = "def mean_of(batches:\n  eins zwei drei vier fuenf sechs sieben acht neun zehn"
    pairs = similar(desk.original, [handed_in("a", broken), handed_in("b", broken)])
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b")]


def test_a_notebook_that_cannot_be_read_is_left_out():
    unreadable = Submission("a", "a", None, "the file is empty")
    assert similar(desk.original, [unreadable, handed_in("b", COPIED)]) == []


def test_an_answer_without_its_id_is_compared():
    bare = copy.deepcopy(desk.with_answer(5, COPIED))
    for cell in bare.cells:
        if grade_id(cell):
            cell.metadata.pop("nbgrader")
    bare.cells.append(new_code_cell("1"))
    pairs = similar(desk.original, [handed_in("a", COPIED), Submission("b", "b", bare)])
    assert len(pairs) == 1


def test_a_class_of_copies_is_found():
    everybody = [handed_in(f"s{n}", COPIED) for n in range(24)]
    pairs = similar(desk.original, everybody, solution=desk.solution, least=0.7)
    assert len(pairs) == 24 * 23 / 2


def test_the_published_solution_does_not_count():
    everybody = [Submission(f"s{n}", "", desk.solution) for n in range(3)]
    assert similar(desk.original, everybody, solution=desk.solution) == []


def test_renamed_variables_are_the_same():
    renamed = COPIED
    for n, name in enumerate(("zwischensumme", "wieviele", "brocken")):
        renamed = renamed.replace(name, f"v{n}")
    others = [handed_in(name, answer) for name, answer in INDEPENDENT.items()]
    pairs = similar(
        desk.original, [handed_in("x", COPIED), handed_in("y", renamed), *others], least=0.9
    )
    assert ("x", "y") in [(pair.first, pair.second) for pair in pairs]
