"""`course batch`: execute notebooks with many settings, and resume after an interruption.

Each finished run has a file in `state/`. It is written after the executed notebook. `results.csv`,
`results.parquet` and `index.html` are generated from these files.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from course.batch.batch_runner import BatchOptions, BatchRunner, Folders, num_parallel_jobs
from course.batch.finished_runs import FinishedRuns
from course.batch.plan import Plan, PlannedRun, expand
from course.course_folder import CourseError, CourseFolder, select_names
from course.execution.jobs import Status
from course.execution.progress import format_estimate
from course.files import read_notebook
from course.reports.entries import Entry

_MAX_RUNS_SHOWN = 60


def batch(course: CourseFolder, plan: Plan, name: str, options: BatchOptions) -> int:
    """Execute the runs of a plan that have not finished yet; return the exit status.

    Args:
        course: the course. Its folder `runs/` contains the results.
        plan: the notebooks and parameters to run.
        name: name of the batch's folder, unless the plan sets `out`.
        options: options that do not affect the results.

    Returns:
        0 if all runs of the plan passed, 1 if some did not, 130 if the batch was stopped.

    Raises:
        CourseError: the plan is not valid (raised before any run starts), or the disk is full.
    """
    files = _find_notebooks(course, plan.notebooks)
    notebooks = {stem: read_notebook(file) for stem, file in files.items()}
    runs = expand(plan, notebooks)
    folders = _folders(course, plan, name)
    finished_runs = FinishedRuns(folders.out)
    if options.dry_run:
        _show_plan(
            runs,
            _entries_to_keep(finished_runs, runs, options),
            plan,
            _earlier_seconds(course, finished_runs),
        )
        return 0
    with finished_runs.locked():
        finished_entries = _entries_to_keep(finished_runs, runs, options)
        runner = BatchRunner(
            plan, folders, finished_runs, runs, notebooks, options, finished_entries
        )
        pending = [run for run in runs if run.id not in finished_entries]
        if finished_entries:
            remaining = f"{len(pending)} remaining"
            number = len(finished_entries)
            verb = "is" if number == 1 else "are"
            print(f"{number} of {_runs_text(len(runs))} {verb} already finished; {remaining}.")
        return runner.execute(pending, files)


def _find_notebooks(course: CourseFolder, names_or_paths: Sequence[str]) -> dict[str, Path]:
    """Return the notebook files by unique name, given names of lessons or paths of notebooks."""
    files: dict[str, Path] = {}
    for name_or_path in names_or_paths:
        path = Path(name_or_path).expanduser()
        if path.suffix == ".ipynb" and path.is_file():
            matches = {path.stem: path.absolute()}
        elif path.suffix == ".ipynb" and len(path.parts) > 1:
            raise CourseError(f"The notebook {name_or_path} does not exist. Check the path.")
        else:
            names = select_names(course.built_names(), [name_or_path], "Notebook")
            matches = {lesson: course.notebook_path(lesson) for lesson in names}
        for stem, file in matches.items():
            # Students' copies of a lab have the same file name in different folders.
            key = stem if files.get(stem, file) == file else f"{file.parent.name}_{stem}"
            if files.get(key, file) != file:
                raise CourseError(
                    f"{files[key]} and {file} have the same name; rename one of them."
                )
            files[key] = file
    return files


def _folders(course: CourseFolder, plan: Plan, name: str) -> Folders:
    if plan.out is not None and "://" in plan.out:
        # The state, tables and page stay local because remote storage has no atomic rename.
        folders = Folders(course.runs / name, store=plan.out)
    else:
        folders = Folders(Path(plan.out or course.runs / name).expanduser().absolute())
    out = folders.out
    if out.exists() and not out.is_dir():
        raise CourseError(f"{out} is a file. Choose a folder with --out.")
    if out.is_dir() and any(out.iterdir()) and not (out / "state").is_dir():
        raise CourseError(
            f"{out} is not empty and does not contain a batch. Choose another folder with --out."
        )
    return folders


def _entries_to_keep(
    finished_runs: FinishedRuns, runs: Sequence[PlannedRun], options: BatchOptions
) -> dict[str, Entry]:
    """Return the entries of the runs that do not need to be rerun."""
    entries = finished_runs.entries()
    return {
        run.id: entries[run.id]
        for run in runs
        if run.id in entries
        and (entries[run.id]["status"] == Status.PASSED or not options.retry_failed)
    }


def _earlier_seconds(course: CourseFolder, finished_runs: FinishedRuns) -> dict[str, list[float]]:
    """Return the durations of each notebook's passed runs in all batches, in seconds."""
    seconds: dict[str, list[float]] = {}
    for state in {finished_runs.folder, *course.runs.glob("*/state")}:
        for entry in FinishedRuns(state.parent).entries().values():
            if entry["status"] == Status.PASSED:
                seconds.setdefault(entry["notebook"], []).append(entry["seconds"])
    return seconds


def _show_plan(
    runs: Sequence[PlannedRun],
    finished_entries: Mapping[str, Entry],
    plan: Plan,
    earlier_seconds: Mapping[str, list[float]],
) -> None:
    """Print the runs, and a time estimate based on earlier runs."""
    pending = [run for run in runs if run.id not in finished_entries]
    for run in runs[:_MAX_RUNS_SHOWN]:
        values = ", ".join(f"{key} = {value!r}" for key, value in run.parameters.items())
        state = "done  " if run.id in finished_entries else "to run"
        print(f"{state}  {run.notebook}  {values or 'no parameters'}")
    if len(runs) > _MAX_RUNS_SHOWN:
        print(f"... and {len(runs) - _MAX_RUNS_SHOWN} more")
    jobs = num_parallel_jobs(plan)
    print(
        f"{_runs_text(len(runs))}, {len(pending)} to execute, {jobs} at a time. "
        "Nothing was started."
    )
    unknown = sorted({run.notebook for run in pending} - set(earlier_seconds))
    if unknown:
        print(f"No estimate: there is no earlier run of {', '.join(unknown)}.")
    elif pending:
        medians = {
            name: statistics.median(durations) for name, durations in earlier_seconds.items()
        }
        seconds = sum(medians[run.notebook] for run in pending) / min(jobs, len(pending))
        count = sum(len(earlier_seconds[name]) for name in {run.notebook for run in pending})
        print(
            f"Estimate: {format_estimate(seconds)}, from the median of "
            f"{_runs_text(count, 'earlier ')}"
            f"{' with any parameters' if plan.varied else ''}."
        )


def _runs_text(count: int, kind: str = "") -> str:
    return f"{count} {kind}run{'s' if count != 1 else ''}"
