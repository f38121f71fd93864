"""Answers to lab 00, exercise 3: `largest`."""

from helpers.checks import lab_00
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_00.programs import add_programs

answers = Answers(lab_00.exercise_3)
PROGRAM = """
            LOAD  B, n
            SET   I, 0
            LOAD  A, x[I]
    next:   ADD   I, 1
            CMP   I, B
            JZ    done
            LOAD  C, x[I]
            CMP   A, C
            JNN   next
            SET   A, C
            JUMP  next
    done:   STORE A, y
            HALT
"""
COUNTS_DOWN = """
            LOAD  I, n
            SUB   I, 1
            LOAD  A, x[I]
    next:   SUB   I, 1
            JN    done
            LOAD  C, x[I]
            CMP   C, A
            JN    next
            SET   A, C
            JUMP  next
    done:   STORE A, y
            HALT
"""
add_programs(
    answers,
    PROGRAM,
    [
        ("counts_down_from_the_end", None, COUNTS_DOWN),
        ("starts_with_a_very_small_number", "not-in-the-list",
         ("LOAD  A, x[I]", "SET A, -2147483648"), ("I, 0", "I, -1")),
        ("finds_the_smallest", "wrong-value", ("CMP   A, C", "CMP   C, A")),
        ("skips_the_last_number", "last-missed", ("JZ    done", "JZ done\nADD I, 1\nCMP I, B\n"
         "JZ done\nSUB I, 1")),
        ("starts_with_the_second_number", "wrong-value", ("SET   I, 0", "SET   I, 1")),
        ("returns_the_first", "wrong-value", ("JZ    done", "JUMP done")),
        ("keeps_the_candidate_in_the_list", "x-changed", ("STORE A, y", "STORE A, y\nSET I, 0\n"
         "STORE A, x[I]")),
        ("never_stores_the_largest", "nothing-stored", ("STORE A, y", "")),
        ("reads_beyond_the_end", "stops-early", ("JZ    done", ""), ("JNN   next", "JN    next")),
        ("forgets_to_increment_the_index", "never-halts", ("ADD   I, 1", "")),
        ("uses_a_number_as_index", "cannot-be-read", ("x[I]", "x[0]")),
    ],
)  # fmt: skip


@answers.wrong("not-a-program")
def returns_the_function():
    return max


test_answers = answers.make_test()
