"""Executes the runs of a batch, saves the results, and writes the tables and the report."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import nbformat
from nbformat import NotebookNode
from papermill.iorw import papermill_io

from course.batch.finished_runs import FinishedRuns
from course.batch.plan import Plan, PlannedRun
from course.batch.tables import make_rows, write_tables
from course.course_folder import CourseError
from course.execution import engine, gpus
from course.execution.jobs import Job, RunLimits, RunResult, Status
from course.execution.kernels import make_cifar10_root_absolute, preloadable_modules
from course.execution.local import WorkerConfig
from course.execution.progress import BatchProgress, JobListener, format_seconds
from course.execution.provenance import collect_facts
from course.files import read_notebook
from course.reports.batch_report import write_batch_report
from course.reports.entries import Entry, make_entry, synthetic_box
from course.reports.pages import write_page

# Minimum seconds between two updates of the tables and the report during a batch.
_REFRESH_SECONDS = 60


@dataclass(frozen=True)
class BatchOptions:
    """Options of a batch that do not affect its results.

    Attributes:
        dry_run: print the runs without executing them.
        retry_failed: rerun the runs that did not pass.
        fresh_kernels: start each kernel as a new process instead of forking it.
        all_pages: write an HTML page for every run, not only for those that did not pass.
        cluster: address of a Dask scheduler; None for this machine.
    """

    dry_run: bool = False
    retry_failed: bool = False
    fresh_kernels: bool = False
    all_pages: bool = False
    cluster: str | None = None


@dataclass(frozen=True)
class Folders:
    """The folders of a batch. `store` is a URL such as s3://...; None if local."""

    out: Path
    store: str | None = None

    @property
    def notebooks(self) -> Path:
        """Folder of the executed notebooks and their pages."""
        return self.out / "notebooks"

    def working_folder(self, run: PlannedRun) -> Path:
        """The working folder of a run."""
        return self.out / "files" / run.name

    def unfinished_notebook(self, run: PlannedRun) -> Path:
        """The path of the executed notebook during the run."""
        return self.notebooks / f".{run.name}.ipynb"

    def notebook(self, run: PlannedRun) -> Path:
        """The path of the executed notebook of a finished run."""
        return self.notebooks / f"{run.name}.ipynb"

    def notebook_link(self, run: PlannedRun) -> str:
        """The link in the report: the path of the notebook, or its URL in the remote storage."""
        if self.store is None:
            return f"notebooks/{run.name}.ipynb"
        return f"{self.store.rstrip('/')}/{run.name}.ipynb"


