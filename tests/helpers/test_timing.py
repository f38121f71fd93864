"""Measurements warm up, wait for the device and alternate; small differences are not reported."""

import types

import pytest
import torch

import simulated_cuda
from helpers import timing
from helpers.timing import Comparison, Measurement, Ratio, compare, format_duration, measure


@pytest.fixture
def sleep(monkeypatch):
    """A clock for `helpers.timing`, and the function that advances it."""
    clock = [0.0]
    monkeypatch.setattr(timing, "time", types.SimpleNamespace(perf_counter=lambda: clock[0]))

    def advance(seconds):
        clock[0] += seconds

    return advance


def test_result_is_per_call_without_the_slow_first_call(sleep):
    first = [True]

    def call():
        sleep(0.2 if first else 0.001)
        first.clear()

    assert max(measure(call, runs=3, seconds=0.01).values) == pytest.approx(0.001)


def test_each_run_after_another_function_is_warmed_up_by_two_calls(sleep):
    order = []

    def call(name):
        order.append(name)
        sleep(1.0)

    variants = {"a": lambda: call("a"), "b": lambda: call("b")}
    compare(variants, rounds=3, seconds=0.1)
    assert "".join(order) == "aabb" + 3 * "aaabbb"
    order.clear()
    compare(variants, rounds=3, seconds=0.1, warm_ups={"b": 0})
    assert "".join(order) == "aabb" + 3 * "aaab"


@pytest.mark.parametrize("rounds", [3, 4, 7, 12])
def test_fewer_than_five_percent_of_equal_functions_are_reported_as_different(rounds):
    generator = torch.Generator().manual_seed(rounds)
    noise = 1 + 0.05 * torch.randn(2000, 2, rounds, generator=generator)
    ratios = (noise[:, 0] / noise[:, 1]).tolist()
    wrong = sum(Ratio("a", "b", tuple(values)).differs for values in ratios)
    assert wrong < 2000 / 20


def test_fewer_than_three_rounds_are_refused():
    with pytest.raises(ValueError, match="at least 3, not 2"):
        measure(lambda: None, runs=2)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.0, "2.00 s"), (0.0345, "34.5 ms"), (0.25, "250 ms"), (17e-6, "17.0 us"), (3e-8, "0.03 us")],
)
def test_format_duration_chooses_the_unit(seconds, text):
    assert format_duration(seconds) == text


def test_comparison_has_one_line_per_function():
    seconds = {"old": 0.002, "new": 0.001}
    measurements = {name: Measurement(name, (s,) * 7, "cpu") for name, s in seconds.items()}
    assert str(Comparison(measurements)).splitlines() == [
        "old: 2.00 ms (IQR 0.00 us, 7 runs)",
        "new: 2.00 times as fast (relative to old; median 2.00, quartiles 2.00 to 2.00, 7 rounds)",
    ]


def test_functions_with_different_amounts_of_work_are_compared_per_unit(sleep):
    variants = {"one image": lambda: sleep(0.002), "ten images": lambda: sleep(0.002)}
    comparison = compare(variants, rounds=3, seconds=0.01, units={"one image": 1, "ten images": 10})
    assert comparison["ten images"].median == pytest.approx(0.0002)
    assert comparison.ratio("ten images").median == pytest.approx(10)


@pytest.mark.parametrize(
    ("values", "differs"),
    [
        ((0.9, 1.2, 1.05, 0.95, 1.1, 1.0, 1.15), False),  # within the spread
        ((1.47, 1.5, 1.53, 1.515, 1.485, 1.5, 1.5), True),
        ((0.49, 0.5, 0.51, 0.505, 0.495, 0.5, 0.5), True),
        ((2.1, 3.0, 3.5, 5.0, 6.0), True),  # large despite its spread
        ((1.05, 1.2, 1.25), False),  # quartiles of 3 values would call this a difference
        ((0.99, *(1.1 + i / 1000 for i in range(6))), False),  # few rounds, on both sides of 1
        ((0.99, *(1.1 + i / 1000 for i in range(8))), True),
    ],
)
def test_only_a_difference_larger_than_the_spread_is_reported(values, differs):
    ratio = Ratio("new", "old", values)
    assert ratio.differs is differs
    assert ("no difference" in str(ratio)) != differs


def test_measure_synchronizes_the_accelerator(monkeypatch):
    devices = []
    monkeypatch.setattr(torch.accelerator, "synchronize", devices.append)
    measure(lambda: None, "mps", runs=3, seconds=1e-9)
    assert set(devices) == {torch.device("mps")}


def test_the_simulated_gpu_is_refused_before_the_first_call_and_the_cpu_is_not():
    calls = []
    with simulated_cuda.simulated(over_real=True):
        with pytest.raises(RuntimeError, match="cuda:0 is simulated"):
            measure(lambda: calls.append("call"), "cuda:0")
        assert not calls
        measure(lambda: calls.append("call"), "cpu", runs=3, seconds=1e-9)
    assert calls
