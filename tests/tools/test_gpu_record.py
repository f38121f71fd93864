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


@pytest.mark.parametrize(
    "name", ["batch_and_width", pytest.param("speedups", marks=pytest.mark.slow)]
)
def test_part_runs_on_the_simulated_gpu(name):
    recording = gpu_record.run_part(name, simulated=True)
    assert "error" not in recording, recording["traceback"]
    (entry,) = [entry for entry in recording["records"] if entry["kind"] == "cuda"]
    assert entry["results"]["command"] == f"python -m benchmarks {name}"


def test_messages_are_recorded_case_by_case():
    recording = gpu_record.run_part("messages", simulated=True)
    assert "error" not in recording, recording["traceback"]
    assert len(recording["messages"]) >= 15


def test_failed_part_is_recorded_as_an_error_with_its_traceback(monkeypatch):
    monkeypatch.setattr(gpu_record, "record_messages", lambda simulated: 1 / 0)
    recording = gpu_record.run_part("messages", simulated=False)
    assert recording["error"] == "ZeroDivisionError: division by zero"
    assert "Traceback" in recording["traceback"]


@pytest.mark.slow
def test_notebook_runs_in_an_empty_folder_and_writes_an_invalid_file(tmp_path, monkeypatch):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    (clone,) = [cell for cell in notebook.cells if "git clone" in cell.source]
    address = next(word for word in clone.source.split() if word.startswith("https://"))
    (command_cell,) = [cell for cell in notebook.cells if "-m tools.gpu_record --to" in cell.source]
    command_cell.source += " --simulated --only batch_and_width"
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
    assert list(recording["parts"]) == ["batch_and_width"]
    assert "gpu_record.json is in this folder" in notebook.cells[-1].outputs[-1].text


def test_time_limits_sum_to_less_than_ten_minutes():
    assert sum(gpu_record.PARTS.values()) < 600


def test_merge_keeps_recordings_from_other_devices(tmp_path):
    path = tmp_path / "sent.json"
    for device, value in (("Tesla T4", 1), ("NVIDIA H100", 2), ("Tesla T4", 3)):
        entry = {"device": device, "kind": "cuda", "torch": "2.14.1", "date": "2026-11-22"}
        part = {
            "description": "seconds per image",
            "records": [entry | {"results": {"value": value}}],
        }
        parts = {"batch_and_width": part, "speedups": {"error": "stopped after 200 s"}}
        path.write_text(json.dumps({"valid": True, "parts": parts}))
        assert gpu_record.merge(path, results=tmp_path) == ["batch_and_width"]
    values = {
        record.device: record.results["value"]
        for record in records.read("batch_and_width", tmp_path)
    }
    assert values == {"Tesla T4": 3, "NVIDIA H100": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"valid": false, "parts": {}}', "timings are not valid"),
        ("[]", "was not written by tools.gpu_record"),
    ],
)
def test_merge_rejects_other_files(tmp_path, capsys, text, message):
    (tmp_path / "sent.json").write_text(text)
    with pytest.raises(SystemExit) as exit_info:
        gpu_record.main(["--merge", str(tmp_path / "sent.json")])
    assert exit_info.value.code == 1
    assert message in capsys.readouterr().err
