import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from helpers import packages

ROOT = Path(__file__).parents[2]


def pretend(monkeypatch, versions):
    """Make this Python look as if it had other versions; None for a package that is missing."""

    def version(name):
        found = versions.get(name, packages.OLDEST[name])
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(metadata, "version", version)


def test_here_nothing_is_missing():
    assert packages.require() is None


def test_the_oldest_versions_are_those_that_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {r.name: str(r.specifier) for r in map(Requirement, project["dependencies"])}
    del wanted["ipython"]
    assert wanted == {name: f">={oldest}" for name, oldest in packages.OLDEST.items()}


def test_what_colab_has_is_new_enough(monkeypatch):
    lines = (ROOT / "tools" / "colab_versions.txt").read_text("utf-8").splitlines()
    pretend(monkeypatch, dict(line.split("==") for line in lines if "==" in line))
    packages.require()


def test_what_is_missing_and_what_is_too_old_is_named_together(monkeypatch):
    pretend(monkeypatch, {"tqdm": None, "torch": "2.4.1+cu121"})
    with pytest.raises(ModuleNotFoundError) as caught:
        packages.require()
    assert "torch is 2.4.1+cu121, tqdm is missing" in str(caught.value)
    assert '%pip install "torch>=2.11" "tqdm>=4.66"' in str(caught.value)


@pytest.mark.parametrize("version", ["2.11.0+cu128", "2.11.0a0+git1234", "2.100", "3.0rc1"])
def test_numbers_are_compared_as_numbers(monkeypatch, version):
    pretend(monkeypatch, {"torch": version})
    packages.require()
