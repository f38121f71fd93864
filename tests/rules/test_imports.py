"""What a bare import costs: nothing that a student without the instructor's extras lacks."""

import json
import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "papermill", "jupyterlab", "jupytext", "nbclient", "pyarrow", "joblib")
MODULES = (
    "helpers",
    "helpers.devices",
    "helpers.drawn_images",
    "helpers.cifar10",
    "helpers.evaluation",
    "helpers.lesson",
    "helpers.loaders",
    "helpers.networks",
    "helpers.training",
)
# One Python for all, since each would import torch anew: whatever is new after a module is its own.
CODE = f"""
import importlib, json, sys
found = {{}}
for name in {MODULES}:
    before = set(sys.modules)
    importlib.import_module(name)
    found[name] = [heavy for heavy in {HEAVY} if heavy in set(sys.modules) - before]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("module", MODULES)
def test_importing_it_imports_nothing_heavy(found, module):
    assert found[module] == []
