"""`course batch` end to end, on a notebook with a short run time."""

import errno
import itertools
import os
import subprocess
import sys
import threading
import time
from unittest.mock import Mock

import nbformat
import psutil
import pytest
from papermill.iorw import papermill_io

from course import cli, files
from course.batch.batch import _locked
from course.execution import engine
from course.reports.entries import RESULT_TYPE
from tests.course.batch.outputs import entries_of, is_alive, rows_of

PARAMETERS = 'x: int = 1\nseed: int = 0\nmode: str = "good"\nlr: float = 0.1\n'
WORK = f"""\
import os, random, time
from pathlib import Path
from IPython.display import display
start_time = time.time()
if mode == "hang":
    time.sleep(600)
if mode == "bad" and x == 2:
    raise ValueError("no <2>")
time.sleep(0.05)
Path("made.txt").write_text("made")
display({{"{RESULT_TYPE}": {{
    "square": x * x, "noise": random.random(), "start_time": start_time, "end_time": time.time(),
    "gpu": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
}}, "text/plain": "recorded"}}, raw=True)
Path.cwd().name
"""


@pytest.fixture(scope="module")
def course(make_small_course, cells):
    course = make_small_course()
    notebook = cells.notebook(
        cells.code(PARAMETERS, tags=["parameters"], count=None), cells.code(WORK, count=None)
    )
    course.put("01_small", notebook)
    return course


@pytest.fixture
def batch(course, tmp_path):
    """A function that runs `course batch 01` in this process and returns the exit status."""

    def run(*args, out=tmp_path / "out"):
        words = [*map(str, args), *(["--out", str(out)] if out else [])]
        return cli.main(["--root", str(course.root), "batch", "01", *words])

    run.out = tmp_path / "out"
    return run


def forbid_runs(monkeypatch):
    monkeypatch.setattr(engine, "run_jobs", lambda *_: pytest.fail("started"))


FOUR_RUNS = ["--grid", "x", "1", "2", "--repeats", "2", "-p", "lr", "1e-3"]


@pytest.fixture(scope="module")
def finished_batch(course, tmp_path_factory):
    """The output folder of a batch of four passing runs."""
    out = tmp_path_factory.mktemp("done") / "out"
    args = ["batch", "01", *FOUR_RUNS, "--jobs", "2", "--out", str(out)]
    assert cli.main(["--root", str(course.root), *args]) == 0
    return out


def test_each_combination_has_a_row_with_parameters_results_and_versions(finished_batch):
    rows = rows_of(finished_batch)
    results = [(row["parameter.x"], row["parameter.seed"], row["result.square"]) for row in rows]
    assert results == [("1", "0", "1"), ("1", "1", "1"), ("2", "0", "4"), ("2", "1", "4")]
    assert {row["status"] for row in rows} == {"passed"}
    assert rows[0]["version.python"] == ".".join(map(str, sys.version_info[:3]))
    names = ("id", "seconds", "started", "host", "version.torch", "version.helpers")
    assert all(rows[0][name] for name in names)


def test_runs_have_their_own_folder_random_state_and_notebook(finished_batch):
    rows = rows_of(finished_batch)
    assert len({row["result.noise"] for row in rows}) == 4
    assert len(list((finished_batch / "files").glob("*/made.txt"))) == 4
    for row in rows:
        notebook = nbformat.read(finished_batch / "notebooks" / f"{row['run']}.ipynb", as_version=4)
        nbformat.validate(notebook)
        assert row["run"] in notebook.cells[-1].outputs[-1].data["text/plain"]


def test_finished_batch_runs_nothing_when_repeated(batch, finished_batch, monkeypatch, capsys):
    before = rows_of(finished_batch)
    forbid_runs(monkeypatch)
    assert batch(*FOUR_RUNS, out=finished_batch) == 0
    assert "4 of 4 runs are already finished; 0 remaining." in capsys.readouterr().out
    assert rows_of(finished_batch) == before


def test_dry_run_shows_missing_runs_and_an_estimate(batch, finished_batch, monkeypatch, capsys):
    forbid_runs(monkeypatch)
    args = ["--grid", "x", "1", "2", "3", "--repeats", "2", "-p", "lr", "1e-3", "--dry-run"]
    assert batch(*args, out=finished_batch) == 0
    output = capsys.readouterr().out
    assert "6 runs, 2 to execute" in output
    assert "to run  01_small  lr = 0.001, x = 3, seed = 1" in output
    assert "from the median of 4 earlier runs" in output


def test_failed_run_reports_its_cell_and_retry_failed_repeats_only_this_run(batch, capsys):
    args = ["--grid", "x", 1, 2, "-p", "mode", "bad"]
    assert batch(*args) == 1
    good, bad = rows_of(batch.out)
    assert (good["status"], bad["status"]) == ("passed", "failed")
    assert (bad["error"], bad["failing_cell"]) == ("ValueError: no <2>", "2")
    assert batch(*args) == 1
    assert "2 of 2 runs are already finished" in capsys.readouterr().out
    assert batch(*args, "--retry-failed") == 1
    assert "1 of 2 runs is already finished" in capsys.readouterr().out
    assert rows_of(batch.out)[0] == good


def test_run_limit_and_retries_apply(batch):
    assert batch("-p", "mode", "hang", "--run-timeout", 1, "--retries", 1) == 1
    (row,) = rows_of(batch.out)
    assert (row["status"], row["attempts"]) == ("timed out", "2")
    assert "limit of 1 s" in row["error"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--grid", "X", "1"], "Did you mean 'x'?"),
        (["-p", "x", "1", "--grid", "x", "1"], "is set by parameters and by grid"),
        (["--case", "x"], "NAME=VALUE"),
        (["--folder", "nowhere"], "nowhere does not exist"),
    ],
)
def test_invalid_command_is_rejected_before_a_start(batch, monkeypatch, capsys, args, message):
    forbid_runs(monkeypatch)
    assert batch(*args) == 1
    assert message in capsys.readouterr().err
    assert not list(batch.out.glob("state/*.json"))


