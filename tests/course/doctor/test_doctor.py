import json
import os
import subprocess
import sys
from collections import namedtuple

import pytest

from course.doctor import doctor as module
from course.doctor import looks
from course.doctor.doctor import as_json, doctor, show
from course.doctor.looks import NOTE, OK, PROBLEM, Finding
from course.execution.gpus import Gpu

WORKING = {"torch": "2.14.1", "cuda": "13.0", "threads": 2, "devices": [], "data": "real CIFAR-10"}
CARD = Gpu("0", "NVIDIA H200", 143771, 143000, "580.65")


@pytest.fixture
def look(monkeypatch):
    """What the doctor finds where torch and nvidia-smi say what a test wants."""

    def found(probe=None, cards=(), root=None):
        monkeypatch.setattr(module, "_ask_torch", lambda: probe or WORKING)
        monkeypatch.setattr(looks.gpus, "installed", lambda: list(cards))
        return {finding.about: finding for finding in doctor(root)}

    return found


@pytest.fixture
def with_torch(tmp_path):
    """Runs `course doctor --json` in a process that finds this torch instead of the real one."""

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
    ("source", "said"),
    [
        ("raise ImportError('libcudart.so.13: cannot open shared object file')", "libcudart.so.13"),
        ("import os; os._exit(139)", "status 139"),
        ("x = 1", "has no attribute"),
    ],
)
def test_a_broken_torch_is_a_problem_and_not_the_doctors_end(with_torch, source, said):
    done = with_torch(source)
    assert done.returncode == 1
    assert done.stderr == ""
    findings = {f["about"]: f for f in json.loads(done.stdout)["findings"]}
    assert findings["torch"]["level"] == "problem"
    assert said in findings["torch"]["text"]
    assert "-m pip install --force-reinstall torch==" in findings["torch"]["mend"]


def test_a_torch_too_old_for_the_course_is_a_problem(look):
    finding = look(WORKING | {"torch": "2.9.1+cu128"})["torch"]
    assert finding.level == PROBLEM
    assert finding.text == "2.9.1+cu128. The course needs torch 2.11 or newer."
    assert "-m pip install --upgrade torch" in finding.mend


def test_a_machine_without_a_gpu_is_well(look):
    findings = look()
    assert findings["GPU"].level == OK
    assert "simulated" in findings["GPU"].text
    assert findings["torch"].text == "2.14.1, built for CUDA 13.0, 2 threads"


def test_a_gpu_is_told_with_driver_and_memory(look):
    findings = look(WORKING | {"devices": ["cuda:0 NVIDIA H200"]}, [CARD])
    assert findings["GPU 0"].text == "NVIDIA H200, driver 580.65, 143,000 of 143,771 MiB free"
    assert findings["devices"].text == "torch uses cuda:0 NVIDIA H200"
    assert "GPU" not in findings


@pytest.mark.parametrize(
    ("probe", "hidden", "said", "mend"),
    [
        ({"cuda": None}, None, "this build of torch is for CPUs", "--force-reinstall torch"),
        ({}, None, "cannot use it with driver 580.65", "nvidia.com/drivers"),
        ({}, "", "CUDA_VISIBLE_DEVICES hides it", "unset CUDA_VISIBLE_DEVICES"),
    ],
)
def test_a_gpu_that_torch_cannot_use_is_a_problem(look, monkeypatch, probe, hidden, said, mend):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    finding = look(WORKING | probe, [CARD])["GPU"]
    assert finding.level == PROBLEM
    assert said in finding.text
    assert mend in finding.mend


def test_a_gpu_that_others_have_filled_is_noted(look):
    full = Gpu("0", "NVIDIA H200", 143771, 400, "580.65")
    finding = look(WORKING | {"devices": ["cuda:0"]}, [full])["GPU 0"]
    assert finding.level == NOTE
    assert "nvidia-smi" in finding.mend


def test_a_gpu_without_memory_of_its_own_is_well(look):
    shared = Gpu("0", "NVIDIA GB10", 0, 0, "580.65")
    finding = look(WORKING | {"devices": ["cuda:0"]}, [shared])["GPU 0"]
    assert (finding.level, finding.text) == (OK, "NVIDIA GB10, driver 580.65")


def test_images_that_cannot_be_read_are_a_problem_only_where_they_were_named(look, monkeypatch):
    probe = {key: value for key, value in WORKING.items() if key != "data"}
    probe |= {"data_trouble": "there is no such file"}
    monkeypatch.delenv("CIFAR10_ROOT", raising=False)
    assert look(probe)["images"].level == NOTE
    monkeypatch.setenv("CIFAR10_ROOT", "/nowhere")
    finding = look(probe)["images"]
    assert finding.level == PROBLEM
    assert "CIFAR10_ROOT is /nowhere" in finding.text
    assert look()["images"].text == "real CIFAR-10"


def test_without_a_network_the_doctor_says_what_lessons_do_then(look, monkeypatch):
    monkeypatch.delenv("CIFAR10_ROOT", raising=False)
    probe = {key: value for key, value in WORKING.items() if key != "data"}
    finding = look(probe | {"data_trouble": "not there", "unreachable": True})["images"]
    assert finding.level == NOTE
    assert "no server that has it can be reached" in finding.text
    assert "downloads it" in look(probe | {"data_trouble": "not there"})["images"].text


def test_versions_are_compared_with_the_pins(look, tmp_path):
    numpy = looks._version("numpy")
    pins = f"numpy=={numpy}\nnothing-real==1.0\nappnope==1.0 ; sys_platform == 'darwin'\n"
    (tmp_path / "requirements.txt").write_text(pins)
    finding = look(root=tmp_path)["versions"]
    assert finding.level == NOTE
    assert finding.text.startswith("1 of 2 are not those")
    assert "nothing-real missing (pinned: 1.0)" in finding.text
    (tmp_path / "requirements.txt").write_text(f"numpy=={numpy}\n")
    assert look(root=tmp_path)["versions"].level == OK


def test_a_full_disk_is_a_problem(look, monkeypatch, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(looks.shutil, "disk_usage", lambda _: usage(100e9, 99e9, 1e9))
    finding = look(root=tmp_path)["disk"]
    assert finding.level == PROBLEM
    assert finding.text.startswith("1.0 GB free")


def test_a_missing_package_is_a_problem_with_the_command_that_installs_it(look, monkeypatch):
    version = looks._version
    monkeypatch.setattr(
        looks, "_version", lambda name: None if name == "papermill" else version(name)
    )
    finding = look()["packages"]
    assert finding.level == PROBLEM
    assert finding.text == "Not installed for this Python: papermill."
    assert "-m pip install" in finding.mend


def test_a_look_that_fails_is_a_finding_and_the_others_go_on(look, monkeypatch):
    def fail(_):
        raise RuntimeError("no such look")

    monkeypatch.setattr(looks, "disk", fail)
    findings = look()
    assert "no such look" in findings["doctor"].text
    assert "versions" in findings


def test_words_and_json_say_the_same():
    findings = [
        Finding("disk", PROBLEM, "0.1 GB free", "rm -r old"),
        Finding("torch", OK, "2.14.1"),
    ]
    assert "PROBLEM  disk: 0.1 GB free" in show(findings)
    assert "to mend it: rm -r old" in show(findings)
    assert show(findings).endswith("1 problem.")
    assert show(findings[1:]).endswith("All well.")
    assert json.loads(as_json(findings))["problems"] == 1
