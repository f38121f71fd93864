"""The README tells the truth about the lessons, and its links lead somewhere."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SOURCES = sorted((ROOT / "notebooks" / "source").glob("*.py"))
LABS = sorted((ROOT / "labs" / "source").glob("*.py"))


def header_of(source: Path) -> dict:
    lines = source.read_text().split("# ---\n")[1].splitlines()
    return yaml.safe_load("\n".join(line.removeprefix("#")[1:] for line in lines))["jupyter"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_each_lesson_has_its_row(source):
    course = header_of(source)["course"]
    row = f"| [{course['title']}](notebooks/{source.stem}.ipynb) | {course['minutes']} |"
    assert row in README
    assert re.search(rf"\]\(https://colab\S+/notebooks/{source.stem}\.ipynb\) \|", README)


@pytest.mark.parametrize("source", LABS, ids=lambda source: source.stem)
def test_each_lab_stands_in_its_lessons_row(source):
    row = next(line for line in README.splitlines() if f"/{source.stem}.ipynb) |" in line)
    minutes = header_of(source)["course"]["minutes"]
    assert row.endswith(f"| [lab {source.stem[:2]}](labs/{source.stem}.ipynb) | {minutes} |")


def test_every_link_inside_the_repository_leads_to_a_file():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    inside = [target for target in targets if not target.startswith("http")]
    assert inside
    assert [target for target in inside if not (ROOT / target).exists()] == []


def test_every_make_target_named_is_there():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make ([a-z]+)\b", README)):
        assert f"\n{target}:" in makefile
