"""Answers to lab 00, exercise 1: `absolute`."""

from helpers.checks import lab_00
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_00.programs import add_programs

answers = Answers(lab_00.exercise_1)
PROGRAM = """
            LOAD  A, x
            CMP   A, 0
            JNN   save
            MUL   A, -1
    save:   STORE A, y
            HALT
"""
SUBTRACTS_FROM_ZERO = """
            LOAD  A, x
            SET   B, 0
            SUB   B, A
            JN    save
            SET   A, B
    save:   STORE A, y
            HALT
"""
STORES_ON_ONE_PATH_ONLY = """
            LOAD  A, x
            CMP   A, 0
            JNN   done
            MUL   A, -1
            STORE A, y
    done:   HALT
"""
TWOS_COMPLEMENT = """
            LOAD  A, x
            CMP   A, 0
            JNN   save
            NOT   A
            ADD   A, 1
    save:   STORE A, y
            HALT
"""
add_programs(
    answers,
    PROGRAM,
    [
        ("subtracts_from_zero", None, SUBTRACTS_FROM_ZERO),
        ("flips_the_bits_and_adds_one", None, TWOS_COMPLEMENT),
        ("inverts_the_jump", "wrong-sign", ("JNN", "JN")),
        ("stores_x_itself", "wrong-sign", ("MUL   A, -1", "MUL   A, 1")),
        ("computes_relu", "wrong-value", ("MUL   A, -1", "SET   A, 0")),
        ("stores_on_one_path_only", "nothing-stored", STORES_ON_ONE_PATH_ONLY),
        ("stores_in_x", "x-changed", ("save:", "save: STORE A, x\n")),
        ("squares_x", "wrong-value", ("JNN   save", ""), ("A, -1", "A, A")),
        ("uses_an_unknown_instruction", "cannot-be-read", ("MUL   A, -1", "ABS   A")),
        ("forgets_to_halt", "stops-early", ("HALT", "")),
        ("loops_forever", "never-halts", ("MUL   A, -1", "again: JUMP again")),
    ],
)


@answers.wrong("not-a-program")
def returns_a_number():
    return 3


@answers.wrong("no-result")
def writes_only_a_docstring():
    """HALT"""


test_answers = answers.make_test()
