"""The small computer: instructions, errors, lanes and tables; lesson 00 shows traces."""

import numpy as np
import pytest
import torch

from helpers.small_computer import MachineError, ProgramError, SmallComputer
from helpers.tables import Table

RELU = """
        LOAD  A, x
        CMP   A, 0
        JNN   keep
        SET   A, 0
keep:   STORE A, y
        HALT
"""
RELU_ALL = """
        SET   I, LANE
        LOAD  D, n
next:   CMP   I, D
        JNN   done
        LOAD  A, x[I]
        CMP   A, 0
        JNN   keep
        SET   A, 0
keep:   STORE A, y[I]
        ADD   I, LANES
        JUMP  next
done:   HALT
"""
XS = [(7 * i) % 19 - 9 for i in range(100)]


def result(code: str, **data: float) -> float:
    """Return the value of register A after `code`."""
    computer = SmallComputer(f"{code}\nSTORE A, out\nHALT", special=["RELU", "MAC"], out=0, **data)
    computer.run()
    return computer["out"]


def run_relu(lanes: int, xs: list[int] = XS, **options) -> SmallComputer:
    computer = SmallComputer(RELU_ALL, lanes=lanes, x=xs, y=[7] * len(xs), n=len(xs), **options)
    computer.run()
    return computer


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("SET A, 7\nADD A, 2", 9),
        ("SET A, 7\nSUB A, 9", -2),
        ("SET A, 7\nMUL A, -2", -14),
        ("SET A, 7\nDIV A, 2", 3),
        ("SET A, 7\nMOD A, 4", 3),
        ("SET A, 7\nCMP A, 4", 7),
        ("SET A, 7\nSET B, 3\nMAC A, B, 4", 19),
        ("SET B, 6\nSET A, B", 6),
        ("SET A, 12\nAND A, 10", 8),
        ("SET A, 12\nOR A, 10", 14),
        ("SET A, 12\nXOR A, 10", 6),
        ("SET A, 5\nNOT A", -6),
        ("SET A, 3\nSHL A, 2", 12),
        ("SET A, -7\nSHR A, 1", -4),
        ("SET A, -7\nRELU A", 0),
        ("SET A, 5\nADD A, LANE\nADD A, LANES", 6),  # lane 0 of 1
        # Accepted spellings: lower case, comments, blank lines, spaces, a label on its own line.
        ("set A,-1.5 ; first\n\n  # a comment\nstart:\n  add   A ,.25", -1.25),
    ],
)
def test_instructions_compute_expected_result(code, expected):
    assert result(code) == expected


@pytest.mark.parametrize(
    ("jump", "jumping_values"),
    [("JN", {-1}), ("JNN", {0, 1}), ("JZ", {0}), ("JNZ", {-1, 1}), ("JUMP", {-1, 0, 1})],
)
def test_jump_depends_on_its_flag(jump, jumping_values):
    code = f"LOAD B, x\nCMP B, 0\n{jump} skip\nSET A, 5\nskip: ADD A, 1"
    assert {x for x in (-1, 0, 1) if result(code, x=x) == 1} == jumping_values


@pytest.mark.parametrize(
    ("program", "part"),
    [
        ("\n  # a comment\nSET A\n", "line 3: "),
        ("SET A, 1\nSTOER A, y\nHALT", "line 2: there is no instruction STOER."),
        ("SET A, 1_000\nHALT", "1_000 is not a register or a number"),
        ("RELU A\nHALT", "special=['RELU']"),
        ("LOAD A x\nHALT", "write LOAD register, address, with commas"),
        ("HALT A", "write HALT, with commas"),
        ("SET a, 1\nHALT", "The registers are the capital letters A, B"),
        ("ADD A, x\nHALT", "LOAD the memory cell into a register first"),
        ("SET LANE, 3\nHALT", "LANE is read-only"),
        ("LOAD A, z\nHALT", "The names are x, y."),
        ("LOAD A, x[i]\nHALT", "the index i is not a register. The registers are the capital"),
        ("LOAD A, x[2]\nHALT", "SET I, 2 and then x[I]"),
        ("first: JUMP 3\nlast: HALT", "Labels: first, last."),
        ("a: SET A, 1\na: HALT", "line 2: the label a is already defined"),
        ("JUMP done\ndone:", "no instruction follows the label done"),
        ("x: HALT", "x is a label: choose another name for the data"),
        ("  ; nothing but a comment\n", "the program is empty"),
        (5, "a program must be a string, not 5"),
    ],
)
def test_mistake_in_a_program_is_located_and_explained(program, part):
    with pytest.raises(ProgramError) as caught:
        SmallComputer(program, x=1, y=2)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("again: JUMP again", r"stopped after 1,000 .* cell 0, `JUMP again`"),
        ("SET A, 1", r"cell 1, which holds the number 1.*must end with HALT"),
        ("SET I, 3\nLOAD A, x[I]\nHALT", r"I = 3 .* x\[0\] to x\[2\]"),
        ("SET I, 0.5\nSTORE A, x[I]\nHALT", r"I = 0\.5 .* x\[0\] to x\[2\]"),
        ("SET A, 4\nDIV A, 0\nHALT", "`DIV A, 0` divides 4 by zero"),
        ("SET A, 3\nagain: MUL A, A\nJUMP again", "does not fit in a register of 64 bits"),
        ("SET A, 2.5\nAND A, 1\nHALT", r"works on the bits of integers, not on 2\.5"),
        ("SET A, 1\nSHL A, 100000000\nHALT", "use a count from 0 to 63"),
    ],
)
def test_program_that_cannot_continue_is_stopped_with_a_reason(program, message):
    with pytest.raises(MachineError, match=message):
        SmallComputer(program, x=[1, 2, 3]).run(limit=1000)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (TypeError, "x must be a number or a list of numbers", {"x": [1, "2"]}),
        (TypeError, "x must be a number or a list of numbers", {"x": True}),
        (ValueError, "lanes must be a positive integer", {"lanes": 0}),
        (ValueError, "memory_width must be a positive integer", {"memory_width": 1.5}),
        (ValueError, "RELU or MAC, not 'SOFTMAX'", {"special": ["SOFTMAX"]}),
        (ProgramError, "A is a register: choose another name", {"A": 1}),
    ],
)
def test_invalid_data_and_options_are_refused(error, message, options):
    with pytest.raises(error, match=message):
        SmallComputer("HALT", **options)


