"""What a batch's page shows of records as the ledger keeps them."""

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from course.batch.plan import make_plan
from course.reports.batch_report import charts_of, write_batch_report
from course.reports.charts import Point, chart, number_axis


def record(number, *, status="passed", parameters=None, records=None, **changes):
    base = {
        "id": f"id{number}",
        "run": f"run{number}",
        "notebook": "04_training",
        "title": "Training",
        "status": status,
        "parameters": parameters or {},
        "records": records or {},
        "versions": {},
        "seconds": 2.0 + number,
        "begun": "",
        "attempts": 1,
        "error": "",
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
    """The text, the tags and the addresses of a page; its script is not text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.pieces, self.inside = [], [], [], ""
        self.feed(page)
        self.text = " ".join(" ".join(self.pieces).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside = tag
        self.links += [value for key, value in attrs if key in ("href", "src")]

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.pieces.append(data)


@pytest.fixture
def page(tmp_path):
    def write(records, *, planned=None, under_way=False, **table):
        plan = make_plan({"notebooks": ["04_training"], **table})
        number = len(records) if planned is None else planned
        path = write_batch_report(records, plan, tmp_path, number, under_way)
        return Reader(path.read_text(encoding="utf-8"))

    return write


def test_every_run_is_a_row_with_parameters_results_and_a_link(page):
    shown = page(
        [record(1, parameters={"lr": 0.1}, records={"test_accuracy": 0.51234, "device": "cpu"})],
        grid={"lr": [0.1]},
    )
    assert "Run Status lr test accuracy Time Device" in shown.text
    assert "1 passed 0.1 0.5123 3.0 s cpu" in shown.text
    assert "notebooks/run1.ipynb" in shown.links
    assert "1 of 1 runs passed" in shown.text


def test_what_all_runs_have_in_common_stands_above_the_table(page):
    shown = page([record(1, parameters={"lr": 0.1, "epochs": 2})], parameters={"epochs": 2})
    assert "with epochs = 2 " in shown.text
    assert "Run Status lr Time" in shown.text


def test_a_failure_shows_where_what_and_leads_there(page):
    failure = record(
        1,
        status="failed",
        error="ValueError: no",
        failing_cell=6,
        failing_cell_id="abc-1",
        failing_code="x = 1 / 0",
        page="notebooks/run1.html",
        attempts=2,
    )
    shown = page([failure, record(2)])
    assert "failed in each of 2 attempts in cell 6 , after 3.0 s x = 1 / 0 ValueError: no" in (
        shown.text
    )
    assert "notebooks/run1.html#cell-id=abc-1" in shown.links


def test_a_batch_under_way_says_what_is_to_come(page):
    assert "1 of 3 runs passed, 2 to come" in page([record(1)], planned=3, under_way=True).text
    assert "1 of 3 runs passed, 2 not run" in page([record(1)], planned=3).text


def test_drawn_images_are_announced(page):
    shown = page([record(1, records={"drawn": True, "data_set": "drawn images"})])
    assert "The images are drawn by the program. They are not CIFAR-10." in shown.text


def test_what_a_notebook_says_is_text(page):
    parameters = {"data": "<script>alert(1)</script>"}
    shown = page(
        [
            record(1, parameters=parameters, records={"<b>": "<img src=x>"}, error="<i>"),
            record(2, parameters={"data": "<u>"}, records={"<b>": 1}),
        ],
        grid={"data": ["a", "b"]},
    )
    assert shown.tags.count("script") == 1
    assert not {"b", "img", "i", "u"} & set(shown.tags)


def test_the_page_asks_the_network_for_nothing(page):
    shown = page([record(n, parameters={"x": n}) for n in (1, 2)], grid={"x": [1, 2]})
    assert not [link for link in shown.links if "//" in link]
    assert "link" not in shown.tags


def test_numbers_are_drawn_over_what_varies_and_nothing_else():
    plan = make_plan({"notebooks": ["a"], "grid": {"lr": [0.1, 0.2], "width": [8]}, "repeats": 2})
    records = [
        record(n, parameters={"lr": lr, "width": 8, "seed": n}, records={"loss": lr, "name": "x"})
        for n, lr in enumerate([0.1, 0.1, 0.2, 0.2])
    ]
    titles = [re.search("<title>(.*?)</title>", c)[1] for c in charts_of(records, plan)]
    assert titles == [
        "loss lies between 0.1 (lr = 0.1) and 0.2 (lr = 0.2)",
        "time in seconds lies between 2.5 (lr = 0.1) and 4.5 (lr = 0.2)",
    ]


def test_failed_runs_and_odd_values_are_not_drawn():
    plan = make_plan({"notebooks": ["a"], "grid": {"lr": [0.1, 0.2, 0.3]}})
    values = [0.5, float("nan"), 0.7]
    records = [
        record(n, parameters={"lr": n / 10}, records={"loss": value})
        for n, value in enumerate(values)
    ]
    assert "between 0.5 (lr = 0) and 0.7 (lr = 0.2)" in charts_of(records, plan)[0]
    failed = [record(n, status="failed", parameters={"lr": n}) for n in range(2)]
    assert charts_of(failed, plan) == []


@pytest.mark.parametrize("xs", [[1, 2, 3], [0.001, 0.1, 10.0], ["a", "b & c", "d"], [True, False]])
@pytest.mark.parametrize("ys", [[1.0, 2.0, 3.0], [1e-6, 1.0, 1e6], [0.0, 0.0, 0.0], [-5.0, 3, 0]])
def test_a_chart_is_well_formed_and_its_points_are_inside(xs, ys):
    points = [Point(x, y, s) for x, y in zip(xs, ys, strict=False) for s in ("", "<s>")]
    figure = ElementTree.fromstring(f"<f>{chart(points, 'x < 1', 'y & z', 'series')}</f>")
    tree = figure.find("svg")
    width, height = map(float, tree.get("viewBox").split()[2:])
    circles = [e for e in tree.iter() if e.tag == "circle"]
    assert len(circles) == len(points) // 2
    for circle in circles:
        assert 0 < float(circle.get("cx")) < width
        assert 0 < float(circle.get("cy")) < height
    assert tree.get("aria-label") == figure.find("figcaption").text


def test_more_series_than_can_be_told_apart_are_drawn_as_one():
    points = [Point(x, float(x), str(s)) for x in (1, 2) for s in range(7)]
    picture = chart(points, "x", "y", "s")
    assert "<ul>" not in picture
    assert picture.count("<circle") == 14


def test_values_far_apart_get_a_logarithmic_axis():
    axis = number_axis([0.001, 0.01, 1.0])
    assert axis.logarithmic
    assert [text for _, text in axis.ticks] == ["0.001", "0.01", "0.1", "1"]
    assert not number_axis([0.0, 1000.0]).logarithmic


def test_a_charts_title_says_both_parameters_of_the_least_and_the_most():
    plan = make_plan({"notebooks": ["a"], "grid": {"lr": [0.1, 1.0], "batch": [4, 32]}})
    settings = [(0.1, 4, 5.0), (0.1, 32, 6.0), (1.0, 4, 8.0), (1.0, 32, 7.0)]
    records = [
        record(n, parameters={"lr": lr, "batch": batch}, records={"loss": loss})
        for n, (lr, batch, loss) in enumerate(settings)
    ]
    over_lr, over_batch = charts_of(records, plan)[:2]
    assert "between 5 (lr = 0.1, batch = 4) and 8 (lr = 1, batch = 4)" in over_lr
    assert "between 5 (batch = 4, lr = 0.1) and 8 (batch = 4, lr = 1)" in over_batch
