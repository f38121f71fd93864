"""The batch page shows the entries of its finished runs."""

from html.parser import HTMLParser

import pytest

from course.reports.batch_report import make_charts, write_batch_report


def entry(number, *, status="passed", parameters=None, reported=None, **changes):
    base = {
        "id": f"id{number}",
        "run": f"run{number}",
        "notebook": "04_training",
        "title": "Training",
        "status": status,
        "parameters": parameters or {},
        "reported": reported or {},
        "versions": {},
        "seconds": 2.0 + number,
        "started": "",
        "attempts": 1,
        "error": "",
        "note": "",
        "failing_cell": None,
        "failing_cell_id": "",
        "failing_code": "",
        "host": "here",
        "gpu": "",
        "file": f"notebooks/run{number}.ipynb",
        "page": "",
    }
    return base | changes


class Reader(HTMLParser):
    """Collects a page's tags, links, and text without scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.texts, self.current_tag = [], [], [], ""
        self.feed(page)
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.current_tag = tag
        self.links += [value for key, value in attrs if key in ("href", "src")]

    def handle_endtag(self, tag):
        self.current_tag = ""

    def handle_data(self, data):
        if self.current_tag not in ("script", "style"):
            self.texts.append(data)


@pytest.fixture
def page(tmp_path):
    def write(entries, *, planned=None, is_running=False, fixed=None, varied=()):
        path = write_batch_report(
            entries,
            tmp_path,
            title="04_training",
            fixed=fixed or {},
            varied=varied,
            planned=len(entries) if planned is None else planned,
            is_running=is_running,
            facts={"torch": "2.14.1", "machine": "Linux x86_64, 2 cores", "commit": "0a1b2c3"},
        )
        return Reader(path.read_text(encoding="utf-8"))

    return write


def test_run_has_a_row_with_parameters_results_and_a_link(page):
    report = page(
        [entry(1, parameters={"lr": 0.1}, reported={"test_accuracy": 0.51234, "device": "cpu"})],
        varied=["lr"],
    )
    assert "Run Status lr test accuracy Time Device" in report.text
    assert "1 passed 0.1 0.5123 3.0 s cpu" in report.text
    assert "notebooks/run1.ipynb" in report.links
    assert "1 of 1 runs passed" in report.text


def test_page_names_torch_machine_and_commit(page):
    text = page([entry(1)]).text
    for fact in ("Torch: 2.14.1", "Machine: Linux x86_64, 2 cores", "Commit: 0a1b2c3"):
        assert fact in text
    assert "Executed on" not in text


def test_page_names_the_machines_of_a_cluster(page):
    text = page([{**entry(1), "host": "b"}, {**entry(2), "host": "a"}]).text
    assert "Executed on: a, b" in text


def test_common_parameters_are_above_the_table(page):
    report = page([entry(1, parameters={"lr": 0.1, "epochs": 2})], fixed={"epochs": 2})
    assert "with epochs = 2 " in report.text
    assert "Run Status lr Time" in report.text


def test_failure_shows_cell_and_error_with_a_link(page):
    failure = entry(
        1,
        status="failed",
        error="ValueError: no",
        failing_cell=6,
        failing_cell_id="abc-1",
        failing_code="x = 1 / 0",
        page="notebooks/run1.html",
        attempts=2,
    )
    report = page([failure, entry(2)])
    assert "failed in each of 2 attempts in cell 6 , after 3.0 s x = 1 / 0 ValueError: no" in (
        report.text
    )
    assert "notebooks/run1.html#cell-id=abc-1" in report.links


def test_unfinished_runs_are_counted(page):
    assert "1 of 3 runs passed, 2 pending" in page([entry(1)], planned=3, is_running=True).text
    assert "1 of 3 runs passed, 2 not run" in page([entry(1)], planned=3).text


def test_synthetic_images_are_announced(page):
    report = page([entry(1, reported={"synthetic": True, "dataset": "synthetic images"})])
    assert "The images are synthetic. They are not CIFAR-10." in report.text


def test_text_from_notebooks_is_escaped(page):
    parameters = {"data": "<script>alert(1)</script>"}
    report = page(
        [
            entry(1, parameters=parameters, reported={"<b>": "<img src=x>"}, error="<i>"),
            entry(2, parameters={"data": "<u>"}, reported={"<b>": 1}),
        ],
        varied=["data"],
    )
    assert report.tags.count("script") == 1
    assert not {"b", "img", "i", "u"} & set(report.tags)


def test_page_needs_no_network(page):
    report = page([entry(n, parameters={"x": n}) for n in (1, 2)], varied=["x"])
    assert not [link for link in report.links if "//" in link]
    assert "link" not in report.tags


def test_note_of_a_run_is_shown(page):
    report = page([entry(1, note="1 process was still running")])
    assert "run1: 1 process was still running" in report.text


def captions(charts):
    return [chart.split("<figcaption>")[1].removesuffix("</figcaption>") for chart in charts]


def test_reported_numbers_are_charted_against_varied_parameters():
    entries = [
        entry(n, parameters={"lr": lr, "width": 8, "seed": n}, reported={"loss": lr, "name": "x"})
        for n, lr in enumerate([0.1, 0.1, 0.2, 0.2])
    ]
    charts = make_charts(entries, ["lr", "width", "seed"])
    assert captions(charts) == ["loss: from 0.1 (lr = 0.1) to 0.2 (lr = 0.2)"]


def test_warm_up_times_are_not_charted():
    entries = [
        entry(n, parameters={"lr": n}, reported={"seconds_making_ready": n, "training_seconds": n})
        for n in (1, 2)
    ]
    assert captions(make_charts(entries, ["lr"])) == [
        "training (seconds): from 1 (lr = 1) to 2 (lr = 2)"
    ]


def test_failed_runs_and_values_that_are_not_finite_are_not_charted():
    values = [0.5, float("nan"), 0.7]
    entries = [
        entry(n, parameters={"lr": n / 10}, reported={"loss": value})
        for n, value in enumerate(values)
    ]
    (caption,) = captions(make_charts(entries, ["lr"]))
    assert caption == "loss: from 0.5 (lr = 0) to 0.7 (lr = 0.2)"
    failed = [entry(n, status="failed", parameters={"lr": n}) for n in range(2)]
    assert make_charts(failed, ["lr"]) == []


def test_caption_has_both_parameters_of_lowest_and_highest_value():
    settings = [(0.1, 4, 5.0), (0.1, 32, 6.0), (1.0, 4, 8.0), (1.0, 32, 7.0)]
    entries = [
        entry(n, parameters={"lr": lr, "batch": batch}, reported={"loss": loss})
        for n, (lr, batch, loss) in enumerate(settings)
    ]
    over_lr, over_batch = captions(make_charts(entries, ["lr", "batch"]))
    assert over_lr == "loss: from 5 (lr = 0.1, batch = 4) to 8 (lr = 1, batch = 4)"
    assert over_batch == "loss: from 5 (batch = 4, lr = 0.1) to 8 (batch = 4, lr = 1)"
