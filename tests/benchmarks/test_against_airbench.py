"""The comparison with airbench uses the same images, and records nothing if it cannot run."""

import importlib
from pathlib import Path

import pytest
import torch

from helpers import synthetic_images
from helpers.cifar10 import Dataset, Images
from helpers.fast_cifar10.recipes import Settings

# The parts of airbench's script that the benchmark uses.
SCRIPT = """
import torch

class CifarNet(torch.nn.Conv2d):
    def __init__(self):
        super().__init__(3, 8, 3)

    def compile(self, mode):
        self.mode = mode

def print_training_details(variables, is_final_entry):
    raise RuntimeError("prints a table")

def main(run, model):
    assert model.mode == "max-autotune"
    time_seconds = 9.0 if run == "warmup" else 2.0 + run
    tta_val_acc = 0.94
    print_training_details(locals(), is_final_entry=True)
    return tta_val_acc

if __name__ == "__main__":
    raise SystemExit("run as a program")
"""


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # benchmarks/ is not installed
    return importlib.import_module("benchmarks.against_airbench")


@pytest.fixture
def dataset():
    train, test = (Images(*split) for split in synthetic_images.generate(20, 10))
    return Dataset(
        "synthetic images", synthetic_images.CLASSES, train, test, "made up", synthetic=True
    )


def test_load_script_imports_without_running_main(benchmark, tmp_path):
    path = tmp_path / "airbench94_muon.py"
    path.write_text(SCRIPT)
    assert benchmark.load_script(path).CifarNet.__name__ == "CifarNet"


def test_script_finds_the_datasets_images_in_its_download_folder(benchmark, dataset):
    before = Path.cwd()
    with benchmark._images_for_airbench(dataset):
        saved = torch.load(Path("cifar10", "train.pt"))
        assert torch.equal(saved["images"], dataset.train.images.permute(0, 2, 3, 1))
        assert torch.equal(saved["labels"], dataset.train.labels)
        assert Path("cifar10", "test.pt").exists()
    assert Path.cwd() == before


def test_airbench_run_returns_time_and_accuracy_from_the_script(benchmark, tmp_path):
    path = tmp_path / "airbench94_muon.py"
    path.write_text(SCRIPT)
    run = benchmark._prepare_airbench(path, torch.device("cpu"))
    assert run(0) == {"accuracy": 0.94, "seconds": 2.0}
    assert run(1) == {"accuracy": 0.94, "seconds": 3.0}


def test_course_run_returns_accuracy_and_positive_seconds(benchmark, dataset):
    settings = Settings(widths=(8, 8, 8), activation="relu", batch_size=10, epochs=1)
    result = benchmark._prepare_course(dataset, torch.device("cpu"), settings)(0)
    assert 0 <= result["accuracy"] <= 1
    assert result["seconds"] > 0


def test_missing_script_records_nothing_and_prints_reason(benchmark, monkeypatch, capsys):
    monkeypatch.delenv("AIRBENCH", raising=False)
    monkeypatch.setattr(benchmark, "merge_records", lambda name, description, result: result)
    assert benchmark.measure(Path("nowhere")) == []
    printed = capsys.readouterr().out
    assert "not measured: this needs a CUDA GPU" in printed
    assert f"curl -fO {benchmark.SOURCE}" in printed


def test_runs_alternate_and_all_are_stored(benchmark, dataset, monkeypatch, tmp_path):
    script = tmp_path / "airbench94_muon.py"
    script.write_text(SCRIPT)
    order = []

    def recipe(name, seconds):
        def run(number):
            order.append((name, number))
            return {"accuracy": 0.94, "seconds": seconds}

        return run

    monkeypatch.setenv("AIRBENCH", str(script))
    monkeypatch.setenv("AIRBENCH_RUNS", "2")
    monkeypatch.setattr(benchmark, "devices", lambda: [torch.device("cuda", 0)])
    monkeypatch.setattr(benchmark, "synchronize", lambda device: None)
    monkeypatch.setattr(benchmark.cifar10, "load", lambda source: dataset)
    monkeypatch.setattr(
        benchmark, "_prepare_airbench", lambda path, device: recipe("airbench", 2.0)
    )
    monkeypatch.setattr(benchmark, "_prepare_course", lambda images, device: recipe("course", 1.0))
    monkeypatch.setattr(benchmark, "record", lambda device, results: results)
    monkeypatch.setattr(benchmark, "merge_records", lambda name, description, result: result[0])
    results = benchmark.measure(tmp_path)
    assert order == [("airbench", 0), ("course", 0), ("airbench", 1), ("course", 1)]
    assert results["ratio_of_times_median"] == 0.5
    assert len(results["runs"]["airbench"]) == 2


def test_time_ratio_is_computed_per_pair(benchmark):
    runs = {
        "airbench": [{"accuracy": 0.94, "seconds": s} for s in (2.0, 4.0, 10.0)],
        "course": [{"accuracy": 0.95, "seconds": s} for s in (1.0, 4.0, 1.0)],
    }
    results = benchmark.summarize_runs(runs, {}, "made-up images")
    assert results["ratio_of_times_median"] == 0.5
    assert results["ratio_of_times_range"] == [0.1, 1.0]
