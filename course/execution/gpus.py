"""Lists the GPUs with nvidia-smi, so that this process does not initialize CUDA."""

import csv
import os
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """One GPU as reported by nvidia-smi. Memory is in MiB, or 0 if it is not reported."""

    index: str
    name: str
    memory: int
    free: int
    driver: str


def installed_gpus() -> list[Gpu]:
    """Return the NVIDIA GPUs of this machine; empty if there is no working driver."""
    command = [
        "nvidia-smi", "--query-gpu=index,name,memory.total,memory.free,driver_version",
        "--format=csv,noheader,nounits",
    ]  # fmt: skip
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    gpus = []
    for row in csv.reader(completed.stdout.splitlines(), skipinitialspace=True):
        if len(row) == 5:
            index, name, *sizes, driver = row
            memory, free = (int(size) if size.isdigit() else 0 for size in sizes)
            gpus.append(Gpu(index, name, memory, free, driver))
    return gpus


def visible_gpu_ids() -> tuple[str, ...]:
    """Return the indices or UUIDs of the visible GPUs, as in CUDA_VISIBLE_DEVICES."""
    names = os.environ.get("CUDA_VISIBLE_DEVICES")
    if names is not None:
        return tuple(name.strip() for name in names.split(",") if name.strip() not in ("", "-1"))
    return tuple(gpu.index for gpu in installed_gpus())
