"""Runs from several calls are merged if their conditions are the same."""

import importlib
from pathlib import Path

import pytest

CONDITIONS = {"epochs": 2.0, "images": 10}


@pytest.fixture
def ablation(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # benchmarks/ is not installed
    return importlib.import_module("benchmarks.ablation")


def make_runs(ablation, seed, *, everything, without):
    return [
        {"name": ablation.FULL_RECIPE, "seed": seed, "accuracy": everything, "seconds": 1.0},
        {"name": "salt", "seed": seed, "accuracy": without, "seconds": 2.0},
    ]


def test_earlier_runs_are_kept(ablation):
    before = ablation.summarize_runs(
        make_runs(ablation, 0, everything=0.8, without=0.7), CONDITIONS
    )
    runs = make_runs(ablation, 1, everything=0.9, without=0.6)
    results = ablation.summarize_runs(runs, CONDITIONS, before)
    rows = {row["name"]: row for row in results["rows"]}
    assert rows["salt"] == {"name": "salt", "accuracy": [0.7, 0.6], "seconds": [2.0, 2.0]}
    assert results["points_lost_median"] == {ablation.FULL_RECIPE: 0.0, "salt": 20.0}


def test_repeated_seed_replaces_earlier_run(ablation):
    before = ablation.summarize_runs(
        make_runs(ablation, 0, everything=0.8, without=0.7), CONDITIONS
    )
    runs = make_runs(ablation, 0, everything=0.8, without=0.6)
    rows = ablation.summarize_runs(runs, CONDITIONS, before)["rows"]
    assert [row["accuracy"] for row in rows] == [[0.8], [0.6]]


def test_earlier_runs_under_other_conditions_are_dropped(ablation):
    before = ablation.summarize_runs(
        make_runs(ablation, 0, everything=0.8, without=0.7), CONDITIONS | {"epochs": 1.0}
    )
    runs = make_runs(ablation, 1, everything=0.9, without=0.6)
    assert ablation.summarize_runs(runs, CONDITIONS, before)["runs"] == runs
