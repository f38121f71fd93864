"""Check that the packages that the notebooks need are installed, before an import fails."""

import re
import sys
from importlib import metadata

# The setup cell compares this with the version that its notebook was built with. Increase it when a
# notebook needs something that an older copy of `helpers` or `simulated_cuda` lacks.
VERSION = 1
# The oldest versions that pyproject.toml allows; a test compares the two. IPython is not listed,
# because it runs the notebook.
OLDEST = {
    "filelock": "3.13",
    "matplotlib": "3.9",
    "numpy": "2.0",
    "pillow": "11",
    "torch": "2.11",
    "torchvision": "0.26",
}


def require() -> None:
    """Import torch, or raise ModuleNotFoundError if a package is missing or too old.

    The message names each of them, and the command that installs them.
    """
    problems, requirements = [], []
    for name, oldest in OLDEST.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = "missing"
        if version == "missing" or _major_and_minor(version) < _major_and_minor(oldest):
            problems.append(f"{name} is {version}")
            requirements.append(f'"{name}>={oldest}"')
    if problems:
        raise ModuleNotFoundError(
            f"Packages that the course needs are missing or too old: {', '.join(problems)}. Run\n"
            f"    %pip install {' '.join(requirements)}\n"
            "in a cell, restart the kernel, and run the notebook from the top."
        )
    if "torch" not in sys.modules and "ipykernel" in sys.modules:
        from IPython.display import clear_output

        print("Loading PyTorch, which can take 15 seconds the first time ...", flush=True)
        import torch  # noqa: F401

        clear_output()


def _major_and_minor(version: str) -> tuple[int, ...]:
    """Return the major and minor version: (2, 11) for "2.11.0+cu128"."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))
