"""A profile is converted to spans; busy time counts overlaps and nested operations once."""

import pytest
import torch
from torch.autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from helpers.traces import Span, busy_fraction, cpu_averages, spans_of


def test_spans_have_named_parts_and_operations_in_order():
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        with record_function("forward"):
            torch.ones(3).exp()
        with record_function("backward"):
            torch.ones(3).log()
    spans = spans_of(profiler)
    names = [span.name for span in spans]
    expected = ["forward", "aten::exp", "backward", "aten::log"]
    assert [name for name in names if name in expected] == expected
    assert {span.name: span.row for span in spans}["forward"] == "part"
    assert {span.name: span.row for span in spans}["aten::exp"] == "operation"
    assert spans[0].start == 0
    assert all(span.end >= span.start for span in spans)


def test_cpu_averages_drops_gpu_rows_with_the_same_name():
    def event(number, device_type):
        return FunctionEvent(
            number, "forward", thread=1, start_us=0, end_us=7, stack=[], device_type=device_type
        )

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        pass
    profiler.events().extend([event(1, DeviceType.CPU), event(2, DeviceType.CUDA)])
    assert len([row for row in profiler.key_averages() if row.key == "forward"]) == 2
    assert cpu_averages(profiler)["forward"].cpu_time_total == 7


def test_busy_fraction_counts_overlaps_once_and_clips_spans_to_the_interval():
    spans = [Span("operation", "a", *times) for times in ((-5, 2), (1, 4), (8, 20))]
    assert busy_fraction(spans, 0, 10) == pytest.approx(0.6)
    assert busy_fraction([], 0, 10) == 0
