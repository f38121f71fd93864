import json
import os
import subprocess
import sys
from collections import namedtuple

import pytest

from course.doctor import diagnostics
from course.doctor import doctor as module
from course.doctor.diagnostics import Finding, Level
from course.doctor.doctor import as_json, doctor, format_findings
from course.execution.gpus import Gpu

WORKING = {"torch": "2.14.1", "cuda": "13.0", "threads": 2, "devices": [], "data": "real CIFAR-10"}
CARD = Gpu("0", "NVIDIA H200", 143771, 143000, "580.65")


@pytest.fixture
def examine(monkeypatch):
    """A function that runs the doctor with fake results from torch and nvidia-smi."""

    def run_doctor(probe=None, cards=(), root=None):
        monkeypatch.setattr(module, "_probe_torch", lambda: probe or WORKING)
        monkeypatch.setattr(diagnostics.gpus, "installed_gpus", lambda: list(cards))
        return {finding.name: finding for finding in doctor(root)}

    return run_doctor


@pytest.fixture
def doctor_with_torch(tmp_path):
    """A function that runs `course doctor --json` in a process with a fake `torch` module."""

    def run(source):
        (tmp_path / "torch.py").write_text(source)
        return subprocess.run(
            [sys.executable, "-m", "course.cli", "doctor", "--json"],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("raise ImportError('libcudart.so.13: cannot open shared object file')", "libcudart.so.13"),
        ("import os; os._exit(139)", "status 139"),
        ("x = 1", "has no attribute"),
    ],
)
def test_reports_broken_torch(doctor_with_torch, source, printed):
    process = doctor_with_torch(source)
    assert process.returncode == 1
    assert process.stderr == ""
    findings = {f["name"]: f for f in json.loads(process.stdout)["findings"]}
    assert findings["torch"]["level"] == "problem"
    assert printed in findings["torch"]["text"]
    assert "-m pip install --force-reinstall torch==" in findings["torch"]["fix"]


def test_reports_torch_too_old(examine):
    finding = examine(WORKING | {"torch": "2.9.1+cu128"})["torch"]
    assert finding.level == Level.PROBLEM
    assert finding.text == "2.9.1+cu128. The course needs torch 2.11 or newer."
    assert "-m pip install --upgrade torch" in finding.fix


def test_machine_without_gpu_has_no_problem(examine):
    findings = examine()
    assert findings["GPU"].level == Level.OK
    assert "simulated" in findings["GPU"].text
    assert findings["torch"].text == "2.14.1, built for CUDA 13.0, 2 threads"


def test_lists_gpu_with_driver_and_memory(examine):
    findings = examine(WORKING | {"devices": ["cuda:0 NVIDIA H200"]}, [CARD])
    assert findings["GPU 0"].text == "NVIDIA H200, driver 580.65, 143,000 of 143,771 MiB free"
    assert findings["devices"].text == "torch uses cuda:0 NVIDIA H200"
    assert "GPU" not in findings


@pytest.mark.parametrize(
    ("probe", "hidden", "printed", "fix"),
    [
        ({"cuda": None}, None, "this torch is a CPU-only build", "--force-reinstall torch"),
        ({}, None, "cannot use it with driver 580.65", "nvidia.com/drivers"),
        ({}, "", "CUDA_VISIBLE_DEVICES hides it", "unset CUDA_VISIBLE_DEVICES"),
    ],
)
def test_reports_gpu_that_torch_cannot_use(examine, monkeypatch, probe, hidden, printed, fix):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    finding = examine(WORKING | probe, [CARD])["GPU"]
    assert finding.level == Level.PROBLEM
    assert printed in finding.text
    assert fix in finding.fix


def test_reports_gpu_older_than_torch_supports(examine):
    probe = {
        "devices": ["cuda:0 NVIDIA V100", "cuda:1 Tesla T4"],
        "capabilities": [[7, 0], [7, 5]],
        "architectures": ["sm_75", "sm_80", "sm_120"],
    }
    finding = examine(WORKING | probe, [CARD])["GPU"]
    assert finding.level == Level.PROBLEM
    assert "V100 has compute capability 7.0; this build of torch supports 7.5" in finding.text
    assert "T4" not in finding.text


