"""`course run` end to end, on small notebooks that pass, fail, crash or hang."""

import json
import signal
import subprocess
import sys
import time

import nbformat
import psutil
import pytest

from course import cli
from course.execution import engine
from course.reports.entries import RESULT_TYPE
from tests.conftest import run_python
from tests.course.batch import outputs
from tests.course.batch.outputs import is_alive

LESSONS = {
    "01_good": f"""\
import os
from IPython.display import display
reported = {{"device": "cpu", "synthetic": True, "accuracy": 0.5, "epochs": epochs}}
display({{"{RESULT_TYPE}": reported, "image/png": "iVBORw0KGgo=", "text/plain": "x"}}, raw=True)
print(os.path.basename(os.getcwd()))""",
    "02_fails": 'print("before")\nif fail:\n    raise ValueError("no such <thing>")',
    "03_dies": 'import os\nprint("before")\nif fail:\n    os._exit(1)',
    "04_hangs": """\
import time
print("before")
if fail:
    open("hangs", "w").close()
    time.sleep(600)""",
}


@pytest.fixture(scope="module")
def course(make_small_course, cells):
    course = make_small_course()
    for name, code in LESSONS.items():
        notebook = cells.notebook(
            cells.text(f"# Title of {name}\n\n[next](04_hangs.ipynb)"),
            cells.code("import helpers", tags=["bootstrap"], count=None),
            cells.code("fail = False\nepochs = 2", tags=["parameters"], count=None),
            cells.code(code, cells.stream("stored output"), count=None),
        )
        course.put(name, notebook)
    return course


def rows_of(folder):
    return {row["notebook"]: row for row in outputs.rows_of(folder)}


def course_command(course, *args):
    return ["-m", "course.cli", "--root", str(course.root), "run", *args]


@pytest.fixture(scope="module")
def failing_run(course, tmp_path_factory):
    """A run in which three of the four notebooks fail."""
    folder = tmp_path_factory.mktemp("started_here")
    args = ["-p", "fail", "true", "-p", "epochs", "1", "--cell-timeout", "5", "--jobs", "2"]
    process = run_python(*course_command(course, *args), cwd=folder)
    process.folder = course.folder.runs / "latest"
    process.rows = rows_of(process.folder)
    return process


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("01_good", "passed", ""),
        ("02_fails", "failed", "ValueError: no such <thing>"),
        ("03_dies", "kernel died", "This cell ended the kernel's process with exit status 1"),
        ("04_hangs", "timed out", "The cell reached its time limit of 5 s."),
    ],
)
def test_notebook_has_its_status_error_and_page(failing_run, name, status, error):
    row = failing_run.rows[name]
    assert row["status"] == status
    assert row["error"].startswith(error)
    notebook = nbformat.read(failing_run.folder / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert "stored output" not in json.dumps(notebook)
    page = (failing_run.folder / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
    assert f"Title of {name}" in page
    assert 'href="04_hangs.html"' in page
    if error:
        index = (failing_run.folder / "index.html").read_text(encoding="utf-8")
        anchor = index.split(f'href="notebooks/{name}.html#')[1].split('"')[0]
        cell = page.split(f'id="{anchor}"')[1].split('id="cell-id=')[0]
        assert "before" in cell
        assert error.split(": ")[-1].split("'")[0].replace("<", "&lt;").replace(">", "&gt;") in cell


def test_output_has_a_line_per_notebook_and_a_warning(failing_run):
    assert failing_run.returncode == 1
    assert all(f"\n{name} " in f"\n{failing_run.stdout}" for name in LESSONS)
    assert "THE IMAGES ARE SYNTHETIC. THEY ARE NOT CIFAR-10." in failing_run.stdout
    assert "\n1 of 4 notebooks passed in " in failing_run.stdout
    # Without a terminal, there is no progress bar, which would print "3 of 5 cells".
    assert " cells, " not in failing_run.stderr
    row = failing_run.rows["01_good"]
    assert (row["result.epochs"], row["result.accuracy"], row["device"]) == ("1", "0.5", "cpu")


def test_page_contains_its_figures_and_needs_no_network(failing_run):
    page = (failing_run.folder / "notebooks" / "01_good.html").read_text(encoding="utf-8")
    assert 'src="data:image/png;base64,' in page
    assert "<script src=" not in page
    assert "mathjax" not in page.lower()
    assert "started_here" in page  # the folder in which the command was started


def test_latest_links_to_the_last_run_without_its_own_folder(failing_run, course, tmp_path, capsys):
    latest = (course.folder.runs / "latest").readlink()
    assert latest.name == str(latest)
    args = ["--root", str(course.root), "run", "01", "--out", str(tmp_path / "out")]
    assert cli.main(args) == 0
    assert "1 of 1 notebook passed" in capsys.readouterr().out
    assert cli.main(args) == 0
    assert "1 of 1 run is already finished" in capsys.readouterr().out
    assert (course.folder.runs / "latest").readlink() == latest


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-p", "epoch", "1"], "Did you mean 'epochs'?"),
        (["-p", "epochs", "1", "-p", "epochs", "2"], "sets parameter 'epochs' twice"),
        (["--out", "."], "is not empty"),
    ],
)
def test_invalid_command_is_rejected_before_anything_starts(
    course, tmp_path, monkeypatch, capsys, args, message
):
    (tmp_path / "something").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "run_jobs", lambda *_: pytest.fail("started"))
    runs = sorted(course.folder.runs.glob("*"))
    assert cli.main(["--root", str(course.root), "run", *args]) == 1
    assert message in capsys.readouterr().err
    assert sorted(course.folder.runs.glob("*")) == runs


def test_course_without_valid_notebooks_is_rejected(small_course, capsys):
    assert cli.main(["--root", str(small_course.root), "run"]) == 1
    assert "course build" in capsys.readouterr().err
    small_course.folder.notebook_path("01_broken").write_text("<<<<<<< HEAD")
    assert cli.main(["--root", str(small_course.root), "run"]) == 1
    assert "01_broken.ipynb is not a valid notebook" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_leaves_no_kernel_and_writes_the_report(course, tmp_path, signal_number):
    args = ["01", "04", "--jobs", "1", "-p", "fail", "true", "--out", str(tmp_path / "out")]
    command = [sys.executable, *course_command(course, *args)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as run:
        while not (tmp_path / "hangs").exists() and run.poll() is None:
            time.sleep(0.1)
        processes = psutil.Process(run.pid).children(recursive=True)
        start = time.monotonic()
        run.send_signal(signal_number)
        output = run.stdout.read()
    assert run.returncode == 130
    # The hanging cell sleeps for 600 s.
    assert time.monotonic() - start < 120
    assert not [process for process in processes if is_alive(process.pid)]
    assert "Stopped; remaining notebooks: 1 of 2." in output
    assert list(rows_of(tmp_path / "out")) == ["01_good"]
    assert "1 of 2 notebooks passed, 1 not run" in (tmp_path / "out" / "index.html").read_text()
    # The page has no link to notebooks that were not executed.
    assert "04_hangs.html" not in (tmp_path / "out" / "notebooks" / "01_good.html").read_text()


def test_run_imports_neither_authoring_nor_translation():
    code = "import sys; from course.batch import batch; print(*sys.modules)"
    modules = run_python("-c", code).stdout
    assert "course.batch" in modules
    assert "course.authoring" not in modules
    assert "course.translation" not in modules
