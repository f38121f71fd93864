"""A cumulative study keeps the changes that help and continues after a failed compilation."""

from types import SimpleNamespace

import pytest
import torch

from helpers import timing
from helpers.speedups import CHANGES, SpeedupStudy
from helpers.steps import StepConfig, TrainingStep
from helpers.timing import Comparison, Measurement


@pytest.fixture
def dataset():
    return torch.zeros(512, 3, 32, 32, dtype=torch.uint8), torch.zeros(512, dtype=torch.int64)


def fake_measurements(monkeypatch, seconds):
    """Replace the measured times with those of `seconds(config)`."""

    def compare(self, base, config):
        times = {"without": seconds(base), "with": seconds(config)}
        return Comparison({k: Measurement(k, (v,) * 7, "cpu") for k, v in times.items()})

    monkeypatch.setattr(SpeedupStudy, "_compare", compare)


def fake_seconds(config):
    return (0.5 if config.resident else 1.0) * (3.0 if config.bf16 else 1.0)


def test_failed_compilation_affects_its_own_change_only(dataset, monkeypatch):
    def seconds(config):
        if config.compiled:
            raise RuntimeError("cc1plus: no such thing\nand a long trace")
        return fake_seconds(config)

    fake_measurements(monkeypatch, seconds)
    cumulative, _ = SpeedupStudy(*dataset, "cpu").measure_cumulative()
    notes = {speedup.name: speedup.note for speedup in cumulative if speedup.note}
    assert notes == {"torch.compile": "torch.compile failed here: cc1plus: no such thing"}
    assert cumulative[-1].name == "everything"


def test_measures_a_change(dataset, monkeypatch):
    clock, real_step = [0.0], TrainingStep.__call__

    def step(self):
        real_step(self)
        clock[0] += 0.01

    monkeypatch.setattr(TrainingStep, "__call__", step)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    study = SpeedupStudy(*dataset, "cpu", rounds=3, seconds=0.01)
    speedup = study.measure(StepConfig(resident=True), "larger", {"batch_size": 512})
    assert speedup.ratio > 1
    assert speedup.ratio == pytest.approx(512 / 4)
    assert speedup.seconds_per_image == pytest.approx(0.01 / 512)


def test_changes_that_help_are_kept_and_the_last_two_compare_with_classic(dataset, monkeypatch):
    fake_measurements(monkeypatch, fake_seconds)
    study = SpeedupStudy(*dataset, "cpu", skip={"torch.compile": "takes a minute"})
    speedups, config = study.measure_cumulative()
    helpful = [speedup.name for speedup in speedups if speedup.helps]
    assert helpful == ["resident data", "what helped"]
    assert config == StepConfig(resident=True)
    assert [speedup.ratio for speedup in speedups[-2:]] == pytest.approx([2.0, 2 / 3])
    (skipped,) = [speedup for speedup in speedups if speedup.note]
    assert (skipped.name, skipped.note) == ("torch.compile", "takes a minute")
    assert [speedup.name for speedup in study.measure_each()] == list(CHANGES)
