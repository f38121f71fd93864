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
OWN = """def mean_of(batches):
    {a} = sum(b.sum() for b in batches)
    return ({a} / sum(b.numel() for b in batches)).item()"""


def handed_in(student, answer):
    return Submission(student, student, desk.with_answer(5, answer))


def test_a_copied_answer_is_found_and_ones_own_is_not():
    others = [handed_in(name, OWN.replace("{a}", f"total_{name}")) for name in "abcdefgh"]
    pairs = similar(
        desk.original, [handed_in("x", COPIED), handed_in("y", RENAMED), *others], least=0.7
    )
    assert [(pair.first, pair.second) for pair in pairs] == [("x", "y")]
    assert pairs[0].share == 1.0


def test_what_the_lab_gives_does_not_count():
    stubs = [Submission(name, name, desk.original) for name in "ab"]
    assert similar(desk.original, stubs) == []


def test_code_that_is_no_python_is_compared_by_its_words():
    broken = "def mean_of(batches:\n  eins zwei drei vier fuenf sechs sieben acht neun zehn"
    pairs = similar(desk.original, [handed_in("a", broken), handed_in("b", broken)])
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b")]


def test_a_notebook_that_cannot_be_read_is_left_out():
    unreadable = Submission("a", "a", None, "the file is empty")
    assert similar(desk.original, [unreadable, handed_in("b", COPIED)]) == []


def test_an_answer_that_lost_its_mark_is_compared_all_the_same():
    bare = copy.deepcopy(desk.with_answer(5, COPIED))
    for cell in bare.cells:
        if grade_id(cell):
            cell.metadata.pop("nbgrader")
    bare.cells.append(new_code_cell("1"))
    pairs = similar(desk.original, [handed_in("a", COPIED), Submission("b", "b", bare)])
    assert len(pairs) == 1
