"""The settings of the simulation, and how child processes inherit them."""

import os
import re
import tomllib
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

NAME = "Simulated GPU"
GIB = 1 << 30
VARIABLE = "SIMULATED_CUDA"

_UNITS = {"": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": GIB, "TIB": 1 << 40}
_STARTUP = Path(__file__).resolve().parent / "startup"


@dataclass(frozen=True)
class Settings:
    """The number of simulated GPUs, the memory of each in bytes, and the card that is modelled."""

    gpus: int = 1
    memory: int = 8 * GIB
    card: str | None = None

    def __str__(self) -> str:
        plural = "" if self.gpus == 1 else "s"
        return f"{self.gpus} simulated GPU{plural} with {self.memory / GIB:g} GiB of memory"


@cache
def table(name: str) -> dict[str, Any]:
    """Return the contents of a TOML file of this package."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


def parse_size(text: str) -> int:
    """Convert a string such as `16GiB` or `1000000` to bytes, or raise ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]IB)?", text.strip().upper())
    if match is None:
        raise ValueError(f"{text!r} is not a size; write for example 16GiB, 512MiB or 1000000")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def from_environment() -> Settings | None:
    """Return the settings inherited from a parent process, or None."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    gpus, memory, card = text.split(",")
    return Settings(int(gpus), int(memory), card or None)


@contextmanager
def inherit_in_child_processes(
    settings: Settings, environment: MutableMapping[str, str] = os.environ
) -> Iterator[None]:
    """Simulate the same GPUs in child processes that are started inside a `with` block.

    Child processes import `startup/sitecustomize.py`, which is on PYTHONPATH. It enables the
    simulation when torch is imported.
    """
    names = (VARIABLE, "PYTHONPATH")
    old_values = {name: environment.get(name) for name in names}
    folders = [str(_STARTUP), old_values["PYTHONPATH"], str(_STARTUP.parents[1])]
    environment[VARIABLE] = f"{settings.gpus},{settings.memory},{settings.card or ''}"
    environment["PYTHONPATH"] = os.pathsep.join(folder for folder in folders if folder)
    try:
        yield
    finally:
        for name, value in old_values.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
