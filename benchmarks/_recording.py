"""Record files: one file per benchmark, with one record per device.

A benchmark run replaces only the record of its own device.
"""

import datetime
import os
import platform
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from helpers import records
from helpers.records import Record
from helpers.timing import Comparison


def devices() -> list[torch.device]:
    """Return the CPU and, if there is one, the accelerator."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return [torch.device("cpu"), *([accelerator] if accelerator is not None else [])]


def record(device: torch.device, results: dict[str, Any]) -> Record:
    """Return a record of `results`, with the device and today's date."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{platform.machine()} {device.type.upper()}, {os.cpu_count()} cores"
    today = datetime.date.today().isoformat()
    return Record(name, device.type, torch.__version__, today, results)


def merge_records(
    name: str, what: str, new_records: list[Record], folder: Path | None = None
) -> dict[str, Any]:
    """Return the new content of NAME.json: `new_records`, and the records of other devices."""
    new_devices = {entry.device for entry in new_records}
    others = [entry for entry in records.read(name, folder) if entry.device not in new_devices]
    return {"what": what, "records": [asdict(entry) for entry in [*new_records, *others]]}


def rates(comparison: Comparison, name: str, baseline: str) -> dict[str, Any]:
    """Return the images per second of one variant, and its ratio to the baseline."""
    ratio = comparison.ratio(name, baseline)
    return {
        "images_per_second": round(1 / comparison[name].median),
        "ratio_median": round(ratio.median, 2),
        "ratio_range": [round(min(ratio.values), 2), round(max(ratio.values), 2)],
    }


def ratios(values: dict[str, list[float]], baseline: str) -> dict[str, Any]:
    """Return the median and range, over rounds, of each variant's ratio to the baseline."""
    ratios_by_name = {
        name: [value / base for value, base in zip(variant_values, values[baseline], strict=True)]
        for name, variant_values in values.items()
    }
    return {
        "ratio_median": {n: round(statistics.median(v), 2) for n, v in ratios_by_name.items()},
        "ratio_range": {n: [round(min(v), 2), round(max(v), 2)] for n, v in ratios_by_name.items()},
    }
