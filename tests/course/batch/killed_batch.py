"""Kill a batch at random times and let it finish, to check that no run is lost or repeated."""

import csv
import json
import subprocess
import time

import psutil


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
