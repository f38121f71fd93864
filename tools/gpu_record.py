"""Record the GPU results that the lessons show: `python -m tools.gpu_record` on a GPU machine.

Takes at most ten minutes on a T4 and writes one file, `gpu_record.json`. To merge the file into the
course: `python -m tools.gpu_record --merge gpu_record.json`.

Each part runs in its own process with a time limit, so a part that fails or runs too long does not
affect the others. `--simulated` runs everything on the simulated GPU with tiny sizes; the file it
writes is marked invalid and cannot be merged.
"""

import argparse
import contextlib
import datetime
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch

import simulated_cuda
from benchmarks import against_airbench, batch_and_width, matrix_product, transfers
from benchmarks._recording import merge_records, record
from helpers import cifar10, timing
from helpers.fast_cifar10.augmentation import on_device
from helpers.fast_cifar10.recipes import GPU
from helpers.fast_cifar10.training import Trainer
from helpers.records import RECORDS, Record
from helpers.speedups import SpeedupStudy
from simulated_cuda.tests.recorded_cases import RECORD as MESSAGES
from simulated_cuda.tests.recorded_cases import load
from tools import record_cuda

FORMAT = 1
AIRBENCH_RUNS = 3


def run_matrix_product(simulated: bool) -> dict[str, Any]:
    """Measure matrix products of increasing size."""
    if simulated:
        return matrix_product.measure(Path(), sizes=(64, 128), seconds=0.01)
    return matrix_product.measure(Path())


def run_transfers(simulated: bool) -> dict[str, Any]:
    """Measure copies between CPU and GPU."""
    if not simulated:
        return transfers.measure(Path())
    with mock.patch.multiple(transfers, SIZES=(4096, 32768), ROUNDS=3, MATRIX=64, SECONDS=0.01):
        return transfers.measure(Path())


def run_batch_and_width(simulated: bool) -> dict[str, Any]:
    """Measure the time per image for each batch size, width and depth."""
    if not simulated:
        return batch_and_width.measure("auto")
    small = {"BATCH_SIZES": (4, 16), "WIDTHS": {"other": (1, 2)}, "DEPTHS": (1, 2)}
    with mock.patch.multiple(batch_and_width, ROUNDS=3, SECONDS=0.01, **small):
        return batch_and_width.measure("synthetic")


def run_speedups(simulated: bool) -> dict[str, Any]:
    """Measure each change to the classic script, alone and on top of those that helped."""
    dataset = cifar10.load("synthetic" if simulated else "auto")
    device = torch.device("cuda", 0)
    rounds, seconds = (3, 0.01) if simulated else (5, 0.3)
    skip = {"torch.compile": "not tried on the simulated GPU"} if simulated else {}
    study = SpeedupStudy(*dataset.train, device, rounds=rounds, seconds=seconds, skip=skip)
    cumulative, top = study.measure_cumulative()
    results = {
        "rounds": rounds,
        "data": dataset.provenance,
        "cumulative": [asdict(speedup) for speedup in cumulative],
        "alone": [asdict(speedup) for speedup in study.measure_each()],
        "top": vars(top),
    }
    return merge_records("speedups", "changes to the classic script", [record(device, results)])


def run_against_airbench(simulated: bool) -> dict[str, Any]:
    """Measure lesson 06's recipe, next to airbench if AIRBENCH is the path of its script."""
    if os.environ.get("AIRBENCH") and not simulated:
        os.environ.setdefault("AIRBENCH_RUNS", str(AIRBENCH_RUNS))
        return against_airbench.measure("auto")
    dataset = cifar10.load("synthetic" if simulated else "auto")
    if dataset.synthetic and not simulated:
        raise RuntimeError("this comparison needs the real CIFAR-10; set CIFAR10_ROOT")
    device = torch.device("cuda", 0)
    settings = replace(GPU, compiled=False)  # compiling alone can take minutes
    images, labels = dataset.train
    if simulated:
        settings = replace(settings, widths=(4, 8, 8), epochs=1.0, precision="float32")
        images, labels = images[:4000], labels[:4000]
    trainer = Trainer(settings, images, labels, device)
    warm_up = trainer.warm_up()
    test = on_device(*(part[: 200 if simulated else None] for part in dataset.test), device)
    runs = []
    for seed in range(AIRBENCH_RUNS):
        run = trainer.run(seed)
        runs.append({"seconds": run.seconds, "accuracy": trainer.accuracy(*test)})
    results = {
        "data": dataset.provenance,
        "runs": runs,
        "warm_up_seconds": warm_up,
        "settings": json.loads(json.dumps(asdict(settings))),
    }
    return merge_records("fast_run", "lesson 06's recipe on a GPU", [record(device, results)])


