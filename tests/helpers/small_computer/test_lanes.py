"""Several lanes give the same results in fewer cycles; divergence and narrow memory cost time."""

import random

import pytest

from helpers.small_computer import SmallComputer

XS = [(7 * i) % 19 - 9 for i in range(100)]
HALVINGS = """
        LOAD  A, x[LANE]
again:  CMP   A, 2
        JN    done
        DIV   A, 2
        ADD   C, 1
        JUMP  again
done:   STORE C, y[LANE]
        HALT
"""


def run_relu(program: str, lanes: int, xs: list[int] | None = None, **options) -> SmallComputer:
    xs = XS if xs is None else xs
    computer = SmallComputer(program, lanes=lanes, x=xs, y=[7] * len(xs), n=len(xs), **options)
    computer.run()
    return computer


@pytest.mark.parametrize("lanes", [1, 2, 3, 7, 8, 64, 100, 128])
def test_every_number_of_lanes_gives_the_same_result(relu_all, lanes):
    assert run_relu(relu_all, lanes)["y"] == [max(x, 0) for x in XS]


def test_more_lanes_never_take_more_cycles(relu_all):
    cycles = [run_relu(relu_all, lanes).cost.cycles for lanes in (1, 2, 4, 8, 16, 32, 64, 128)]
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[3] < cycles[0] / 7


def test_more_lanes_than_numbers_gain_nothing(relu_all):
    assert run_relu(relu_all, 200).cost.cycles == run_relu(relu_all, 100).cost.cycles


def test_divergent_lanes_wait_for_each_other(relu_all):
    trace = SmallComputer(relu_all, lanes=4, x=[3, -1, 4, -5], y=[0] * 4, n=4).trace()
    active = {step.instruction: step.active for step in trace.steps}
    assert active["SET A, 0"] == (False, True, False, True)
    assert active["STORE A, y[I]"] == (True, True, True, True)


def test_path_that_no_lane_takes_is_skipped(relu_all):
    uniform = run_relu(relu_all, 4, xs=[1, 2, 3, 4]).cost.instructions
    assert uniform == run_relu(relu_all, 4, xs=[1, -2, 3, 4]).cost.instructions - 1


def test_slowest_lane_determines_the_time():
    single_lane = SmallComputer(HALVINGS, x=[1000], y=[0]).run()
    eight_lanes = SmallComputer(HALVINGS, lanes=8, x=[1, 1, 2, 1, 3, 1, 1000, 1], y=[0] * 8)
    assert eight_lanes.run().instructions == single_lane.instructions
    assert eight_lanes["y"] == [0, 0, 1, 0, 1, 0, 9, 0]
    assert eight_lanes.cost.lanes_busy < 0.3


def test_lanes_reconverge_after_a_loop_for_random_data():
    values = random.Random(0).choices(range(5000), k=32)
    computer = SmallComputer(HALVINGS, lanes=32, x=values, y=[0] * 32)
    trace = computer.trace()
    assert computer["y"] == [max(value, 1).bit_length() - 1 for value in values]
    assert all(trace.steps[-1].active)


def test_narrow_memory_makes_lanes_wait(relu_all):
    wide = run_relu(relu_all, 32).cost.cycles
    narrow = run_relu(relu_all, 32, memory_width=8).cost.cycles
    assert narrow > 2 * wide


def test_memory_as_wide_as_the_lanes_costs_nothing(relu_all):
    limited = run_relu(relu_all, 8, memory_width=8).cost.cycles
    assert limited == run_relu(relu_all, 8).cost.cycles


def test_lanes_that_read_one_cell_share_one_access():
    cost = SmallComputer("LOAD A, n\nHALT", lanes=64, memory_width=1, n=3).run()
    assert cost.cycles == 4 + 1


def test_last_lane_wins_when_all_store_to_one_cell():
    computer = SmallComputer("SET A, LANE\nSTORE A, y\nHALT", lanes=5, y=0)
    computer.run()
    assert computer["y"] == 4


def test_single_lane_is_lane_0_of_1():
    computer = SmallComputer("SET A, LANE\nSET B, LANES\nSTORE A, x\nSTORE B, y\nHALT", x=9, y=9)
    computer.run()
    assert (computer["x"], computer["y"]) == (0, 1)
