"""`course batch`: one notebook or several over many settings, continued where it was left.

A finished run is a file in `state/`, written when its notebook is in place. Everything else in the
batch's folder is made from these files: `results.csv`, `results.parquet` and `index.html`.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course.batch.ledger import Ledger
from course.batch.plan import Plan, Setting, expand
from course.batch.work import Options, Places, Run, Work, jobs_at_once
from course.course_folder import CourseError, CourseFolder, pick
from course.execution.provenance import run_id
from course.execution.runner import PASSED
from course.files import read_notebook
from course.reports.report import show_seconds


def batch(course: CourseFolder, plan: Plan, name: str, options: Options) -> int:
    """Run what is missing of a plan; return the exit status.

    Args:
        course: whose notebooks the plan may name, and whose `runs/` holds the results.
        plan: what to run.
        name: of the batch, for its folder where the plan names none.
        options: how.

    Returns:
        0 if all runs of the plan passed, 1 if some did not, 130 if the batch was stopped.

    Raises:
        CourseError: before anything starts, if something in the plan cannot be meant.
    """
    files = _find_notebooks(course, plan.notebooks)
    notebooks = {stem: read_notebook(file) for stem, file in files.items()}
    settings = expand(plan, notebooks)
    runs = [_name_run(setting, notebooks[setting.notebook]) for setting in settings]
    places = _places(course, plan, name)
    ledger = Ledger(places.out / "state")
    if options.dry_run:
        _show_plan(runs, _kept(ledger, runs, options), plan, _earlier(course, ledger))
        return 0
    with ledger.locked():
        done = _kept(ledger, runs, options)
        work = Work(plan, places, ledger, runs, notebooks, options, done)
        missing = [run for run in runs if run.id not in done]
        if done:
            print(f"{len(done)} of {len(runs)} runs are there already; {len(missing)} to go.")
        return work.execute(missing, files)


def _find_notebooks(course: CourseFolder, words: Sequence[str]) -> dict[str, Path]:
    """The files that a plan means: paths to notebooks, or lessons as `course run` takes them."""
    files: dict[str, Path] = {}
    for word in words:
        path = Path(word).expanduser()
        if path.suffix == ".ipynb" and path.is_file():
            found = {path.stem: path.absolute()}
        elif path.suffix == ".ipynb" and len(path.parts) > 1:
            raise CourseError(f"There is no notebook {word}.")
        else:
            names = pick(course.built_names(), [word], "Notebook")
            found = {lesson: course.notebook_of(lesson) for lesson in names}
        for stem, file in found.items():
            # Twenty students' copies of a lab have one name, in twenty folders.
            unique = stem if files.get(stem, file) == file else f"{file.parent.name}_{stem}"
            if files.get(unique, file) != file:
                raise CourseError(f"{files[unique]} and {file} cannot be told apart by name.")
            files[unique] = file
    return files


def _name_run(setting: Setting, notebook: NotebookNode) -> Run:
    identity = run_id(notebook, {"notebook": setting.notebook, **setting.parameters})
    words = "_".join(f"{key}-{value}" for key, value in setting.parameters.items())
    readable = re.sub(r"[^A-Za-z0-9.-]+", "_", f"{setting.notebook}_{words}").strip("._")
    return Run(identity, f"{readable[:80]}_{identity[:8]}", setting)


def _places(course: CourseFolder, plan: Plan, name: str) -> Places:
    if plan.out is not None and "://" in plan.out:
        # State, tables and page stay here: a storage that cannot rename could keep half a file.
        place = Places(course.runs / name, store=plan.out)
    else:
        place = Places(Path(plan.out or course.runs / name).expanduser().absolute())
    if place.out.exists() and not place.out.is_dir():
        raise CourseError(f"{place.out} is a file. Name a folder with --out.")
    if place.out.is_dir() and any(place.out.iterdir()) and not (place.out / "state").is_dir():
        raise CourseError(
            f"{place.out} is not empty and holds no batch. Name another folder with --out."
        )
    return place


def _kept(ledger: Ledger, runs: Sequence[Run], options: Options) -> dict[str, dict[str, Any]]:
    """The records of those runs that need not run again."""
    finished = ledger.finished()
    kept = {run.id: finished[run.id] for run in runs if run.id in finished}
    if options.retry_failed:
        kept = {key: record for key, record in kept.items() if record["status"] == PASSED}
    return kept


def _earlier(course: CourseFolder, ledger: Ledger) -> dict[str, list[float]]:
    """Seconds that passed runs of each notebook took: in this batch and the course's others."""
    seconds: dict[str, list[float]] = {}
    folders = {ledger.folder, *course.runs.glob("*/state")}
    for folder in folders:
        for record in Ledger(folder).finished().values():
            if record["status"] == PASSED:
                seconds.setdefault(record["notebook"], []).append(record["seconds"])
    return seconds


def _show_plan(
    runs: Sequence[Run],
    done: Mapping[str, object],
    plan: Plan,
    earlier: Mapping[str, list[float]],
) -> None:
    """Say what would run, and how long that takes if it takes as long as before."""
    missing = [run for run in runs if run.id not in done]
    for run in runs[:60]:
        values = ", ".join(f"{key} = {value!r}" for key, value in run.setting.parameters.items())
        mark = "done  " if run.id in done else "to run"
        print(f"{mark}  {run.setting.notebook}  {values or 'no parameters'}")
    if len(runs) > 60:
        print(f"... and {len(runs) - 60} more")
    jobs = jobs_at_once(plan)
    print(
        f"{len(runs)} runs, {len(missing)} of them to run, {jobs} at a time. Nothing was started."
    )
    unknown = sorted({run.setting.notebook for run in missing} - set(earlier))
    if unknown:
        print(f"No estimate: there is no earlier run of {', '.join(unknown)}.")
    elif missing:
        typical = {name: statistics.median(found) for name, found in earlier.items()}
        total = sum(typical[run.setting.notebook] for run in missing) / min(jobs, len(missing))
        known = sum(len(earlier[name]) for name in {run.setting.notebook for run in missing})
        print(
            f"About {show_seconds(total)}, by the median of {known} earlier runs"
            f"{' with whatever parameters they had' if plan.varied else ''}."
        )
