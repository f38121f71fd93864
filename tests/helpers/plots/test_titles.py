"""The titles of figures state the finding, computed from live or recorded data."""

import pytest
import torch
from matplotlib.colors import to_hex

from helpers.evaluation import Evaluation
from helpers.plots import classification, fast_cifar10, profiles, speed
from helpers.plots.speed import Curve, plot_speedups
from helpers.plots.style import CPU_COLOR, GPU_COLOR
from helpers.records import Record
from helpers.speedups import Speedup
from helpers.timing import Measurement
from helpers.traces import Span
from helpers.training import History

SIZES = (4, 16, 64, 256)
CPU = Curve("a CPU", "cpu", SIZES, (8e-4, 4e-4, 2e-4, 2e-4))
TIMING = Measurement("forward", (0.010, 0.011, 0.012), "cpu")
COUNTS = Evaluation(torch.tensor([[90, 10, 0], [1, 99, 0], [0, 8, 12]]))
SPANS = [
    Span("part", "forward", 0, 40),
    Span("operation", "aten::conv2d", 0, 20),
    Span("operation", "aten::convolution", 1, 19),
    Span("part", "backward", 40, 100),
    Span("operation", "aten::mm", 50, 90),
]


def gpu(*seconds):
    return Curve("a made-up GPU", "cuda", SIZES, seconds)


def record(**results):
    return Record("made-up GPU", "cuda", "9.9", "2000-01-01", results)


def speedup(name, ratio, *, helps=False, differs=True, note=""):
    return Speedup(name, ratio, 0.95 * ratio, 1.05 * ratio, differs, 1e-4, helps, note)


CUMULATIVE = [
    speedup("resident data", 2.0, helps=True),
    speedup("bf16 autocast", 0.5),
    speedup("fused optimizer", 1.01, differs=False),
    speedup("torch.compile", 1.0, differs=False, note="no compiler"),
    speedup("what helped", 2.0, helps=True),
    speedup("everything", 1.0, differs=False),
]
ACCURACIES = {"all": [0.8, 0.81, 0.79], "salt": [0.7, 0.71, 0.6], "pepper": [0.8]}
ROWS = [{"name": name, "accuracy": values} for name, values in ACCURACIES.items()]


def curves(*curves):
    return lambda: speed.plot_curves(curves, "images per batch", unit="batch")


def losses(*values):
    return History([10, 20], list(values), 10, seconds=1.0)


FIGURES = {
    "The loss falls from 2.30 to 1.20": lambda: classification.plot_loss_curve(losses(2.3, 1.2)),
    "does not fall: from 1.00 to 1.50": lambda: classification.plot_loss_curve(losses(1, 1.5)),
    "Most common mistake: cow predicted as bee": lambda: classification.plot_confusion_matrix(
        COUNTS, ("ant", "bee", "cow")
    ),
    "The GPU is faster from a batch of about 64": curves(CPU, gpu(32e-4, 16e-4, 0.5e-4, 0.1e-4)),
    "The GPU is faster from a batch of about 4": curves(CPU, gpu(1e-4, 1e-4, 1e-4, 1e-4)),
    "The GPU is not faster at the largest size": curves(CPU, gpu(1e-4, 1e-4, 1e-4, 3e-4)),
    "Fastest per image: batch 64, 4.0 times as fast as 4": curves(CPU),
    "From batch 4 to 256, the time per image grows by a factor of 5.0": curves(
        gpu(1e-4, 2e-4, 3e-4, 5e-4)
    ),
    "First call: 500 ms, 45.5 times the median of 11.0 ms": lambda: speed.plot_timings(
        0.5, [0.011, 0.012], TIMING
    ),
    "Calls of the same function: 10.0 ms to 12.0 ms; median 11.0 ms": lambda: speed.plot_timings(
        0.011, [0.010, 0.012], TIMING
    ),
    'Batches of 64: "resident" is 240.0 times as fast as "PIL"': lambda: speed.plot_pipelines(
        {"PIL": {4: 2e3, 64: 5e3}, "resident": {4: 8e4, 64: 1.2e6}}
    ),
    "Changes that help: 1 of 3; training with them is 2.0 times as fast\na machine": lambda: (
        plot_speedups(CUMULATIVE, where="a machine")
    ),
    "Largest drop: without salt, 10.0 points (1 runs per technique)\nmade-up GPU": lambda: (
        fast_cifar10.plot_ablation(record(baseline="all", rows=ROWS))
    ),
    "One step, 2 operations: operations keep the CPU busy for 60% of the time": lambda: (
        profiles.draw_timeline(SPANS)
    ),
    "One step, 1 kernels: the GPU is busy for 50% of the time": lambda: profiles.draw_timeline(
        [*SPANS, Span("kernel", "gemm", 100, 200)]
    ),
    "2.5 times as long": lambda: profiles.plot_loop_parts({"A": {"log": 2.0}, "B": {"data": 5.0}}),
}


@pytest.mark.parametrize("finding", FIGURES)
def test_title_states_the_finding(finding):
    figure = FIGURES[finding]()
    assert finding in (figure.get_suptitle() or figure.axes[0].get_title())


def test_confusion_matrix_handles_class_without_images():
    counts = torch.tensor([[5, 0, 0], [0, 0, 0], [1, 0, 4]])
    figure = classification.plot_confusion_matrix(Evaluation(counts), ("ant", "bee", "cow"))
    assert "nan" not in [text.get_text() for text in figure.axes[0].texts]


def test_speedups_without_gain_are_gray_and_not_in_device_colors():
    figure = plot_speedups(CUMULATIVE, CUMULATIVE[:-2])
    assert len(figure.axes) == 2
    texts = [text.get_text() for text in figure.axes[1].texts]
    assert texts[:4] == ["2.00", "0.50", "1.01, no difference", "not measured"]
    colors = [to_hex(bar.get_facecolor()).upper() for bar in figure.axes[1].patches]
    assert colors[0] != colors[1] == colors[2] == colors[3]
    assert not set(colors) & {CPU_COLOR, GPU_COLOR}
