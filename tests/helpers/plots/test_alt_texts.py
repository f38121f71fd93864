"""Alternative texts of figures: what the lessons' stored outputs, which nbval compares, lack."""

from pathlib import Path

import pytest
import torch
from matplotlib.colors import to_hex

from helpers.devices import TensorTable
from helpers.plots import devices, hardware, memory, shapes, small_computer, style
from helpers.small_computer import SmallComputer

MIB = 2**20
SEGMENT = {
    "segment_type": "large",
    "address": 100 * MIB,
    "blocks": [{"address": 100 * MIB, "size": 5 * MIB, "state": "inactive"}],
}
FIGURES = [
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


def test_only_faces_in_sight_are_lit(monkeypatch):
    shown = []
    monkeypatch.setattr(hardware, "show", lambda figure, *_, **__: shown.append(figure))
    cube = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
    hardware.draw_cubes({"a": cube}, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], title="a")
    texts = {text.get_text() for text in shown[0].axes[0].texts}
    assert {"0.20", "0.60"} <= texts  # above and in front
    assert texts.isdisjoint({"0.50", "0.30"})  # below and behind


def test_a_lane_that_waits_is_gray(monkeypatch):
    shown = []
    monkeypatch.setattr(small_computer, "show", lambda frames, *_, **__: shown.extend(frames))
    program = "LOAD A, x[LANE]\nCMP A, 0\nJNN keep\nSET A, 0\nkeep: HALT"
    computer = SmallComputer(program, lanes=2, x=[3, -1])
    small_computer.animate_lanes(computer, steps=5)
    waiting = [
        [to_hex(patch.get_facecolor()).upper() == style.WAITING_AREA for patch in axis.patches]
        for axis in (frame.axes[0] for frame in shown)
    ]
    assert waiting == [[False] * 2] * 3 + [[True, False]] + [[False] * 2]
    assert "A = 0" in shown[3].axes[0].texts[1].get_text()


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
