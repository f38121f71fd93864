"""The README matches the lessons, the commands and the recorded results."""

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SOURCES = sorted((ROOT / "notebooks" / "source").glob("*.py"))
LABS = ROOT / "labs" / "source"


def read_header(source: Path) -> dict:
    lines = source.read_text().split("# ---\n")[1].splitlines()
    return yaml.safe_load("\n".join(line.removeprefix("#")[1:] for line in lines))["jupyter"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_lesson_has_a_row_with_its_lab(source):
    course = read_header(source)["course"]
    title = f"| [{course['title']}](notebooks/{source.stem}.ipynb) | {course['minutes']} |"
    (row,) = [line for line in README.splitlines() if title in line]
    assert re.search(rf"\]\(https://colab\S+/notebooks/{source.stem}\.ipynb\) \|", row)
    (lab,) = LABS.glob(f"{source.stem[:2]}_*.py")
    minutes = read_header(lab)["course"]["minutes"]
    assert row.endswith(f"| [lab {lab.stem[:2]}](labs/{lab.stem}.ipynb) | {minutes} |")


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make ([a-z]+)\b", README)):
        assert f"\n{target}:" in makefile


def test_number_of_verified_results_is_current():
    path = ROOT / "simulated_cuda" / "tests" / "record" / "record.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    entries = [entry for versions in record.values() for entry in versions.values()]
    verified = sum(entry["verified"] for entry in entries)
    assert f"{verified} of {len(entries)} recorded results" in README
    assert f"{len(record)} device cases" in README
