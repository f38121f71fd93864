"""A batch at work: executes runs, keeps each one that ends, and makes tables and page of them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import nbformat
from nbformat import NotebookNode
from papermill.iorw import papermill_io

from course.batch.ledger import Ledger
from course.batch.plan import Plan, Setting
from course.batch.results import make_rows, write_tables
from course.course_folder import CourseError
from course.execution import engine, gpus, warm_kernels
from course.execution.kernels import anchor_data_folder
from course.execution.progress import BatchProgress
from course.execution.runner import NOT_RUN, PASSED, STOPPED, Job, Limits, Outcome
from course.reports.batch_report import write_batch_report
from course.reports.pages import write_page
from course.reports.report import collect_records, drawn_box, show_seconds

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


class Work(engine.Watcher):
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
        output, parameters = self._places.unfinished(run), run.setting.parameters
        return Job(run.name, file, output, folder, parameters, own=not given)

    def _limits(self) -> Limits:
        return Limits(self._plan.cell_limit, self._plan.run_limit, self._plan.retries)

    def _workers(self, number: int) -> engine.Workers:
        warm = None
        if warm_kernels.possible() and not self._options.fresh_kernels:
            warm = tuple(warm_kernels.modules_of(self._notebooks.values()))
        return engine.Workers(
            jobs=min(number, jobs_at_once(self._plan)),
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


def jobs_at_once(plan: Plan) -> int:
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
