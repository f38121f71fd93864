"""The programs of `scripts/parallel` on machines that differ from this one."""

from pathlib import Path

import pytest

from helpers.launching import torchrun

pytestmark = pytest.mark.slow

FSDP = Path(__file__).resolve().parents[2] / "scripts" / "parallel" / "fsdp.py"

# With two processes and one GPU, both use the CPU. FSDP's default is the GPU that torch reports.
ONE_GPU = f"""
import runpy
from unittest import mock
import torch

with (
    mock.patch("torch.cuda.device_count", return_value=1),
    mock.patch("torch._C._get_accelerator", return_value=torch.device("cuda")),
    mock.patch("torch.cuda.set_device", side_effect=RuntimeError("a GPU was chosen")),
):
    runpy.run_path({str(FSDP)!r}, run_name="__main__")
"""


def test_fsdp_uses_the_cpu_if_there_are_fewer_gpus_than_processes(tmp_path, capsys):
    program = tmp_path / "one_gpu.py"
    program.write_text(ONE_GPU)
    torchrun("--nproc-per-node 2", program)
    assert capsys.readouterr().out.count("as without FSDP") == 2
