"""`course grade` explains missing isolation and invalid options."""

import pytest

from course.cli import main
from course.grading import isolation


@pytest.fixture
def without_bubblewrap(monkeypatch):
    monkeypatch.setattr(isolation, "bubblewrap", lambda: None)


def test_grading_without_a_sandbox_is_refused_unless_requested(
    without_bubblewrap, tmp_path, capsys
):
    (tmp_path / "in").mkdir()
    assert main(["grade", "01", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) != 0
    message = capsys.readouterr().err
    assert "apt-get install bubblewrap" in message
    assert "read every file" in message
    assert "--no-sandbox" in message
    assert not (tmp_path / "out").exists()


def test_a_missing_folder_is_reported_before_grading_starts(tmp_path, capsys):
    missing = tmp_path / "submissions"
    arguments = ["grade", "01", str(missing), "--out", str(tmp_path / "out"), "--no-sandbox"]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert f"{missing} does not exist" in printed.err
    assert "grading" not in printed.out
    assert not (tmp_path / "out").exists()


def test_an_invalid_due_date_is_rejected_with_an_example(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["grade", "01", str(tmp_path), "--due", "tomorrow"])
    assert "'tomorrow' is not a date and time such as 2026-11-20 23:59" in capsys.readouterr().err
