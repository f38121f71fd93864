"""JupyterLab opens the start page and renders it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = "docs/jupyterlab/config.json"


def settings(file: str) -> dict:
    return json.loads((ROOT / file).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_settings_set_start_page(tmp_path, monkeypatch):
    for folder in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{folder}_DIR", str(tmp_path / folder))
    process = subprocess.run(
        [sys.executable, "-m", "jupyterlab", f"--config={CONFIG}", "--show-config"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert re.search(
        r"ServerApp\n(?:  .*\n)*  \.default_url = '/lab/tree/index.md'", process.stdout
    )


def test_start_page_and_viewer_settings_exist():
    lab = settings(CONFIG)["LabApp"]
    assert (ROOT / lab["default_url"].removeprefix("/lab/tree/")).is_file()
    overrides = settings(f"{lab['app_settings_dir']}/overrides.json")
    viewers = overrides["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]
    assert viewers == {"markdown": "Markdown Preview"}
