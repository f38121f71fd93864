"""Runs of several calls are merged if their settings are the same."""

import importlib
import json
from pathlib import Path

import pytest


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # benchmarks/ is not installed
    return importlib.import_module("benchmarks.accuracy_within_a_clock")


def made_up(recipe, seconds, seed, accuracy):
    return {
        "recipe": recipe,
        "clock": seconds,
        "seed": seed,
        "accuracy_one_view": accuracy,
        "accuracy_six_views": accuracy,
        "images": 1000,
        "processor_seconds": 1.0,
    }


def as_read(figures):
    return json.loads(json.dumps(figures))


def test_earlier_runs_are_kept(clock):
    before = as_read(clock.figures_of([made_up(clock.COURSE, "60", 0, 0.5)], "float32"))
    runs = [made_up(clock.COURSE, "60", 1, 0.7), made_up(clock.BASELINE, "300", 0, 0.6)]
    figures = clock.figures_of(runs, "float32", before)
    assert [run["seed"] for run in figures["runs"]] == [0, 1, 0]
    assert figures["medians"][f"{clock.COURSE}, 60 s"]["runs"] == 2
    assert figures["medians"][f"{clock.COURSE}, 60 s"]["accuracy_one_view"] == pytest.approx(0.6)
    assert figures["clocks"] == ["60", "300"]


def test_repeated_seed_replaces_earlier_run(clock):
    before = as_read(clock.figures_of([made_up(clock.COURSE, "60", 0, 0.5)], "float32"))
    figures = clock.figures_of([made_up(clock.COURSE, "60", 0, 0.7)], "float32", before)
    assert [run["accuracy_one_view"] for run in figures["runs"]] == [0.7]


def test_earlier_runs_with_other_settings_are_dropped(clock):
    before = as_read(clock.figures_of([made_up(clock.COURSE, "60", 0, 0.5)], "bfloat16"))
    figures = clock.figures_of([made_up(clock.COURSE, "60", 1, 0.7)], "float32", before)
    assert [run["seed"] for run in figures["runs"]] == [1]
