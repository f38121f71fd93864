"""The container files fit the rest of the course; no container is built here."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")


def test_the_development_container_is_built_from_a_file_that_is_there():
    folder = ROOT / ".devcontainer"
    settings = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))
    assert (folder / settings["build"]["dockerfile"]).resolve() == ROOT / "Containerfile"
    assert (folder / settings["build"]["context"]).resolve() == ROOT
    assert settings["remoteUser"] in CONTAINERFILE


def test_the_container_installs_with_the_same_uv_as_make():
    found = re.findall(r"\buv==([\d.]+)", CONTAINERFILE)
    assert found == re.findall(r"\buv==([\d.]+)", (ROOT / "Makefile").read_text(encoding="utf-8"))


def test_the_container_opens_jupyterlab_as_make_does():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (config,) = re.findall(r"jupyter lab --config=(\S+)", makefile)
    assert f"--config={config}" in CONTAINERFILE
    assert (ROOT / config).is_file()


def test_everything_copied_by_name_is_there():
    named = re.findall(r"^COPY (\S+) \./$", CONTAINERFILE, re.MULTILINE)
    assert named
    assert all((ROOT / name).is_file() for name in named)
