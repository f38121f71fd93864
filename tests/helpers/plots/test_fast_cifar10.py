"""The titles of lesson 06's figures are computed from the data.

The records here are made up.
"""

import pytest
import torch

from helpers.plots import fast_cifar10 as plots
from helpers.records import Record


def fake_record(results):
    return Record("made-up device", "cuda", "9.9", "2000-01-01", results)


def airbench_record():
    runs = {
        name: [{"accuracy": accuracy, "seconds": seconds + i / 1000} for i in range(3)]
        for name, accuracy, seconds in [("airbench", 0.940, 2.0), ("course", 0.941, 1.0)]
    }
    return fake_record({"runs": runs})


def ablation_record():
    def row(name, *accuracy):
        return {"name": name, "accuracy": list(accuracy), "seconds": [2.0, 2.1, 1.9]}

    rows = [row("all techniques", 0.8, 0.81, 0.79), row("salt", 0.7, 0.71, 0.6), row("pepper", 0.8)]
    rows[2]["seconds"] = [1.0]
    return fake_record({"baseline": "all techniques", "rows": rows})


def time_limit_record():
    runs = [
        {"recipe": recipe, "time_limit": time_limit, "accuracy_six_views": accuracy}
        for recipe, time_limit, accuracy in [
            ("slow", "60", 0.5),
            ("quick", "60", 0.6),
            ("slow", "300", 0.72),
            ("quick", "300", 0.7),
        ]
    ]
    return fake_record({"recipes": ["slow", "quick"], "time_limits": ["60", "300"], "runs": runs})


FIGURES = [
    (lambda: plots.draw_filters(torch.randn(27, 3, 3, 3), [1.0] * 26 + [0.02]), "50 times more"),
    (
        lambda: plots.plot_singular_values(torch.tensor([4.0, 1.0]), torch.tensor([1.0, 0.9])),
        "50% before, 100% after",
    ),
    (lambda: plots.plot_learning_curve([1.0, 2.5], [0.3, 0.5]), "50.0% after 2.5 s of training"),
    (lambda: plots.plot_ablation(ablation_record()), "Largest loss: without salt, 10.0 points"),
    (lambda: plots.plot_accuracy_by_time_limit(time_limit_record()), "In 300 s: 72.0%, by slow"),
    (
        lambda: plots.plot_against_airbench(airbench_record()),
        "94.10% in 1.00 s, 0.50 of airbench's time",
    ),
]


def title(figure):
    return figure.get_suptitle() or figure.axes[0].get_title()


@pytest.mark.parametrize(("draw", "finding"), FIGURES)
def test_title_states_the_finding(draw, finding):
    assert finding in title(draw())


@pytest.mark.parametrize(("draw", "finding"), FIGURES[1:])
def test_every_x_axis_has_a_label(draw, finding):
    assert all(axis.get_xlabel() for axis in draw().axes)


@pytest.mark.parametrize("draw", [FIGURES[3][0], FIGURES[5][0], FIGURES[4][0]])
def test_recorded_figure_names_device_and_date(draw):
    figure = draw()
    shown = title(figure) + " ".join(text.get_text() for text in figure.texts)
    assert "made-up device, torch 9.9, recorded 2000-01-01" in shown
