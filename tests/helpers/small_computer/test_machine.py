"""Effect and cost of instructions on one lane, and the errors of a running program."""

import numpy as np
import pytest
import torch

from helpers.small_computer import INSTRUCTION_SET, MachineError, SmallComputer
from helpers.small_computer.instruction_set import CATEGORIES


def result(code: str, **data: float) -> float:
    """Return the value of register A after `code`."""
    computer = SmallComputer(f"{code}\nSTORE A, out\nHALT", special=["RELU", "MAC"], out=0, **data)
    computer.run()
    return computer["out"]


@pytest.mark.parametrize(("x", "y"), [(-3, 0), (0, 0), (5, 5), (-0.5, 0), (2.5, 2.5)])
def test_relu_gives_the_same_result_with_and_without_its_instruction(relu, x, y):
    special = SmallComputer("LOAD A, x\nRELU A\nSTORE A, y\nHALT", special=["RELU"], x=x, y=7)
    plain = SmallComputer(relu, x=x, y=7)
    special.run()
    plain.run()
    assert special["y"] == plain["y"] == y


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
    taken = {x for x in (-1, 0, 1) if result(code, x=x) == 1}
    assert taken == jumping_values


@pytest.mark.parametrize(("x", "instructions", "cycles"), [(-3, 6, 12), (5, 5, 11)])
def test_run_counts_instructions_and_cycles(relu, x, instructions, cycles):
    cost = SmallComputer(relu, x=x, y=0).run()
    assert (cost.instructions, cost.cycles) == (instructions, cycles)
    assert sum(cost.by_category.values()) == instructions


def test_cost_counts_instructions_by_category(relu):
    cost = SmallComputer(relu, x=-3, y=0).run()
    assert cost.by_category == {"data movement": 3, "arithmetic": 1, "control flow": 2}


def test_program_and_data_share_one_memory(relu):
    memory = repr(SmallComputer(relu, x=-3, y=7)).partition("memory")[2]
    rows = [line.split() for line in memory.splitlines()[2:]]
    assert rows[0] == [">", "0", "LOAD", "A,", "x"]
    assert rows[6:] == [["6", "x", "-3"], ["7", "y", "7"]]


def test_stepping_and_running_end_in_the_same_state(relu):
    stepped, continuous = SmallComputer(relu, x=-3, y=7), SmallComputer(relu, x=-3, y=7)
    while not stepped.halted:
        stepped.step()
    continuous.run()
    assert repr(stepped) == repr(continuous)
    assert stepped.cost == continuous.cost


def test_trace_shows_the_effect_of_each_step(relu):
    trace = SmallComputer(relu, x=-3, y=7).trace()
    assert [step.effect for step in trace.steps] == [
        "A becomes -3",
        "-3 - 0 is -3",
        "N is 1: no jump",
        "A becomes 0",
        "y becomes 0",
        "the computer stops",
    ]
    assert [step.flags for step in trace.steps[:2]] == [(0, 0), (1, 0)]


def test_taken_jump_names_its_target_cell(relu):
    assert SmallComputer(relu, x=5, y=7).trace().steps[2].effect == "N is 0: jump to cell 4"


def test_reset_restores_the_initial_state(relu):
    computer = SmallComputer(relu, x=-3, y=7)
    computer.run()
    assert computer.reset()["y"] == 7
    assert computer.run().instructions == 6


def test_step_of_a_halted_computer_suggests_reset(relu):
    computer = SmallComputer(relu, x=-3, y=7)
    computer.run()
    with pytest.raises(MachineError, match=r"computer\.reset\(\)"):
        computer.step()


def test_endless_loop_is_stopped_and_located():
    with pytest.raises(MachineError, match=r"stopped after 1,000 .* cell 0, `JUMP again`"):
        SmallComputer("again: JUMP again").run(limit=1000)


def test_program_may_use_its_whole_limit(relu):
    assert SmallComputer(relu, x=-3, y=7).run(limit=6).instructions == 6


def test_running_into_the_data_suggests_halt():
    with pytest.raises(MachineError, match=r"cell 1, which holds the number 3.*must end with HALT"):
        SmallComputer("SET A, 1", x=3).run()


