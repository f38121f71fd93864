"""Runs of one submission, without a sandbox."""

import threading

from course.grading.answers import CellKind, SubmittedCell
from course.grading.judges import Judges
from course.grading.limits import SandboxLimits, Stop, StopReason
from course.grading.session import Session


def test_many_cells_that_end_the_process_are_not_all_run(monkeypatch):
    given = SubmittedCell(CellKind.GIVEN, "from helpers.checks import lab_01 as check")
    cells = [given, *[SubmittedCell(CellKind.STUDENT, "import os\nos._exit(0)", 1)] * 500]
    cells.append(SubmittedCell(CellKind.CHECK, "check.exercise_1(f)", 1))
    session = Session(cells, SandboxLimits(), threading.Event(), False, Judges())
    runs = []

    def run_once():
        runs.append(1)
        session._student_code_ran = True
        return len(runs), Stop(StopReason.ENDED, "ended the process with exit status 0")

    monkeypatch.setattr(session, "_run_once", run_once)
    session.run()
    assert len(runs) < 20
    assert "other cells were stopped" in session.stops[len(cells) - 1].text
