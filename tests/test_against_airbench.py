"""The race against airbench finds what it needs, and records nothing where it cannot run."""

import importlib
from pathlib import Path

import pytest
import torch

from helpers import drawn_images
from helpers.cifar10 import Dataset, Images

SCRIPT = """
import torch

class CifarNet(torch.nn.Module):
    pass

if __name__ == "__main__":
    raise SystemExit("run as a program")
"""


@pytest.fixture
def race(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent.parent)  # benchmarks/ is not installed
    return importlib.import_module("benchmarks.against_airbench")


@pytest.fixture
def dataset():
    train, test = (Images(*split) for split in drawn_images.draw(20, 10))
    return Dataset("drawn images", drawn_images.CLASSES, train, test, "made up", drawn=True)


def test_the_script_is_imported_and_not_run(race, tmp_path):
    path = tmp_path / "airbench94_muon.py"
    path.write_text(SCRIPT)
    assert race.load_script(path).CifarNet.__name__ == "CifarNet"


def test_the_script_finds_the_same_images_where_it_looks_for_them(race, dataset):
    before = Path.cwd()
    with race._images_for_airbench(dataset):
        held = torch.load(Path("cifar10", "train.pt"))
        assert torch.equal(held["images"], dataset.train.images.permute(0, 2, 3, 1))
        assert torch.equal(held["labels"], dataset.train.labels)
        assert Path("cifar10", "test.pt").exists()
    assert Path.cwd() == before


def test_without_a_script_nothing_is_recorded_and_the_reason_is_said(race, monkeypatch, capsys):
    monkeypatch.delenv("AIRBENCH", raising=False)
    monkeypatch.setattr(race, "merged", lambda name, what, found: found)
    assert race.measure(Path("nowhere")) == []
    assert "not measured: needs a CUDA GPU" in capsys.readouterr().out


def test_both_are_run_in_turn_and_every_run_is_kept(race, dataset, monkeypatch, tmp_path):
    script = tmp_path / "airbench94_muon.py"
    script.write_text(SCRIPT)
    order = []

    def contestant(name, seconds):
        def run(number):
            order.append((name, number))
            return {"accuracy": 0.94, "seconds": seconds}

        return run

    monkeypatch.setenv("AIRBENCH", str(script))
    monkeypatch.setenv("RACE_RUNS", "2")
    monkeypatch.setattr(race, "devices", lambda: [torch.device("cuda", 0)])
    monkeypatch.setattr(race, "synchronize", lambda device: None)
    monkeypatch.setattr(race.cifar10, "load", lambda source: dataset)
    monkeypatch.setattr(race, "_airbench", lambda path: contestant("airbench", 2.0))
    monkeypatch.setattr(race, "_course", lambda images, device: contestant("course", 1.0))
    monkeypatch.setattr(race, "record", lambda device, figures: figures)
    monkeypatch.setattr(race, "merged", lambda name, what, found: found[0])
    figures = race.measure(tmp_path)
    assert order == [("airbench", 0), ("course", 0), ("airbench", 1), ("course", 1)]
    assert figures["ratio_of_times_median"] == 0.5
    assert len(figures["runs"]["airbench"]) == 2
