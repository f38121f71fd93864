import os
import sys

import pytest

from course.execution import gpus
from course.execution.gpus import Gpu

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nvidia-smi is a shell script here")


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """A function that puts an `nvidia-smi` program that prints the given text on the path."""

    def install(text, status=0):
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return install


def test_every_gpu_that_nvidia_smi_lists_is_found(nvidia_smi):
    nvidia_smi("0, NVIDIA H200, 143771, 143000, 580.65\n1, NVIDIA GB10, [N/A], [N/A], 580.65")
    assert gpus.installed_gpus() == [
        Gpu("0", "NVIDIA H200", 143771, 143000, "580.65"),
        Gpu("1", "NVIDIA GB10", 0, 0, "580.65"),
    ]
    assert gpus.visible_gpu_ids() == ("0", "1")


def test_failing_or_missing_driver_means_no_gpu(nvidia_smi, tmp_path, monkeypatch):
    nvidia_smi("NVIDIA-SMI has failed because it couldn't communicate with the driver", status=9)
    assert gpus.installed_gpus() == []
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert gpus.installed_gpus() == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [("2,3", ("2", "3")), ("", ()), ("-1", ()), ("GPU-8a, MIG-1", ("GPU-8a", "MIG-1"))],
)
def test_visible_gpus_are_read_from_the_environment(monkeypatch, value, expected):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert gpus.visible_gpu_ids() == expected
