"""A batch killed at random moments, and then run to its end: nothing is lost, nothing runs twice.

`python -m tools.killed_batch` does it with 24 runs of lesson 03, killed three times; the
tests do it on a notebook that takes a moment, killed once.
"""

import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]


def alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def rows_of(out):
    with (out / "results.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def records_of(out):
    return [json.loads(file.read_text()) for file in sorted((out / "state").glob("*.json"))]


def kill_and_finish(command, out, times, longest, chance):
    """Run `command`, killed so often up to `longest` seconds after a run has ended, then once more.

    Returns the records that each kill found. Raises AssertionError if a process outlives a kill, or
    if a record that was written is ever another one.
    """
    seen: dict[str, dict] = {}
    found = []
    for _ in range(times):
        before = len(seen)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
            while run.poll() is None and len(list(out.glob("state/*.json"))) <= before:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, longest))
            processes = psutil.Process(run.pid).children(recursive=True)
            run.kill()
        psutil.wait_procs(processes, timeout=5)
        assert not [process for process in processes if alive(process.pid)]
        _remember(seen, out)
        found.append(len(seen))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{len(seen)} of " in done.stdout
    _remember(seen, out)
    assert not [file for file in out.rglob(".*") if file.name != ".lock"]
    return found


def _remember(seen, out):
    for record in records_of(out):
        # What was finished before is as it was.
        assert seen.setdefault(record["id"], record) == record


def main():
    """Kill a batch of 24 runs three times; print how far it was, and what the end holds."""
    chance = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else None)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        command = [sys.executable, "-m", "course.cli", "--root", str(ROOT), "batch"]
        command += ["03", "--grid", "seed", *map(str, range(24)), "--jobs", "2", "--out", str(out)]
        found = kill_and_finish(command, out, 3, 5, chance)
        rows = rows_of(out)
        seeds = sorted(int(row["parameter.seed"]) for row in rows)
        notebooks = len(list((out / "notebooks").glob("*.ipynb")))
    print(f"Killed when {found} of 24 runs were finished.")
    print(f"{len(rows)} rows, {len({row['id'] for row in rows})} runs, {notebooks} notebooks.")
    assert seeds == list(range(24))
    assert {row["status"] for row in rows} == {"passed"}
    assert notebooks == 24


if __name__ == "__main__":
    main()