def test_stepping_and_running_end_in_the_same_state_until_reset():
    stepped, continuous = SmallComputer(RELU, x=-3, y=7), SmallComputer(RELU, x=-3, y=7)
    while not stepped.halted:
        stepped.step()
    continuous.run()
    assert repr(stepped) == repr(continuous)
    assert stepped.cost == continuous.cost
    with pytest.raises(MachineError, match=r"computer\.reset\(\)"):
        stepped.step()
    assert stepped.reset()["y"] == 7
    assert stepped.run().instructions == 6


def test_data_keep_their_form_except_that_a_matrix_becomes_a_list():
    computer = SmallComputer("HALT", x=torch.tensor([[1, 2], [3, 4]]), y=np.array([5]), z=6, t=(7,))
    assert [computer[name] for name in "xyzt"] == [[1, 2, 3, 4], [5], 6, [7]]
    with pytest.raises(KeyError, match=r"'w'; the names are .'x', 'y', 'z', 't'."):
        computer["w"]


def test_more_lanes_give_the_same_result_in_fewer_cycles_until_there_is_one_per_number():
    cycles = []
    for lanes in (1, 2, 3, 8, 16, 32, 64, 128):
        computer = run_relu(lanes)
        assert computer["y"] == [max(x, 0) for x in XS]
        cycles.append(computer.cost.cycles)
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[3] < cycles[0] / 7
    assert run_relu(200).cost.cycles == run_relu(100).cost.cycles
    # With 64 lanes, some have one number and others two.
    assert run_relu(64).cost.lanes_busy < run_relu(1).cost.lanes_busy == 1


def test_only_narrow_memory_with_different_cells_makes_lanes_wait():
    assert run_relu(32, memory_width=8).cost.cycles > 2 * run_relu(32).cost.cycles
    assert run_relu(8, memory_width=8).cost.cycles == run_relu(8).cost.cycles
    assert SmallComputer("LOAD A, n\nHALT", lanes=64, memory_width=1, n=3).run().cycles == 4 + 1


def test_computer_shows_program_and_data_in_one_memory_as_text_and_html():
    computer = SmallComputer(RELU, x=-3, y=7)
    rows = [line.split() for line in repr(computer).partition("memory")[2].splitlines()[2:]]
    assert rows[0] == [">", "0", "LOAD", "A,", "x"]
    assert rows[6:] == [["6", "x", "-3"], ["7", "y", "7"]]
    html = computer._repr_html_()
    assert all(row.split()[-1] in html for row in repr(computer).splitlines() if row.strip())


def test_long_data_and_many_lanes_are_truncated_with_a_count():
    shown = repr(SmallComputer("HALT", lanes=32, x=[0] * 1000))
    assert "x[7]" in shown
    assert "x[8]" not in shown
    assert "992 more cells of data" in shown
    assert "processor (24 more lanes)" in shown


def test_table_is_aligned_text_or_escaped_html_with_marked_rows():
    table = Table(("name", "n"), [("a", "1"), ("<b>def", "1,000")], marked=[1])
    assert repr(table) == "  name        n\n  a           1\n> <b>def  1,000"
    assert "&lt;b&gt;" in table._repr_html_()
    assert table._repr_html_().count("background") == 1
    assert repr(Table(("name", "n"), [])) == "name  n"
