"""Measurements warm up, wait for the device and alternate; small differences are not reported."""

import sys
import types

import pytest
import torch

from helpers import timing
from helpers.timing import Comparison, Measurement, Ratio, compare, format_duration, measure


def counted_function():
    """Return a function, and the list to which each call of it adds an element."""
    calls = []
    return lambda: calls.append("call"), calls


@pytest.fixture
def sleep(monkeypatch):
    """A clock for `helpers.timing`, and the function that advances it."""
    clock = [0.0]
    monkeypatch.setattr(timing, "time", types.SimpleNamespace(perf_counter=lambda: clock[0]))

    def advance(seconds):
        clock[0] += seconds

    return advance


def test_median_is_per_call(sleep):
    measurement = measure(lambda: sleep(0.002), runs=3, seconds=0.06)
    assert measurement.median == pytest.approx(0.002)


def test_slow_first_call_is_not_in_the_result(sleep):
    first = [True]

    def call():
        sleep(0.2 if first else 0.001)
        first.clear()

    assert max(measure(call, runs=3, seconds=0.01).seconds) == pytest.approx(0.001)


def test_functions_are_measured_alternately():
    order = []
    compare(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=4, seconds=1e-9
    )
    changes = [name for name, before in zip(order, [None, *order], strict=False) if name != before]
    assert changes == ["a", "b"] * 5  # one round to warm up and estimate, then 4 rounds


def test_slow_function_is_not_warmed_up_again_between_its_own_runs(sleep):
    calls = []

    def call():
        calls.append("call")
        sleep(1.0)

    measure(call, runs=3, seconds=0.1)
    assert len(calls) == 2 + 3


def test_each_run_after_another_function_is_warmed_up_by_two_calls(sleep):
    order = []

    def call(name):
        order.append(name)
        sleep(1.0)

    compare({"a": lambda: call("a"), "b": lambda: call("b")}, rounds=3, seconds=0.1)
    assert "".join(order) == "aabb" + 3 * "aaabbb"
    order.clear()
    variants = {"a": lambda: call("a"), "b": lambda: call("b")}
    compare(variants, rounds=3, seconds=0.1, warm_ups={"b": 0})
    assert "".join(order) == "aabb" + 3 * "aaab"


def test_number_of_threads_is_unchanged():
    before = torch.get_num_threads()
    thread_counts = set()
    torch.set_num_threads(2)
    try:
        measure(lambda: thread_counts.add(torch.get_num_threads()), runs=3, seconds=1e-9)
        assert thread_counts == {2} == {torch.get_num_threads()}
    finally:
        torch.set_num_threads(before)


def test_measure_synchronizes_the_accelerator(monkeypatch):
    devices = []
    monkeypatch.setattr(torch.accelerator, "synchronize", devices.append)
    call, _ = counted_function()
    measure(call, "mps", runs=3, seconds=1e-9)
    assert devices
    assert set(devices) == {torch.device("mps")}


def test_spread_is_the_interquartile_range():
    measurement = Measurement("x", (1.0, 2.0, 3.0, 4.0, 100.0), "cpu")
    assert measurement.median == 3.0
    assert measurement.quartiles == (2.0, 4.0)
    assert measurement.spread == 2.0


def test_ratio_is_computed_per_pair():
    measurements = {
        "base": Measurement("base", (2.0, 4.0, 8.0), "cpu"),
        "twice as fast": Measurement("twice as fast", (1.0, 2.0, 4.0), "cpu"),
    }
    assert Comparison(measurements).ratio("twice as fast").values == (2.0, 2.0, 2.0)


def test_difference_within_the_spread_is_not_reported():
    ratio = Ratio("new", "old", (0.9, 1.2, 1.05, 0.95, 1.1, 1.0, 1.15))
    assert not ratio.differs
    assert "no difference" in str(ratio)


@pytest.mark.parametrize("factor", [1.5, 0.5])
def test_difference_outside_the_spread_is_reported(factor):
    ratio = Ratio("new", "old", tuple(factor * x for x in (0.98, 1.0, 1.02, 1.01, 0.99, 1.0, 1.0)))
    assert ratio.differs
    assert f"{factor:.2f} times as fast" in str(ratio)