def test_folder_with_unrelated_files_or_another_batch_is_rejected(batch, capsys):
    batch.out.mkdir()
    (batch.out / "thesis.tex").write_text("years of work")
    assert batch() == 1
    assert "is not empty, and not a batch" in capsys.readouterr().err
    assert [file.name for file in batch.out.iterdir()] == ["thesis.tex"]
    with _locked(batch.out):
        assert batch() == 1
    assert "Another batch is running" in capsys.readouterr().err


@pytest.mark.slow
def test_full_disk_loses_no_finished_run(batch, monkeypatch, capsys):
    writes = []

    def fsync(descriptor):
        writes.append(descriptor)
        # Only the entry of the first run is written.
        if len(writes) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as context:
        context.setattr(files.os, "fsync", fsync)
        assert batch("--grid", "x", 1, 2, 3) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert [entry["parameters"]["x"] for entry in entries_of(batch.out)] == [1]
    assert not list(batch.out.rglob(".*.partial"))
    (first,) = entries_of(batch.out)
    assert batch("--grid", "x", 1, 2, 3) == 0
    assert [row["parameter.x"] for row in rows_of(batch.out)] == ["1", "2", "3"]
    assert first in entries_of(batch.out)


def test_runs_on_the_same_gpu_do_not_overlap(batch):
    assert batch("--grid", "x", 1, 2, 3, 4, "--gpus", 4, 6, "--jobs", 4) == 0
    rows = rows_of(batch.out)
    assert {row["gpu"] for row in rows} == {"4", "6"}
    assert all(row["result.gpu"] == row["gpu"] for row in rows)
    for gpu in ("4", "6"):
        times = sorted(
            (float(row["result.start_time"]), float(row["result.end_time"]))
            for row in rows
            if row["gpu"] == gpu
        )
        assert all(first[1] < second[0] for first, second in itertools.pairwise(times))


def test_notebooks_are_written_to_a_papermill_storage(batch, course, monkeypatch):
    stored = {}
    monkeypatch.setattr(papermill_io, "write", lambda text, path: stored.update({path: text}))
    assert batch("--grid", "x", 1, 2, out="memory://course/night") == 0
    (local,) = course.folder.runs.glob("batch_01_*")
    assert set(stored) == {f"memory://course/night/{row['run']}.ipynb" for row in rows_of(local)}
    nbformat.validate(nbformat.reads(next(iter(stored.values())), as_version=4))
    assert not list((local / "notebooks").iterdir())
    assert "memory://course/night/" in (local / "index.html").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
@pytest.mark.slow
def test_killed_batch_continues_and_runs_nothing_twice(course, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "course.cli", "--root", str(course.root), "batch", "01"]
    command += ["--out", str(out), "--grid", "x", *map(str, range(6)), "--jobs", "2"]
    (temporary := tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as run:
        while not list(out.glob("state/*.json")):
            time.sleep(0.01)
        processes = psutil.Process(run.pid).children(recursive=True)
        run.kill()
    psutil.wait_procs(processes, timeout=60)
    assert not [process for process in processes if is_alive(process.pid)]
    assert not list(temporary.glob("kernel-*"))
    finished = entries_of(out)
    assert 1 <= len(finished) < 6
    completed = subprocess.run(command, capture_output=True, text=True)
    assert f"{len(finished)} of 6 runs" in completed.stdout, completed.stderr
    assert [int(row["result.square"]) for row in rows_of(out)] == [x * x for x in range(6)]
    entries = entries_of(out)
    assert len(entries) == 6
    assert all(entry in entries for entry in finished)
    assert not [file for file in out.rglob(".*") if file.name != ".lock"]


@pytest.mark.slow
def test_plan_from_a_file_runs_on_a_dask_cluster(course, tmp_path):
    from distributed import LocalCluster

    plan = tmp_path / "night.yaml"
    plan.write_text("notebooks: [01]\ngrid: {x: [1, 2, 3]}\nparameters: {mode: bad}\n")
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        args = ["batch", str(plan), "--dask", cluster.scheduler_address]
        assert cli.main(["--root", str(course.root), *args]) == 1
    rows = rows_of(course.folder.runs / "night")
    assert [row["status"] for row in rows] == ["passed", "failed", "passed"]
    assert len(list((course.folder.runs / "night" / "notebooks").glob("*.ipynb"))) == 3


@pytest.mark.slow
def test_cluster_without_workers_is_reported(course, capfd):
    from distributed import LocalCluster

    options = {"processes": False, "protocol": "tcp", "dashboard_address": None}
    with LocalCluster(n_workers=0, **options) as cluster:
        timer = threading.Timer(13, cluster.scale, [1])
        timer.start()
        args = ["batch", "01", "--dask", cluster.scheduler_address]
        assert cli.main(["--root", str(course.root), *args]) == 0
        timer.join()
    assert f"{cluster.scheduler_address} has no workers" in capfd.readouterr().out


def test_unreachable_cluster_is_reported(batch, capsys, monkeypatch):
    monkeypatch.setattr("distributed.Client", Mock(side_effect=OSError("Timed out")))
    assert batch("--dask", "tcp://127.0.0.1:9") == 1
    assert "Cannot connect to a Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err
