"""Build the notebooks from their sources and execute them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from time import monotonic

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course.authoring.start_page import start_page
from course.authoring.stored_outputs import (
    output_problems,
    outputs_digest,
    remove_execution_metadata,
    without_colors,
)
from course.authoring.targets import Target, targets
from course.authoring.up_to_date import differences, read_stored
from course.course_folder import CourseError, CourseFolder
from course.execution.kernels import CurrentPythonKernelManager, make_cifar10_root_absolute
from course.files import write_atomically
from course.translation.catalogs import languages
from course.translation.course_translation import read_translation
from course.translation.pages import write_generated


def build(
    course: CourseFolder,
    names: list[str],
    *,
    force: bool = False,
    cell_timeout: int = 1800,
    log: Callable[[str], None] = print,
) -> list[str]:
    """Build the notebooks that are not up to date; return the names of what was written.

    A notebook whose code is unchanged keeps its outputs and is not executed. The files of
    translated texts are written too.

    Args:
        course: the course.
        names: `NAME` of a lesson, `labs/NAME` of a lab, `es/NAME` of a translation; all if empty.
        force: whether to also execute notebooks that are up to date or whose code is unchanged.
        cell_timeout: time limit per cell, in seconds.
        log: prints one line of progress.

    Raises:
        CourseError: a cell fails; the stored notebook is unchanged.
    """
    make_cifar10_root_absolute()
    read = cache(partial(read_translation, course))
    selected = targets(course, names, read)
    written = []
    for code in languages(course):
        is_used = any(target.translator.language == code for target in selected)
        if is_used or not names:
            # Write the translated texts first, because notebooks load them when they run.
            written += write_generated(read(code), log, for_notebooks=is_used)
    for target in selected:
        name = target.name
        fresh = target.assemble()
        stored = read_stored(target.path)
        up_to_date = stored is not None and not differences(target, fresh, stored)
        if up_to_date and not (force and target.executed):
            log(f"{name}: up to date{_missing_translations_note(target)}")
            continue
        start = monotonic()
        if not target.executed:
            action = "written"
        elif not force and stored is not None and _keep_outputs(fresh, stored):
            action = "text changed, outputs kept"
        else:
            log(f"{name}: executing ...")
            target.path.parent.mkdir(parents=True, exist_ok=True)
            execute(fresh, name, folder=target.path.parent, cell_timeout=cell_timeout)
            action = f"executed in {monotonic() - start:.0f} s"
        fresh.metadata.course["outputs_sha256"] = outputs_digest(fresh)
        write_atomically(target.path, nbformat.writes(fresh) + "\n")
        log(f"{name}: {action}{_missing_translations_note(target)}")
        written.append(name)
    # The start page comes last, because it links to the notebooks that exist.
    index, page = course.root / "index.md", start_page(course)
    if index.is_file() and index.read_text(encoding="utf-8") != page:
        write_atomically(index, page)
        log("index.md: written")
    return written


def execute(notebook: NotebookNode, name: str, *, folder: Path, cell_timeout: int) -> None:
    """Execute a notebook in place, with `folder` as its working directory.

    Raises:
        CourseError: a cell fails, takes longer than `cell_timeout` seconds, kills the kernel, or
            leaves an output that must not be stored.
    """
    metadata = copy.deepcopy(notebook.metadata)
    current = 0

    def record_cell(cell: NotebookNode, cell_index: int) -> None:
        nonlocal current
        current = cell_index

    client = NotebookClient(
        notebook,
        timeout=cell_timeout,
        startup_timeout=180,
        kernel_manager_class=CurrentPythonKernelManager,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        on_cell_execute=record_cell,
    )
    client.reset_execution_trackers()
    try:
        # Do not call client.execute(), because its cleanup raises an error after Ctrl-C.
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
    except CellExecutionError as error:
        # The message contains the cell, its output, and the traceback.
        raise CourseError(
            f"{name}: cell {current + 1} failed.\n{without_colors(str(error))}"
        ) from None
    except CellTimeoutError:
        raise CourseError(
            f"{name}: cell {current + 1} takes longer than {cell_timeout} s. Raise the limit "
            f"with --cell-timeout, or make the cell faster:\n{notebook.cells[current].source}"
        ) from None
    except DeadKernelError:
        raise CourseError(
            f"{name}: the kernel died in cell {current + 1}, possibly because the machine ran "
            f"out of memory:\n{notebook.cells[current].source}"
        ) from None
    notebook.metadata = metadata
    remove_execution_metadata(notebook)
    if problems := output_problems(notebook):
        raise CourseError(f"{name}: these outputs must not be stored:\n  " + "\n  ".join(problems))


def _missing_translations_note(target: Target) -> str:
    missing = len(target.translator.missing)
    return f"; texts left in English (no reviewed translation): {missing}" if missing else ""


def _keep_outputs(fresh: NotebookNode, stored: NotebookNode) -> bool:
    """Copy the outputs of the stored notebook if no code has changed; return whether it did.

    The setup cell may differ: it does nothing if the package is installed.
    """
    new_cells, old_cells = (
        [c for c in nb.cells if c.cell_type == "code"] for nb in (fresh, stored)
    )
    is_unchanged = stored.metadata.get("course", {}).get("outputs_sha256") == outputs_digest(stored)
    if not is_unchanged or [c.source for c in new_cells[1:]] != [c.source for c in old_cells[1:]]:
        return False
    for cell, old_cell in zip(new_cells, old_cells, strict=True):
        cell.outputs, cell.execution_count = old_cell.outputs, old_cell.execution_count
    return True
