"""Record files: one file per benchmark, with one record per device.

A benchmark run replaces only the record of its own device.
"""

import datetime
import importlib
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from helpers import records
from helpers.records import Record

# What a benchmark's `measure` returns; empty if this machine cannot measure it.
Results = dict[torch.device, dict[str, Any]]


def devices() -> list[torch.device]:
    """Return the CPU and, if there is one, the accelerator."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return [torch.device("cpu"), *([accelerator] if accelerator is not None else [])]


def run_benchmark(name: str, cifar10_root: Path | str) -> dict[str, Any]:
    """Run benchmarks/NAME.py; return the new content of NAME.json."""
    module = importlib.import_module(f"benchmarks.{name}")
    command = {"command": f"python -m benchmarks {name}"}
    results = module.measure(cifar10_root)
    new_records = [record(device, command | found) for device, found in results.items()]
    return merge_records(name, module.DESCRIPTION, new_records)


def record(device: torch.device, results: dict[str, Any]) -> Record:
    """Return a record of `results`, with the device and today's date."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{platform.machine()} {device.type.upper()}, {os.cpu_count()} cores"
    today = datetime.date.today().isoformat()
    return Record(name, device.type, torch.__version__, today, results)


def merge_records(
    name: str, description: str, new_records: list[Record], folder: Path | None = None
) -> dict[str, Any]:
    """Return the new content of NAME.json: `new_records`, and the records of other devices."""
    new_devices = {entry.device for entry in new_records}
    others = [entry for entry in records.read(name, folder) if entry.device not in new_devices]
    entries = [asdict(entry) for entry in [*new_records, *others]]
    return {"description": description, "records": entries}
