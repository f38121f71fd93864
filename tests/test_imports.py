"""What a bare import costs: nothing that a student without the instructor's extras lacks."""

import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "papermill", "jupyterlab", "jupytext", "nbclient", "pyarrow", "joblib")


@pytest.mark.parametrize(
    "module",
    [
        "helpers",
        "helpers.cifar10",
        "helpers.devices",
        "helpers.drawn_images",
        "helpers.evaluation",
        "helpers.lesson",
        "helpers.loaders",
        "helpers.networks",
        "helpers.training",
    ],
)
def test_importing_it_imports_nothing_heavy(module):
    code = f"import sys, {module}; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
