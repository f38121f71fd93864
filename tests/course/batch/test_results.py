import csv
import io

import pyarrow.parquet
import pytest

from course.batch.results import as_csv, as_parquet, make_rows, write_tables


def record(**changes):
    base = {
        "id": "a1",
        "run": "one_a1",
        "notebook": "one",
        "status": "passed",
        "parameters": {},
        "records": {},
        "versions": {"torch": "2.14.1"},
        "seconds": 1.5,
        "begun": "2026-11-05T09:30:00+01:00",
        "attempts": 1,
        "error": "",
        "failing_cell": None,
        "failing_code": "",
        "host": "here",
        "gpu": "",
    }
    return base | changes


def test_a_parameter_and_a_result_of_one_name_are_two_columns():
    (row,) = make_rows([record(parameters={"epochs": 3}, records={"epochs": 2})])
    assert (row["parameter.epochs"], row["result.epochs"]) == (3, 2)


def test_circumstances_are_no_results():
    noted = {"device": "cpu", "data_set": "CIFAR-10", "provenance": "cached", "drawn": False}
    (row,) = make_rows([record(records=noted)])
    assert not [name for name in row if name.startswith("result.")]
    assert (row["device"], row["drawn"], row["provenance"]) == ("cpu", False, "cached")


def test_all_rows_have_the_same_columns():
    rows = make_rows([record(records={"a": 1}), record(parameters={"b": 2})])
    assert list(rows[0]) == list(rows[1])
    assert rows[0]["parameter.b"] is None


def test_csv_keeps_lines_quotes_and_lists():
    rows = make_rows([record(error='a "b",\nc', parameters={"widths": [1, 2]})])
    (read,) = csv.DictReader(io.StringIO(as_csv(rows)))
    assert read["error"] == 'a "b",\nc'
    assert read["parameter.widths"] == "[1, 2]"
    assert read["gpu"] == ""


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([1, 2], [1, 2]),
        ([1, 0.5], [1.0, 0.5]),
        ([True, False], [True, False]),
        ([1, "auto"], ["1", "auto"]),
        ([True, 1], ["True", "1"]),
        ([None, 3], [None, 3]),
        ([2**70, 1], [float(2**70), 1.0]),
        ([float("nan"), 1.0], None),
        ([[1], [2]], ["[1]", "[2]"]),
    ],
)
def test_a_column_of_parquet_has_one_type(values, stored):
    rows = make_rows([record(records={"value": value}) for value in values])
    column = pyarrow.parquet.read_table(io.BytesIO(as_parquet(rows)))["result.value"].to_pylist()
    if stored is None:
        assert column[0] != column[0]
    else:
        assert [(type(value), value) for value in column] == [(type(v), v) for v in stored]


def test_a_batch_without_rows_still_has_tables(tmp_path):
    write_tables([], tmp_path)
    assert (tmp_path / "results.csv").read_text() == ""
    assert pyarrow.parquet.read_table(tmp_path / "results.parquet").num_rows == 0


def test_a_table_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    write_tables(make_rows([record()]), tmp_path)
    before = (tmp_path / "results.csv").read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("course.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_tables(make_rows([record(), record(id="b2")]), tmp_path)
    assert (tmp_path / "results.csv").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["results.csv", "results.parquet"]
