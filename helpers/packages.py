"""Names the packages that the notebooks import and this Python lacks, before an import fails.

Imports none of them: looking takes a millisecond, importing torch takes seconds.
"""

from importlib import metadata

# What pyproject.toml asks for, as the oldest version; a test holds the two together. IPython is
# left out: where this runs, it runs.
OLDEST = {
    "filelock": "3.13",
    "matplotlib": "3.9",
    "numpy": "2.0",
    "pillow": "11",
    "torch": "2.11",
    "torchvision": "0.26",
    "tqdm": "4.66",
}


def require() -> None:
    """Do nothing where every package is there and new enough.

    Raises:
        ModuleNotFoundError: the message names each one that is missing or too old, and the
            command that installs it.
    """
    problems, wanted = [], []
    for name, oldest in OLDEST.items():
        version = _installed(name)
        if version is None:
            problems.append(f"{name} is missing")
        elif _numbers(version) < _numbers(oldest):
            problems.append(f"{name} is {version}")
        else:
            continue
        wanted.append(f'"{name}>={oldest}"')
    if problems:
        raise ModuleNotFoundError(
            f"The course needs other packages than this Python has: {', '.join(problems)}. Run\n"
            f"    %pip install {' '.join(wanted)}\n"
            "in a cell, restart the kernel, and run the notebook from the top."
        )


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The release's first two numbers: "2.11.0+cu128" is (2, 11)."""
    parts = version.split("+")[0].split(".")[:2]
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in parts)
