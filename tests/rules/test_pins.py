"""The three lists of pinned versions agree."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def pip_pins(requirements):
    """Return the normalized lines of a requirements.txt."""
    lines = (line.split("#")[0].strip() for line in requirements.splitlines())
    return sorted(str(Requirement(line)) for line in lines if line)


def conda_pins(environment):
    """Return the normalized pins under `pip:` in an environment.yml."""
    [pip_lines] = [
        e["pip"] for e in yaml.safe_load(environment)["dependencies"] if isinstance(e, dict)
    ]
    return sorted(str(Requirement(line)) for line in pip_lines if not line.startswith("--editable"))


def held_pins(makefile):
    """Return the versions that `make pins` keeps."""
    [line] = [line for line in makefile.splitlines() if "held.txt" in line and "printf" in line]
    return sorted(re.findall(r"[\w-]+==[\w.]+", line.replace(r"\n", " ")))


def range_problems(requirements, pyproject):
    """Return pins outside of the ranges in pyproject.toml, and dependencies without a pin."""
    project = tomllib.loads(pyproject)["project"]
    ranges = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    pins = [Requirement(line) for line in pip_pins(requirements)]
    problems = []
    for requirement in map(Requirement, ranges):
        versions = [str(pin.specifier)[2:] for pin in pins if pin.name == requirement.name]
        if not versions:
            problems.append(f"{requirement.name} has no pin")
        problems += [
            f"{requirement.name} {version} is not {requirement.specifier}"
            for version in versions
            if version not in requirement.specifier
        ]
    return problems


def test_every_requirement_is_pinned():
    unpinned = [
        line
        for line in pip_pins(read("requirements.txt"))
        if not re.fullmatch(r"==[^,*]+", str(Requirement(line).specifier))
    ]
    assert unpinned == []


def test_pip_and_conda_versions_agree():
    assert conda_pins(read("environment.yml")) == pip_pins(read("requirements.txt"))


def test_conda_installs_the_course():
    environment = yaml.safe_load(read("environment.yml"))
    assert environment["dependencies"][-1]["pip"][-1] == "--editable ."


def test_pins_are_within_the_packages_ranges():
    assert range_problems(read("requirements.txt"), read("pyproject.toml")) == []


def test_make_keeps_pinned_versions():
    held = held_pins(read("Makefile"))
    assert [pin.split("==")[0] for pin in held] == ["torch", "torchvision"]
    assert set(held) <= set(pip_pins(read("requirements.txt")))


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"- jinja2==\S+", "- jinja2==0.1"),
        (r" +- jinja2==\S+\n", ""),
        (r"( +- )jinja2==(\S+)", r"\1jinja2==\2\n\1another==1.0"),
        (r"(- appnope==\S+) ;.*", r"\1"),
    ],
    ids=["version", "missing", "added", "condition"],
)
def test_finds_difference_between_lists(pattern, replacement):
    environment = read("environment.yml")
    altered = re.sub(pattern, replacement, environment)
    assert altered != environment
    assert conda_pins(altered) != pip_pins(read("requirements.txt"))


def test_order_of_pins_does_not_matter():
    reversed_lines = "\n".join(reversed(read("requirements.txt").splitlines()))
    assert pip_pins(reversed_lines) == conda_pins(read("environment.yml"))


def test_finds_pin_out_of_range_and_missing_pin():
    pyproject = read("pyproject.toml")
    requirements = re.sub(r"(?m)^torch==\S+", "torch==2.10.0", read("requirements.txt"))
    assert range_problems(requirements, pyproject) == ["torch 2.10.0 is not >=2.11"]
    requirements = re.sub(r"(?m)^pytest==\S+\n", "", read("requirements.txt"))
    assert range_problems(requirements, pyproject) == ["pytest has no pin"]
