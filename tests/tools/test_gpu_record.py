"""The GPU recorder: every part runs on the simulated GPU, and only valid recordings are merged."""

import json
import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from course.execution.kernels import CurrentPythonKernelManager
from helpers import records
from tools import gpu_record

NOTEBOOK = Path(gpu_record.__file__).with_suffix(".ipynb")
ROOT = NOTEBOOK.parents[1]

SLOW_PARTS = {"speedups", "airbench"}  # they train networks


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_PARTS else [])
        for name in gpu_record.PARTS
        if name != "messages"
    ],
)
def test_part_runs_on_the_simulated_gpu(name):
    recording = gpu_record.run_part(name, simulated=True)
    assert "error" not in recording, recording["traceback"]
    (entry,) = [entry for entry in recording["records"] if entry["kind"] == "cuda"]
    assert entry["results"]
    json.dumps(recording)


def test_messages_are_recorded_case_by_case():
    recording = gpu_record.run_part("messages", simulated=True)
    assert "error" not in recording, recording["traceback"]
    assert len(recording["messages"]) >= 15


def test_failed_part_is_recorded_as_an_error_with_its_traceback(monkeypatch):
    def fail(simulated):
        raise RuntimeError("out of luck")

    monkeypatch.setitem(gpu_record.PARTS, "airbench", (fail, 1))
    recording = gpu_record.run_part("airbench", simulated=False)
    assert recording["error"] == "RuntimeError: out of luck"
    assert "Traceback" in recording["traceback"]


def test_recording_of_the_simulated_gpu_is_marked_invalid(tmp_path):
    path = tmp_path / "found.json"
    assert gpu_record.main(["--simulated", "--only", "matrix_product", "--to", str(path)]) == 0
    recording = json.loads(path.read_text())
    assert recording["valid"] is False
    rates = recording["parts"]["matrix_product"]["records"][0]["results"]["tflop_per_second"]
    assert all(rate > 0 for rate in rates["float32"])


@pytest.mark.slow
def test_notebook_runs_in_an_empty_folder_and_writes_the_file(tmp_path, monkeypatch):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    (clone,) = [cell for cell in notebook.cells if "git clone" in cell.source]
    address = next(word for word in clone.source.split() if word.startswith("https://"))
    (command_cell,) = [cell for cell in notebook.cells if "-m tools.gpu_record --to" in cell.source]
    command_cell.source += " --simulated --only matrix_product"
    # git then clones this repository instead of the published one.
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{ROOT}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", address)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    NotebookClient(
        notebook,
        timeout=300,
        startup_timeout=180,
        kernel_manager_class=CurrentPythonKernelManager,
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    recording = json.loads((tmp_path / "gpu_course" / "gpu_record.json").read_text())
    assert recording["valid"] is False
    assert list(recording["parts"]) == ["matrix_product"]
    assert "gpu_record.json is in this folder" in notebook.cells[-1].outputs[-1].text


def test_time_limits_sum_to_less_than_ten_minutes():
    assert sum(limit for _, limit in gpu_record.PARTS.values()) < 600


def write_recording(path, *, valid, parts):
    path.write_text(json.dumps({"format": 1, "valid": valid, "parts": parts}))
    return path


def entry(device, value):
    return {
        "device": device,
        "kind": "cuda",
        "torch": "2.14.1",
        "date": "2026-11-22",
        "results": {"value": value},
    }


def test_merge_keeps_recordings_from_other_devices(tmp_path):
    for device, value in (("Tesla T4", 1), ("NVIDIA H100", 2), ("Tesla T4", 3)):
        part = {"what": "copies", "records": [entry(device, value)]}
        parts = {"transfers": part, "airbench": {"error": "stopped after 120 s"}}
        path = write_recording(tmp_path / "sent.json", valid=True, parts=parts)
        assert gpu_record.merge(path, results=tmp_path) == ["transfers"]
    values = {
        record.device: record.results["value"] for record in records.read("transfers", tmp_path)
    }
    assert values == {"Tesla T4": 3, "NVIDIA H100": 2}


def test_merge_rejects_recording_of_the_simulated_gpu(tmp_path):
    path = write_recording(tmp_path / "sent.json", valid=False, parts={})
    with pytest.raises(ValueError, match="timings are not valid"):
        gpu_record.merge(path, results=tmp_path)


def test_merge_rejects_other_files(tmp_path, capsys):
    path = tmp_path / "sent.json"
    path.write_text("[]")
    with pytest.raises(SystemExit) as exit_info:
        gpu_record.main(["--merge", str(path)])
    assert exit_info.value.code == 1
    assert "was not written by tools.gpu_record" in capsys.readouterr().err


def test_notebook_for_colab_runs_the_command():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert "python -m tools.gpu_record" in code
    assert notebook.metadata["accelerator"] == "GPU"
    assert not any(cell.get("outputs") for cell in notebook.cells)
