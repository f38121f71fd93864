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
    "after a device error": "print('fine')",
    "device error": MISMATCH,
    "other": "1 / 0",
    "syntax": "1 +",
    "timed": f"%%time\n{MISMATCH}",
    "timed line": "%time torch.cat([t, x])",
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


@pytest.fixture
def outputs(run):
    return run[0]


def boxes(cell_outputs):
    return [o.data for o in cell_outputs if 'role="note"' in o.get("data", {}).get("text/html", "")]


def errors(cell_outputs):
    return [o for o in cell_outputs if o.output_type == "error"]


def test_the_box_is_under_the_traceback(outputs):
    assert [o.output_type for o in outputs["device error"]] == ["error", "display_data"]
    assert "`x` is on cpu" in outputs["device error"][1].data["text/plain"]


def test_a_second_install_shows_no_second_box(outputs):
    assert len(boxes(outputs["device error"])) == 1


def test_the_traceback_is_the_same_as_without_the_explainer(outputs):
    before, after = errors(outputs["before"])[0], errors(outputs["device error"])[0]
    assert (before.ename, before.evalue) == (after.ename, after.evalue)
    assert len(before.traceback) == len(after.traceback)


def test_the_kernel_still_reports_the_cell_as_failed(run):
    assert {"device error", "other", "syntax", "timed", "awaited", "explained in a block"} <= run[1]


@pytest.mark.parametrize("cell", ["other", "syntax"])
def test_other_errors_have_no_box(outputs, cell):
    assert boxes(outputs[cell]) == []
    assert len(errors(outputs[cell])) == 1


@pytest.mark.parametrize("cell", ["timed", "timed line", "awaited"])
def test_a_cell_with_a_magic_or_await_has_a_box(outputs, cell):
    assert "`x` is on cpu" in boxes(outputs[cell])[0]["text/plain"]


def test_an_error_explained_in_a_block_gets_no_second_box(outputs):
    assert len(boxes(outputs["explained in a block"])) == 1


def test_a_successful_cell_has_no_box(outputs):
    assert [o.output_type for o in outputs["fine"]] == ["stream"]


def test_a_bug_in_the_explainer_leaves_the_error_in_place(outputs):
    assert errors(outputs["broken"])[0].evalue == errors(outputs["before"])[0].evalue
    assert outputs["broken"][-1].text == (
        "(The explainer failed on this error: KeyError: 'a bug')\n"
    )


def test_an_error_from_before_install_is_not_explained(outputs):
    assert boxes(outputs["install"]) == boxes(outputs["after a device error"]) == []


def test_uninstall_stops_the_boxes(outputs):
    assert boxes(outputs["after"]) == []
    assert len(errors(outputs["after"])) == 1
