"""Enables the simulated GPU in child processes when they import torch.

Python imports this module at startup. Only `python -m simulated_cuda` and `pytest --simulated-cuda`
add its folder to PYTHONPATH.
"""

import importlib.abc
import importlib.util
import os
import sys
from pathlib import Path


class _EnableAfterTorch(importlib.abc.MetaPathFinder):
    """Loads torch as usual, then enables the simulation."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_enable(module):
            execute(module)
            import simulated_cuda
            from simulated_cuda import settings

            requested = settings.from_environment()
            if requested is not None:
                simulated_cuda.enable(requested.gpus, requested.memory, gpu=requested.card)

        spec.loader.exec_module = execute_and_enable
        return spec


def _run_other_sitecustomize():
    """Import another `sitecustomize` module if this module hides one."""
    folder_of_this_file = Path(__file__).resolve().parent
    sys.path[:] = [
        folder for folder in sys.path if Path(folder or ".").resolve() != folder_of_this_file
    ]
    this_module = sys.modules.pop("sitecustomize")
    try:
        if importlib.util.find_spec("sitecustomize") is not None:
            import sitecustomize  # noqa: F401
    finally:
        # Python is still importing this module, and expects it in `sys.modules`.
        sys.modules.setdefault("sitecustomize", this_module)


if os.environ.get("SIMULATED_CUDA"):
    sys.meta_path.insert(0, _EnableAfterTorch())
_run_other_sitecustomize()
