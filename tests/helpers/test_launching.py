"""`helpers.launching.torchrun` behaves like the `torchrun` command.

The output of the other programs is compared with lesson 09's stored outputs.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.launching import torchrun

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).resolve().parents[2] / "scripts" / "parallel"


def torchrun_lines(capsys, *arguments, **options):
    """Run torchrun; return the lines printed after the command."""
    torchrun(*arguments, **options)
    return [line for line in capsys.readouterr().out.splitlines() if not line.startswith("$")]


def test_prints_what_the_command_prints(tmp_path, capsys):
    lines = torchrun_lines(capsys, "--nproc-per-node 2", PROGRAMS / "all_reduce.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    # One log file for each process: with PYTHONUNBUFFERED set, as on many CI machines, two
    # processes that write to one pipe mix their lines.
    command += ["--redirects=1", f"--log-dir={tmp_path}"]
    subprocess.run(
        [*command, str(PROGRAMS / "all_reduce.py")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        timeout=300,
    )
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


def test_killed_process_is_named_and_training_resumes_after_a_restart(tmp_path, capsys):
    checkpoint = tmp_path / "checkpoint.pt"
    program = PROGRAMS / "restart.py"
    lines = torchrun_lines(capsys, "--nproc-per-node 2", program, checkpoint, expect_failure=True)
    assert lines[-1] == "torchrun: rank 1 failed first, with exit code -9"
    assert not any("SignalException" in line for line in lines)  # as with the command `torchrun`
    lines = torchrun_lines(capsys, "--nproc-per-node 2 --max-restarts 1", program, checkpoint)
    for rank in (0, 1):
        assert f"[rank {rank}, restart 1] starts at step 5" in lines
    ends = {line.split("] ")[1] for line in lines if "ends after step 9" in line}
    assert len(ends) == 1  # both ranks have the same bias
