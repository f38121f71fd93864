"""Record the GPU results that the lessons show: `python -m tools.gpu_record` on a GPU machine.

Takes at most ten minutes on a T4 and writes one file, `gpu_record.json`. To merge the file into the
course: `python -m tools.gpu_record --merge gpu_record.json`.

Each part runs in its own process with a time limit, so a part that fails or runs too long does not
affect the others. `--simulated` runs everything on the simulated GPU with tiny sizes; the file it
writes is marked invalid and cannot be merged.
"""

import argparse
import contextlib
import importlib
import json
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch

import simulated_cuda
from benchmarks._recording import merge_records, run_benchmark
from helpers import timing
from helpers.records import RECORDS, Record
from simulated_cuda.tests.recorded_cases import RECORD as MESSAGES
from simulated_cuda.tests.recorded_cases import load
from tools import record_cuda

# Time limits in seconds, together under ten minutes. "messages" is how CUDA behaves in each test
# case of the simulated device; each other part is the benchmark of that name.
PARTS = {"batch_and_width": 100, "messages": 70, "speedups": 200}
# Constants of the benchmarks, changed to keep the limits.
CONSTANTS = {"speedups": {"ROUNDS": 5, "SECONDS": 0.3}}
SMALL = {"devices": lambda: [torch.device("cuda", 0)], "ROUNDS": 3, "SECONDS": 0.01}
SIMULATED_CONSTANTS = {
    "batch_and_width": {
        **SMALL, "BATCH_SIZES": (4, 16), "WIDTHS": {"other": (1, 2)}, "DEPTHS": (1, 2)
    },
    "speedups": {**SMALL, "SKIP": {"torch.compile": "not on a simulated GPU"}},
}  # fmt: skip


@contextlib.contextmanager
def simulated_gpu() -> Iterator[None]:
    """Simulate a GPU, and allow timing on it."""
    with (
        simulated_cuda.simulated(devices=1),
        mock.patch.object(timing, "raise_if_simulated", lambda device: None),
        mock.patch.object(torch.accelerator, "synchronize", lambda device=None: None),
    ):
        yield


def run_part(name: str, simulated: bool) -> dict[str, Any]:
    """Run one part in this process; return its result, or its error as a dict."""
    try:
        with simulated_gpu() if simulated else contextlib.nullcontext():
            if name == "messages":
                return record_messages(simulated)
            constants = (SIMULATED_CONSTANTS if simulated else CONSTANTS).get(name, {})
            with mock.patch.dict(vars(importlib.import_module(f"benchmarks.{name}")), constants):
                return run_benchmark(name, "synthetic" if simulated else "auto")
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}


def record_messages(simulated: bool) -> dict[str, Any]:
    """Record how CUDA behaves in each test case of the simulated device."""
    source = "simulated" if simulated else record_cuda.REAL_GPU
    device = torch.cuda.get_device_name(0)
    cases = record_cuda.all_cases()[: 20 if simulated else None]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        unexpected = record_cuda.record_cases(source, not simulated, device, path, cases=cases)
        return {"messages": json.loads(path.read_text()), "unexpected_results": unexpected}


def record_all(path: Path, names: list[str], simulated: bool) -> dict[str, Any]:
    """Run the parts `names`, each in its own process, and write their results to `path`."""
    result: dict[str, Any] = {"valid": not simulated, "parts": {}}
    for name in names:
        # Timings of the simulated GPU are not used, and the machine may be slow or busy.
        limit = PARTS[name] * (10 if simulated else 1)
        print(f"{name}: at most {limit} s ...", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "part.json"
            command = [sys.executable, "-m", "tools.gpu_record", "--part", name, "--to", str(file)]
            try:
                subprocess.run(command + ["--simulated"] * simulated, timeout=limit, check=True)
                outcome = json.loads(file.read_text())
            except (subprocess.SubprocessError, OSError, ValueError) as error:
                outcome = {"error": str(error)}  # such as a time limit that was exceeded
        result["parts"][name] = outcome
        print(f"{name}: {outcome.get('error', 'recorded')}", flush=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
    return result


def merge(path: Path, results: Path = RECORDS, messages: Path = MESSAGES) -> list[str]:
    """Merge a recorded file into the course; return the names of the merged parts.

    Raises:
        ValueError: the file is not a recording, or its timings are not valid.
    """
    try:
        recording = json.loads(path.read_text())
        parts, valid = recording["parts"], recording["valid"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} was not written by tools.gpu_record: {error!r}") from None
    if valid is not True:
        raise ValueError(f"{path} was recorded on the simulated GPU: its timings are not valid.")
    names = [name for name, part in parts.items() if "error" not in part]
    for name in names:
        part = parts[name]
        if name == "messages":
            new = Path(tempfile.mkdtemp()) / "record.json"
            new.write_text(json.dumps(part["messages"]))
            old = load(messages) if messages.exists() else {}
            record_cuda.save(record_cuda.merge(old, load(new)), messages)
        elif gpu_records := [Record(**r) for r in part["records"] if r["kind"] == "cuda"]:
            content = merge_records(name, part["description"], gpu_records, results)
            (results / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
    return names


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.gpu_record",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--to", type=Path, default=Path("gpu_record.json"), help="file to write")
    add("--only", choices=PARTS, action="append", help="record only this part; can be repeated")
    add("--simulated", action="store_true", help="run on the simulated GPU, as a test")
    add("--merge", type=Path, metavar="FILE", help="merge FILE into the course")
    add("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.merge:
        try:
            print("merged:", ", ".join(merge(options.merge)) or "nothing")
        except (ValueError, OSError) as error:
            parser.exit(1, f"error: {error}\n")
        return 0
    if not options.simulated and not torch.cuda.is_available():
        parser.exit(2, "error: this needs a CUDA GPU; torch.cuda.is_available() is False.\n")
    if options.part:
        options.to.write_text(json.dumps(run_part(options.part, options.simulated)))
        return 0
    result = record_all(options.to, options.only or list(PARTS), options.simulated)
    failed = [name for name, part in result["parts"].items() if "error" in part]
    print(f"written: {options.to}" + (f"; without {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
