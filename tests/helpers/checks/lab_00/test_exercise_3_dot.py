"""Answers to lab 00, exercise 3: `dot_product`."""

from helpers.checks import lab_00
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_00.programs import add_programs

answers = Answers(lab_00.exercise_3)
PROGRAM = """
            LOAD  B, n
            SET   A, 0
            SET   I, LANE
    next:   CMP   I, B
            JNN   done
            LOAD  C, x[I]
            LOAD  D, w[I]
            MUL   C, D
            ADD   A, C
            ADD   I, LANES
            JUMP  next
    done:   STORE A, part[LANE]
            HALT
"""
WITH_BLOCKS = """
            LOAD  B, n
            SET   E, B
            ADD   E, LANES
            SUB   E, 1
            DIV   E, LANES
            SET   I, LANE
            MUL   I, E
            ADD   E, I
            SET   A, 0
    next:   CMP   I, B
            JNN   done
            CMP   I, E
            JNN   done
            LOAD  C, x[I]
            LOAD  D, w[I]
            MUL   C, D
            ADD   A, C
            ADD   I, 1
            JUMP  next
    done:   STORE A, part[LANE]
            HALT
"""
REST_IN_THE_LAST_LANE = """
            LOAD  B, n
            SET   E, B
            DIV   E, LANES
            SET   I, LANE
            MUL   I, E
            ADD   E, I
            SET   J, LANES
            SUB   J, 1
            CMP   LANE, J
            JNZ   start
            SET   E, B
    start:  SET   A, 0
    next:   CMP   I, E
            JNN   done
            LOAD  C, x[I]
            LOAD  D, w[I]
            MUL   C, D
            ADD   A, C
            ADD   I, 1
            JUMP  next
    done:   STORE A, part[LANE]
            HALT
"""
add_programs(
    answers,
    PROGRAM,
    [
        ("with_blocks", None, WITH_BLOCKS),
        ("computes_all_in_every_lane", "every-lane-does-all", ("I, LANES", "I, 1"),
         ("I, LANE", "I, 0")),
        ("computes_the_rest_from_its_lane", "wrong-sum", ("I, LANES", "I, 1")),
        ("computes_one_product_per_lane", "wrong-sum", ("JUMP  next", "")),
        ("assumes_four_lanes", "wrong-sum", ("I, LANES", "I, 4")),
        ("stores_every_sum_in_the_first_cell", "one-part", ("STORE A, part[LANE]",
         "SET J, 0\nSTORE A, part[J]")),
        ("stores_nothing_in_idle_lanes", "parts-missing", ("next:", "CMP I, B\nJNN stop\nnext:"),
         ("HALT", "stop: HALT")),
        ("stores_nothing", "parts-missing", ("STORE A, part[LANE]", "")),
        ("computes_in_the_first_lane_only", "work-not-shared", ("I, LANES", "I, 1"),
         ("next:", "CMP I, 0\nJNZ done\nnext:")),
        ("leaves_the_rest_to_the_last_lane", "work-not-shared", REST_IN_THE_LAST_LANE),
        ("compares_the_lane_number", None, ("next:", "CMP LANE, B\nJNN done\nnext:")),
        ("adds_to_the_lane_number", "cannot-be-read", ("ADD   I, LANES", "ADD   LANE, I")),
        ("reads_beyond_the_list", "stops-early", ("JNN   done", "")),
        ("never_increments_the_index", "never-halts", ("ADD   I, LANES", "")),
    ],
)  # fmt: skip


@answers.wrong("not-a-program")
def returns_the_lines():
    return tuple(PROGRAM.splitlines())


test_answers = answers.make_test()
