import csv
import io

import pyarrow.parquet
import pytest

from course.batch.tables import as_csv, as_parquet, make_rows, write_tables


def entry(**changes):
    base = {
        "id": "a1",
        "run": "one_a1",
        "notebook": "one",
        "status": "passed",
        "parameters": {},
        "reported": {},
        "versions": {"torch": "2.14.1"},
        "seconds": 1.5,
        "started": "2026-11-05T09:30:00+01:00",
        "attempts": 1,
        "error": "",
        "failing_cell": None,
        "failing_code": "",
        "note": "",
        "host": "here",
        "gpu": "",
    }
    return base | changes


def test_parameter_and_result_with_the_same_name_are_two_columns():
    (row,) = make_rows([entry(parameters={"epochs": 3}, reported={"epochs": 2})])
    assert (row["parameter.epochs"], row["result.epochs"]) == (3, 2)


def test_device_and_images_are_not_results():
    reported = {"device": "cpu", "dataset": "CIFAR-10", "provenance": "cached", "synthetic": False}
    (row,) = make_rows([entry(reported=reported)])
    assert not [name for name in row if name.startswith("result.")]
    assert (row["device"], row["synthetic"], row["provenance"]) == ("cpu", False, "cached")


def test_all_rows_have_the_same_columns():
    rows = make_rows([entry(reported={"a": 1}), entry(parameters={"b": 2})])
    assert list(rows[0]) == list(rows[1])
    assert rows[0]["parameter.b"] is None


def test_csv_keeps_line_breaks_quotes_and_lists():
    rows = make_rows([entry(error='a "b",\nc', parameters={"widths": [1, 2]})])
    (record,) = csv.DictReader(io.StringIO(as_csv(rows)))
    assert record["error"] == 'a "b",\nc'
    assert record["parameter.widths"] == "[1, 2]"
    assert record["gpu"] == ""


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([1, 2], [1, 2]),
        ([1, 0.5], [1.0, 0.5]),
        ([True, False], [True, False]),
        ([1, "auto"], ["1", "auto"]),
        ([True, 1], ["True", "1"]),
        ([None, 3], [None, 3]),
        ([2**70, 1], [str(2**70), "1"]),
        ([float("nan"), 1.0], None),
        ([[1], [2]], ["[1]", "[2]"]),
    ],
)
def test_each_parquet_column_has_one_type(values, stored):
    rows = make_rows([entry(reported={"value": value}) for value in values])
    column = pyarrow.parquet.read_table(io.BytesIO(as_parquet(rows)))["result.value"].to_pylist()
    if stored is None:
        assert column[0] != column[0]
    else:
        assert [(type(value), value) for value in column] == [(type(v), v) for v in stored]


def test_batch_without_rows_has_tables(tmp_path):
    write_tables([], tmp_path)
    assert (tmp_path / "results.csv").read_text() == ""
    assert pyarrow.parquet.read_table(tmp_path / "results.parquet").num_rows == 0


def test_table_that_cannot_be_written_keeps_the_previous_one(tmp_path, monkeypatch):
    write_tables(make_rows([entry()]), tmp_path)
    before = (tmp_path / "results.csv").read_bytes()

    def raise_disk_full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("course.files.os.fsync", raise_disk_full)
    with pytest.raises(OSError, match="No space"):
        write_tables(make_rows([entry(), entry(id="b2")]), tmp_path)
    assert (tmp_path / "results.csv").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["results.csv", "results.parquet"]
