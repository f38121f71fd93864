"""Answers to lab 00, exercise 3: `matrix_product`."""

from helpers.checks import lab_00
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_00.programs import add_programs

answers = Answers(lab_00.exercise_3)
PROGRAM = """
            LOAD  B, n
            LOAD  C, k
            LOAD  D, m
            SET   I, LANE
            DIV   I, B
            CMP   I, D
            JNN   done
            MUL   I, C
            SET   K, LANE
            MOD   K, B
    next:   LOAD  D, x[I]
            LOAD  E, w[K]
            MUL   D, E
            ADD   A, D
            ADD   I, 1
            ADD   K, B
            SUB   C, 1
            JNZ   next
            STORE A, y[LANE]
    done:   HALT
"""
# Goes on with the next cell that no lane has yet.
OVER_CELLS = (
    ("LOAD  B, n", "SET J, LANE\ncell: LOAD B, n\nSET A, 0"),
    ("I, LANE", "I, J"),
    ("K, LANE", "K, J"),
    ("STORE A, y[LANE]", "STORE A, y[J]\nADD J, LANES\nJUMP cell"),
)
add_programs(
    answers,
    PROGRAM,
    [
        ("finds_the_column_by_subtraction", None,
         ("MOD   K, B", "DIV K, B\nMUL K, B\nSET E, LANE\nSUB E, K\nSET K, E")),
        ("divides_in_a_loop", None, ("SET   K, LANE", ""), ("MOD   K, B", ""), ("I, L", "K, L"),
         ("DIV   I, B", "row: CMP K, B\nJN found\nSUB K, B\nADD I, 1\nJUMP row\nfound:")),
        ("tests_at_the_start_of_the_loop", None, ("next:", "next: SUB C, 1\nJN save\n"),
         ("SUB   C, 1\n", "JUMP next\n"), ("JNZ   next", ""), ("STORE", "save: STORE")),
        ("compares_the_lane_number", None, ("CMP   I, D", "MUL D, B\nCMP LANE, D")),
        ("works_on_any_number_of_lanes", None, *OVER_CELLS),
        ("computes_all_in_every_lane", "work-not-shared", *OVER_CELLS, ("J, LANE\n", "J, 0\n"),
         ("J, LANES", "J, 1")),
        ("computes_all_in_the_first_lane", "work-not-shared", *OVER_CELLS, ("J, LANES", "J, 1"),
         ("cell:", "CMP J, 0\nJNZ done\ncell:")),
        ("has_no_test_for_lanes_without_a_cell", "stops-early", ("JNN   done", "")),
        ("swaps_row_and_column", "stops-early", ("DIV   I", "MOD   I"), ("MOD   K", "DIV   K")),
        ("divides_by_the_rows", "stops-early", ("I, B", "I, D"), ("MOD   K, B", "MOD K, D")),
        ("has_one_cell_per_row", "cells-missing", ("DIV   I, B", "")),
        ("stores_every_cell_in_the_first", "cells-missing", ("y[LANE]", "y[J]")),
        ("stores_nothing", "cells-missing", ("STORE A, y[LANE]", "")),
        ("goes_down_the_columns", "wrong-order", ("SET   I, LANE", "SET I, LANE\nMOD I, D"),
         ("DIV   I, B", ""), ("MOD   K, B", "LOAD D, m\nDIV K, D")),
        ("starts_rows_at_their_number", "wrong-row", ("MUL   I, C", "")),
        ("takes_rows_of_the_result", "wrong-row", ("MUL   I, C", "MUL I, B")),
        ("walks_along_a_row_of_w", "wrong-column", ("ADD   K, B", "ADD   K, 1")),
        ("takes_w_for_transposed", "wrong-column", ("MOD   K, B", "MOD K, B\nMUL K, C"),
         ("ADD   K, B", "ADD   K, 1")),
        ("multiplies_once", "too-few-terms", ("JNZ   next", "")),
        ("leaves_out_the_last_product", "too-few-terms", ("next:", "next: SUB C, 1\nJZ save\n"),
         ("SUB   C, 1\n", "JUMP next\n"), ("JNZ   next", ""), ("STORE", "save: STORE")),
        ("fails_for_k_of_1", "wrong-cells", ("next:", "CMP C, 1\nJZ save\nnext:"),
         ("STORE", "save: STORE")),
        ("assumes_square_matrices", "wrong-cells", ("LOAD  C, k", "LOAD  C, n")),
        ("adds_instead_of_multiplying", "wrong-cells", ("MUL   D, E", "ADD D, E")),
        ("uses_mac", "cannot-be-read", ("MUL   D, E", ""), ("ADD   A, D", "MAC A, D, E")),
        ("never_counts", "never-halts", ("SUB   C, 1", "CMP A, 0"), ("ADD   I, 1", ""),
         ("ADD   K, B", "")),
    ],
)  # fmt: skip


@answers.wrong("not-a-program")
def returns_the_lines():
    return tuple(PROGRAM.splitlines())


test_answers = answers.make_test()
