"""`helpers.packages.require` names missing and outdated packages and says how to install them."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from helpers import packages

ROOT = Path(__file__).parents[2]


def fake_versions(monkeypatch, versions):
    """Pretend that `versions` are installed; None means a missing package."""

    def version(name):
        if name in versions and versions[name] is None:
            raise metadata.PackageNotFoundError(name)
        return versions.get(name, packages.OLDEST[name])

    monkeypatch.setattr(metadata, "version", version)


def test_oldest_versions_match_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = {r.name: str(r.specifier) for r in map(Requirement, project["dependencies"])}
    del required["ipython"]
    assert required == {name: f">={oldest}" for name, oldest in packages.OLDEST.items()}


def test_versions_of_this_environment_and_of_colab_are_new_enough(monkeypatch):
    lines = (ROOT / "tools" / "colab_versions.txt").read_text("utf-8").splitlines()
    packages.require()  # the versions of this environment
    fake_versions(monkeypatch, dict(line.split("==") for line in lines if "==" in line))
    packages.require()
    for version in ("2.11.0+cu128", "2.11.0a0+git1234", "2.100", "3.0rc1"):
        fake_versions(monkeypatch, {"torch": version})
        packages.require()


def test_missing_and_outdated_packages_are_named_together(monkeypatch):
    fake_versions(monkeypatch, {"filelock": None, "torch": "2.4.1+cu121"})
    with pytest.raises(ModuleNotFoundError) as caught:
        packages.require()
    assert "filelock is missing, torch is 2.4.1+cu121" in str(caught.value)
    assert '%pip install "filelock>=3.13" "torch>=2.11"' in str(caught.value)
