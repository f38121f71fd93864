"""`course batch`: one notebook or several over many settings, continued where it was left.

A finished run is a file in `state/`, written when its notebook is in place. Everything else in the
batch's folder is made from these files: `results.csv`, `results.parquet` and `index.html`.
"""

from __future__ import annotations

import logging
import re
import shutil
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import nbformat
from nbformat import NotebookNode
from papermill.iorw import papermill_io

from helpers.instructor import engine, gpus, warm_kernels
from helpers.instructor.batch_report import write_batch_report
from helpers.instructor.build import read_notebook
from helpers.instructor.course_folder import CourseError, CourseFolder, pick
from helpers.instructor.kernels import anchor_data_folder
from helpers.instructor.ledger import Ledger
from helpers.instructor.pages import write_page
from helpers.instructor.plan import Plan, Setting, expand
from helpers.instructor.progress import BatchProgress
from helpers.instructor.provenance import run_id
from helpers.instructor.report import collect_records, drawn_box, show_seconds
from helpers.instructor.results import make_rows, write_tables
from helpers.instructor.runner import NOT_RUN, PASSED, STOPPED, Job, Limits, Outcome

# How often tables and page are made anew while the batch is at work, in seconds.
_REFRESH = 60


@dataclass(frozen=True)
class Run:
    """One run of a batch: its identity, a name to find it by, and what it executes."""

    id: str
    name: str
    setting: Setting


@dataclass(frozen=True)
class Options:
    """How a batch goes about it; nothing of this changes what comes out."""

    dry_run: bool = False
    retry_failed: bool = False
    fresh_kernels: bool = False
    all_pages: bool = False
    cluster: str | None = None


@dataclass(frozen=True)
class Places:
    """Where a batch keeps what. `store` is an address such as s3://..., None if all is local."""

    out: Path
    store: str | None = None

    @property
    def notebooks(self) -> Path:
        """Folder of the executed notebooks and their pages."""
        return self.out / "notebooks"

    def files(self, run: Run) -> Path:
        """The folder that a run works in."""
        return self.out / "files" / run.name

    def unfinished(self, run: Run) -> Path:
        """The executed notebook while the run is under way."""
        return self.notebooks / f".{run.name}.ipynb"

    def notebook(self, run: Run) -> Path:
        """The executed notebook of a finished run."""
        return self.notebooks / f"{run.name}.ipynb"

    def address(self, run: Run) -> str:
        """Where the page links to: the notebook beside it, or in the storage."""
        if self.store is None:
            return f"notebooks/{run.name}.ipynb"
        return f"{self.store.rstrip('/')}/{run.name}.ipynb"


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
        work = _Work(plan, places, ledger, runs, notebooks, options, done)
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