def test_running_past_the_end_of_memory_suggests_halt():
    with pytest.raises(
        MachineError, match=r"cell 1, which is beyond the end of memory.*must end with HALT"
    ):
        SmallComputer("SET A, 1").run()


@pytest.mark.parametrize("index", [3, -1, 0.5])
def test_index_out_of_range_names_the_valid_cells(index):
    with pytest.raises(MachineError, match=rf"I = {index} .* x\[0\] to x\[2\]"):
        SmallComputer(f"SET I, {index}\nLOAD A, x[I]\nHALT", x=[1, 2, 3]).run()


@pytest.mark.parametrize("code", ["DIV A, 0", "MOD A, B"])
def test_division_by_zero_is_reported(code):
    with pytest.raises(MachineError, match="by zero"):
        SmallComputer(f"SET A, 4\n{code}\nHALT").run()


def test_overflow_stops_the_program():
    with pytest.raises(MachineError, match="does not fit in a register of 64 bits"):
        SmallComputer("SET A, 3\nagain: MUL A, A\nJUMP again").run()


@pytest.mark.parametrize(
    "values", [[1, -2, 3], (1, -2, 3), torch.tensor([1, -2, 3]), np.array([1, -2, 3])]
)
def test_accepts_data_as_list_tuple_tensor_or_array(relu_all, values):
    computer = SmallComputer(relu_all, x=values, y=[0, 0, 0], n=3)
    computer.run()
    assert computer["y"] == [1, 0, 3]


def test_matrix_is_stored_row_by_row():
    assert SmallComputer("HALT", x=torch.tensor([[1, 2], [3, 4]]))["x"] == [1, 2, 3, 4]


def test_list_of_one_number_stays_a_list():
    assert SmallComputer("HALT", x=[5])["x"] == [5]


@pytest.mark.parametrize("value", ["3", None, [], [1, "2"], True])
def test_rejects_data_that_are_not_numbers(value):
    with pytest.raises(TypeError, match="x must be a number or a list of numbers"):
        SmallComputer("HALT", x=value)


@pytest.mark.parametrize("options", [{"lanes": 0}, {"lanes": 1.5}, {"memory_width": 0}])
def test_rejects_invalid_options(options):
    with pytest.raises(ValueError, match="must be a positive integer"):
        SmallComputer("HALT", **options)


def test_rejects_unknown_special_instruction():
    with pytest.raises(ValueError, match="RELU or MAC, not 'SOFTMAX'"):
        SmallComputer("HALT", special=["SOFTMAX"])


def test_unknown_data_name_lists_the_known_names():
    with pytest.raises(KeyError, match=r"'z'; the names are .'x'."):
        SmallComputer("HALT", x=1)["z"]


def test_instruction_set_lists_every_instruction_by_category():
    categories = [row[0] for row in INSTRUCTION_SET.rows]
    assert len(INSTRUCTION_SET.rows) == 24
    assert list(dict.fromkeys(categories)) == list(CATEGORIES)
    assert categories == sorted(categories, key=CATEGORIES.index)


@pytest.mark.parametrize("code", ["AND A, 1", "NOT A", "SHL A, 1"])
def test_logic_rejects_fractions(code):
    with pytest.raises(MachineError, match=r"works on the bits of integers, not on 2\.5"):
        SmallComputer(f"SET A, 2.5\n{code}\nHALT").run()


@pytest.mark.parametrize("count", [-1, 64, 100_000_000])
def test_shift_beyond_the_register_is_rejected(count):
    with pytest.raises(MachineError, match="use a count from 0 to 63"):
        SmallComputer(f"SET A, 1\nSHL A, {count}\nHALT").run()


def test_out_shows_numbers_on_the_screen():
    computer = SmallComputer("SET A, 3\nOUT A\nADD A, 1\nOUT A\nHALT")
    trace = computer.trace()
    assert computer.output == [3, 4]
    assert trace.steps[1].effect == "the screen shows 3"
    assert "screen           3 4" in repr(computer)
    assert computer.reset().output == []


def test_arithmetic_logic_and_special_instructions_set_the_flags():
    trace = SmallComputer("SET A, -3\nRELU A\nSUB A, 1\nAND A, 0\nHALT", special="RELU").trace()
    assert [step.flags for step in trace.steps[:4]] == [(0, 0), (0, 1), (1, 0), (0, 1)]
