"""In a notebook, the box is shown under the traceback and nothing else changes."""

import nbformat
import pytest
from nbclient import NotebookClient

from course.execution.kernels import CurrentPythonKernelManager

IMPORTS = "import torch\nfrom helpers import explain\nt = torch.ones(2, device='meta')"
MISMATCH = "x = torch.ones(2)\ntorch.cat([t, x])"
BREAK_EXPLAINER = (
    "from unittest import mock\n"
    "broken = mock.patch('helpers.explain.notebook.diagnose', side_effect=KeyError('a bug'))\n"
    "_ = broken.start()"
)
CELLS = {
    "imports": IMPORTS,
    "before": MISMATCH,
    "install": "explain.install()\nexplain.install()",
    "device error": MISMATCH,
    "other": "1 / 0",
    "syntax": "1 +",
    "timed": f"%%time\n{MISMATCH}",
    "awaited": f"import asyncio\nawait asyncio.sleep(0)\n{MISMATCH}",
    "explained in a block": f"with explain.explain():\n    {MISMATCH.splitlines()[1]}",
    "fine": "print('fine')",
    "break the explainer": BREAK_EXPLAINER,
    "broken": MISMATCH,
    "repair the explainer": "broken.stop()",
    "uninstall": "explain.uninstall()\nexplain.uninstall()",
    "after": MISMATCH,
}


@pytest.fixture(scope="module")
def run():
    """Return the outputs by cell name, and the names of the cells that failed."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    )
    names, failed = list(CELLS), set()

    def on_cell_error(cell, cell_index, execute_reply):
        assert execute_reply["content"]["status"] == "error"
        failed.add(names[cell_index])

    NotebookClient(
        notebook,
        timeout=120,
        allow_errors=True,
        on_cell_error=on_cell_error,
        kernel_manager_class=CurrentPythonKernelManager,
        shutdown_kernel="immediate",
    ).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    return dict(zip(names, outputs, strict=True)), failed


def boxes(cell_outputs):
    return [o.data for o in cell_outputs if 'role="note"' in o.get("data", {}).get("text/html", "")]


def errors(cell_outputs):
    return [o for o in cell_outputs if o.output_type == "error"]


def test_one_box_is_under_the_unchanged_traceback(run):
    before, shown = run[0]["before"], run[0]["device error"]
    assert [o.output_type for o in shown] == ["error", "display_data"]
    assert "`x` is on cpu" in shown[1].data["text/plain"]
    (before,), (after,) = errors(before), errors(shown)
    assert (before.ename, before.evalue) == (after.ename, after.evalue)
    assert len(before.traceback) == len(after.traceback)


def test_the_kernel_still_reports_the_cell_as_failed(run):
    assert {"device error", "other", "syntax", "timed", "awaited", "explained in a block"} <= run[1]


@pytest.mark.parametrize("cell", ["other", "syntax", "install", "fine", "uninstall", "after"])
def test_other_errors_and_cells_have_no_box(run, cell):
    assert boxes(run[0][cell]) == []


@pytest.mark.parametrize("cell", ["timed", "awaited", "explained in a block"])
def test_a_cell_with_a_magic_await_or_block_has_one_box(run, cell):
    (box,) = boxes(run[0][cell])
    assert "`x` is on cpu" in box["text/plain"]


def test_a_bug_in_the_explainer_leaves_the_error_in_place(run):
    outputs = run[0]["broken"]
    assert errors(outputs)[0].evalue == errors(run[0]["before"])[0].evalue
    assert outputs[-1].text == "(The explainer failed on this error: KeyError: 'a bug')\n"
