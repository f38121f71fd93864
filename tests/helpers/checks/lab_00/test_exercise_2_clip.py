"""Answers to lab 00, exercise 2: `clipped_relu`."""

from helpers.checks import lab_00
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_00.programs import add_programs

answers = Answers(lab_00.exercise_2)
PROGRAM = """
            LOAD  A, x
            LOAD  B, limit
            CMP   A, 0
            JNN   upper
            SET   A, 0
    upper:  CMP   B, A
            JNN   save
            SET   A, B
    save:   STORE A, y
            HALT
"""
SUBTRACTS = """
            LOAD  A, x
            LOAD  B, limit
            SET   C, A
            SUB   C, B
            JN    lower
            STORE B, y
            HALT
    lower:  ADD   A, 0
            JNN   save
            SET   A, 0
    save:   STORE A, y
            HALT
"""
MASKS_NEGATIVE_NUMBERS = """
            LOAD  A, x
            LOAD  B, limit
            SET   C, A
            SHR   C, 63
            NOT   C
            AND   A, C
            CMP   B, A
            JNN   save
            SET   A, B
    save:   STORE A, y
            HALT
"""
add_programs(
    answers,
    PROGRAM,
    [
        ("subtracts", None, SUBTRACTS),
        ("masks_negative_numbers", None, MASKS_NEGATIVE_NUMBERS),
        ("clips_the_lower_end_only", "not-at-the-limit", ("SET   A, B", "")),
        ("clips_the_upper_end_only", "not-at-zero", ("SET   A, 0", "")),
        ("uses_a_fixed_limit", "wrong-value", ("LOAD  B, limit", "SET   B, 6")),
        ("swaps_the_operands", "wrong-value", ("CMP   B, A", "CMP   A, B")),
        ("stores_zero_for_large_numbers", "wrong-value", ("SET   A, B", "SET   A, 0")),
        ("stores_nothing_for_negative_numbers", "nothing-stored", ("SET   A, 0", "HALT")),
        ("compares_with_memory", "cannot-be-read", ("CMP   B, A", "CMP   A, limit")),
        ("loops_forever", "never-halts", ("SET   A, 0", "back: JUMP back")),
        ("forgets_to_halt", "stops-early", ("HALT", "")),
    ],
)


@answers.wrong("not-a-program")
def returns_a_list_of_lines():
    return PROGRAM.splitlines()


@answers.wrong("not-written")
def leaves_the_stub():
    raise NotImplementedError("exercise 2: write clipped_relu")


test_answers = answers.make_test()
