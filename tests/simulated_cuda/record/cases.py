"""Small programs whose behavior on CUDA is recorded in `record.json`.

A case is a few lines that a student could write. They run with `torch`, `nn`, `F`, `np`, `io` and
`device = "cuda"` defined. The last line, `line`, either raises or works.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

KINDS = ("mix", "near-miss", "move", "load", "memory")


@dataclass(frozen=True)
class Case:
    """One small program and its expected behavior.

    `setup` and `line` are source text. A case that `raises` has a `culprit`: the expression on the
    wrong device, as in the failing line (`x`, `net.fc1.weight`). `also_culprits` are other
    acceptable expressions. With `fix` instead of the line `replaces` (or of `line`, if `replaces`
    is empty), the case works. A case that works may have `shows`, an expression whose `repr` is
    recorded. `inside` is the line of `setup` that raises, if `line` only calls it. `gpus` is the
    number of GPUs that the case needs.
    """

    name: str
    kind: str
    setup: str
    line: str
    outcome: str
    shows: str = ""
    culprit: str = ""
    also_culprits: tuple[str, ...] = ()
    fix: str = ""
    replaces: str = ""
    inside: str = ""
    gpus: int = 1

    @property
    def code(self) -> str:
        """The source text of the case."""
        return f"{self.setup}\n{self.line}" if self.setup else self.line

    @property
    def fixed_code(self) -> str:
        """The source text with the fix applied, or unchanged if there is no fix."""
        if not self.fix:
            return self.code
        if not self.replaces:
            return f"{self.setup}\n{self.fix}" if self.setup else self.fix
        if self.replaces not in self.setup:
            raise ValueError(f"{self.name}: its setup has no line {self.replaces!r} to replace")
        return f"{self.setup.replace(self.replaces, self.fix)}\n{self.line}"


def fresh_names() -> dict[str, object]:
    """The variables that every case starts with."""
    return {"torch": torch, "nn": nn, "F": F, "np": np, "io": io, "device": "cuda"}


def mix(name: str, setup: str, line: str, culprit: str, fix: str, **options: object) -> Case:
    """A case that mixes tensors on two devices, which CUDA refuses."""
    return Case(name, "mix", setup, line, "raises", culprit=culprit, fix=fix, **options)


def refused(
    name: str, kind: str, setup: str, line: str, culprit: str, fix: str, **options: object
) -> Case:
    """A case that raises an error of another kind than mixed devices."""
    return Case(name, kind, setup, line, "raises", culprit=culprit, fix=fix, **options)


def works(name: str, kind: str, setup: str, line: str, shows: str, **options: object) -> Case:
    """A case that must work; the repr of `shows` is recorded."""
    return Case(name, kind, setup, line, "works", shows=shows, **options)
