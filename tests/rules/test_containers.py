"""The container files match the rest of the course; no container is built here."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")


def test_development_container_file_exists():
    folder = ROOT / ".devcontainer"
    settings = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))
    assert (folder / settings["build"]["dockerfile"]).resolve() == ROOT / "Containerfile"
    assert (folder / settings["build"]["context"]).resolve() == ROOT
    assert settings["remoteUser"] in CONTAINERFILE


def test_container_has_same_uv_as_make():
    versions = re.findall(r"\buv==([\d.]+)", CONTAINERFILE)
    assert versions == re.findall(
        r"\buv==([\d.]+)", (ROOT / "Makefile").read_text(encoding="utf-8")
    )


def test_container_uses_the_same_jupyterlab_settings_as_make():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (config,) = re.findall(r"jupyter lab --config=(\S+)", makefile)
    assert f"--config={config}" in CONTAINERFILE
    assert (ROOT / config).is_file()


def test_copied_files_exist():
    files = re.findall(r"^COPY (\S+) \./$", CONTAINERFILE, re.MULTILINE)
    assert files
    assert all((ROOT / name).is_file() for name in files)
