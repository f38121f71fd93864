from pathlib import Path

from course.execution.progress import BatchProgress
from course.execution.runner import FAILED, PASSED, Job, Outcome


def ended(progress, statuses):
    here = Path()
    for number, status in enumerate(statuses):
        progress.ended(Outcome(Job(f"run{number}", here, here, here), status))
    progress.close()


def test_away_from_a_terminal_a_long_batch_writes_few_lines(capsys):
    ended(BatchProgress(200, lambda outcome: "never"), [PASSED] * 200)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{n} of 200 runs ended" for n in range(20, 200, 20)]


def test_every_run_that_did_not_pass_is_told(capsys):
    progress = BatchProgress(3, lambda outcome: f"{outcome.job.name} {outcome.status}")
    ended(progress, [PASSED, FAILED, PASSED])
    assert capsys.readouterr().out.splitlines() == [
        "1 of 3 runs ended",
        "run1 failed",
        "2 of 3 runs ended",
    ]


def test_a_batch_of_one_run_says_nothing_on_the_way(capsys):
    ended(BatchProgress(1, lambda outcome: "never"), [PASSED])
    assert capsys.readouterr().out == ""
