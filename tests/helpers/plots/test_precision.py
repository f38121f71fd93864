"""The titles of lesson 08's figures are computed from the data."""

import math

import torch

from helpers.plots import precision, profiles
from helpers.traces import Span


def test_draw_bit_fields_draws_one_square_per_bit():
    figure = precision.draw_bit_fields({"fp16": (5, 10), "bf16": (8, 7)})
    assert len(figure.axes[0].patches) == 32


def test_title_of_gradient_sizes_states_fraction_that_becomes_zero():
    values = torch.tensor([0.0, 2.0**-30, 2.0**-26, 2.0**-24, 1.0])
    figure = precision.plot_gradient_sizes({"a network": values, "another": torch.ones(3)})
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[0] == "a network: 50% of the nonzero values become 0 in fp16"
    assert titles[1] == "another: 0% of the nonzero values become 0 in fp16"
    nonzero = values[values != 0]
    assert (nonzero.half() == 0).float().mean() == 0.5


def test_title_of_scale_errors_compares_no_scale_with_the_best():
    errors = {"new": [0.5, 0.02, 0.01, 0.01], "trained": [1.0, 0.3, 0.05, math.inf]}
    figure = precision.plot_scale_errors(errors, [-4, 0, 4, 8])
    title = figure.axes[0].get_title()
    assert title == "Trained: error 30.0% without a scale, 5.0% with the best one"
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert legend == ["new", "trained", "trained: first overflow"]


SPANS = [
    Span("part", "forward", 0, 40),
    Span("operation", "aten::conv2d", 0, 20),
    Span("operation", "aten::convolution", 1, 19),
    Span("part", "backward", 40, 100),
    Span("operation", "aten::mm", 50, 90),
]


def test_timeline_title_counts_outermost_operations_and_busy_time():
    figure = profiles.draw_timeline(SPANS)
    title = figure.axes[0].get_title()
    assert title == "One step, 2 operations: operations keep the CPU busy for 60% of the time"
    assert len(figure.axes[0].get_yticks()) == 2


def test_title_of_timeline_with_kernels_states_utilization_of_gpu():
    figure = profiles.draw_timeline([*SPANS, Span("kernel", "gemm", 30, 55)])
    assert figure.axes[0].get_title() == "One step, 1 kernels: the GPU is busy for 25% of the time"
    assert len(figure.axes[0].get_yticks()) == 3


def test_timeline_includes_kernels_after_the_last_launch():
    figure = profiles.draw_timeline([*SPANS, Span("kernel", "gemm", 100, 200)])
    assert figure.axes[0].get_title() == "One step, 1 kernels: the GPU is busy for 50% of the time"


def test_timeline_names_short_parts_in_a_legend():
    figure = profiles.draw_timeline([*SPANS, Span("part", "optimizer", 100, 105)])
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["optimizer"]
    assert not profiles.draw_timeline(SPANS).legends


def test_titles_of_queue_state_utilization_of_each_program():
    figure = profiles.draw_queue(
        {"small": [(0, 5, 5, 7), (5, 10, 10, 12)], "large": [(0, 5, 5, 20)]}
    )
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[0] == "small: the GPU is busy for 33% of the time"
    assert titles[1] == "large: the GPU is busy for 75% of the time"


def test_loop_parts_title_compares_slowest_with_fastest():
    figure = profiles.plot_loop_parts(
        {"loop A": {"data": 1.0, "log": 1.0}, "loop B": {"data": 5.0}}
    )
    assert figure.axes[0].get_title() == "A step of loop B takes 2.5 times as long as loop A"
