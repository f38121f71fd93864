"""Alternative texts of figures: what the lessons' stored outputs, which nbval compares, lack."""

import re
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
    (devices.draw_network, {"empty": TensorTable([])}, "empty: no tensors"),
    (memory.plot_parts, {"SGD": {"weights": MIB, "states": 0}}, "SGD: weights."),
    (memory.draw_segments, [SEGMENT, {"segment_type": "small"}], "divided into blocks"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("plot", "data", "part"), FIGURES)
def test_figure_of_unusual_data_has_alt_text(output_of, plot, data, part):
    assert part in output_of(plot, data, title="a finding").data["text/plain"]


@pytest.mark.parametrize(
    ("plot", "first", "second", "part"),
    [
        (
            hardware.plot_times,
            ({"CPU": 0.1, "lanes": 0.01},),
            ({"CPU": 0.03, "lanes": 2e-3, "cuda:0 (some GPU)": 5e-6},),
            "Slowest: CPU, ≈ 30 ms",
        ),
        (
            partial(hardware.plot_speeds, xlabel="rows"),
            ({"CPU": ([64, 128], [1.0, 2.0])},),
            ({"CPU": ([64, 128], [3.0, 4.0]), "cuda:0": ([64, 256], [1.0, 9e4])},),
            "at most ≈ 90,000",
        ),
    ],
)
def test_alt_texts_of_two_machines_differ_only_in_measured_numbers(
    output_of, plot, first, second, part
):
    outputs = [output_of(plot, *arguments, title="a finding") for arguments in (first, second)]
    texts = [output.data["text/plain"] for output in outputs]
    assert part in texts[1]
    assert len({re.sub("≈ [\\d.,]+", "MEASURED", text) for text in texts}) == 1


DRAWINGS = sorted((Path(shapes.__file__).parent / "drawings").glob("*.json"))


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_all_text_of_a_drawing_is_inside_the_figure(path):
    figure = shapes.load_drawing(path.stem)
    figure.canvas.draw()
    texts = [text for axis in figure.axes for text in axis.texts]
    assert texts
    for text in texts:
        extent = text.get_window_extent()
        assert figure.bbox.x0 <= extent.x0, text.get_text()
        assert extent.x1 <= figure.bbox.x1, text.get_text()
