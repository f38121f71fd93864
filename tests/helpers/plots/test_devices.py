"""Figures about devices: their alternative text and their edge cases."""

import warnings

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from helpers.devices import Row, TensorTable
from helpers.plots import devices


@pytest.fixture
def alt_text_of():
    """Return a function that draws a figure, fails on a warning, and returns its plain text."""
    InteractiveShell.instance()

    def draw(plot, *args, **options) -> str:
        with warnings.catch_warnings(), capture_output() as captured:
            warnings.simplefilter("error")
            plot(*args, **options)
        (output,) = captured.outputs
        assert output.data["image/png"]
        return output.data["text/plain"]

    yield draw
    InteractiveShell.clear_instance()


def table(**devices: str) -> TensorTable:
    """A table of scalar tensors; the keyword arguments map their names to devices."""
    rows = [Row(n, (), torch.float32, torch.device(d), 4) for n, d in devices.items()]
    return TensorTable(rows)


def test_alt_text_of_a_move_describes_a_copy(alt_text_of):
    assert "copies 32 bytes" in alt_text_of(devices.draw_move)


def test_sizes_are_in_decimal_megabytes(alt_text_of):
    sizes = {"one": 1_000_000, "many": 1_234_567_890}
    alt = alt_text_of(devices.plot_bytes, sizes, title="t", xlabel="x")
    assert alt == "Bar chart of bytes: one 1.0 MB, many 1,234.6 MB."


def test_zero_bytes_are_drawn(alt_text_of):
    assert "once 0.0 MB" in alt_text_of(devices.plot_bytes, {"once": 0}, title="t", xlabel="x")


def test_waiting_figure_has_alt_text_for_both_timelines(alt_text_of):
    alt = alt_text_of(devices.draw_waiting)
    assert "In the upper one" in alt
    assert "In the lower one" in alt


def test_network_alt_text_counts_tensors_per_device(alt_text_of):
    stages = {
        "before": table(weight="cpu", bias="cpu"),
        "halfway": table(weight="cuda:0", bias="cpu"),
    }
    alt = alt_text_of(devices.draw_network, stages, title="t")
    assert "before: 2 on cpu" in alt
    assert "halfway: 1 on cuda:0, 1 on cpu" in alt


def test_network_without_tensors_is_drawn(alt_text_of):
    assert "empty: no tensors" in alt_text_of(devices.draw_network, {"empty": table()}, title="t")


def test_stages_alt_text_has_the_device_of_every_tensor(alt_text_of):
    stages = {"created": table(weight="cpu"), "trained": table(weight="cuda:0", grad="cuda:0")}
    alt = alt_text_of(devices.plot_stages, stages, title="t")
    assert alt.endswith("created: weight on cpu; trained: weight on cuda:0, grad on cuda:0.")
