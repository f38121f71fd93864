import json
import os
from collections import namedtuple
from importlib import metadata

import pytest

from course.doctor import doctor as module
from course.doctor.doctor import Finding, Level, doctor, format_findings
from course.execution.gpus import Gpu
from tests.conftest import run_python

WORKING = {"torch": "2.14.1", "cuda": "13.0", "threads": 2, "devices": [], "data": "real CIFAR-10"}
NO_DATA = {"data": None, "data_error": "no such file"}
H200 = Gpu("0", "NVIDIA H200", 143771, 143000, "580.65")
FULL = Gpu("0", "NVIDIA H200", 143771, 400, "580.65")
SHARED_MEMORY = Gpu("0", "NVIDIA GB10", 0, 0, "580.65")
OLD = {"devices": ["V100", "T4"], "capabilities": [[7, 0], [7, 5]], "architectures": ["sm_75"]}


@pytest.fixture
def examine(monkeypatch):
    """A function that runs the doctor with fake results from torch and nvidia-smi."""

    def run_doctor(probe=None, cards=(), root=None):
        monkeypatch.setattr(module, "_probe_torch", lambda: probe or WORKING)
        monkeypatch.setattr(module.gpus, "installed_gpus", lambda: list(cards))
        return {finding.name: finding for finding in doctor(root)}

    return run_doctor


@pytest.mark.parametrize(
    ("source", "printed"),
    [("raise ImportError('no libcudart')", "no libcudart"), ("import os; os._exit(9)", "status 9")],
)
def test_reports_broken_torch(tmp_path, source, printed):
    (tmp_path / "torch.py").write_text(source)
    path = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    process = run_python("-m", "course.cli", "doctor", "--json", env=os.environ | path)
    assert (process.returncode, process.stderr) == (1, "")
    finding = next(f for f in json.loads(process.stdout)["findings"] if f["name"] == "torch")
    assert finding["level"] == "problem"
    assert printed in finding["text"]
    assert "-m pip install --force-reinstall torch==" in finding["fix"]


@pytest.mark.parametrize(
    ("change", "cards", "name", "level", "text", "fix"),
    [
        ({}, [], "GPU", "ok", "simulated GPU", ""),
        ({}, [], "torch", "ok", "2.14.1, built for CUDA 13.0, 2 threads", ""),
        ({"torch": "2.9.1+cu128"}, [], "torch", "problem", "torch 2.11 or newer", "--upgrade"),
        ({"devices": ["cuda:0"]}, [H200], "GPU 0", "ok", "143,000 of 143,771 MiB free", ""),
        ({"devices": ["cuda:0"]}, [H200], "devices", "ok", "torch uses cuda:0", ""),
        ({"devices": ["cuda:0"]}, [FULL], "GPU 0", "note", "400 of 143,771", "nvidia-smi"),
        ({"devices": ["cuda:0"]}, [SHARED_MEMORY], "GPU 0", "ok", "GB10, driver 580.65", ""),
        ({"cuda": None}, [H200], "GPU", "problem", "CPU-only build", "--force-reinstall torch"),
        ({}, [H200], "GPU", "problem", "cannot use it with driver 580.65", "nvidia.com/drivers"),
        ({"env": "CUDA_VISIBLE_DEVICES"}, [H200], "GPU", "problem", "hides it", "unset CUDA_VIS"),
        ({}, [], "images", "ok", "real CIFAR-10", ""),
        (NO_DATA, [], "images", "note", "CIFAR-10 is not on this machine", "export CIFAR10_ROOT"),
        (NO_DATA | {"env": "CIFAR10_ROOT"}, [], "images", "problem", "/nowhere", "unset CIFAR10"),
        (OLD, [H200], "GPU", "problem", "V100 has compute capability 7.0; this build", "export"),
    ],
)
def test_reports_torch_gpus_and_images(examine, monkeypatch, change, cards, name, level, text, fix):
    for variable in ("CUDA_VISIBLE_DEVICES", "CIFAR10_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    if variable := change.get("env"):
        monkeypatch.setenv(variable, "" if variable.startswith("CUDA") else "/nowhere")
    finding = examine(WORKING | change, cards)[name]
    assert (finding.level, text in finding.text, fix in finding.fix) == (level, True, True)


def test_reports_full_disk(examine, monkeypatch, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage(100e9, 99e9, 1e9))
    finding = examine(root=tmp_path)["disk"]
    assert (finding.level, finding.text[:11]) == (Level.PROBLEM, "1.0 GB free")


def test_reports_versions_or_missing_package_with_install_command(examine, monkeypatch):
    assert f"numpy {metadata.version('numpy')}" in examine()["packages"].text
    monkeypatch.setattr(module, "_REQUIRED", ("numpy", "nothing-real"))
    finding = examine()["packages"]
    assert finding.text == "Not installed for this Python: nothing-real."
    assert "-m pip install" in finding.fix


def test_failing_check_does_not_stop_the_others(examine, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: 1 / 0)
    findings = examine()
    assert "ZeroDivisionError" in findings["doctor"].text
    assert "images" in findings


def test_formats_problems_with_their_fix():
    findings = [Finding("disk", Level.PROBLEM, "full", "rm -r old"), Finding("GPU", Level.OK, "T4")]
    lines = "PROBLEM  disk: full\n          to fix it: rm -r old\nok       GPU: T4\n1 problem."
    assert format_findings(findings) == lines
    assert format_findings(findings[1:]).endswith("No problems.")
