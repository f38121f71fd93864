"""Read the results of a batch, and check whether its processes are alive."""

import csv
import json

import psutil


def is_alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def rows_of(out):
    with (out / "results.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def entries_of(out):
    return [json.loads(file.read_text()) for file in sorted((out / "state").glob("*.json"))]
