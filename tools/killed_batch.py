"""Kill a batch at random times, let it finish, and check that no run is lost or repeated.

`python -m tools.killed_batch` kills a batch of 24 runs of lesson 03 three times. The tests kill a
batch of short runs once.
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


def is_alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def rows_of(out):
    with (out / "results.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def entries_of(out):
    return [json.loads(file.read_text()) for file in sorted((out / "state").glob("*.json"))]


def kill_and_finish(command, out, num_kills, max_delay, rng):
    """Run `command`, kill it `num_kills` times soon after a run ends, then let it finish.

    Each kill happens up to `max_delay` seconds after a run ends. Returns the number of finished
    runs at each kill. Raises AssertionError if a process survives a kill, or if the entry of a
    finished run changes.
    """
    entries: dict[str, dict] = {}
    counts = []
    for _ in range(num_kills):
        num_entries = len(entries)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
            while run.poll() is None and len(list(out.glob("state/*.json"))) <= num_entries:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, max_delay))
            processes = psutil.Process(run.pid).children(recursive=True)
            run.kill()
        psutil.wait_procs(processes, timeout=60)
        assert not [process for process in processes if is_alive(process.pid)]
        _add_entries(entries, out)
        counts.append(len(entries))
    completed = subprocess.run(command, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    assert f"{len(entries)} of " in completed.stdout
    _add_entries(entries, out)
    assert not [file for file in out.rglob(".*") if file.name != ".lock"]
    return counts


def _add_entries(entries, out):
    for entry in entries_of(out):
        # A finished run must never run again.
        assert entries.setdefault(entry["id"], entry) == entry


def main():
    """Kill a batch of 24 runs three times; print its progress at each kill and the final state."""
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else None)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        command = [sys.executable, "-m", "course.cli", "--root", str(ROOT), "batch"]
        command += ["03", "--grid", "seed", *map(str, range(24)), "--jobs", "2", "--out", str(out)]
        counts = kill_and_finish(command, out, 3, 5, rng)
        rows = rows_of(out)
        seeds = sorted(int(row["parameter.seed"]) for row in rows)
        notebooks = len(list((out / "notebooks").glob("*.ipynb")))
    print(f"Killed when {counts} of 24 runs were finished.")
    print(f"{len(rows)} rows, {len({row['id'] for row in rows})} runs, {notebooks} notebooks.")
    assert seeds == list(range(24))
    assert {row["status"] for row in rows} == {"passed"}
    assert notebooks == 24


if __name__ == "__main__":
    main()
