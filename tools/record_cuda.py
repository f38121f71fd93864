"""Runs every case on this machine's GPU and writes what happened into `record.json`.

    python -m tools.record_cuda

Needs torch 2.11 or newer with CUDA and one real GPU; cases for two GPUs are left as they are
where there is one. Nothing else is needed: no network, no other package.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

from tests.simulated_cuda.record.cases import Case, all_cases, fresh_names
from tests.simulated_cuda.record.record import (
    REAL_GPU,
    RECORD,
    Entry,
    Record,
    load,
    minor_version,
    save,
)

Runner = Callable[..., Entry]


def run_case(code: str, shows: str = "") -> Entry:
    """Run one case's source text; the entry says what happened but not yet where and when."""
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


def run_all(
    cases: tuple[Case, ...], source: str, verified: bool, device: str, run: Runner
) -> tuple[Record, list[str]]:
    """Run every case that this machine can, and list what is not as the case says."""
    version = torch.__version__
    today = datetime.date.today().isoformat()
    found: Record = {}
    surprises = []
    for case in cases:
        if case.gpus > torch.cuda.device_count():
            continue
        happened = run(case.code, case.shows)
        described = Entry(
            happened.outcome,
            happened.type,
            happened.text,
            happened.value,
            source,
            verified,
            device,
            version,
            today,
        )
        found[case.name] = {minor_version(version): described}
        if happened.outcome != case.outcome:
            surprises.append(f"{case.name}: {happened.outcome}, not {case.outcome}: {happened}")
        if case.mended:
            cured = run(case.mended_code)
            if cured.outcome != "works":
                surprises.append(f"{case.name}, mended: {cured.type}: {cured.text}")
    return found, surprises


def merge(old: Record, new: Record, cases: tuple[Case, ...]) -> Record:
    """`old` with the entries of `new` in it; a verified entry gives way only to a verified one."""
    merged: Record = {}
    for case in cases:
        versions = dict(old.get(case.name, {}))
        for version, entry in new.get(case.name, {}).items():
            if entry.verified or not (version in versions and versions[version].verified):
                versions[version] = entry
        if versions:
            merged[case.name] = versions
    return merged


def write(
    source: str, verified: bool, device: str, path: Path = RECORD, run: Runner = run_case
) -> list[str]:
    """Run all cases, merge what happened into the record at `path`, return the surprises."""
    warnings.simplefilter("ignore")
    cases = all_cases()
    found, surprises = run_all(cases, source, verified, device, run)
    save(merge(load(path) if path.exists() else {}, found, cases), path)
    print(f"{len(found)} of {len(cases)} cases recorded with torch {torch.__version__} on {device}")
    return surprises


def main() -> int:
    """The command; its exit status is 1 where a case did not do what it says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=RECORD, help="the record to write into")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("This needs a real CUDA GPU: torch.cuda.is_available() is False.", file=sys.stderr)
        return 2
    surprises = write(REAL_GPU, True, torch.cuda.get_device_name(0), options.to)
    for line in surprises:
        print(line, file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
