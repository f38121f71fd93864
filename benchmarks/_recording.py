"""One file a benchmark, with one record a device: a machine adds its own and keeps the others'."""

import datetime
import os
import platform
from dataclasses import asdict
from typing import Any

import torch

from helpers import records
from helpers.records import Record


def devices() -> list[torch.device]:
    """Return the CPU, and the accelerator if there is one."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return [torch.device("cpu"), *([accelerator] if accelerator is not None else [])]


def record(device: torch.device, figures: dict[str, Any]) -> Record:
    """Return `figures` as found on `device` today."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{platform.machine()} {device.type.upper()}, {os.cpu_count()} cores"
    today = datetime.date.today().isoformat()
    return Record(name, device.type, torch.__version__, today, figures)


def merged(name: str, what: str, found: list[Record]) -> dict[str, Any]:
    """Return the content of NAME.json: `found`, and what other devices left there."""
    new = {one.device for one in found}
    kept = [old for old in records.read(name) if old.device not in new]
    return {"what": what, "records": [asdict(one) for one in [*found, *kept]]}
