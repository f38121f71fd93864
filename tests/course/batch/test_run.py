"""`course run` end to end, on small notebooks that pass, fail, crash or hang."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from course import cli
from course.authoring.assemble import assemble_lesson
from course.authoring.stored_outputs import RESULT_TYPE
from course.batch import run as run_module
from course.execution.jobs import Job

PARAMETERS = '# %% tags=["parameters"]\nfail = False\nepochs = 2\n\n'
LESSONS = {
    "01_good": f"""\
# %%
from IPython.display import display
reported = {{"device": "cpu", "synthetic": False, "accuracy": 0.5, "epochs": epochs}}
display({{"{RESULT_TYPE}": reported, "text/plain": "Results"}}, raw=True)
epochs
""",
    "02_fails": """\
# %%
print("before")
if fail:
    raise ValueError("no such <thing>")
""",
    "03_dies": """\
# %%
import os
print("before")
if fail:
    os._exit(1)
""",
    "04_hangs": """\
# %%
import time
print("before")
if fail:
    time.sleep(600)
""",
    "05_last": """\
# %%
import os
from IPython.display import display
display({"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"}, raw=True)
print(os.path.basename(os.getcwd()))
print("x" * 2_000_000)
""",
}


@pytest.fixture(scope="module")
def course(make_small_course):
    course = make_small_course()
    for name, text in LESSONS.items():
        course.write(name, PARAMETERS + text, title=f"Title of {name}")
    for name in LESSONS:
        # A run ignores stored outputs, so these notebooks are not executed first.
        course.put(name, assemble_lesson(course.folder, name))
    return course


def course_command(course, *args):
    command = [sys.executable, "-m", "course.cli", "--root", str(course.root)]
    return [*command, "run", *args]


@pytest.fixture(scope="module")
def failing_run(course, tmp_path_factory):
    """A run in which three of the five notebooks fail."""
    folder = tmp_path_factory.mktemp("started_here")
    args = ["-p", "fail", "true", "-p", "epochs", "1", "--cell-timeout", "5", "--jobs", "2"]
    process = subprocess.run(
        course_command(course, *args), cwd=folder, capture_output=True, text=True
    )
    results = json.loads((course.folder.runs / "latest" / "results.json").read_text())
    process.notebooks = {row["name"]: row for row in results["notebooks"]}
    process.folder = course.folder.runs / "latest"
    return process


def test_each_kind_of_failure_has_its_own_status(failing_run):
    assert {name: row["status"] for name, row in failing_run.notebooks.items()} == {
        "01_good": "passed",
        "02_fails": "failed",
        "03_dies": "kernel died",
        "04_hangs": "timed out",
        "05_last": "passed",
    }


def test_each_failure_is_reported_with_its_cause(failing_run):
    assert failing_run.notebooks["02_fails"]["error"] == "ValueError: no such <thing>"
    assert failing_run.notebooks["03_dies"]["error"] == (
        "This cell ended the kernel's process with exit status 1, as os._exit(1) does."
    )
    assert "limit of 5 s" in failing_run.notebooks["04_hangs"]["error"]


def test_a_failure_makes_the_exit_status_1(failing_run):
    assert failing_run.returncode == 1


def test_output_without_a_terminal_has_one_line_per_notebook_and_no_progress_bar(failing_run):
    lines = failing_run.stdout.splitlines()
    assert len(lines) == 6
    assert lines[-1].startswith("2 of 5 notebooks passed in ")
    # A progress bar would print "3 of 5 cells". A kernel that dies may print a message.
    assert " cells, " not in failing_run.stderr


def test_parameters_keep_their_type_and_results_are_in_the_report(failing_run):
    assert failing_run.notebooks["01_good"]["reported"] == {
        "device": "cpu",
        "synthetic": False,
        "accuracy": 0.5,
        "epochs": 1,
    }


@pytest.mark.parametrize("name", list(LESSONS))
def test_each_notebook_is_stored_with_its_page(failing_run, name):
    nbformat.validate(nbformat.read(failing_run.folder / f"{name}.ipynb", as_version=4))
    assert f"Title of {name}" in (failing_run.folder / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("02_fails", "no such &lt;thing&gt;"),
        ("03_dies", "with exit status 1"),
        ("04_hangs", "limit of 5 s"),
    ],
)
def test_report_links_to_the_failing_cell_and_its_error(failing_run, name, error):
    index = (failing_run.folder / "index.html").read_text(encoding="utf-8")
    anchor = index.split(f'href="{name}.html#')[1].split('"')[0]
    page = (failing_run.folder / f"{name}.html").read_text(encoding="utf-8")
    cell = page.split(f'id="{anchor}"')[1].split('id="cell-id=')[0]
    assert "before" in cell
    assert error in cell


def test_page_contains_its_figures_and_needs_no_network(failing_run):
    page = (failing_run.folder / "05_last.html").read_text(encoding="utf-8")
    assert 'src="data:image/png;base64,' in page
    assert "<script src=" not in page
    assert "mathjax" not in page.lower()


def test_page_links_to_other_pages_and_omits_the_setup_cell(failing_run):
    page = (failing_run.folder / "01_good.html").read_text(encoding="utf-8")
    assert 'href="02_fails.html"' in page
    assert "find_spec" not in page


def test_kernels_run_in_the_folder_of_the_command(failing_run):
    notebook = nbformat.read(failing_run.folder / "05_last.ipynb", as_version=4)
    assert "started_here" in notebook.cells[-2].outputs[-1].text


def test_latest_is_a_relative_link_to_the_dated_folder(failing_run, course):
    target = (course.folder.runs / "latest").readlink()
    assert (course.folder.runs / target).is_dir()
    assert len(target.parts) == 1


def test_run_that_passes_exits_with_0(course, tmp_path, capsys):
    before = (course.folder.runs / "latest").readlink() if course.folder.runs.exists() else None
    args = ["--root", str(course.root), "run", "01", "--out", str(tmp_path / "out")]
    assert cli.main(args) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "01_good.ipynb",
        "01_good.html",
        "index.html",
        "results.json",
    }
    assert "1 of 1 notebooks passed" in capsys.readouterr().out
    if before:
        assert (course.folder.runs / "latest").readlink() == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-p", "epoch", "1"], "Did you mean 'epochs'?"),
        (["-p", "epochs", "1.5"], "must be an integer"),
        (["09"], "does not exist"),
        (["--out", "."], "already exists and is not empty"),
    ],
)
def test_invalid_command_is_rejected_before_anything_starts(
    course, tmp_path, monkeypatch, capsys, args, message
):
    (tmp_path / "something").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_module.engine, "run_jobs", lambda *_, **__: pytest.fail("started"))
    runs = sorted(course.folder.runs.glob("*"))
    assert cli.main(["--root", str(course.root), "run", *args]) == 1
    assert message in capsys.readouterr().err
    assert sorted(course.folder.runs.glob("*")) == runs


def test_course_without_notebooks_suggests_the_build_command(small_course, capsys):
    assert cli.main(["--root", str(small_course.root), "run"]) == 1
    assert "course build" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_stops_its_kernels_and_writes_the_report(course, tmp_path, signal_number):
    args = ["01", "04", "05", "--jobs", "1", "-p", "fail", "true", "--out", str(tmp_path / "out")]
    with subprocess.Popen(course_command(course, *args), stdout=subprocess.PIPE, text=True) as run:
        # The first notebook has finished when its line is printed; then the second one hangs.
        first = run.stdout.readline()
        deadline = time.monotonic() + 30
        while not (tmp_path / "out" / "04_hangs.ipynb").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)
        start = time.monotonic()
        run.send_signal(signal_number)
        rest = run.stdout.read()
    assert "01_good" in first
    assert run.returncode == 130
    assert time.monotonic() - start < 50
    assert "stopped before the end" in rest
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [row["status"] for row in results["notebooks"]] == ["passed", "stopped", "not run"]


def test_latest_is_a_text_file_if_symlinks_are_not_allowed(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("a required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    run_module.update_latest_link(tmp_path, "2026-11-05_09-30-00")
    run_module.update_latest_link(tmp_path, "2026-11-05_09-31-00")
    assert (tmp_path / "latest").read_text() == "2026-11-05_09-31-00\n"


def test_existing_folder_named_latest_is_not_replaced(tmp_path, capsys):
    (tmp_path / "latest").mkdir()
    (tmp_path / "latest" / "mine").write_text("")
    run_module.update_latest_link(tmp_path, "2026-11-05_09-30-00")
    assert (tmp_path / "latest" / "mine").exists()
    assert "is a folder" in capsys.readouterr().err


def test_file_that_is_not_a_notebook_is_rejected(small_course, capsys):
    small_course.folder.notebook_path("01_broken").write_text("<<<<<<< HEAD")
    assert cli.main(["--root", str(small_course.root), "run"]) == 1
    assert "01_broken.ipynb is not a valid notebook" in capsys.readouterr().err


def test_synthetic_images_print_a_message_without_failing(small_course, cells, capsys):
    reported = f'{{"{RESULT_TYPE}": {{"synthetic": True}}, "text/plain": "Results"}}'
    source = f"from IPython.display import display\ndisplay({reported}, raw=True)"
    small_course.write("01_synthetic", "# %%\n" + source + "\n")
    small_course.put("01_synthetic", assemble_lesson(small_course.folder, "01_synthetic"))
    assert cli.main(["--root", str(small_course.root), "run"]) == 0
    assert "THE IMAGES ARE SYNTHETIC. THEY ARE NOT CIFAR-10." in capsys.readouterr().out


def test_exclusive_lesson_uses_all_slots():
    jobs = [
        Job(name, Path(), Path(), Path(), exclusive=exclusive)
        for name, exclusive in [("shared_1", False), ("shared_2", False), ("exclusive", True)]
    ]
    seconds = {"shared_1": 30.0, "shared_2": 30.0, "exclusive": 40.0}
    shares = run_module.worker_times(jobs, seconds, num_workers=2)
    assert sum(shares.values()) / 2 == 30 + 40
