"""Alternative texts have the figure's data; measured numbers are marked with ≈."""

from functools import partial
from pathlib import Path

import pytest
import torch

from helpers.devices import Row, TensorTable
from helpers.memory import Sample
from helpers.plots import devices, hardware, memory, parallel, shapes, small_computer
from helpers.small_computer import SmallComputer
from simulated_cuda.cards import find_card
from simulated_cuda.clock import Span
from simulated_cuda.estimates import Estimate

MIB = 2**20
RELU = "LOAD A, x\nCMP A, 0\nJNN keep\nSET A, 0\nkeep: STORE A, y\nHALT"
STORE_LANES = "SET A, LANE\nCMP A, 1\nJN done\nSTORE A, x\ndone: HALT"


def table(**device_by_name: str) -> TensorTable:
    """A table of scalar tensors; the keyword arguments map their names to devices."""
    rows = [Row(n, (), torch.float32, torch.device(d), 4) for n, d in device_by_name.items()]
    return TensorTable(rows)


BEFORE, HALFWAY = table(weight="cpu", bias="cpu"), table(weight="cuda:0", bias="cpu")
WAITS = [Span("launches", "add", 0, 1e-4), Span("GPU 0", "add", 5e-5, 1.2e-4)]
WAITS += [Span("CPU", "item", 1e-4, 1.2e-4)]
WAITS_ONCE = Estimate(find_card("T4"), 1.2e-4, 1e-4, 7e-5, 0, WAITS)
SAMPLES = [Sample("forward", MIB), Sample("forward", 3 * MIB), Sample("backward", 2 * MIB)]
SEGMENT = {
    "segment_type": "large",
    "address": 100 * MIB,
    "blocks": [{"address": 100 * MIB, "size": 5 * MIB, "state": "inactive"}],
}
plot_bytes = partial(devices.plot_bytes, xlabel="bytes")
FIGURES = [
    (devices.draw_move, (), "copies 32 bytes"),
    (devices.plot_timelines, ({"add": WAITS_ONCE},), "add: ≈ 0.12 ms, ≈ 1."),
    (plot_bytes, ({"one": 10**6, "many": 1_234_567_890},), "one 1.0 MB, many 1,234.6 MB."),
    (plot_bytes, ({"once": 0},), "once 0.0 MB"),
    (devices.draw_network, ({"a": BEFORE, "b": HALFWAY},), "a: 2 on cpu; b: 1 on cuda:0, 1 on cpu"),
    (devices.draw_network, ({"empty": table()},), "empty: no tensors"),
    (
        devices.plot_stages,
        ({"new": table(bias="cpu"), "after": HALFWAY},),
        "weight on cuda:0, bias",
    ),
    (devices.draw_message, (), "your variable, your line"),
    (hardware.draw_computer, (), "The processor contains a control unit"),
    (hardware.draw_processors, (), "sixteen small lanes"),
    (hardware.draw_matrix_product, (), "x with 4 rows and 3 columns"),
    (hardware.draw_cubes, ({"x": torch.zeros(8, 3)},), "side by side: x."),
    (
        partial(hardware.plot_speeds, xlabel="x"),
        ({"roof of a CPU": ([1, 2], [10, 20])},),
        "GFLOP/s of roof of a CPU: ≈ 20.",
    ),
    (
        hardware.plot_times,
        ({"T4 GPU": 123_456, "CPU": 0.5},),
        "T4 GPU: ≈ 123,000 ms; CPU: ≈ 0.5 ms",
    ),
    (memory.plot_parts, ({"SGD": {"weights": MIB, "states": 0}},), "SGD: weights."),
    (memory.plot_timeline, (SAMPLES,), "peaks early in the backward pass"),
    (memory.plot_layers, ({"first": MIB, "second": 4 * MIB},), "The long ones: second."),
    (
        memory.plot_against_limit,
        ({"as it is": None, "half": 3 * MIB}, 4 * MIB),
        "Within the limit: half. Too much: as it is.",
    ),
    (memory.draw_segments, ([SEGMENT, {"segment_type": "small"}],), "divided into blocks"),
    (partial(parallel.plot_memory, memory=80), ({"DDP": {"a": 14.0, "b": 84.0}},), "DDP 98.0 GB."),
    (small_computer.plot_cycles, ([1, 2], {"a": [40, 20]}), "a: from 40 to 20 cycles"),
    (
        small_computer.plot_lanes,
        (SmallComputer(STORE_LANES, lanes=2, x=0).trace(),),
        "Grid of 2 lanes by 5 steps, filled where a lane is active. Active steps: lane 0: 4, ",
    ),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("plot", "arguments", "part"), FIGURES)
def test_alt_text_has_the_data_of_the_figure(alt_text_of, plot, arguments, part):
    options = {"title": "a finding"} if arguments else {}
    assert part in alt_text_of(plot, *arguments, **options)


def test_points_are_in_the_alt_text_with_their_devices(alt_text_of):
    roofs, points = {"roof": ([1, 2], [10, 20])}, {"ReLU, T4 GPU": (1, 9), "ReLU, CPU": (1, 4)}
    text = alt_text_of(hardware.plot_speeds, roofs, points=points, title="a", xlabel="b")
    assert "roof: ≈ 20; ReLU, T4 GPU: ≈ 9; ReLU, CPU: ≈ 4." in text


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
