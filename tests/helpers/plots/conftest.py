"""Figures are drawn without a window, and closed after each test."""

import matplotlib.pyplot as plt
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def alt_text_of():
    """Return a function that draws a figure and returns its plain text."""
    InteractiveShell.instance()

    def draw(plot, *args, **options) -> str:
        with capture_output() as captured:
            plot(*args, **options)
        (output,) = captured.outputs
        assert output.data["image/png"]
        return output.data["text/plain"]

    yield draw
    InteractiveShell.clear_instance()
