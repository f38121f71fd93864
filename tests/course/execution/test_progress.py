from pathlib import Path

from course.execution.jobs import Job, RunResult, Status
from course.execution.progress import Progress, format_estimate, format_seconds


def finish(statuses, save):
    names = [f"run{number}" for number in range(len(statuses))]
    progress = Progress(dict.fromkeys(names, 2), dict.fromkeys(names, 1), save)
    path = Path()
    for name, status in zip(names, statuses, strict=True):
        progress.on_job_finished(RunResult(Job(name, path, path, path), status))
    progress.close()


def test_long_batch_writes_few_lines_without_a_terminal(capsys):
    finish([Status.PASSED] * 200, lambda result: "")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{n} of 200 runs finished" for n in range(20, 200, 20)]


def test_lines_are_printed_with_the_time_left(capsys):
    statuses = [Status.PASSED, Status.FAILED, Status.PASSED]
    finish(statuses, lambda result: "" if result.status == "passed" else f"{result.job.name} x")
    assert capsys.readouterr().out.splitlines() == [
        "1 of 3 runs finished", "run1 x  (less than a minute left)"
    ]  # fmt: skip


def test_time_left_is_scaled_by_the_times_of_earlier_runs(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr("course.execution.progress.monotonic", lambda: clock[0])
    progress = Progress({"a": 2, "b": 2}, {"a": 100, "b": 300}, lambda result: "a")
    job = Job("a", Path(), Path(), Path())
    progress.on_job_started(job)
    clock[0] = 30.0
    progress.on_cell_done(job)
    # One of the two cells of `a` took 50 s of 400 s in earlier runs.
    assert progress.seconds_left() == 30 * 350 / 50
    progress.on_job_finished(RunResult(job, Status.PASSED))
    assert capsys.readouterr().out == "a  (about 2 min left)\n"


def test_durations_have_at_most_two_units_and_estimates_are_in_minutes():
    shown = [format_seconds(seconds) for seconds in (0.04, 9.96, 59.6, 3599.6, 7500)]
    assert shown == ["0.0 s", "10 s", "1 min 0 s", "1 h 0 min", "2 h 5 min"]
    estimates = [format_estimate(seconds) for seconds in (20, 100, 7500)]
    assert estimates == ["less than a minute", "about 2 min", "about 2 h 5 min"]
