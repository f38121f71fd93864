"""Answers to lab 00, exercise 1: `relu_without_jumps`."""

from helpers.checks import lab_00
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_00.programs import add_programs

answers = Answers(lab_00.exercise_1)
PROGRAM = """
            LOAD  A, x
            SET   B, A
            SHR   B, 63
            NOT   B
            AND   A, B
            STORE A, y
            HALT
"""
MULTIPLIES = """
            LOAD  A, x
            SET   B, A
            SHR   B, 32
            ADD   B, 1
            MUL   A, B
            STORE A, y
            HALT
"""
HALF_THE_SUM = """
            LOAD  A, x      ; (x + |x|) / 2, with |x| = (x XOR sign) - sign
            LOAD  B, x
            LOAD  C, x
            SHR   B, 40
            XOR   A, B
            SUB   A, B
            ADD   A, C
            DIV   A, 2
            STORE A, y
            HALT
"""
LESSON = """
            LOAD  A, x
            CMP   A, 0
            JNN   keep
            SET   A, 0
    keep:   STORE A, y
            HALT
"""
add_programs(
    answers,
    PROGRAM,
    [
        ("multiplies_by_one_or_zero", None, MULTIPLIES),
        ("adds_the_absolute_value", None, HALF_THE_SUM),
        ("copies_the_lesson", "jumps", LESSON),
        ("forgets_to_invert", "other-half", ("NOT   B", "")),
        ("subtracts_instead_of_masking", "wrong-value", ("AND   A, B", "SUB   A, B")),
        ("stores_x", "negative-left", ("AND   A, B", "")),
        ("shifts_by_31", "wrong-value", ("63", "31"), ("SHR", "SHL")),
        ("shifts_by_seven", "wrong-value", ("63", "7")),
        ("shifts_by_too_many", "stops-early", ("63", "64")),
        ("stores_in_x_too", "x-changed", ("STORE A, y", "STORE A, y\nSTORE A, x")),
        ("stores_nothing", "nothing-stored", ("STORE A, y", "")),
        ("uses_relu", "cannot-be-read", ("NOT   B", "RELU  A")),
        ("loops_forever", "never-halts", ("NOT   B", "again: JUMP again")),
    ],
)


@answers.wrong("not-a-program")
def returns_a_number():
    return 3


@answers.wrong("no-result")
def writes_only_a_docstring():
    """HALT"""


test_answers = answers.make_test()
