"""The figures' alt text is exact for the small computer and marks measured numbers with ≈."""

import re

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from helpers.plots import hardware, small_computer
from helpers.small_computer import SmallComputer


@pytest.fixture
def alt_text_of():
    """Return a function that draws a figure and returns its plain text."""
    InteractiveShell.instance()

    def draw(plot, *args, **options) -> str:
        with capture_output() as captured:
            plot(*args, **options)
        (output,) = captured.outputs
        assert output.data["image/png"]
        return output.data["text/plain"]

    yield draw
    InteractiveShell.clear_instance()


def test_categories_alt_text_has_the_counts(alt_text_of, relu):
    cost = SmallComputer(relu, x=-3, y=7).run()
    alt = alt_text_of(small_computer.plot_categories, {"ReLU": cost}, title="t")
    assert "ReLU: 3 data movement, 1 arithmetic, 2 control flow" in alt


def test_cycles_alt_text_has_first_and_lowest(alt_text_of):
    alt = alt_text_of(
        small_computer.plot_cycles, [1, 2, 4], {"wide": [4000, 2000, 1000]}, title="t"
    )
    assert "from 4,000 cycles with 1 lane to 1,000 at the lowest" in alt


def test_lanes_alt_text_counts_active_steps(alt_text_of, relu_all):
    trace = SmallComputer(relu_all, lanes=2, x=[1, -1], y=[0, 0], n=2).trace()
    alt = alt_text_of(small_computer.plot_lanes, trace, title="t")
    assert f"2 lanes by {len(trace.steps)} steps" in alt
    assert f"lane 0: {len(trace.steps) - 1}, lane 1: {len(trace.steps)}" in alt


def without_measured_numbers(alt):
    return re.sub("\N{ALMOST EQUAL TO} [\\d.,]+", "MEASURED", alt)


def test_times_alt_text_differs_between_machines_only_in_measured_numbers(alt_text_of):
    first = alt_text_of(hardware.plot_times, {"CPU": 0.1, "lanes": 0.01}, title="t")
    times = {"CPU": 0.03, "lanes": 2e-3, "cuda:0 (some GPU)": 5e-6}
    second = alt_text_of(hardware.plot_times, times, title="t")
    assert "Slowest: CPU, \N{ALMOST EQUAL TO} 100 ms" in first
    assert without_measured_numbers(first) == without_measured_numbers(second)


def test_relu_alt_text_has_first_highest_and_last_speed(alt_text_of):
    alt = alt_text_of(hardware.plot_relu, [2**10, 2**11, 2**12], [1.0, 3.0, 2.0], title="t")
    for part in ("1.0 for the smallest tensor", "at most \N{ALMOST EQUAL TO} 3.0", "2.0 for the"):
        assert part in alt


def test_speeds_alt_text_differs_between_machines_only_in_measured_numbers(alt_text_of):
    first = alt_text_of(hardware.plot_speeds, [64, 128], {"CPU": [1.0, 2.0]}, title="t")
    speeds = {"CPU": [3.0, 4.0], "CPU, all": [5.0, 9.0], "cuda:0": [1.0, 9e4]}
    second = alt_text_of(hardware.plot_speeds, [64, 128], speeds, title="t")
    assert "at most \N{ALMOST EQUAL TO} 90,000" in second
    assert without_measured_numbers(first) == without_measured_numbers(second)
