"""Build the notebooks from their sources and execute them."""

import copy
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from time import monotonic

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course.authoring.generated import start_page
from course.authoring.stored_outputs import output_problems, outputs_digest
from course.authoring.up_to_date import Target, differences, targets
from course.course_folder import CourseError, CourseFolder
from course.execution.kernels import CurrentPythonKernelManager, make_cifar10_root_absolute
from course.files import read_notebook, write_atomically
from course.translation.catalogs import languages
from course.translation.course_translation import read_translation


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
    if names and not selected:
        log("No notebook is completely translated. To see what is left: course translate check")
    written = []
    for code in languages(course):
        is_used = any(target.translator.language == code for target in selected)
        if is_used or not names:
            # Write the translated texts first, because notebooks load them when they run.
            for path, text in read(code).outdated_files(for_notebooks=is_used).items():
                write_atomically(path, text)
                written.append(path.relative_to(course.root).as_posix())
                log(f"{written[-1]}: written")
    for target in selected:
        if action := _build_target(target, force, cell_timeout, log):
            written.append(target.name)
        missing = len(target.translator.missing)
        note = f"; texts left in English (no reviewed translation): {missing}" if missing else ""
        log(f"{target.name}: {action or 'up to date'}{note}")
    # The start page comes last, because it links to the notebooks that exist.
    index, page = course.root / "index.md", start_page(course)
    if index.is_file() and index.read_text(encoding="utf-8") != page:
        write_atomically(index, page)
        log("index.md: written")
    return written


def _build_target(
    target: Target, force: bool, cell_timeout: int, log: Callable[[str], None]
) -> str | None:
    """Build one notebook; return what was done, or None if it is up to date."""
    fresh = target.assemble()
    stored = read_notebook(target.path) if target.path.exists() else None
    if not differences(target, fresh, stored) and not (force and target.executed):
        return None
    if not target.executed:
        action = "written"
    elif not force and stored is not None and _keep_outputs(fresh, stored):
        action = "text changed, outputs kept"
    else:
        start = monotonic()
        log(f"{target.name}: executing ...")
        target.path.parent.mkdir(parents=True, exist_ok=True)
        execute(fresh, target.name, folder=target.path.parent, cell_timeout=cell_timeout)
        action = f"executed in {monotonic() - start:.0f} s"
    fresh.metadata.course["outputs_sha256"] = outputs_digest(fresh)
    write_atomically(target.path, nbformat.writes(fresh) + "\n")
    return action


def execute(notebook: NotebookNode, name: str, *, folder: Path, cell_timeout: int) -> None:
    """Execute a notebook in place, with `folder` as its working directory.

    Raises:
        CourseError: a cell fails, takes longer than `cell_timeout` seconds, kills the kernel, or
            leaves an output that must not be stored.
    """
    metadata = copy.deepcopy(notebook.metadata)
    client = NotebookClient(
        notebook,
        timeout=cell_timeout,
        startup_timeout=180,
        kernel_manager_class=CurrentPythonKernelManager,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
    )
    client.reset_execution_trackers()
    index, cell = 0, None
    try:
        # Do not call client.execute(), because its cleanup raises an error after Ctrl-C.
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        match error:
            case CellExecutionError():
                # The message contains the cell, its output, and the traceback, with colors.
                problem = "failed.\n" + re.sub(r"\x1b\[[0-9;]*m", "", str(error))
            case CellTimeoutError():
                advice = "Raise the limit with --cell-timeout, or make the cell faster"
                problem = f"takes longer than {cell_timeout} s. {advice}:\n{cell.source}"
            case _:
                cause = "possibly because the machine ran out of memory"
                problem = f"ended the kernel, {cause}:\n{cell.source}"
        raise CourseError(f"{name}: cell {index + 1} {problem}") from None
    notebook.metadata = metadata
    if problems := output_problems(notebook):
        raise CourseError(f"{name}: these outputs must not be stored:\n  " + "\n  ".join(problems))


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
