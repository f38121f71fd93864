"""The bars, areas and alternative texts of the memory figures match the data."""

import pytest
from matplotlib.figure import Figure

from helpers.memory import Sample
from helpers.plots import memory as figures

MIB = 2**20


@pytest.fixture
def shown_figures(monkeypatch):
    """The figures shown so far, with their alternative texts."""
    calls: list[tuple[Figure, str]] = []
    monkeypatch.setattr(figures, "show", lambda figure, alt: calls.append((figure, alt)))
    return calls


def test_parts_are_stacked(shown_figures):
    parts = {
        "SGD": {"weights": MIB, "gradients": MIB, "states": 0},
        "Adam": {"weights": MIB, "gradients": MIB, "states": 2 * MIB},
    }
    figures.plot_parts(parts, title="a finding")
    ((figure, alt),) = shown_figures
    ends = [bar.get_x() + bar.get_width() for bar in figure.axes[0].patches]
    assert ends == [1, 2, 2, 1, 2, 4]
    assert alt.endswith("SGD: weights, gradients; Adam: weights, gradients, states.")


def test_timeline_has_an_area_for_each_phase(shown_figures):
    samples = [Sample("forward", MIB), Sample("forward", 3 * MIB), Sample("backward", 2 * MIB)]
    figures.plot_timeline(samples, title="a finding")
    figure, _ = shown_figures[0]
    assert list(figure.axes[0].lines[0].get_ydata()) == [1, 3, 2]
    assert [text.get_text() for text in figure.axes[0].texts] == ["forward", "backward"]


def test_layers_are_drawn_in_order(shown_figures):
    figures.plot_layers({"first": MIB, "second": 4 * MIB}, title="a finding")
    figure, alt = shown_figures[0]
    assert [bar.get_width() for bar in figure.axes[0].patches] == [1, 4]
    assert alt.endswith("The long ones: second.")


def test_variants_that_run_out_of_memory_are_marked(shown_figures):
    figures.plot_against_limit({"as it is": None, "half": 3 * MIB}, 4 * MIB, title="a finding")
    figure, alt = shown_figures[0]
    assert "out of memory" in [text.get_text() for text in figure.axes[0].texts]
    assert alt.endswith("Within the limit: half. Too much: as it is.")


def test_blocks_are_drawn_at_their_addresses(shown_figures):
    blocks = [
        {"address": 100 * MIB, "size": 5 * MIB, "state": "active_allocated"},
        {"address": 105 * MIB, "size": 15 * MIB, "state": "inactive"},
    ]
    segment = {"segment_type": "large", "address": 100 * MIB, "blocks": blocks}
    figures.draw_segments([segment, {"segment_type": "small"}], title="a finding")
    figure, _ = shown_figures[0]
    bars = [(bar.get_x(), bar.get_width()) for bar in figure.axes[0].patches]
    assert bars == [(0, 5), (5, 15)]