def test_three_rounds_must_agree_more_closely():
    # Quartiles of 3 values would call this a difference: the median is 1.2, the IQR 0.1.
    assert not Ratio("new", "old", (1.05, 1.2, 1.25)).differs


@pytest.mark.parametrize(("rounds", "differs"), [(7, False), (9, True)])
def test_few_rounds_differ_only_if_all_are_on_the_same_side(rounds, differs):
    values = (0.99, *(1.1 + i / 1000 for i in range(rounds - 1)))
    assert Ratio("new", "old", values).differs is differs


def test_large_ratio_differs_despite_its_spread():
    assert Ratio("new", "old", (2.1, 3.0, 3.5, 5.0, 6.0)).differs


def test_verdict_does_not_depend_on_the_order():
    generator = torch.Generator().manual_seed(1)
    for noise in torch.randn(500, 5, generator=generator, dtype=torch.float64):
        values = tuple((1.05 * (0.05 * noise).exp()).tolist())
        inverse = tuple(1 / value for value in values)
        assert Ratio("a", "b", values).differs == Ratio("b", "a", inverse).differs


@pytest.mark.parametrize("rounds", [3, 4, 5, 6, 7, 8, 9, 12])
def test_fewer_than_five_percent_of_equal_functions_are_reported_as_different(rounds):
    generator = torch.Generator().manual_seed(rounds)
    noise = 1 + 0.05 * torch.randn(2000, 2, rounds, generator=generator)
    ratios = (noise[:, 0] / noise[:, 1]).tolist()
    wrong = sum(Ratio("a", "b", tuple(values)).differs for values in ratios)
    assert wrong < 2000 / 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rounds": 2}, "at least 3, not 2"),
        ({"rounds": 3.5}, "integer"),
        ({"seconds": 0}, "above 0"),
        ({"seconds": float("nan")}, "above 0"),
    ],
)
def test_invalid_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare({"a": lambda: None}, **arguments)


def test_nothing_to_measure_is_refused():
    with pytest.raises(ValueError, match="nothing to measure"):
        compare({})


@pytest.fixture
def simulated_gpu(monkeypatch):
    """A module `simulated_cuda` that says that it simulates a GPU."""
    simulated = types.ModuleType("simulated_cuda")
    simulated.is_enabled = lambda: True
    monkeypatch.setitem(sys.modules, "simulated_cuda", simulated)


def test_the_simulated_gpu_is_refused_before_the_first_call(simulated_gpu):
    call, calls = counted_function()
    with pytest.raises(RuntimeError, match="cuda:0 is simulated"):
        measure(call, "cuda:0")
    assert not calls


def test_cpu_is_measured_while_a_gpu_is_simulated(simulated_gpu):
    call, calls = counted_function()
    measure(call, "cpu", runs=3, seconds=1e-9)
    assert calls


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.0, "2.00 s"), (0.0345, "34.5 ms"), (0.25, "250 ms"), (17e-6, "17.0 us"), (3e-8, "0.03 us")],
)
def test_format_duration_chooses_the_unit(seconds, text):
    assert format_duration(seconds) == text


def test_comparison_has_one_line_per_function():
    comparison = Comparison(
        {
            "old": Measurement("old", (0.002,) * 7, "cpu"),
            "new": Measurement("new", (0.001,) * 7, "cpu"),
        }
    )
    assert str(comparison).splitlines() == [
        "old: 2.00 ms (IQR 0.00 us, 7 runs)",
        "new: 2.00 times as fast (relative to old; median 2.00, quartiles 2.00 to 2.00, 7 rounds)",
    ]


def test_functions_with_different_amounts_of_work_are_compared_per_unit(sleep):
    variants = {"one image": lambda: sleep(0.002), "ten images": lambda: sleep(0.002)}
    comparison = compare(variants, rounds=3, seconds=0.01, units={"one image": 1, "ten images": 10})
    assert comparison["ten images"].median == pytest.approx(0.0002)
    assert comparison.ratio("ten images").median == pytest.approx(10)