def test_reports_gpu_with_full_memory(examine):
    full = Gpu("0", "NVIDIA H200", 143771, 400, "580.65")
    finding = examine(WORKING | {"devices": ["cuda:0"]}, [full])["GPU 0"]
    assert finding.level == Level.NOTE
    assert "nvidia-smi" in finding.fix


def test_accepts_gpu_with_shared_memory(examine):
    shared = Gpu("0", "NVIDIA GB10", 0, 0, "580.65")
    finding = examine(WORKING | {"devices": ["cuda:0"]}, [shared])["GPU 0"]
    assert (finding.level, finding.text) == (Level.OK, "NVIDIA GB10, driver 580.65")


def test_unreadable_images_are_a_problem_only_if_named(examine, monkeypatch):
    probe = {key: value for key, value in WORKING.items() if key != "data"}
    probe |= {"data_error": "no such file"}
    monkeypatch.delenv("CIFAR10_ROOT", raising=False)
    assert examine(probe)["images"].level == Level.NOTE
    monkeypatch.setenv("CIFAR10_ROOT", "/nowhere")
    finding = examine(probe)["images"]
    assert finding.level == Level.PROBLEM
    assert "CIFAR10_ROOT is /nowhere" in finding.text
    assert examine()["images"].text == "real CIFAR-10"


def test_explains_synthetic_images_without_network(examine, monkeypatch):
    monkeypatch.delenv("CIFAR10_ROOT", raising=False)
    probe = {key: value for key, value in WORKING.items() if key != "data"}
    finding = examine(probe | {"data_error": "not there", "unreachable": True})["images"]
    assert finding.level == Level.NOTE
    assert "none of its servers can be reached" in finding.text
    assert "download it" in examine(probe | {"data_error": "not there"})["images"].text


def test_compares_versions_with_pins(examine, tmp_path):
    numpy = diagnostics._version("numpy")
    pins = f"numpy=={numpy}\nnothing-real==1.0\nappnope==1.0 ; sys_platform == 'darwin'\n"
    (tmp_path / "requirements.txt").write_text(pins)
    finding = examine(root=tmp_path)["versions"]
    assert finding.level == Level.NOTE
    assert finding.text.startswith("1 of 2 packages differ from the versions")
    assert "nothing-real missing (pinned: 1.0)" in finding.text
    (tmp_path / "requirements.txt").write_text(f"numpy=={numpy}\n")
    assert examine(root=tmp_path)["versions"].level == Level.OK


def test_reports_full_disk(examine, monkeypatch, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(diagnostics.shutil, "disk_usage", lambda _: usage(100e9, 99e9, 1e9))
    finding = examine(root=tmp_path)["disk"]
    assert finding.level == Level.PROBLEM
    assert finding.text.startswith("1.0 GB free")


def test_reports_missing_package_with_install_command(examine, monkeypatch):
    version = diagnostics._version
    monkeypatch.setattr(
        diagnostics, "_version", lambda name: None if name == "papermill" else version(name)
    )
    finding = examine()["packages"]
    assert finding.level == Level.PROBLEM
    assert finding.text == "Not installed for this Python: papermill."
    assert "-m pip install" in finding.fix


def test_failing_check_does_not_stop_the_others(examine, monkeypatch):
    def fail(_):
        raise RuntimeError("check failed here")

    monkeypatch.setattr(diagnostics, "disk", fail)
    findings = examine()
    assert "check failed here" in findings["doctor"].text
    assert "versions" in findings


def test_text_and_json_agree():
    findings = [
        Finding("disk", Level.PROBLEM, "0.1 GB free", "rm -r old"),
        Finding("torch", Level.OK, "2.14.1"),
    ]
    assert "PROBLEM  disk: 0.1 GB free" in format_findings(findings)
    assert "to fix it: rm -r old" in format_findings(findings)
    assert format_findings(findings).endswith("1 problem.")
    assert format_findings(findings[1:]).endswith("No problems.")
    assert json.loads(as_json(findings))["problems"] == 1
