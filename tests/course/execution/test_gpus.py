import os
import sys

import pytest

from course.execution import gpus
from course.execution.gpus import Gpu

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Puts a program named nvidia-smi on the path that prints what a test wants."""

    def put(text, status=0):
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return put


def test_the_drivers_tool_is_asked_for_every_gpu(nvidia_smi):
    nvidia_smi("0, NVIDIA H200, 143771, 143000, 580.65\n1, NVIDIA A100, 81920, 5, 580.65")
    assert gpus.installed() == [
        Gpu("0", "NVIDIA H200", 143771, 143000, "580.65"),
        Gpu("1", "NVIDIA A100", 81920, 5, "580.65"),
    ]
    assert gpus.visible() == ("0", "1")


def test_what_a_gpu_does_not_tell_is_no_reason_to_fail(nvidia_smi):
    nvidia_smi("0, NVIDIA GB10, [N/A], [N/A], 580.65")
    assert gpus.installed() == [Gpu("0", "NVIDIA GB10", 0, 0, "580.65")]


def test_a_driver_that_does_not_answer_means_no_gpu(nvidia_smi):
    nvidia_smi("NVIDIA-SMI has failed because it couldn't communicate with the driver", status=9)
    assert gpus.installed() == []


def test_without_the_tool_there_is_no_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus.installed() == []


@pytest.mark.parametrize(
    ("named", "expected"),
    [("2,3", ("2", "3")), ("", ()), ("-1", ()), ("GPU-8a, MIG-1", ("GPU-8a", "MIG-1"))],
)
def test_gpus_that_the_environment_names_are_the_visible_ones(monkeypatch, named, expected):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert gpus.visible() == expected
