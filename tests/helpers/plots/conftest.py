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
def output_of():
    """Return a function that calls another one and returns the output that it displays."""
    InteractiveShell.instance()

    def run(function, *args, **options):
        with capture_output() as captured:
            function(*args, **options)
        (output,) = captured.outputs
        return output

    yield run
    InteractiveShell.clear_instance()
