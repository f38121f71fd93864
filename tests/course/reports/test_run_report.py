import json
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from course.authoring.stored_outputs import RESULT_TYPE
from course.execution.jobs import Job, RunResult, Status
from course.reports.entries import collect_reported, format_value, make_entry, synthetic_box
from course.reports.run_report import CourseRun, write_report

REAL = {"dataset": "CIFAR-10", "provenance": "from an archive", "synthetic": False}
SYNTHETIC = {"dataset": "synthetic images", "provenance": "synthetic images", "synthetic": True}


def results(cells, **values):
    return cells.display_data({RESULT_TYPE: values, "text/plain": "Results"})


class Reader(HTMLParser):
    """Collects a page's text, links and tags."""

    def __init__(self, page):
        super().__init__()
        self.links, self.sources, self.tags, self.pieces = [], [], [], []
        self.feed(page)
        self.text = " ".join(" ".join(self.pieces).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if key == "href"]
        self.sources += [value for key, value in attrs if key == "src"]

    def handle_data(self, data):
        self.pieces.append(data)


@pytest.fixture
def report(cells, tmp_path):
    """A function that writes the report for (name, status, reported, result fields) tuples."""

    def write(*notebooks, **run):
        entries = []
        for name, status, reported, fields in notebooks:
            path = tmp_path / f"{name}.ipynb"
            notebook = cells.notebook(cells.code("1", results(cells, **reported)))
            notebook.metadata["title"] = f"Title of {name}"
            job = Job(name, path, path, tmp_path)
            result = RunResult(job, status, 72.0, **fields)
            entries.append(make_entry(result, notebook, page=f"{name}.html"))
        started = datetime(2026, 11, 5, 9, 30, tzinfo=UTC)
        page = write_report(CourseRun(started, 100.0, entries, **run), tmp_path)
        return Reader(page.read_text(encoding="utf-8"))

    return write


def test_last_reported_value_is_used(cells):
    notebook = cells.notebook(
        cells.code("one()", results(cells, device="cpu", accuracy=0.1)),
        cells.text("between"),
        cells.code("two()", cells.stream("x"), results(cells, accuracy=0.5, loss=1.5)),
    )
    assert collect_reported(notebook) == {"device": "cpu", "accuracy": 0.5, "loss": 1.5}


def test_row_shows_status_time_device_images_and_results(report):
    page = report(
        ("one", Status.PASSED, REAL | {"device": "cuda:0 NVIDIA H200", "test_accuracy": 0.5432}, {})
    )
    for text in (
        "Title of one",
        "passed",
        "1 min 12 s",
        "cuda:0 NVIDIA H200",
        "CIFAR-10",
        "from an archive",
        "test accuracy 0.5432",
        "1 of 1 notebooks passed in 1 min 40 s.",
        "5 November 2026 at 09:30",
    ):
        assert text in page.text
    assert "one.html" in page.links


def test_page_needs_no_network(report):
    page = report(("one", Status.PASSED, REAL, {}), ("two", Status.FAILED, {}, {"error": "no"}))
    assert page.sources == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not [link for link in page.links if "//" in link]


def test_failing_row_shows_cell_and_error_with_a_link(report):
    failure = {"cell": 6, "cell_id": "abc-1", "source": "x = t1 + t2", "error": "RuntimeError: two"}
    page = report(("one", Status.FAILED, {}, failure), ("two", Status.PASSED, {}, {}))
    assert "failed" in page.text
    assert "Cell 7 did not pass: x = t1 + t2 RuntimeError: two" in page.text
    assert "one.html#cell-id=abc-1" in page.links
    assert "1 of 2 notebooks passed" in page.text


def test_text_from_notebooks_is_escaped(report):
    failure = {"cell": 1, "source": "<script>1</script>", "error": "<b>&amp;</b>"}
    page = report(("one", Status.FAILED, {"name": "<img src=x>"}, failure))
    assert not {"script", "img", "b"} & set(page.tags)
    assert "<script>1</script> <b>&amp;</b>" in page.text


def test_synthetic_images_are_announced_above_the_table(report):
    page = report(("one", Status.PASSED, REAL, {}), ("two", Status.PASSED, SYNTHETIC, {}))
    position = page.text.index("The images are synthetic. They are not CIFAR-10.")
    assert position < page.text.index("Title of one")
    assert "This applies to two. The accuracies" in page.text
    assert "synthetic, not real" in page.text


def test_real_images_are_not_announced_as_synthetic(report):
    page = report(("one", Status.PASSED, REAL, {}))
    assert "are synthetic" not in page.text
    assert "synthetic, not real" not in page.text


def test_notebook_that_was_not_run_has_a_row(tmp_path):
    job = Job("one", tmp_path / "one.ipynb", tmp_path / "out.ipynb", tmp_path)
    entry = make_entry(RunResult(job, Status.NOT_RUN), None)
    page = write_report(CourseRun(datetime.now(UTC), 1.0, [entry], stopped=True), tmp_path)
    text = Reader(page.read_text(encoding="utf-8")).text
    assert "not run" in text
    assert "stopped before the end" in text


def test_parameters_of_the_run_are_shown(report):
    page = report(("one", Status.PASSED, {}, {}), parameters=[("epochs", "1"), ("data", "<x>")])
    assert "with epochs = 1 , data = <x>" in page.text


def test_terminal_box_names_the_notebooks_and_the_fix():
    box = synthetic_box(["04_cifar10_on_gpu"])
    lines = box.strip().splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "NOT CIFAR-10" in box
    assert "04_cifar10_on_gpu" in box
    assert "CIFAR10_ROOT=" in box
    assert box.isascii()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5432, "0.5432"),
        (0.54321, "0.5432"),
        (54.3, "54.3"),
        (12345.678, "12,346"),
        (0.0001234567, "0.0001235"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (62006, "62,006"),
        (True, "yes"),
        (None, "none"),
        ("cuda:0", "cuda:0"),
    ],
)
def test_values_are_shown_with_few_digits(value, shown):
    assert format_value(value) == shown


def test_facts_that_results_depend_on_are_shown_and_stored(report, tmp_path):
    facts = {"torch": "2.14.1", "command": "course run -p epochs 1", "commit": "v1-3-gabc"}
    page = report(("one", Status.PASSED, {}, {}), facts=facts)
    assert "Torch: 2.14.1 Command: course run -p epochs 1 Commit: v1-3-gabc" in page.text
    assert facts.items() <= json.loads((tmp_path / "results.json").read_text()).items()
