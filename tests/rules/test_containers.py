"""Containers and JupyterLab have the course's settings; no container is built here."""

import json
import re
from pathlib import Path

import pytest

from tests.conftest import run_python

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CONFIG = "docs/jupyterlab/config.json"


def read_json(file):
    return json.loads((ROOT / file).read_text(encoding="utf-8"))


def test_container_has_the_uv_the_settings_of_make_and_existing_files():
    assert re.findall(r"\buv==([\d.]+)", CONTAINERFILE) == re.findall(r"\buv==([\d.]+)", MAKEFILE)
    assert f"--config={CONFIG}" in CONTAINERFILE
    assert f"jupyter lab --config={CONFIG}" in MAKEFILE
    files = re.findall(r"^COPY (\S+) \./$", CONTAINERFILE, re.MULTILINE)
    assert files and all((ROOT / name).is_file() for name in files)


@pytest.mark.slow
def test_jupyterlab_opens_the_start_page(tmp_path, monkeypatch):
    for folder in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{folder}_DIR", str(tmp_path / folder))
    arguments = ("-m", "jupyterlab", f"--config={CONFIG}", "--show-config")
    shown = run_python(*arguments, cwd=ROOT, timeout=120).stdout
    assert re.search(r"ServerApp\n(?:  .*\n)*  \.default_url = '/lab/tree/index.md'", shown)
    assert ".pre_save_hook = <function keep_kernel_metadata" in shown


def test_jupyterlab_renders_the_start_page():
    lab = read_json(CONFIG)["LabApp"]
    assert (ROOT / lab["default_url"].removeprefix("/lab/tree/")).is_file()
    overrides = read_json(f"{lab['app_settings_dir']}/overrides.json")
    viewers = overrides["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]
    assert viewers == {"markdown": "Markdown Preview"}
