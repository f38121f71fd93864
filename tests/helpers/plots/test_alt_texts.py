"""Alternative texts of figures: what the lessons' stored outputs, which nbval compares, lack."""

from functools import partial
from pathlib import Path

import pytest

from helpers.devices import TensorTable
from helpers.plots import devices, hardware, memory, shapes

MIB = 2**20
SEGMENT = {
    "segment_type": "large",
    "address": 100 * MIB,
    "blocks": [{"address": 100 * MIB, "size": 5 * MIB, "state": "inactive"}],
}
FIGURES = [
    (partial(devices.plot_bytes, xlabel="bytes"), {"once": 0}, "once 0.0 MB"),
    (devices.plot_stages, {"empty": TensorTable([])}, "empty:"),
    (memory.plot_parts, {"SGD": {"weights": MIB, "states": 0}}, "SGD: weights."),
    (memory.draw_segments, [SEGMENT, {"segment_type": "small"}], "divided into blocks"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("plot", "data", "part"), FIGURES)
def test_figure_of_unusual_data_has_alt_text(output_of, plot, data, part):
    assert part in output_of(plot, data, title="a finding").data["text/plain"]


def test_points_are_in_the_alt_text_with_their_devices(output_of):
    roofs, points = {"roof": ([1, 2], [10, 20])}, {"ReLU, T4 GPU": (1, 9), "ReLU, CPU": (1, 4)}
    output = output_of(hardware.plot_speeds, roofs, points=points, title="a", xlabel="b")
    assert "roof: ≈ 20; ReLU, T4 GPU: ≈ 9; ReLU, CPU: ≈ 4." in output.data["text/plain"]


DRAWINGS = sorted((Path(shapes.__file__).parent / "drawings").glob("*.json"))


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_all_text_of_a_drawing_is_inside_the_figure(path):
    figure, _ = shapes.load_drawing(path.stem)
    figure.canvas.draw()
    texts = [text for axis in figure.axes for text in axis.texts]
    assert texts
    for text in texts:
        extent = text.get_window_extent()
        assert figure.bbox.x0 <= extent.x0, text.get_text()
        assert extent.x1 <= figure.bbox.x1, text.get_text()
