"""The comparison with airbench uses the same images, and records nothing if it cannot run."""

from pathlib import Path

import torch

from benchmarks import against_airbench as benchmark
from helpers.cifar10 import Dataset, synthetic_images

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
    print_training_details(locals(), is_final_entry=True)
    return 0.94

if __name__ == "__main__":
    raise SystemExit("run as a program")
"""


def test_script_finds_the_datasets_images_in_its_download_folder():
    train, test = synthetic_images.generate(20, 10)
    dataset = Dataset("drawn", synthetic_images.CLASSES, train, test, "made up", synthetic=True)
    before = Path.cwd()
    with benchmark.images_for_airbench(dataset):
        saved = torch.load(Path("cifar10", "train.pt"))
        assert torch.equal(saved["images"], train.images.permute(0, 2, 3, 1))
        assert torch.equal(saved["labels"], train.labels)
        assert Path("cifar10", "test.pt").exists()
    assert Path.cwd() == before


def test_airbench_run_returns_time_and_accuracy_from_the_script(tmp_path):
    path = tmp_path / "airbench94_muon.py"
    path.write_text(SCRIPT)
    run = benchmark._prepare_airbench(path, torch.device("cpu"))
    assert run(0) == {"accuracy": 0.94, "seconds": 2.0}
    assert run(1) == {"accuracy": 0.94, "seconds": 3.0}


def test_missing_script_records_nothing_and_prints_reason(monkeypatch, capsys):
    monkeypatch.delenv("AIRBENCH", raising=False)
    assert benchmark.measure(Path("nowhere")) == {}
    assert f"curl -fO {benchmark.SOURCE}" in capsys.readouterr().out


def test_time_ratio_is_computed_per_pair():
    seconds = {"airbench": (2.0, 4.0, 10.0), "course": (1.0, 4.0, 1.0)}
    results = benchmark.summarize_runs(
        {
            name: [{"accuracy": 0.94, "seconds": s} for s in values]
            for name, values in seconds.items()
        }
    )
    assert results["ratio_of_times_median"] == 0.5
    assert results["ratio_of_times_range"] == [0.1, 1.0]
