"""Runs every lesson and lab solution as on a machine with GPUs, to execute their GPU branches."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from course.execution.kernels import Kernels, preloadable_modules
from simulated_cuda.settings import Settings, inherit_in_child_processes

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(path for folder in ("notebooks", "labs/solutions")
                   for path in (ROOT / folder).glob("*.ipynb"))  # fmt: skip
# The notebook takes its GPUs for real ones. Checks still need to know where a simulated tensor is.
FIRST_CELL = """
import simulated_cuda
simulated_cuda.enable({gpus}, over_real=True)
simulated_cuda.is_enabled, simulated_cuda.disable = bool, lambda: None
from helpers.checks import collecting
collecting._is_on_gpu = lambda tensor: collecting.index_of(tensor) != collecting.CPU
from helpers import kernels
kernels._is_on_real_gpu = lambda value: False
from dataclasses import replace
from helpers.fast_cifar10 import recipes
recipes.GPU = replace(recipes.CPU, widths=(8, 16, 16), precision="float16", compiled=True)
"""
# Shorter runs: on a GPU, the defaults are too long for a CPU.
PARAMETERS = {
    "notebooks/04_cifar10_on_gpu": "epochs, train_images = 1, 512",
    "notebooks/05_when_the_gpu_wins": "rounds, seconds, largest_batch = 3, 0.01, 64",
    "notebooks/06_cifar10_in_seconds": "epochs = 0.02",
}
# Errors that only a simulated GPU raises: it has neither kernels nor NCCL, and is not compiled.
EXPECTED = {
    "notebooks/08_mixed_precision_and_profiling": [
        "Not simulated: torch.cuda.make_graphed", "InternalTorchDynamoError", "name 'explained'",
    ],
    "notebooks/09_more_than_one_gpu": ["Not simulated: the NCCL backend."],
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels():
    """Kernels with the notebooks' modules preloaded."""
    kernels = Kernels(preloadable_modules(nbformat.read(path, 4) for path in NOTEBOOKS))
    yield kernels
    kernels.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")
@pytest.mark.parametrize("gpus", [1, 2])
@pytest.mark.parametrize("name", [f"{p.parent.relative_to(ROOT)}/{p.stem}" for p in NOTEBOOKS])
def test_gpu_branches_of_a_notebook_run(kernels, name, gpus):
    path = ROOT / f"{name}.ipynb"
    notebook = nbformat.read(path, 4)
    parameters = [i for i, cell in enumerate(notebook.cells)
                  if "parameters" in cell.metadata.get("tags", [])]  # fmt: skip
    if name in PARAMETERS:
        notebook.cells[parameters[0]].source += f"\n{PARAMETERS[name]}"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FIRST_CELL.format(gpus=gpus)))
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    with inherit_in_child_processes(Settings(gpus), environment):
        manager = kernels.make_manager(dict(environment))
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook, km=manager, resources=resources, timeout=600, allow_errors=True
    )
    client.execute(cleanup_kc=True)
    errors = [
        f"cell {number}: {output.ename}: {output.evalue}"
        for number, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", []) if output.output_type == "error"
    ]  # fmt: skip
    expected = EXPECTED.get(name, [])
    unexpected = [error for error in errors if not any(text in error for text in expected)]
    assert not unexpected, "\n".join(unexpected)
