"""Benchmark records are stored per device and read from the installed package."""

import importlib
import json
import tomllib
from pathlib import Path

import pytest
import torch

import helpers
from helpers import records

ROOT = Path(__file__).parents[2]


@pytest.fixture
def recording(monkeypatch, tmp_path):
    """The recording module of the benchmarks, with an empty folder for records."""
    monkeypatch.syspath_prepend(ROOT)  # benchmarks/ is not installed
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    return importlib.import_module("benchmarks._recording")


def entry(device, kind, date):
    return {"device": device, "kind": kind, "torch": "2.11.0", "date": date, "results": {"x": 1}}


def test_the_newest_record_of_a_device_kind_is_read(tmp_path):
    given = (("old GPU", "cuda", 1), ("a CPU", "cpu", 3), ("new GPU", "cuda", 2))
    entries = [entry(device, kind, f"2026-0{month}-01") for device, kind, month in given]
    (tmp_path / "curves.json").write_text(json.dumps({"records": entries}))
    latest = records.latest("curves", "cuda", tmp_path)
    assert latest.origin == "new GPU, torch 2.11.0, recorded 2026-02-01"
    assert records.latest("curves", "mps", tmp_path) is None


def test_records_are_part_of_the_package():
    assert records.RECORDS.parent == Path(helpers.__file__).parent
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    patterns = settings["setuptools"]["package-data"]["helpers"]
    packaged = {path for pattern in patterns for path in records.RECORDS.parent.glob(pattern)}
    assert set(records.RECORDS.iterdir()) <= packaged


def test_new_record_of_a_machine_replaces_its_old_one_and_no_other(recording, tmp_path):
    path = tmp_path / "curves.json"
    path.write_text(json.dumps({"records": [entry("a GPU", "cuda", "2026-01-02")]}))
    for x in (1, 2):
        new = recording.record(torch.device("cpu"), {"x": x})
        path.write_text(json.dumps(recording.merge_records("curves", "what it is", [new])))
    assert len(records.read("curves")) == 2
    assert records.latest("curves", "cpu").results == {"x": 2}
    assert records.latest("curves", "cuda").device == "a GPU"


@pytest.mark.parametrize("path", sorted(records.PUBLISHED.glob("*.json")), ids=lambda p: p.stem)
def test_published_measurements_name_their_source_and_license(path):
    found = records.published(path.stem)
    published, by, *words = found["source"].split()
    assert (published, by) == ("published", "by")
    # A figure shows them in every language.
    assert not {"and", "by", "four", "from", "of", "the", "to", "two", "with"}.intersection(words)
    assert found["url"].startswith("https://")
    assert found["license"]
    assert found["description"]
