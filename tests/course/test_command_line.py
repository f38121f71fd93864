"""Every command rejects invalid options with the same exit status and a clear message."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course.cli import main

ROOT = Path(__file__).parents[2]

RUN, BATCH, GRADE = ["run", "03"], ["batch", "03"], ["grade", "01", "in"]
BUILD, SIMILAR = ["build", "03"], ["similar", "01", "in"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        *[([*command, "--jobs", "0"], "0 is less than 1") for command in (RUN, BATCH, GRADE)],
        ([*RUN, "--jobs", "two"], "'two' is not an int"),
        ([*BUILD, "--cell-timeout", "0"], "0 is less than 1"),
        ([*BATCH, "--run-timeout", "-1"], "-1 is less than 1"),
        ([*BATCH, "--retries", "-1"], "-1 is less than 0"),
        ([*GRADE, "--memory", "inf"], "inf is not a finite number greater than 0"),
        ([*SIMILAR, "--threshold", "50"], "50 is not between 0 and 1"),
    ],
)
def test_invalid_option_value_exits_with_status_2(capsys, args, message):
    with pytest.raises(SystemExit) as exit_info:
        main(args)
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", [RUN, BATCH, BUILD, GRADE, SIMILAR], ids=lambda c: c[0])
def test_unknown_lesson_or_lab_exits_with_status_1(capsys, command):
    assert main([command[0], "99", *command[2:]]) == 1
    assert "'99' does not exist. Available: " in capsys.readouterr().err


def test_missing_packages_are_reported(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "papermill", None)
    monkeypatch.delitem(sys.modules, "course.batch.batch", raising=False)
    monkeypatch.delitem(sys.modules, "papermill.iorw", raising=False)
    assert main(["batch", "03"]) == 1
    assert "pip install '.[instructor]'" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no `head`")
def test_a_reader_that_ends_early_is_not_reported_as_a_full_disk(tmp_path):
    shutil.copytree(ROOT / "labs", tmp_path / "in", ignore=lambda *_: ["source", "solutions"])
    command = [sys.executable, "-m", "course.cli", "--root", ROOT, "similar", "01", tmp_path]
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert process.returncode == 1
    assert process.stderr == "course: stopped, because the program that reads its output ended\n"


def test_names_that_the_terminal_cannot_show_are_escaped(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["build", "J\udcf6rg \u674e"]) == 1
    terminal.flush()
    assert b"J\\udcf6rg \\u674e" in terminal.buffer.getvalue()