@dataclass
class BatchRunner(JobListener):
    """Executes a batch, saves each run when it ends, and updates the tables.

    `entries` contains all runs that have ended, by id. Unlike `finished_runs`, it includes runs
    with the status `COULD_NOT_RUN`.
    """

    plan: Plan
    folders: Folders
    finished_runs: FinishedRuns
    runs: Sequence[PlannedRun]
    notebooks: Mapping[str, NotebookNode]
    options: BatchOptions
    entries: dict[str, Entry]
    _last_refresh: float = field(default_factory=monotonic)
    _progress: BatchProgress | None = None
    _facts: dict[str, str] = field(default_factory=dict)

    def execute(self, pending: Sequence[PlannedRun], files: Mapping[str, Path]) -> int:
        """Execute the pending runs, write the tables and the report, and print a summary."""
        make_cifar10_root_absolute()
        # nbclient logs dead kernels and timeouts, and the log lines would break the progress bar.
        for library in ("papermill", "asyncio"):
            logging.getLogger(library).addHandler(logging.NullHandler())
        self._facts = collect_facts(next(iter(files.values()), Path()).parent)
        start = monotonic()
        results: list[RunResult] = []
        try:
            if pending:
                jobs = [self._job(run, files[run.notebook]) for run in pending]
                self._progress = BatchProgress(len(jobs), _result_line)
                limits = RunLimits(self.plan.cell_limit, self.plan.run_limit, self.plan.retries)
                results = engine.run_jobs(
                    jobs, self, workers=self._workers(len(jobs)), limits=limits
                )
            self._refresh(is_running=False)
        except OSError as error:
            raise CourseError(
                f"{error.strerror or error} ({error.filename or self.folders.out}). "
                f"Finished runs in {self.folders.out}: {len(self.finished_runs.entries())}; they "
                "are kept. Fix the problem and repeat the command to continue."
            ) from None
        finally:
            if self._progress is not None:
                self._progress.close()
            self._clean_up()
        return self._print_summary(results, monotonic() - start)

    def on_job_finished(self, result: RunResult) -> None:
        """Move the notebook to its final path, and only then save the entry that refers to it."""
        run = next(run for run in self.runs if run.name == result.job.name)
        executed = None
        if result.job.output.exists():
            executed = read_notebook(result.job.output)
            if self.folders.store is not None:
                papermill_io.write(nbformat.writes(executed), self.folders.notebook_link(run))
                result.job.output.unlink()
            else:
                result.job.output.replace(self.folders.notebook(run))
        entry = make_entry(
            result,
            executed,
            id=run.id,
            run=run.name,
            notebook=run.notebook,
            parameters=run.parameters,
        )
        if executed is not None:
            entry["file"] = self.folders.notebook_link(run)
            has_page = result.status != Status.PASSED or self.options.all_pages
            if has_page and self.folders.store is None:
                page = write_page(self.folders.notebook(run), index="../index.html")
                entry["page"] = f"notebooks/{page.name}"
        self.entries[run.id] = entry
        if result.status != Status.COULD_NOT_RUN:
            self.finished_runs.write(entry)
        if self._progress is not None:
            self._progress.on_job_finished(result)
        if monotonic() - self._last_refresh > _REFRESH_SECONDS:
            self._refresh(is_running=True)

    def _job(self, run: PlannedRun, file: Path) -> Job:
        self.folders.notebooks.mkdir(parents=True, exist_ok=True)
        shared_folder = self.plan.folder
        folder = (
            Path(shared_folder).expanduser().absolute()
            if shared_folder
            else self.folders.working_folder(run)
        )
        if shared_folder and not folder.is_dir():
            raise CourseError(f"The working folder {folder} does not exist.")
        if not shared_folder:
            # A batch that was killed may have left files in the folder.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        output, parameters = self.folders.unfinished_notebook(run), run.parameters
        return Job(run.name, file, output, folder, parameters, own_folder=not shared_folder)

    def _workers(self, num_runs: int) -> WorkerConfig:
        is_fresh = self.options.fresh_kernels
        return WorkerConfig(
            jobs=min(num_runs, num_parallel_jobs(self.plan)),
            cluster=self.options.cluster,
            preload=None if is_fresh else tuple(preloadable_modules(self.notebooks.values())),
            gpus=self.plan.gpus,
            jobs_per_gpu=self.plan.runs_per_gpu,
        )

    def _ended_entries(self) -> list[Entry]:
        return [self.entries[run.id] for run in self.runs if run.id in self.entries]

    def _refresh(self, *, is_running: bool) -> None:
        """Write the tables and the report."""
        entries, plan = self._ended_entries(), self.plan
        write_tables(make_rows(entries), self.folders.out)
        write_batch_report(
            entries,
            self.folders.out,
            title=plan.title,
            fixed=plan.parameters,
            varied=plan.varied,
            planned=len(self.runs),
            is_running=is_running,
            facts=self._facts,
        )
        self._last_refresh = monotonic()

    def _clean_up(self) -> None:
        """Remove empty working folders, and the notebooks of runs that were stopped."""
        for leftover in self.folders.notebooks.glob(".*.ipynb"):
            leftover.unlink()
        for folder in self.folders.out.glob("files/*"):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _print_summary(self, results: Sequence[RunResult], seconds: float) -> int:
        entries = self._ended_entries()
        passed = sum(entry["status"] == Status.PASSED for entry in entries)
        runs = f"{len(self.runs)} run{'s' if len(self.runs) != 1 else ''}"
        print(f"{passed} of {runs} passed in {format_seconds(seconds)}.")
        if synthetic := [entry for entry in entries if entry["reported"].get("synthetic")]:
            print(synthetic_box([f"{len(synthetic)} of the runs, marked in the report"]))
        print(f"Report: {self.folders.out / 'index.html'}, tables: results.csv, results.parquet")
        if any(result.status in (Status.STOPPED, Status.NOT_RUN) for result in results):
            remaining = len(self.runs) - len(entries)
            print(
                f"Stopped; remaining runs: {remaining} of {len(self.runs)}. Repeat the command to "
                "continue."
            )
            return 130
        failed = len(entries) - passed
        if failed and not self.options.retry_failed:
            print("To rerun the runs that did not pass, add --retry-failed.")
        return 0 if passed == len(self.runs) else 1


def num_parallel_jobs(plan: Plan) -> int:
    """Return the number of concurrent runs: the plan's `jobs`, or `runs_per_gpu` per GPU, or 1."""
    if plan.jobs is not None:
        return plan.jobs
    names = gpus.visible_gpu_ids() if plan.gpus is None else plan.gpus
    return max(1, len(names) * plan.runs_per_gpu)


def _result_line(result: RunResult) -> str:
    """Format a run as one line: its name, status, error and note."""
    cell = "" if result.cell is None else f"cell {result.cell + 1}: "
    error = cell + result.error.splitlines()[0] if result.error else ""
    parts = [result.job.name, str(result.status), error, result.note]
    return "  ".join(part for part in parts if part)