def run_messages(simulated: bool) -> dict[str, Any]:
    """Record how CUDA behaves in each test case of the simulated device."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        if simulated:
            cases = record_cuda.all_cases()[:20]
            with mock.patch.object(record_cuda, "all_cases", lambda: cases):
                unexpected_results = record_cuda.record_cases(
                    "simulated", False, "simulated GPU", path
                )
        else:
            name = torch.cuda.get_device_name(0)
            unexpected_results = record_cuda.record_cases(record_cuda.REAL_GPU, True, name, path)
        return {"messages": json.loads(path.read_text()), "unexpected_results": unexpected_results}


# The function and the time limit of each part, in seconds. The limits total under ten minutes.
PARTS: dict[str, tuple[Callable[[bool], dict[str, Any]], int]] = {
    "matrix_product": (run_matrix_product, 50),
    "transfers": (run_transfers, 40),
    "batch_and_width": (run_batch_and_width, 100),
    "airbench": (run_against_airbench, 120),
    "messages": (run_messages, 70),
    "speedups": (run_speedups, 200),
}


@contextlib.contextmanager
def _gpu(simulated: bool) -> Iterator[None]:
    """Provide the real GPU, or a simulated GPU with timing allowed."""
    if not simulated:
        yield
        return
    gpu = torch.device("cuda", 0)
    with (
        simulated_cuda.simulated(devices=1),
        mock.patch.object(timing, "raise_if_simulated", lambda device: None),
        mock.patch.object(batch_and_width, "devices", lambda: [gpu]),
        mock.patch.object(matrix_product, "devices", lambda: [gpu]),
        mock.patch.object(transfers, "devices", lambda: [gpu]),
        mock.patch.object(torch.accelerator, "synchronize", lambda device=None: None),
    ):
        yield


def run_part(name: str, simulated: bool) -> dict[str, Any]:
    """Run one part in this process; return its result, or its error as a dict."""
    try:
        with _gpu(simulated):
            return PARTS[name][0](simulated)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}


def record_all(path: Path, names: list[str], simulated: bool) -> dict[str, Any]:
    """Run the parts `names`, each in its own process, and write their results to `path`."""
    result: dict[str, Any] = {
        "format": FORMAT,
        "valid": not simulated,
        "device": "simulated GPU" if simulated else torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        "parts": {},
    }
    for name in names:
        # Timings of the simulated GPU are not used, and the machine may be slow or busy.
        limit = PARTS[name][1] * (10 if simulated else 1)
        print(f"{name}: at most {limit} s ...", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder) / "part.json"
            command = [sys.executable, "-m", "tools.gpu_record", "--part", name, "--to", str(part)]
            command += ["--simulated"] if simulated else []
            try:
                subprocess.run(command, timeout=limit, check=True)
                outcome = json.loads(part.read_text())
            except subprocess.TimeoutExpired:
                outcome = {"error": f"stopped after {limit} s"}
            except (subprocess.CalledProcessError, OSError, ValueError) as error:
                outcome = {"error": str(error)}
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
    names = []
    for name, part in parts.items():
        if "error" in part:
            continue
        if name == "messages":
            new = Path(tempfile.mkdtemp()) / "record.json"
            new.write_text(json.dumps(part["messages"]))
            old = load(messages) if messages.exists() else {}
            record_cuda.save(record_cuda.merge(old, load(new)), messages)
        else:
            gpu_records = [Record(**entry) for entry in part["records"] if entry["kind"] == "cuda"]
            target = "against_airbench" if part["what"] == against_airbench.WHAT else name
            target = "fast_run" if name == "airbench" and target == name else target
            content = merge_records(target, part["what"], gpu_records, results)
            (results / f"{target}.json").write_text(json.dumps(content, indent=2) + "\n")
        names.append(name)
    return names


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu_record", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--to", type=Path, default=Path("gpu_record.json"), help="file to write")
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="record only this part; can be repeated"
    )
    parser.add_argument(
        "--simulated", action="store_true", help="run on the simulated GPU, as a test"
    )
    parser.add_argument("--merge", type=Path, metavar="FILE", help="merge FILE into the course")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
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
        outcome = run_part(options.part, options.simulated)
        options.to.write_text(json.dumps(outcome))
        return 0
    result = record_all(options.to, options.only or list(PARTS), options.simulated)
    failed = [name for name, part in result["parts"].items() if "error" in part]
    print(f"written: {options.to}" + (f"; without {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
