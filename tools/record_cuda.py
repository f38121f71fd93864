"""Run all cases on this machine's GPU and write their behavior to `record.json`.

    python -m tools.record_cuda

Needs torch 2.11 or newer with CUDA, and a real GPU. With one GPU, the entries of cases that need
two GPUs stay unchanged. Needs no network and no other packages.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from tests.simulated_cuda.record.all_cases import all_cases
from tests.simulated_cuda.record.cases import Case
from tests.simulated_cuda.record.record import (
    REAL_GPU,
    RECORD,
    Entry,
    Record,
    load,
    minor_version,
    run_case,
    save,
)

Runner = Callable[..., Entry]


def run_all(
    cases: tuple[Case, ...], source: str, verified: bool, device: str, run: Runner
) -> tuple[Record, list[str]]:
    """Run the cases that this machine supports; return their entries and the unexpected results."""
    version = torch.__version__
    today = datetime.date.today().isoformat()
    entries: Record = {}
    unexpected_results = []
    for case in cases:
        if case.gpus > torch.cuda.device_count():
            continue
        result = run(case.code, case.shows)
        entry = replace(
            result, source=source, verified=verified, device=device, torch=version, date=today
        )
        entries[case.name] = {minor_version(version): entry}
        if result.outcome != case.outcome:
            unexpected_results.append(
                f"{case.name}: {result.outcome}, not {case.outcome}: {result}"
            )
        if case.fix:
            fixed_result = run(case.fixed_code)
            if fixed_result.outcome != "works":
                unexpected_results.append(
                    f"{case.name}, fixed: {fixed_result.type}: {fixed_result.text}"
                )
    return entries, unexpected_results


def merge(old: Record, new: Record, cases: tuple[Case, ...]) -> Record:
    """Return `old` updated with `new`; only a verified entry replaces a verified one."""
    merged: Record = {}
    for case in cases:
        versions = dict(old.get(case.name, {}))
        for version, entry in new.get(case.name, {}).items():
            if entry.verified or not (version in versions and versions[version].verified):
                versions[version] = entry
        if versions:
            merged[case.name] = versions
    return merged


def record_cases(
    source: str, verified: bool, device: str, path: Path = RECORD, run: Runner = run_case
) -> list[str]:
    """Run all cases, merge their entries into `path`, and return the unexpected results."""
    warnings.simplefilter("ignore")
    cases = all_cases()
    entries, unexpected_results = run_all(cases, source, verified, device, run)
    save(merge(load(path) if path.exists() else {}, entries, cases), path)
    print(
        f"{len(entries)} of {len(cases)} cases recorded with torch {torch.__version__} on {device}"
    )
    return unexpected_results


def main() -> int:
    """Run the command; the exit status is 1 if a case did not behave as expected."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=RECORD, help="the record file to update")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print(
            "No CUDA GPU found (torch.cuda.is_available() is False). Run this command on a machine "
            "with a GPU.",
            file=sys.stderr,
        )
        return 2
    unexpected_results = record_cases(REAL_GPU, True, torch.cuda.get_device_name(0), options.to)
    for line in unexpected_results:
        print(line, file=sys.stderr)
    return 1 if unexpected_results else 0


if __name__ == "__main__":
    sys.exit(main())
