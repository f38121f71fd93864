"""Builds the notebooks from their sources, executes them, and checks that they are up to date."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course.authoring.stored_outputs import (
    output_problems,
    outputs_digest,
    plain_text,
    tidy,
)
from course.authoring.targets import Target, assembled, strays, targets
from course.course_folder import CourseError, CourseFolder
from course.execution.kernels import ThisPython, anchor_data_folder
from course.files import read_notebook, write_atomically

__all__ = ["assembled", "build", "check", "execute"]


def build(
    course: CourseFolder,
    asked: list[str],
    *,
    force: bool = False,
    cell_timeout: int = 1800,
    say: Callable[[str], None] = print,
) -> list[str]:
    """Build the notebooks that are not up to date; return the names of those that were written.

    `asked` limits it to some lessons and labs, `force` executes those that are up to date too. A
    notebook whose code is unchanged keeps its outputs and is not executed. Raises `CourseError` at
    the first cell that fails; the notebook that stood there stays.
    """
    anchor_data_folder()
    written = []
    for target in targets(course, asked):
        name = target.name
        fresh = target.assemble()
        stored = _read_stored(target.path)
        up_to_date = stored is not None and not _differences(target, fresh, stored)
        if up_to_date and not (force and target.executed):
            say(f"{name}: up to date")
            continue
        begun = monotonic()
        if not target.executed:
            how = "written"
        elif not force and stored is not None and _keep_outputs(fresh, stored):
            how = "text changed, outputs kept"
        else:
            say(f"{name}: executing ...")
            target.path.parent.mkdir(parents=True, exist_ok=True)
            execute(fresh, name, folder=target.path.parent, cell_timeout=cell_timeout)
            how = f"executed in {monotonic() - begun:.0f} s"
        fresh.metadata.course["outputs_sha256"] = outputs_digest(fresh)
        write_atomically(target.path, nbformat.writes(fresh) + "\n")
        say(f"{name}: {how}")
        written.append(name)
    return written


def check(course: CourseFolder) -> list[str]:
    """Say what is not up to date: one sentence a notebook, with the command that mends it.

    Executes nothing. An empty list means that every built notebook is what `build` would write.
    """
    findings = []
    wanted = targets(course, [])
    for target in wanted:
        try:
            reasons = _differences(target, target.assemble(), _read_stored(target.path))
        except CourseError as error:
            reasons = [str(error)]
        if reasons:
            findings.append(
                f"{target.name}: {'; '.join(reasons)}. To mend it: course build {target.asked_as}"
            )
    return findings + strays(course, wanted)


def execute(notebook: NotebookNode, name: str, *, folder: Path, cell_timeout: int) -> None:
    """Execute a notebook in place, with `folder` as its working folder.

    Raises `CourseError` with the cell and what happened when a cell fails, takes longer than
    `cell_timeout` seconds, kills the kernel, or leaves an output that must not be stored.
    """
    metadata = copy.deepcopy(notebook.metadata)
    reached = 0

    def note_cell(cell: NotebookNode, cell_index: int) -> None:
        nonlocal reached
        reached = cell_index

    client = NotebookClient(
        notebook,
        timeout=cell_timeout,
        startup_timeout=180,
        kernel_manager_class=ThisPython,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        on_cell_execute=note_cell,
    )
    client.reset_execution_trackers()
    try:
        # Not client.execute(), whose own answer to Ctrl-C ends in an error of its clean-up.
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
    except CellExecutionError as error:
        # Its text holds the cell, what the cell printed, and the traceback.
        raise CourseError(f"{name}: cell {reached + 1} fails.\n{plain_text(str(error))}") from None
    except CellTimeoutError:
        raise CourseError(
            f"{name}: cell {reached + 1} takes longer than {cell_timeout} s. Give it more time "
            f"with --cell-timeout, or less to do:\n{notebook.cells[reached].source}"
        ) from None
    except DeadKernelError:
        raise CourseError(
            f"{name}: the kernel died in cell {reached + 1}; perhaps the machine has too little "
            f"memory for it:\n{notebook.cells[reached].source}"
        ) from None
    notebook.metadata = metadata
    tidy(notebook)
    if problems := output_problems(notebook):
        raise CourseError(f"{name}: these outputs must not be stored:\n  " + "\n  ".join(problems))


def _read_stored(path: Path) -> NotebookNode | None:
    return read_notebook(path) if path.exists() else None


def _differences(target: Target, fresh: NotebookNode, stored: NotebookNode | None) -> list[str]:
    """Why a stored notebook is not what its source builds today, as short sentences."""
    if stored is None:
        return ["it has not been built"]
    wanted, noted = fresh.metadata.course, stored.metadata.get("course", {})
    reasons = []
    if noted.get("source_sha256") != wanted.source_sha256:
        reasons.append("its source has changed since it was built")
    elif noted.get("generated_sha256") != wanted.generated_sha256:
        reasons.append("its generated cells (opening, bootstrap, closing) have changed")
    elif edited := _edited_cells(fresh, stored):
        reasons.append(
            f"it was edited by hand at cell {edited[0] + 1}; the edit belongs in the source"
        )
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    has_outputs = any(cell.outputs for cell in code)
    if not target.executed:
        if has_outputs or any(cell.execution_count for cell in code):
            reasons.append("it has been executed, and students get it without outputs")
    elif code and not has_outputs:
        reasons.append("it has code but no outputs")
    elif noted.get("outputs_sha256") != outputs_digest(stored):
        reasons.append("its outputs are not those that the build stored")
    return reasons


def _edited_cells(fresh: NotebookNode, stored: NotebookNode) -> list[int]:
    built = [_essence(cell) for cell in fresh.cells]
    found = [_essence(cell) for cell in stored.cells]
    edited = [n for n, (one, other) in enumerate(zip(built, found, strict=False)) if one != other]
    if len(built) != len(found):
        edited.append(min(len(built), len(found)))
    return edited


def _essence(cell: NotebookNode) -> tuple[object, ...]:
    kept = cell.metadata
    return cell.cell_type, cell.id, cell.source, list(kept.get("tags", [])), kept.get("nbgrader")


def _keep_outputs(fresh: NotebookNode, stored: NotebookNode) -> bool:
    """Take the outputs over from the stored notebook, where all code is still the same.

    The bootstrap cell may differ: it does nothing where the package is installed.
    """
    new, old = ([c for c in nb.cells if c.cell_type == "code"] for nb in (fresh, stored))
    intact = stored.metadata.get("course", {}).get("outputs_sha256") == outputs_digest(stored)
    if not intact or [c.source for c in new[1:]] != [c.source for c in old[1:]]:
        return False
    for cell, before in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
    return True
