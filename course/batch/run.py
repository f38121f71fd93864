"""`course run`: executes the lessons, shows their progress, and writes a report."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import monotonic

import psutil
from nbformat import NotebookNode

from course.authoring.up_to_date import find_outdated
from course.course_folder import CourseError, CourseFolder, select_names
from course.execution import engine, gpus
from course.execution.jobs import Job, RunLimits, RunResult, Status
from course.execution.kernels import make_cifar10_root_absolute, preloadable_modules
from course.execution.local import WorkerConfig
from course.execution.parameters import convert_parameters, read_parameters
from course.execution.progress import LessonProgress, format_estimate, format_seconds
from course.execution.provenance import collect_facts
from course.files import read_notebook
from course.reports.entries import Entry, format_value, make_entry, result_names, synthetic_box
from course.reports.pages import write_page
from course.reports.run_report import CourseRun, write_report

# Peak memory of a lesson with its figures and images, in bytes.
_LESSON_MEMORY = 3 << 30
# Matches code that measures time.
_CLOCKS = re.compile(r"\b(perf_counter|timeit|timing\.measure|fast_cifar10)\b")


def run(
    course: CourseFolder,
    requested: Sequence[str] = (),
    parameters: Sequence[tuple[str, str]] = (),
    *,
    out: Path | None = None,
    jobs: int | None = None,
    cell_timeout: int | None = None,
) -> CourseRun:
    """Execute lessons, write their notebooks, pages and the report, and print the progress.

    Args:
        course: the course whose built notebooks are executed.
        requested: names of lessons; all if empty.
        parameters: names and values. Each lesson gets the parameters that it defines.
        out: folder for the results; by default `runs/DATE-TIME`, which `runs/latest` points to.
        jobs: number of parallel notebooks; by default 1 if there is a GPU, and otherwise as many
            as cores and memory allow. Lessons that measure time always run alone.
        cell_timeout: time limit per cell, in seconds.

    Raises:
        CourseError: a name, a parameter or `out` is not valid (raised before any notebook starts),
            or the results cannot be written.
    """
    names = select_names(course.built_names(), list(requested), "Notebook")
    if not names:
        raise CourseError(f"{course.notebooks} has no notebooks yet. To build them: course build")
    notebooks = {name: read_notebook(course.notebook_path(name)) for name in names}
    converted = convert_parameters(
        parameters, {name: read_parameters(notebooks[name]) for name in names}
    )
    for finding in find_outdated(course):
        print(f"Note: {finding}", file=sys.stderr)
    start_date, start = datetime.now().astimezone(), monotonic()
    earlier_seconds = _earlier_seconds(course.runs)
    folder = _new_folder(course, out, start_date)
    make_cifar10_root_absolute()
    # Like papermill, run kernels in the current directory. Relative paths in parameters are then
    # relative to the directory where the command was started.
    working_folder = Path.cwd()
    jobs_to_run = [
        Job(
            name, course.notebook_path(name), folder / f"{name}.ipynb", working_folder,
            converted[name],
            exclusive=measures_time(notebooks[name]),
        )
        for name in names
    ]  # fmt: skip
    workers = WorkerConfig(
        jobs=jobs or jobs_for_this_machine(), preload=tuple(preloadable_modules(notebooks.values()))
    )
    cells = {name: _count_cells(notebooks[name], converted[name]) for name in names}
    has_estimate = set(names) <= set(earlier_seconds)
    # Without times from an earlier run, assume that all cells take the same time.
    weights = worker_times(jobs_to_run, earlier_seconds if has_estimate else cells, workers.jobs)
    if has_estimate:
        seconds = sum(weights.values()) / workers.jobs
        print(f"Estimate from the last run: {format_estimate(seconds)}.")
    entries: dict[str, Entry] = {}

    def write_page_and_format(result: RunResult) -> str:
        entries[result.job.name] = entry = _entry_with_page(result, names)
        return _result_line(entry)

    # nbclient logs dead kernels and timeouts, and the log lines would break the progress bar.
    for library in ("papermill", "asyncio"):
        logging.getLogger(library).addHandler(logging.NullHandler())
    progress = LessonProgress(cells, write_page_and_format, weights)
    try:
        results = engine.run_jobs(
            jobs_to_run, progress, workers=workers, limits=RunLimits(cell=cell_timeout)
        )
        for result in results:
            if result.job.name not in entries:
                progress.write(write_page_and_format(result))
        stopped = any(r.status in (Status.STOPPED, Status.NOT_RUN) for r in results)
        if stopped:
            _link_existing_pages(folder, names)
        course_run = CourseRun(
            start_date,
            monotonic() - start,
            [entries[name] for name in names],
            list(parameters),
            stopped,
            collect_facts(course.root),
        )
        page = write_report(course_run, folder)
        if out is None:
            update_latest_link(course.runs, folder.name)
    except OSError as error:
        raise CourseError(
            f"{error.strerror or error} ({error.filename or folder}). The finished "
            f"notebooks are in {folder}. Free some space, or choose another folder with --out."
        ) from None
    finally:
        progress.close()
    if course_run.synthetic_names:
        print(synthetic_box(course_run.synthetic_names))
    print(f"{course_run.summary}. Report: {page}")
    return course_run


def jobs_for_this_machine() -> int:
    """Return the number of parallel lessons: 1 with a GPU, else limited by cores and memory."""
    if gpus.visible_gpu_ids():
        return 1
    return max(1, min(os.cpu_count() or 1, psutil.virtual_memory().available // _LESSON_MEMORY))


def worker_times(
    jobs: Sequence[Job], seconds: Mapping[str, float], num_workers: int
) -> dict[str, float]:
    """Return the worker time of each job; an exclusive job occupies all workers."""
    return {job.name: seconds[job.name] * (num_workers if job.exclusive else 1) for job in jobs}


def measures_time(notebook: NotebookNode) -> bool:
    """Return whether the notebook measures time and therefore must run alone."""
    return any(c.cell_type == "code" and _CLOCKS.search(c.source) for c in notebook.cells)


def _earlier_seconds(runs: Path) -> dict[str, float]:
    """Return the duration of each notebook in the last run, in seconds; empty if there is none."""
    try:
        table = json.loads((runs / "latest" / "results.json").read_text(encoding="utf-8"))
        rows = [row for row in table["notebooks"] if row["status"] == Status.PASSED]
        return {row["name"]: float(row["seconds"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _count_cells(notebook: NotebookNode, parameters: dict[str, object]) -> int:
    # papermill adds a cell that sets the parameters.
    return sum(cell.cell_type == "code" for cell in notebook.cells) + bool(parameters)


def _new_folder(course: CourseFolder, out: Path | None, started: datetime) -> Path:
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise CourseError(
                f"{out} already exists and is not empty. Choose another folder with --out."
            )
        out.mkdir(parents=True, exist_ok=True)
        return out.resolve()
    base = started.strftime("%Y-%m-%d_%H-%M-%S")
    for number in range(1, 1000):
        folder = course.runs / (base if number == 1 else f"{base}_{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            # Another run started in the same second.
            continue
        return folder
    raise CourseError(f"{course.runs} has too many folders named {base}; delete some of them.")


def update_latest_link(runs: Path, name: str) -> None:
    """Link `runs/latest` to the folder `name`; write a text file if symlinks are not allowed."""
    latest, temporary = runs / "latest", runs / f".latest-{os.getpid()}"
    if latest.is_dir() and not latest.is_symlink():
        print(
            f"Note: {latest} is a folder and cannot link to this run. Rename or delete it.",
            file=sys.stderr,
        )
        return
    try:
        temporary.symlink_to(name, target_is_directory=True)
    except (OSError, NotImplementedError):
        temporary.write_text(name + "\n", encoding="utf-8")
    temporary.replace(latest)


def _entry_with_page(result: RunResult, sibling_names: Sequence[str]) -> Entry:
    if not result.job.output.exists():
        return make_entry(result, None)
    page = write_page(result.job.output, sibling_names=sibling_names)
    return make_entry(result, read_notebook(result.job.output), page=page.name)


def _link_existing_pages(folder: Path, names: Sequence[str]) -> None:
    """Rewrite the pages without links to notebooks that were not executed."""
    executed_names = [name for name in names if (folder / f"{name}.ipynb").exists()]
    for name in executed_names:
        write_page(folder / f"{name}.ipynb", sibling_names=executed_names)


def _result_line(entry: Entry) -> str:
    """Format the result of a notebook as one line."""
    seconds = format_seconds(entry["seconds"])
    parts = [f"{entry['notebook']:<28}  {entry['status']:<11}  {seconds:>10}"]
    reported = entry["reported"]
    if entry["status"] == Status.PASSED:
        parts += [str(reported["device"])] if reported.get("device") else []
        results = result_names([entry])[:3]
        parts += [f"{name.replace('_', ' ')} {format_value(reported[name])}" for name in results]
    elif entry["error"]:
        cell = f"cell {entry['failing_cell']}: " if entry["failing_cell"] else ""
        parts.append(cell + entry["error"].splitlines()[0])
    return "  ".join([*parts, *([entry["note"]] if entry["note"] else [])])
