"""Run cases, and read and write `record.json`: CUDA's behavior by case and torch version.

Every entry has its source. `verified` is true only if a real GPU ran the case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from tests.simulated_cuda.record.cases import fresh_names

RECORD = Path(__file__).with_name("record.json")

REAL_GPU = "real GPU"
COMPILED_CHECKS = "PyTorch's own CUDA code, run without a GPU"


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


def run_case(code: str, shows: str = "") -> Entry:
    """Run the source text of one case; the entry has no source, device, version or date."""
    names = fresh_names()
    try:
        exec(compile(code, "<case>", "exec"), names)
        value = repr(eval(shows, names)) if shows else ""
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
    """Return the entries by case name and torch minor version."""
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
        r"Including non-PyTorch memory, this process has [^.]*\.\d+ \S+ memory in use\. ", "", text
    )
    text = re.sub(r"Process \d+ has [^.]*\.\d+ \S+ memory in use\. ", "", text)
    text = re.sub(r"\d+(\.\d+)? (bytes|KiB|MiB|GiB)", "SIZE", text)
    return re.sub(r"device_count\(\) is \d+", "device_count() is COUNT", text)


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
