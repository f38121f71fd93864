"""What a device case is, and all of them together; what each one did on CUDA is in `record.json`.

A case is a few lines that a student could write. They run with `torch`, `nn`, `F`, `np`, `io` and
`device = "cuda"` defined. `line` is the last of them: the one that raises, or that must work.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

KINDS = ("mix", "near-miss", "move", "load", "memory")


@dataclass(frozen=True)
class Case:
    """One small program and what is asked of it.

    `setup` and `line` are source text. A case that `raises` has a `culprit`, the expression that
    lives in the wrong place as the failing line names it (`x`, `net.fc1.weight`), in
    `also_culprits` other names that a reader would accept, and a cure: put `mended` in the place
    of the line `mends` (of `line` where `mends` is empty) and the case works. A case that works
    may have `shows`, an expression whose `repr` is recorded. `inside` is the line of `setup`
    where the error really arises when `line` only calls it. `gpus` is how many it takes.
    """

    name: str
    kind: str
    setup: str
    line: str
    outcome: str
    shows: str = ""
    culprit: str = ""
    also_culprits: tuple[str, ...] = ()
    mended: str = ""
    mends: str = ""
    inside: str = ""
    gpus: int = 1
    memory: bool = field(default=False)

    @property
    def code(self) -> str:
        """The whole case as source text."""
        return f"{self.setup}\n{self.line}" if self.setup else self.line

    @property
    def mended_code(self) -> str:
        """The whole case with its cure put in; the case's own text where it needs none."""
        if not self.mended:
            return self.code
        if not self.mends:
            return f"{self.setup}\n{self.mended}" if self.setup else self.mended
        if self.mends not in self.setup:
            raise ValueError(f"{self.name}: the line to mend, {self.mends!r}, is not in its setup")
        return f"{self.setup.replace(self.mends, self.mended)}\n{self.line}"


def fresh_names() -> dict[str, object]:
    """The names that every case starts with."""
    return {"torch": torch, "nn": nn, "F": F, "np": np, "io": io, "device": "cuda"}


def mix(name: str, setup: str, line: str, culprit: str, mended: str, **more: object) -> Case:
    """A case where tensors on two devices meet and CUDA refuses."""
    return Case(name, "mix", setup, line, "raises", culprit=culprit, mended=mended, **more)


def refused(
    name: str, kind: str, setup: str, line: str, culprit: str, mended: str, **more: object
) -> Case:
    """A case of another kind that raises."""
    return Case(name, kind, setup, line, "raises", culprit=culprit, mended=mended, **more)


def works(name: str, kind: str, setup: str, line: str, shows: str, **more: object) -> Case:
    """A case that must work; the repr of `shows` is what is recorded."""
    return Case(name, kind, setup, line, "works", shows=shows, **more)


def all_cases() -> tuple[Case, ...]:
    """Every case, in the order of the files they stand in."""
    from . import loads_and_memory, mixes, mixes_in_networks, moves, near_misses

    return (
        *mixes.CASES,
        *mixes_in_networks.CASES,
        *near_misses.CASES,
        *moves.CASES,
        *loads_and_memory.CASES,
    )
