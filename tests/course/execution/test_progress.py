from pathlib import Path

import pytest

from course.execution.jobs import Job, RunResult, Status
from course.execution.progress import BatchProgress, LessonProgress, format_estimate, format_seconds


def finish(progress, statuses):
    path = Path()
    for number, status in enumerate(statuses):
        progress.on_job_finished(RunResult(Job(f"run{number}", path, path, path), status))
    progress.close()


def test_long_batch_writes_few_lines_without_a_terminal(capsys):
    finish(BatchProgress(200, lambda result: "never"), [Status.PASSED] * 200)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{n} of 200 runs finished" for n in range(20, 200, 20)]


def test_every_run_that_did_not_pass_has_a_line(capsys):
    progress = BatchProgress(3, lambda result: f"{result.job.name} {result.status}")
    finish(progress, [Status.PASSED, Status.FAILED, Status.PASSED])
    assert capsys.readouterr().out.splitlines() == [
        "1 of 3 runs finished",
        "run1 failed",
        "2 of 3 runs finished",
    ]


def test_batch_of_one_run_prints_no_progress(capsys):
    finish(BatchProgress(1, lambda result: "never"), [Status.PASSED])
    assert capsys.readouterr().out == ""


def test_run_with_a_note_has_a_line(capsys):
    progress = BatchProgress(1, lambda result: result.note)
    job = Job("run", Path(), Path(), Path())
    progress.on_job_finished(RunResult(job, Status.PASSED, note="1 process was still running"))
    assert "1 process was still running" in capsys.readouterr().out


def test_time_left_is_scaled_by_the_times_from_the_last_run(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr("course.execution.progress.monotonic", lambda: clock[0])
    progress = LessonProgress({"a": 2, "b": 2}, lambda result: "a", {"a": 100, "b": 300})
    jobs = {name: Job(name, Path(), Path(), Path()) for name in "ab"}
    progress.on_job_started(jobs["a"])
    clock[0] = 30.0
    progress.on_cell_done(jobs["a"])
    # One of the two cells of `a` took 50 s of 400 s in the last run.
    assert progress.seconds_left() == 30 * 350 / 50
    progress.on_job_finished(RunResult(jobs["a"], Status.PASSED))
    assert capsys.readouterr().out == "a  (about 2 min left)\n"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(20, "less than a minute"), (100, "about 2 min"), (7500, "about 2 h 5 min")],
)
def test_estimates_are_rounded_to_minutes(seconds, shown):
    assert format_estimate(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (3599.6, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations_have_at_most_two_units(seconds, shown):
    assert format_seconds(seconds) == shown
