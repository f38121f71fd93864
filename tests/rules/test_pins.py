"""The lists of pinned versions agree with each other and with the packages' ranges."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


PINS = [Requirement(line) for line in re.findall(r"(?m)^[^#\s].*", read("requirements.txt"))]


def test_every_requirement_is_pinned():
    assert [pin for pin in PINS if not re.fullmatch(r"==[^,*]+", str(pin.specifier))] == []


def test_conda_has_the_same_versions_and_installs_the_course():
    *pins, course = yaml.safe_load(read("environment.yml"))["dependencies"][-1]["pip"]
    assert {str(Requirement(pin)) for pin in pins} == {str(pin) for pin in PINS}
    assert course == "--editable ."


def test_pins_are_within_the_packages_ranges():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    ranges = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    for requirement in map(Requirement, ranges):
        versions = [str(pin.specifier)[2:] for pin in PINS if pin.name == requirement.name]
        assert versions, f"{requirement.name} has no pin"
        assert all(version in requirement.specifier for version in versions), requirement


def test_make_keeps_pinned_versions():
    [line] = [line for line in read("Makefile").splitlines() if "printf 'torch" in line]
    held = re.findall(r"[\w-]+==[\w.]+", line.replace(r"\n", " "))
    assert [pin.split("==")[0] for pin in held] == ["torch", "torchvision"]
    assert set(held) <= {str(pin) for pin in PINS}
