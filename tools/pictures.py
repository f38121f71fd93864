"""Renew the pictures of README and start pages in every language: `python -m tools.pictures`.

`docs/[LANGUAGE/]lesson_04.png` shows a timeline of lesson 04 as it is stored, `lab_01.png` a check
of lab 01, executed with a wrong answer. Needs Debian's `chromium` and `fonts-noto-cjk`.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image, ImageOps

ROOT = Path(__file__).parents[1]
WRONG_ANSWER = """def compute_mean(batches):
    total = sum(batch.sum().item() for batch in batches)
    return total / sum(batch.numel() for batch in batches)"""


def failed_check(lab: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return a wrong answer to lab 01 and its check, executed."""
    check = next(i for i, cell in enumerate(lab.cells) if "check.exercise_5" in cell.source)
    shown = [nbformat.v4.new_code_cell(WRONG_ANSWER), lab.cells[check]]
    lab.cells = [*lab.cells[:check], *shown]
    NotebookClient(lab, allow_errors=True, resources={"metadata": {"path": ROOT}}).execute()
    return shown


def save_picture(cells: list[nbformat.NotebookNode], path: Path) -> None:
    """Save a picture of some cells, as JupyterLab shows them."""
    notebook = nbformat.v4.new_notebook(cells=cells)
    page, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    with TemporaryDirectory() as temporary:
        file, picture = Path(temporary, "page.html"), Path(temporary, "picture.png")
        file.write_text(page, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,1200"]
        command = ["chromium", *options, f"--screenshot={picture}", file.as_uri()]
        subprocess.run(command, check=True, timeout=120, stderr=subprocess.DEVNULL)
        image = Image.open(picture).convert("RGB")
    image.crop(ImageOps.invert(image).getbbox()).quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    for folder in [ROOT / "docs", *(page.parent for page in ROOT.glob("docs/??/index.md"))]:
        language = folder.name.removeprefix("docs")
        lesson = nbformat.read(ROOT / "notebooks" / language / "04_cifar10_on_gpu.ipynb", 4)
        timeline = next(cell for cell in lesson.cells if "plot_timelines(" in cell.source)
        save_picture([timeline], folder / "lesson_04.png")
        lab = nbformat.read(ROOT / "labs" / language / "01_tensors_and_devices.ipynb", 4)
        save_picture(failed_check(lab), folder / "lab_01.png")
