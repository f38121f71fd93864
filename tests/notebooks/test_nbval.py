"""nbval with the course's settings, on small notebooks in a temporary project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

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
line.update({"text/plain": "step 2, 1.5 s"}, raw=True)"""
CLEARING_CELL = """\
from IPython.display import clear_output
print("before")
clear_output(wait=True)
print("after")"""
RECORDING_CELL = f"""\
from random import random
from IPython.display import display
record = {{"{RESULT_TYPE}": {{"accuracy": random()}}}}
display(record | {{"text/plain": "recorded: accuracy"}}, raw=True)"""


def test_nbval_passes_and_fails_cells_as_the_course_needs(cells, tmp_path):
    project = Project(tmp_path / "project")
    record = {RESULT_TYPE: {"accuracy": 0.5}, "text/plain": "recorded: accuracy"}
    updated = cells.display_data({"text/plain": "step 2, 2.5 s"})
    not_updated = cells.display_data({"text/plain": "step 1"})
    # One notebook for all cells, because starting kernels takes time.
    passing = {
        "unchanged": cells.code("print(1 + 1)", cells.stream("2\n")),
        "other duration": cells.code("print('after 1.5 s')", cells.stream("after 9.1 s\n")),
        "updated in place": cells.code(UPDATING_CELL, updated),
        "cleared": cells.code(CLEARING_CELL, cells.stream("after\n")),
        "stderr differs": cells.code("import sys; print(1, file=sys.stderr); 1", cells.value("1")),
        "record differs": cells.code(RECORDING_CELL, cells.display_data(record)),
    }
    failing = {
        "output altered": cells.code("print(1 + 1)", cells.stream("3\n")),
        "device altered": cells.code("print('on cuda:0')", cells.stream("on cpu\n")),
        "update not stored": cells.code(UPDATING_CELL, not_updated),
        "raises": cells.code("1 / 0"),
        "kernel dies": cells.code("import os; os._exit(1)"),
    }
    project.put("notebooks/lesson.ipynb", notebook_text(cells, *(passing | failing).values()))
    # In a subfolder, the settings apply too.
    options = ("lesson.ipynb", "-v", "--nbval-cell-timeout=60")
    status, printed = project.pytest(*options, folder="notebooks")
    verdicts = re.findall(r"ipynb::Cell \d+ (PASSED|FAILED)", printed)
    expected = dict.fromkeys(passing, "PASSED") | dict.fromkeys(failing, "FAILED")
    assert dict(zip(passing | failing, verdicts, strict=True)) == expected, printed
    assert status == 1
    # The dead kernel fails at once, not after the time limit.
    assert "The kernel died while it executed this cell." in printed
    assert float(re.search(r"failed.* in ([\d.]+)s", printed)[1]) < 60


def test_collects_lessons_and_solutions_and_named_translations(cells, tmp_path):
    project = Project(tmp_path / "project")
    good = notebook_text(cells, cells.code("1", cells.value("1")))
    never = ["labs/00.ipynb", "labs/es/00.ipynb", "runs/2026-01-01_10-00-00/00.ipynb"]
    never += ["output/00.ipynb", "notebooks/.ipynb_checkpoints/00.ipynb"]
    always, named = ["notebooks/00.ipynb", "labs/solutions/00.ipynb"], "notebooks/ja/00.ipynb"
    for path in [*never, *always, named]:
        project.put(path, good)
    # `.` collects everything in the folder, more than the setting testpaths.
    for folders, expected in (((".",), always), ((".", "notebooks/ja"), [*always, named])):
        status, printed = project.pytest("--collect-only", "-q", *folders)
        assert status == 0, printed
        collected = set(re.findall(r"(?m)^(\S+\.ipynb)::", printed))
        assert collected == set(expected)