class _Work(engine.Watcher):
    """The batch at work: keeps every run that ends, and the tables up to date."""

    def __init__(
        self,
        plan: Plan,
        places: Places,
        ledger: Ledger,
        runs: Sequence[Run],
        notebooks: Mapping[str, NotebookNode],
        options: Options,
        done: dict[str, dict[str, Any]],
    ) -> None:
        self._plan, self._places, self._ledger, self._runs = plan, places, ledger, runs
        self._notebooks, self._options = notebooks, options
        # Finished runs, and those that the machine failed, which are not kept.
        self._records = dict(done)
        self._by_name = {run.name: run for run in runs}
        self._refreshed = monotonic()
        self._progress: BatchProgress | None = None

    def execute(self, missing: Sequence[Run], files: Mapping[str, Path]) -> int:
        """Execute the missing runs, write tables and page, and say how it went."""
        anchor_data_folder()
        # nbclient's own lines on dead kernels and time-outs would cut through the progress bar.
        logging.getLogger("papermill").addHandler(logging.NullHandler())
        clock = monotonic()
        outcomes: list[Outcome] = []
        try:
            if missing:
                jobs = [self._job(run, files[run.setting.notebook]) for run in missing]
                self._progress = BatchProgress(len(jobs), _line)
                outcomes = engine.run_jobs(
                    jobs, self, workers=self._workers(len(jobs)), limits=self._limits()
                )
            self._refresh(under_way=False)
        except OSError as error:
            raise CourseError(
                f"{error.strerror or error} ({error.filename or self._places.out}). The "
                f"{len(self._ledger.finished())} finished runs in {self._places.out} are kept; "
                "mend this and start the same batch again, and it goes on from there."
            ) from None
        finally:
            if self._progress is not None:
                self._progress.close()
            self._tidy()
        return self._sum_up(outcomes, monotonic() - clock)

    def ended(self, outcome: Outcome) -> None:
        """Put the notebook in its place and then keep the record: this order makes it safe."""
        run = self._by_name[outcome.job.name]
        executed = None
        if outcome.job.output.exists():
            executed = nbformat.read(outcome.job.output, as_version=4)
            if self._places.store is not None:
                papermill_io.write(nbformat.writes(executed), self._places.address(run))
                outcome.job.output.unlink()
            else:
                outcome.job.output.replace(self._places.notebook(run))
        record = _record(run, outcome, executed)
        if executed is not None:
            record["file"] = self._places.address(run)
            wanted = outcome.status != PASSED or self._options.all_pages
            if wanted and self._places.store is None:
                page = write_page(self._places.notebook(run), index="../index.html")
                record["page"] = f"notebooks/{page.name}"
        self._records[run.id] = record
        if not outcome.machine:
            self._ledger.write(record)
        if self._progress is not None:
            self._progress.ended(outcome)
        if monotonic() - self._refreshed > _REFRESH:
            self._refresh(under_way=True)

    def _job(self, run: Run, file: Path) -> Job:
        self._places.notebooks.mkdir(parents=True, exist_ok=True)
        given = self._plan.folder
        folder = Path(given).expanduser().absolute() if given else self._places.files(run)
        if given and not folder.is_dir():
            raise CourseError(f"The runs' folder {folder} is not there.")
        if not given:
            # A killed batch may have left it half full.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return Job(run.name, file, self._places.unfinished(run), folder, run.setting.parameters)

    def _limits(self) -> Limits:
        return Limits(self._plan.cell_limit, self._plan.run_limit, self._plan.retries)

    def _workers(self, number: int) -> engine.Workers:
        warm = None
        if warm_kernels.possible() and not self._options.fresh_kernels:
            warm = tuple(warm_kernels.modules_of(self._notebooks.values()))
        return engine.Workers(
            jobs=min(number, _jobs(self._plan)),
            cluster=self._options.cluster,
            warm=warm,
            gpus=self._plan.gpus,
            share=self._plan.share,
        )

    def _refresh(self, *, under_way: bool) -> None:
        """Make tables and page from the records."""
        records = [self._records[run.id] for run in self._runs if run.id in self._records]
        write_tables(make_rows(records), self._places.out)
        write_batch_report(records, self._plan, self._places.out, len(self._runs), under_way)
        self._refreshed = monotonic()

    def _tidy(self) -> None:
        """Take away the folders that runs left empty and the notebooks of stopped ones."""
        for leftover in self._places.notebooks.glob(".*.ipynb"):
            leftover.unlink()
        for folder in self._places.out.glob("files/*"):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _sum_up(self, outcomes: Sequence[Outcome], seconds: float) -> int:
        records = [self._records[run.id] for run in self._runs if run.id in self._records]
        passed = sum(record["status"] == PASSED for record in records)
        print(f"{passed} of {len(self._runs)} runs passed; this took {show_seconds(seconds)}.")
        left = len(self._runs) - len(records)
        if drawn := [record["run"] for record in records if record["records"].get("drawn")]:
            print(drawn_box([f"{len(drawn)} of the runs, marked in the report"]))
        print(f"Report: {self._places.out / 'index.html'}, tables: results.csv, results.parquet")
        if any(outcome.status in (STOPPED, NOT_RUN) for outcome in outcomes):
            print(f"Stopped with {left} runs to go. The same command goes on from here.")
            return 130
        failed = [record for record in records if record["status"] != PASSED]
        if failed and not self._options.retry_failed:
            print(f"To run the {len(failed)} again that did not pass, add --retry-failed.")
        return 0 if passed == len(self._runs) else 1


def _jobs(plan: Plan) -> int:
    """How many at once: as the plan says, or one for each place on a GPU, or one."""
    if plan.jobs is not None:
        return plan.jobs
    names = gpus.visible() if plan.gpus is None else plan.gpus
    return max(1, len(names) * plan.share)


def _record(run: Run, outcome: Outcome, executed: NotebookNode | None) -> dict[str, Any]:
    metadata = {} if executed is None else executed.metadata
    return {
        "id": run.id,
        "run": run.name,
        "notebook": run.setting.notebook,
        "title": metadata.get("title", run.setting.notebook),
        "parameters": run.setting.parameters,
        "status": outcome.status,
        "seconds": round(outcome.seconds, 2),
        "begun": outcome.begun,
        "attempts": outcome.attempts,
        "error": outcome.error,
        # As people count cells.
        "failing_cell": None if outcome.cell is None else outcome.cell + 1,
        "failing_cell_id": outcome.cell_id,
        "failing_code": outcome.source,
        "host": outcome.host,
        "gpu": outcome.gpu,
        "versions": outcome.versions,
        "records": {} if executed is None else collect_records(executed),
        "file": "",
        "page": "",
    }


def _line(outcome: Outcome) -> str:
    """A run that did not pass, on one line of a terminal."""
    cell = "" if outcome.cell is None else f"cell {outcome.cell + 1}: "
    said = outcome.error.splitlines()[0] if outcome.error else ""
    return f"{outcome.job.name}  {outcome.status}  {cell}{said}"


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
    jobs = _jobs(plan)
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
