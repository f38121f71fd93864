"""The page of a run or a batch shows the entries of its finished runs."""

import re
from html import unescape
from types import SimpleNamespace

import pytest

from course.execution.jobs import Job, RunResult, Status
from course.reports.entries import make_entry
from course.reports.pages import write_report


@pytest.fixture
def entry(tmp_path):
    def make(number, status=Status.PASSED, *, parameters=None, reported=None, extra=None, **result):
        job = Job(f"run{number}", tmp_path, tmp_path, tmp_path)
        fields = {"seconds": 2.0 + number, **result}
        values = {
            "run": f"run{number}",
            "notebook": "04_training",
            "parameters": parameters or {},
            "reported": reported or {},
            "file": f"notebooks/run{number}.ipynb",
        }
        return make_entry(RunResult(job, status, **fields), None, **values | (extra or {}))

    return make


def read(html):
    """Return a page's tags, links, and text without scripts."""
    text = re.sub(r"<(script|style)>.*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
    return SimpleNamespace(
        tags=re.findall(r"<(\w+)", html),
        links=re.findall(r'(?:href|src)="([^"]*)"', html),
        text=" ".join(unescape(text).split()),
    )


@pytest.fixture
def page(tmp_path):
    facts = {"torch": "2.14.1", "machine": "Linux, 2 cores", "commit": "0a1b"}

    def write(*entries, **changes):
        given = {"title": "04", "noun": "run", "fixed": {}, "varied": (), "planned": len(entries)}
        path = write_report(
            entries, tmp_path, **{**given, "is_running": False, "facts": facts, **changes}
        )
        return read(path.read_text(encoding="utf-8"))

    return write


def test_run_of_a_batch_has_a_row_with_parameters_results_and_a_link(page, entry):
    reported = {"test_accuracy": 0.51234, "device": "cpu"}
    report = page(
        entry(1, parameters={"lr": 0.1, "epochs": 2}, reported=reported, host="b"),
        entry(2, host="a"),
        varied=["lr"],
        fixed={"epochs": 2},
    )
    assert "with epochs = 2 " in report.text
    assert "Run Status lr test accuracy Time Device" in report.text
    assert "1 passed 0.1 0.5123 3.0 s cpu" in report.text
    assert "notebooks/run1.ipynb" in report.links
    assert "2 of 2 runs passed" in report.text
    assert "Torch: 2.14.1 Machine: Linux, 2 cores Commit: 0a1b Executed on: a, b" in report.text


def test_lesson_has_a_row_with_title_images_their_source_and_results(page, entry):
    reported = {"dataset": "CIFAR-10", "provenance": "from an archive", "test_accuracy": 0.5}
    lesson = entry(1, reported=reported, extra={"title": "Training", "page": "notebooks/run1.html"})
    report = page(lesson, noun="notebook")
    assert "Run Status Notebook Time Images Results" in report.text
    assert "Training 04_training 3.0 s CIFAR-10 from an archive test accuracy 0.5" in report.text
    assert "notebooks/run1.html" in report.links
    assert "are synthetic" not in report.text


def test_failure_shows_cell_error_and_note_with_a_link(page, entry):
    error = {"error": "ValueError: no", "cell": 5, "cell_id": "abc-1", "source": "x = 1 / 0"}
    note, extra = "1 process was still running", {"page": "notebooks/run1.html"}
    failure = entry(1, Status.FAILED, **error, attempts=2, note=note, extra=extra)
    report = page(failure, entry(2))
    shown = "failed in each of 2 attempts in cell 6 , after 3.0 s x = 1 / 0 ValueError: no"
    assert shown in report.text
    assert "notebooks/run1.html#cell-id=abc-1" in report.links
    assert "run1: 1 process was still running" in report.text
    assert "1 of 2 runs passed, 1 did not" in report.text


def test_unfinished_runs_are_counted(page, entry):
    assert "1 of 3 runs passed, 2 pending" in page(entry(1), planned=3, is_running=True).text
    assert "1 of 3 runs passed, 2 not run" in page(entry(1), planned=3).text


def test_synthetic_images_are_announced(page, entry):
    synthetic = entry(1, reported={"synthetic": True, "dataset": "synthetic images"})
    assert "synthetic. They are not CIFAR-10. This applies to 1 of" in page(synthetic).text
    assert "This applies to run1. The accuracies" in page(synthetic, noun="notebook").text


def test_text_from_notebooks_is_escaped_and_the_page_needs_no_network(page, entry):
    harmful = {"data": "<script>alert(1)</script>"}
    report = page(
        entry(1, Status.FAILED, parameters=harmful, reported={"<b>": "<img src=x>"}, error="<i>"),
        *(entry(n, parameters={"data": f"<u>{n}"}, reported={"<b>": n}) for n in (2, 3)),
        varied=["data"],
    )
    assert report.tags.count("script") == 1
    assert not {"b", "img", "i", "u", "link"} & set(report.tags)
    assert not [link for link in report.links if "//" in link]


def test_results_have_bars_relative_to_the_largest(page, entry, tmp_path):
    entries = [
        entry(n, parameters={"lr": n}, reported={"loss": n, "gain": n - 2, "bad": float("nan")})
        for n in (1, 2, 4)
    ]
    page(*entries, varied=["lr"])
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"--share: ([\d.]+)%", text) == ["25.0", "50.0", "100.0"]
