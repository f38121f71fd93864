"""Runs from several calls are merged if their settings are the same."""

import importlib
import json
from pathlib import Path

import pytest


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # benchmarks/ is not installed
    return importlib.import_module("benchmarks.accuracy_by_time_limit")


def run_entry(recipe, seconds, seed, accuracy):
    return {
        "recipe": recipe,
        "time_limit": seconds,
        "seed": seed,
        "accuracy_one_view": accuracy,
        "accuracy_six_views": accuracy,
        "images": 1000,
        "processor_seconds": 1.0,
    }


def json_round_trip(results):
    return json.loads(json.dumps(results))


def test_earlier_runs_are_kept(benchmark):
    before = json_round_trip(
        benchmark.summarize_runs([run_entry(benchmark.COURSE, "60", 0, 0.5)], "float32")
    )
    runs = [run_entry(benchmark.COURSE, "60", 1, 0.7), run_entry(benchmark.BASELINE, "300", 0, 0.6)]
    results = benchmark.summarize_runs(runs, "float32", before)
    assert [run["seed"] for run in results["runs"]] == [0, 1, 0]
    assert results["medians"][f"{benchmark.COURSE}, 60 s"]["runs"] == 2
    assert results["medians"][f"{benchmark.COURSE}, 60 s"]["accuracy_one_view"] == pytest.approx(
        0.6
    )
    assert results["time_limits"] == ["60", "300"]


def test_repeated_seed_replaces_earlier_run(benchmark):
    before = json_round_trip(
        benchmark.summarize_runs([run_entry(benchmark.COURSE, "60", 0, 0.5)], "float32")
    )
    results = benchmark.summarize_runs(
        [run_entry(benchmark.COURSE, "60", 0, 0.7)], "float32", before
    )
    assert [run["accuracy_one_view"] for run in results["runs"]] == [0.7]


def test_earlier_runs_with_other_settings_are_dropped(benchmark):
    before = json_round_trip(
        benchmark.summarize_runs([run_entry(benchmark.COURSE, "60", 0, 0.5)], "bfloat16")
    )
    results = benchmark.summarize_runs(
        [run_entry(benchmark.COURSE, "60", 1, 0.7)], "float32", before
    )
    assert [run["seed"] for run in results["runs"]] == [1]
