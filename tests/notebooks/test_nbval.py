"""nbval with the course's settings, on small notebooks in a temporary project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course.authoring.stored_outputs import RESULT_TYPE

ROOT = Path(__file__).parents[2]
ANSI_CODES = re.compile(r"\x1b\[[0-9;]*m")


class Project:
    """A folder with the course's pytest settings and a test's notebooks."""

    def __init__(self, root):
        self.root = root
        (root / "tests" / "rules").mkdir(parents=True)
        settings = ("conftest.py", "pyproject.toml", "tests/nbval_sanitize.cfg")
        for file in (*settings, "tests/rules/audit.py"):
            shutil.copy(ROOT / file, root / file)

    def put(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def pytest(self, *options, folder="."):
        """Run `pytest --nbval`; return the exit status and the output."""
        # Omit the settings of the pytest process that runs this test.
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PY_"))}
        command = [sys.executable, "-m", "pytest", "--nbval", "-p", "no:cacheprovider", *options]
        process = subprocess.run(
            command, cwd=self.root / folder, env=environment, capture_output=True, text=True
        )
        return process.returncode, ANSI_CODES.sub("", process.stdout + process.stderr)


def notebook_text(cells, *code_cells):
    return nbformat.writes(cells.notebook(*code_cells))


UPDATING_CELL = """\
from IPython.display import display
line = display({"text/plain": "step 1"}, raw=True, display_id=True)
line.update({"text/plain": "step 2"}, raw=True)
line.update({"text/plain": "step 3, 1.5 s"}, raw=True)"""
CLEARING_CELL = """\
from IPython.display import clear_output
print("before")
clear_output(wait=True)
print("after")"""
RECORDING_CELL = """\
from random import random
from IPython.display import display
record = {"application/vnd.gpu-course.result+json": {"accuracy": random()}}
display(record | {"text/plain": "recorded: accuracy"}, raw=True)"""


@pytest.fixture(scope="module")
def outcomes(cells, tmp_path_factory):
    """The verdict of `pytest --nbval` on each cell below."""
    project = Project(tmp_path_factory.mktemp("nbval") / "project")
    # One notebook for all cells, because starting kernels takes time.
    record = {RESULT_TYPE: {"accuracy": 0.5}, "text/plain": "recorded: accuracy"}
    all_cells = {
        "unchanged": cells.code("print(1 + 1)", cells.stream("2\n")),
        "output_altered": cells.code("print(1 + 1)", cells.stream("3\n")),
        "device_altered": cells.code("print('on cuda:0')", cells.stream("on cpu\n")),
        "other_duration": cells.code("print('after 1.5 s')", cells.stream("after 9.1 s\n")),
        "updated_in_place": cells.code(
            UPDATING_CELL, cells.display_data({"text/plain": "step 3, 2.5 s"})
        ),
        "updated_to_something_else": cells.code(
            UPDATING_CELL, cells.display_data({"text/plain": "step 1"})
        ),
        "cleared": cells.code(CLEARING_CELL, cells.stream("after\n")),
        "stderr_differs": cells.code("import sys; print(1, file=sys.stderr); 1", cells.value("1")),
        "record_differs": cells.code(RECORDING_CELL, cells.display_data(record)),
        "raises": cells.code("1 / 0"),
        "kernel_dies": cells.code("import os; os._exit(1)"),
    }
    project.put("notebooks/lesson.ipynb", notebook_text(cells, *all_cells.values()))
    status, printed = project.pytest("-v", "--nbval-cell-timeout=60")
    assert status == 1, printed
    verdicts = re.findall(r"ipynb::Cell \d+ (PASSED|FAILED)", printed)
    assert len(verdicts) == len(all_cells), printed
    return dict(zip(all_cells, verdicts, strict=True)), printed


@pytest.mark.parametrize(
    "name",
    [
        "unchanged",
        "other_duration",
        "updated_in_place",
        "cleared",
        "stderr_differs",
        "record_differs",
    ],
)
def test_cell_passes(outcomes, name):
    assert outcomes[0][name] == "PASSED"


@pytest.mark.parametrize(
    "name",
    ["output_altered", "device_altered", "updated_to_something_else", "raises", "kernel_dies"],
)
def test_cell_fails(outcomes, name):
    assert outcomes[0][name] == "FAILED"


def test_dead_kernel_fails_at_once(outcomes):
    assert "The kernel died while it executed this cell." in outcomes[1]
    seconds = float(re.search(r"failed.* in ([\d.]+)s", outcomes[1]).group(1))
    assert seconds < 60


def test_collects_only_lessons_and_solutions(cells, tmp_path):
    project = Project(tmp_path / "project")
    broken = notebook_text(cells, cells.code("raise NotImplementedError"))
    good = notebook_text(cells, cells.code("1", cells.value("1")))
    for folder in ("labs", "runs/2026-01-01_10-00-00", "output", "notebooks/.ipynb_checkpoints"):
        project.put(f"{folder}/broken.ipynb", broken)
    project.put("labs/solutions/good.ipynb", good)
    # `.` collects everything in the folder, more than the setting testpaths.
    status, printed = project.pytest("--collect-only", "-q", ".")
    assert status == 0, printed
    assert "labs/solutions/good.ipynb" in printed
    assert "broken" not in printed


def test_translated_lessons_are_collected_only_if_named(cells, tmp_path):
    project = Project(tmp_path / "project")
    good = notebook_text(cells, cells.code("1", cells.value("1")))
    paths = [f"notebooks/ja/0{n}.ipynb" for n in range(2)]
    for path in ["notebooks/00.ipynb", "labs/es/00.ipynb", *paths]:
        project.put(path, good)
    _, printed = project.pytest("--collect-only", "-q", ".", "notebooks/ja")
    assert all(path in printed for path in ["notebooks/00.ipynb", *paths])
    assert "labs/es" not in printed
    _, printed = project.pytest("--collect-only", "-q", ".")
    assert "notebooks/00.ipynb" in printed
    assert not any(path in printed for path in paths)


def test_settings_apply_in_subfolder(cells, tmp_path):
    project = Project(tmp_path / "project")
    cell = cells.code("print('1.5 s')", cells.stream("2.5 s\n"))
    project.put("notebooks/lesson.ipynb", notebook_text(cells, cell))
    status, printed = project.pytest("lesson.ipynb", folder="notebooks")
    assert status == 0, printed
