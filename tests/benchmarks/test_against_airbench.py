"""The comparison with airbench uses the same images, and records nothing if it cannot run."""

from pathlib import Path

import pytest
import torch

from benchmarks import against_airbench as benchmark
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
def dataset():
    train, test = (Images(*split) for split in synthetic_images.generate(20, 10))
    return Dataset(
        "synthetic images", synthetic_images.CLASSES, train, test, "made up", synthetic=True
    )


def test_script_finds_the_datasets_images_in_its_download_folder(dataset):
    before = Path.cwd()
    with benchmark._images_for_airbench(dataset):
        saved = torch.load(Path("cifar10", "train.pt"))
        assert torch.equal(saved["images"], dataset.train.images.permute(0, 2, 3, 1))
        assert torch.equal(saved["labels"], dataset.train.labels)
        assert Path("cifar10", "test.pt").exists()
    assert Path.cwd() == before


def test_airbench_run_returns_time_and_accuracy_from_the_script(tmp_path):
    path = tmp_path / "airbench94_muon.py"
    path.write_text(SCRIPT)
    run = benchmark._prepare_airbench(path, torch.device("cpu"))
    assert run(0) == {"accuracy": 0.94, "seconds": 2.0}
    assert run(1) == {"accuracy": 0.94, "seconds": 3.0}


def test_course_run_returns_accuracy_and_positive_seconds(dataset):
    settings = Settings(widths=(8, 8, 8), activation="relu", batch_size=10, epochs=1)
    result = benchmark._prepare_course(dataset, torch.device("cpu"), settings)(0)
    assert 0 <= result["accuracy"] <= 1
    assert result["seconds"] > 0


def test_missing_script_records_nothing_and_prints_reason(monkeypatch, capsys):
    monkeypatch.delenv("AIRBENCH", raising=False)
    assert benchmark.measure(Path("nowhere")) == {}
    printed = capsys.readouterr().out
    assert "not measured: this needs a CUDA GPU" in printed
    assert f"curl -fO {benchmark.SOURCE}" in printed


def test_time_ratio_is_computed_per_pair():
    runs = {
        "airbench": [{"accuracy": 0.94, "seconds": s} for s in (2.0, 4.0, 10.0)],
        "course": [{"accuracy": 0.95, "seconds": s} for s in (1.0, 4.0, 1.0)],
    }
    results = benchmark.summarize_runs(runs)
    assert results["ratio_of_times_median"] == 0.5
    assert results["ratio_of_times_range"] == [0.1, 1.0]
