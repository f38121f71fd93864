"""Runs the lessons headless into a dated folder, with a progress bar, and writes the report."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from time import monotonic

from course.authoring.targets import outdated
from course.course_folder import CourseError, CourseFolder, pick
from course.execution import engine
from course.execution.parameters import choices_of, defaults_of, fit_parameters
from course.execution.progress import ProgressBar
from course.execution.runner import NOT_RUN, STOPPED, Job, Limits, Outcome
from course.files import read_notebook
from course.reports.pages import write_page
from course.reports.report import Row, Run, drawn_box, make_row, show_seconds, write_report


def run(
    course: CourseFolder,
    asked: Sequence[str] = (),
    parameters: Sequence[tuple[str, str]] = (),
    *,
    out: Path | None = None,
    workers: int = 1,
    cell_timeout: int | None = None,
) -> Run:
    """Execute lessons, write notebooks, pages and report, and say on the terminal how it goes.

    Args:
        course: the course whose built notebooks are executed.
        asked: names of lessons; all when empty.
        parameters: names and values, for the lessons that have them.
        out: folder for the results; by default `runs/DATE-TIME`, which `runs/latest` names.
        workers: how many notebooks run at once. What they time is worth little above 1.
        cell_timeout: seconds that one cell may take.

    Raises:
        CourseError: before anything is executed, if a name, a parameter or `out` cannot be meant.
    """
    names = pick(course.built_names(), list(asked), "Notebook")
    if not names:
        raise CourseError(f"{course.notebooks} has no notebooks yet. Build them: course build.")
    notebooks = {name: read_notebook(course.notebook_of(name)) for name in names}
    fitted = fit_parameters(
        parameters,
        {name: defaults_of(notebook) for name, notebook in notebooks.items()},
        {name: choices_of(notebook) for name, notebook in notebooks.items()},
    )
    for finding in outdated(course):
        print(f"Note: {finding}", file=sys.stderr)
    begun = datetime.now().astimezone()
    folder = _new_folder(course, out, begun)
    # In the folder where the command was given, as papermill does it: a relative path among the
    # parameters means what it means to the person who typed it.
    here = Path.cwd()
    jobs = [
        Job(name, course.notebook_of(name), folder / f"{name}.ipynb", here, fitted[name])
        for name in names
    ]
    # papermill adds a cell where it sets parameters.
    cells = {
        name: sum(cell.cell_type == "code" for cell in notebook.cells) + bool(fitted[name])
        for name, notebook in notebooks.items()
    }
    rows: dict[str, Row] = {}

    def describe(outcome: Outcome) -> str:
        rows[outcome.job.name] = _row(outcome)
        return _line(rows[outcome.job.name])

    # nbclient's own lines on dead kernels and time-outs would cut through the progress bar.
    logging.getLogger("papermill").addHandler(logging.NullHandler())
    clock = monotonic()
    bar = ProgressBar(cells, describe)
    try:
        outcomes = engine.run_jobs(
            jobs,
            bar,
            workers=engine.Workers(jobs=workers),
            limits=Limits(cell=cell_timeout),
        )
    finally:
        bar.close()
    for outcome in outcomes:
        if outcome.job.name not in rows:
            print(describe(outcome))
    stopped = any(o.status in (STOPPED, NOT_RUN) for o in outcomes)
    finished = Run(
        begun, monotonic() - clock, [rows[name] for name in names], list(parameters), stopped
    )
    page = write_report(finished, folder)
    if out is None:
        point_latest(course.runs, folder.name)
    if finished.drawn_names:
        print(drawn_box(finished.drawn_names))
    print(f"{finished.summary}. Report: {page}")
    return finished


def _new_folder(course: CourseFolder, out: Path | None, begun: datetime) -> Path:
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise CourseError(f"{out} is there already and not empty. Name another with --out.")
        out.mkdir(parents=True, exist_ok=True)
        return out.resolve()
    base = begun.strftime("%Y-%m-%d_%H-%M-%S")
    for number in range(1, 1000):
        folder = course.runs / (base if number == 1 else f"{base}_{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            # Another run began in the same second.
            continue
        return folder
    raise CourseError(f"{course.runs} is full of folders named {base}; remove some.")


def point_latest(runs: Path, name: str) -> None:
    """Let `runs/latest` name the folder `name`: a link, or a text where links are not allowed."""
    latest, coming = runs / "latest", runs / f".latest-{os.getpid()}"
    if latest.is_dir() and not latest.is_symlink():
        print(f"Note: {latest} is a folder, so it does not lead to this run.", file=sys.stderr)
        return
    try:
        coming.symlink_to(name, target_is_directory=True)
    except (OSError, NotImplementedError):
        coming.write_text(name + "\n", encoding="utf-8")
    coming.replace(latest)


def _row(outcome: Outcome) -> Row:
    made = outcome.job.output.exists()
    return make_row(outcome, write_page(outcome.job.output).name if made else "")


def _line(row: Row) -> str:
    """One notebook on one line of a terminal."""
    outcome = row.outcome
    parts = [f"{outcome.job.name:<28}  {outcome.status:<11}  {show_seconds(outcome.seconds):>10}"]
    if row.passed:
        if device := row.records.get("device"):
            parts.append(str(device))
        parts += [f"{name} {value}" for name, value in row.results[:3]]
    elif outcome.error:
        cell = "" if outcome.cell is None else f"cell {outcome.cell + 1}: "
        parts.append(cell + outcome.error.splitlines()[0])
    return "  ".join(parts)
