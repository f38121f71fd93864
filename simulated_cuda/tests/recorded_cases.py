"""Small programs, and what each one does on CUDA: `record/*.toml` and `record/record.json`.

The record has one entry per case and minor version of torch, with its source. `verified` is true
only if a real GPU ran the case.
"""

from __future__ import annotations

import io
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

RECORD = Path(__file__).parent / "record" / "record.json"


@dataclass(frozen=True)
class Case:
    """A few lines that a student could write, and their expected behavior.

    They run with `torch`, `nn`, `F`, `np`, `io` and `device = "cuda"` defined. `kind` is `mix` (of
    devices), `near-miss`, `move`, `load` or `memory`. The last line, `line`, works if the case has
    a `result`, an expression whose `repr` is recorded; otherwise, it raises.

    A case that raises has a `culprit`: the expression on the wrong device, as in the failing line
    (`x`, `net.fc1.weight`). `also_culprits` are other acceptable expressions. With `fix` instead of
    the line `replaces` of `setup` (or of `line`, if `replaces` is empty), the case works. `inside`
    is the line of `setup` that raises, if `line` only calls it. `gpus` is the number of GPUs that
    the case needs.
    """

    name: str
    kind: str
    line: str
    setup: str = ""
    result: str = ""
    culprit: str = ""
    also_culprits: Sequence[str] = ()
    fix: str = ""
    replaces: str = ""
    inside: str = ""
    gpus: int = 1

    @property
    def outcome(self) -> str:
        """What `line` does: `works` or `raises`."""
        return "works" if self.result else "raises"

    @property
    def code(self) -> str:
        """The source text of the case."""
        return f"{self.setup}\n{self.line}".lstrip()

    @property
    def fixed_code(self) -> str:
        """The source text with the fix applied."""
        if not self.replaces:
            return f"{self.setup}\n{self.fix}".lstrip()
        if self.replaces not in self.setup:
            raise ValueError(f"{self.name}: its setup has no line {self.replaces!r} to replace")
        return f"{self.setup.replace(self.replaces, self.fix)}\n{self.line}"


def all_cases() -> tuple[Case, ...]:
    """Return all cases, file by file."""
    cases = []
    for path in sorted(RECORD.parent.glob("*.toml")):
        kinds = tomllib.loads(path.read_text(encoding="utf-8"))
        setups = kinds.pop("setups", {})
        for kind, cases_of_kind in kinds.items():
            for name, fields in cases_of_kind.items():
                setup = fields.pop("setup", "")
                cases.append(Case(name, kind, setup=setups.get(setup, setup), **fields))
    return tuple(cases)


def fresh_names() -> dict[str, object]:
    """Return the variables that every case starts with."""
    return {"torch": torch, "nn": nn, "F": F, "np": np, "io": io, "device": "cuda"}


@dataclass(frozen=True)
class Entry:
    """The behavior of one case: the `type` and `text` of its error, or a `value`."""

    outcome: str
    type: str = ""
    text: str = ""
    value: str = ""
    source: str = ""
    verified: bool = False
    device: str = ""
    torch: str = ""
    date: str = ""


Record = dict[str, dict[str, Entry]]


def run_case(code: str, result: str = "") -> Entry:
    """Run the source text of one case; the entry has no source, device, version or date."""
    names = fresh_names()
    try:
        exec(compile(code, "<case>", "exec"), names)
        value = repr(eval(result, names)) if result else ""
    except Exception as error:
        return Entry("raises", type=type(error).__name__, text=str(error))
    finally:
        torch.set_default_device(None)
        names.clear()
    return Entry("works", value=value)


def minor_version(torch_version: str) -> str:
    """Return `2.14` for `2.14.1+cu130`: messages do not change between patch releases."""
    return ".".join(torch_version.split("+")[0].split(".")[:2])


def load(path: Path = RECORD) -> Record:
    """Return the entries by case name and minor version of torch."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: {version: Entry(**entry) for version, entry in versions.items()}
        for name, versions in stored.items()
    }


def save(record: Record, path: Path = RECORD) -> None:
    """Write the record with one line per entry, so that changes are readable in a diff."""
    blocks = []
    for name, versions in record.items():
        lines = [
            f"    {json.dumps(version)}: {json.dumps(asdict(entry), ensure_ascii=False)}"
            for version, entry in sorted(versions.items(), key=lambda item: _as_numbers(item[0]))
        ]
        blocks.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n  }")
    path.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def entry_for(versions: Mapping[str, Entry], torch_version: str) -> Entry:
    """Return the entry for a torch version, else for the next older one, else for the oldest."""
    target = _as_numbers(minor_version(torch_version))
    older = [version for version in versions if _as_numbers(version) <= target]
    closest = max(older, key=_as_numbers) if older else min(versions, key=_as_numbers)
    return versions[closest]


def normalize(text: str) -> str:
    """Return `text` without machine-dependent parts: sizes, number of GPUs, other memory."""
    text = re.sub(
        r"(Including non-PyTorch memory, this process|Process \d+) has [^.]*\.\d+ \S+ memory in "
        r"use\. ", "", text
    )  # fmt: skip
    text = re.sub(r"\d+(\.\d+)? (bytes|KiB|MiB|GiB)", "SIZE", text)
    return re.sub(r"device_count\(\) is \d+", "device_count() is COUNT", text)


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
