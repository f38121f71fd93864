import csv

import pyarrow.parquet
import pytest

from course.authoring import stored_outputs
from course.execution.jobs import Job, RunResult, Status
from course.reports import entries
from helpers import lesson


@pytest.fixture
def entry(tmp_path):
    def make(reported=None, parameters=None, **result):
        job = Job("one", tmp_path, tmp_path, tmp_path)
        extra = {"id": "a1", "run": "one_a1", "parameters": parameters or {}}
        result = RunResult(job, Status.PASSED, **result)
        return entries.make_entry(result, None, reported=reported or {}, **extra)

    return make


def test_last_reported_value_is_used(cells):
    def results(**values):
        return cells.display_data({entries.RESULT_TYPE: values, "text/plain": "Results"})

    notebook = cells.notebook(
        cells.code("one()", results(device="cpu", accuracy=0.1)),
        cells.text("between"),
        cells.code("two()", cells.stream("x"), results(accuracy=0.5, loss=1.5)),
    )
    assert entries.collect_reported(notebook) == {"device": "cpu", "accuracy": 0.5, "loss": 1.5}


def test_result_type_is_that_of_lesson_report():
    assert lesson.RESULT_TYPE == entries.RESULT_TYPE == stored_outputs.RESULT_TYPE


def test_parameters_results_and_context_have_their_own_columns(entry):
    table = entries.make_columns([
        entry({"epochs": 2, "device": "cpu", "synthetic": False}, {"epochs": 3}),
        entry({"loss": 1}),
    ])  # fmt: skip
    assert (table["parameter.epochs"], table["result.epochs"]) == ([3, None], [2, None])
    assert table["result.loss"] == [None, 1]
    assert (table["device"], table["synthetic"]) == (["cpu", None], [False, None])


def test_csv_keeps_line_breaks_quotes_and_lists(entry, tmp_path):
    entries.write_tables([entry(parameters={"widths": [1, 2]}, error='a "b",\nc')], tmp_path)
    with (tmp_path / "results.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["error"], row["parameter.widths"], row["gpu"]) == ('a "b",\nc', "[1, 2]", "")


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([1, 0.5], [1.0, 0.5]),
        ([1, "auto"], ["1", "auto"]),
        ([True, 1], ["True", "1"]),
        ([None, 3], [None, 3]),
        ([2**70, 1], [str(2**70), "1"]),
        ([[1], [2]], ["[1]", "[2]"]),
    ],
)
def test_each_parquet_column_has_one_type(entry, tmp_path, values, stored):
    entries.write_tables([entry({"value": value}) for value in values], tmp_path)
    table = pyarrow.parquet.read_table(tmp_path / "results.parquet")
    column = table["result.value"].to_pylist()
    assert [(type(value), value) for value in column] == [(type(v), v) for v in stored]


def test_batch_without_rows_has_tables(tmp_path):
    entries.write_tables([], tmp_path)
    assert (tmp_path / "results.csv").read_text().startswith("run,id,notebook,status,")
    assert pyarrow.parquet.read_table(tmp_path / "results.parquet").num_rows == 0


def test_terminal_box_names_the_notebooks_and_the_fix():
    box = entries.synthetic_box(["04_cifar10_on_gpu"])
    assert len({len(line) for line in box.strip().splitlines()}) == 1
    assert "This applies to: 04_cifar10_on_gpu." in box
    assert "CIFAR10_ROOT=" in box
    assert box.isascii()


def test_values_are_shown_with_few_digits():
    values = (0.54321, 12345.678, 0.0001234567, float("nan"), float("inf"), 62006, True, None, "a")
    shown = ("0.5432", "12,346", "0.0001235", "nan", "inf", "62,006", "yes", "none", "a")
    assert tuple(map(entries.format_value, values)) == shown
