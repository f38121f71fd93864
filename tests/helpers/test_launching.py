"""`helpers.launching.torchrun` behaves like the command; lesson 09 shows its output."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.launching import torchrun

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).resolve().parents[2] / "scripts" / "parallel"


def test_prints_what_the_command_prints(tmp_path, capsys):
    torchrun("--nproc-per-node 2", PROGRAMS / "all_reduce.py")
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("$")]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    # One log file for each process: with PYTHONUNBUFFERED set, as on many CI machines, two
    # processes that write to one pipe mix their lines.
    command += ["--redirects=1", f"--log-dir={tmp_path}"]
    command += [str(PROGRAMS / "all_reduce.py")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, env=environment, check=True, timeout=300)
    logs = sorted(tmp_path.rglob("stdout.log"))
    assert len(logs) == 2
    printed_by_command = [line for log in logs for line in log.read_text().splitlines()]
    without_rank = [line.split("] ", 1)[1] for line in lines]
    assert sorted(without_rank) == sorted(printed_by_command)


def test_failure_raises_an_error_with_the_message_from_the_process(tmp_path):
    program = tmp_path / "fails.py"
    program.write_text("raise ValueError('three is not two')")
    with pytest.raises(RuntimeError, match="three is not two"):
        torchrun("--nproc-per-node 1", program)
