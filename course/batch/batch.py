"""`course run` and `course batch`: execute notebooks, and resume after an interruption.

`course run` is a batch with one run per lesson, in a new folder. Each finished run has a file in
`state/`, which is written after the executed notebook. `results.csv`, `results.parquet` and
`index.html` are generated from these files.
"""

import contextlib
import json
import os
import re
import shutil
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import monotonic

import nbformat
import psutil
from filelock import FileLock, Timeout
from papermill.iorw import papermill_io

from course.batch.plan import Plan, PlannedRun, check_pairs, expand
from course.course_folder import CourseError, CourseFolder, select_names
from course.execution import engine, gpus
from course.execution.jobs import ExecutionSettings, Job, RunResult, Status
from course.execution.kernels import make_cifar10_root_absolute, preloadable_modules
from course.execution.progress import Progress, format_estimate, format_seconds
from course.execution.provenance import collect_facts
from course.files import PARTIAL_SUFFIX, read_notebook, write_atomically
from course.reports.entries import Entry, make_entry, result_line, synthetic_box, write_tables
from course.reports.pages import write_page, write_report

SCHEMA_VERSION = 3
_REFRESH_SECONDS = 60  # minimum seconds between two updates of the tables and the page
_LESSON_MEMORY = 3 << 30  # peak memory of a lesson with its figures and images, in bytes
# Matches code whose times matter: the other notebooks use one thread, or show times as examples.
_CLOCKS = re.compile(r"\b(timing\.measure|fast_cifar10)\b")


@dataclass(frozen=True)
class BatchOptions:
    """Options of a batch that do not affect its results."""

    dry_run: bool = False  # print the runs without executing them
    retry_failed: bool = False  # rerun the runs that did not pass
    fresh_kernels: bool = False  # start each kernel as a new process instead of forking it
    all_pages: bool = False  # write an HTML page for every run, not only if it did not pass
    cluster: str | None = None  # address of a Dask scheduler; None for this machine
    # This is `course run`: print a line for every run, link the pages to each other, and run the
    # notebooks that measure time alone.
    lessons: bool = False


def run(
    course: CourseFolder,
    requested: Sequence[str] = (),
    parameters: Sequence[tuple[str, str]] = (),
    *,
    out: Path | None = None,
    jobs: int | None = None,
    cell_timeout: int | None = None,
) -> int:
    """Execute lessons as a batch in a new folder; return its exit status.

    Each of the requested lessons, or all, gets the given parameters that it defines. The results
    are in `out`, or in `runs/DATE-TIME`, which `runs/latest` then points to. By default, as many
    lessons run at once as cores and memory allow, but only 1 if there is a GPU. Lessons that
    measure time always run alone. `cell_timeout` is in seconds.
    """
    names = select_names(course.built_names(), list(requested), "Notebook")
    if not names:
        raise CourseError(f"{course.notebooks} has no notebooks yet. To build them: course build")
    check_pairs("-p", parameters)
    memory = psutil.virtual_memory().available
    most = 1 if gpus.visible_gpu_ids() else min(os.cpu_count() or 1, memory // _LESSON_MEMORY)
    # Like papermill, run kernels in the current directory. Relative paths in parameters are then
    # relative to the directory where the command was started.
    plan = Plan(
        tuple(names), dict(parameters), folder=str(Path.cwd()), out=out and str(out),
        execution=ExecutionSettings(jobs or max(1, most), cell_limit=cell_timeout),
    )  # fmt: skip
    name = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    options = BatchOptions(retry_failed=True, all_pages=True, lessons=True)
    status = Batch(course, plan, name, options).execute()
    if out is None:
        # Without a link if symlinks are not allowed, or if there is a folder with its name.
        temporary = course.runs / f".latest-{os.getpid()}"
        with contextlib.suppress(OSError, NotImplementedError):
            temporary.symlink_to(name, target_is_directory=True)
            temporary.replace(course.runs / "latest")
        temporary.unlink(missing_ok=True)
    return status


def batch(course: CourseFolder, plan: Plan, name: str, options: BatchOptions) -> int:
    """Execute the runs of a plan that have not finished yet, in the folder `name` or `plan.out`.

    Returns 0 if all runs of the plan passed, 1 if some did not, 130 if the batch was stopped.
    """
    planned = Batch(course, plan, name, options)
    if not options.dry_run:
        return planned.execute()
    pending = planned.pending
    for run in planned.runs.values():
        values = ", ".join(f"{key} = {value!r}" for key, value in run.parameters.items())
        state = "to run" if run in pending else "done  "
        print(f"{state}  {run.notebook}  {values or 'no parameters'}")
    print(
        f"{_count(len(planned.runs), 'run')}, {len(pending)} to execute, {planned.num_workers} at "
        "a time. Nothing was started."
    )
    planned.estimate()
    return 0


def _find_notebooks(course: CourseFolder, names_or_paths: Sequence[str]) -> dict[str, Path]:
    """Return the notebook files by unique name, given names of lessons or paths of notebooks."""
    files: dict[str, Path] = {}
    for name_or_path in names_or_paths:
        path = Path(name_or_path).expanduser()
        if path.suffix == ".ipynb" and (path.is_file() or len(path.parts) > 1):
            found = [path.absolute()]
        else:
            names = select_names(course.built_names(), [name_or_path], "Notebook")
            found = [course.notebook_path(lesson) for lesson in names]
        for file in found:
            if not file.is_file():
                raise CourseError(f"The notebook {file} does not exist. Check the path.")
            # Students' copies of a lab have the same file name in different folders.
            is_new = files.get(file.stem, file) == file
            key = file.stem if is_new else f"{file.parent.name}_{file.stem}"
            if files.setdefault(key, file) != file:
                raise CourseError(f"{files[key]} and {file} have the same name; rename one.")
    return files


def read_entries(state: Path) -> dict[str, Entry]:
    """Return the entries of all finished runs, by run id; unreadable files are skipped."""
    entries = {}
    for file in sorted(state.glob("[!.]*.json")):
        # If the file is corrupted or from another program, the run is executed again.
        with contextlib.suppress(ValueError, OSError):
            entry = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(entry, dict) and entry.get("schema") == SCHEMA_VERSION:
                entries[entry["id"]] = entry
    return entries


@contextlib.contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Lock a batch's folder during the block, or until the process is killed."""
    state = out / "state"
    state.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(state / ".lock", timeout=0):
            for leftover in [*out.glob(f".*{PARTIAL_SUFFIX}"), *out.glob(f"*/.*{PARTIAL_SUFFIX}")]:
                leftover.unlink()
            yield
    except Timeout:
        raise CourseError(
            f"Another batch is running in {out}. Wait for it to end, or choose another folder "
            "with --out."
        ) from None


class Batch:
    """The runs of a plan, and their results in a folder."""

    def __init__(self, course: CourseFolder, plan: Plan, name: str, options: BatchOptions) -> None:
        self._course, self._plan, self._options = course, plan, options
        self._files = _find_notebooks(course, plan.notebooks)
        self._notebooks = {stem: read_notebook(file) for stem, file in self._files.items()}
        runs = expand(plan, self._notebooks)
        if options.lessons:
            runs = [replace(run, name=run.notebook) for run in runs]
        self.runs = {run.name: run for run in runs}
        self._noun = "notebook" if options.lessons else "run"
        # The state, tables and page stay local: remote storage has no atomic rename.
        self._store = plan.out.rstrip("/") if plan.out and "://" in plan.out else None
        folder = plan.out if plan.out and not self._store else course.runs / name
        self.out = out = Path(folder).expanduser().absolute()
        is_usable = not out.exists() or (out / "state").is_dir()
        if not is_usable and (out.is_file() or any(out.iterdir())):
            raise CourseError(
                f"{out} is {'a file' if out.is_file() else 'not empty, and not a batch'}. Choose "
                "another folder with --out."
            )
        # All runs that have ended. Runs that could not run are not in `state`, so that they rerun.
        self.entries = {
            id_: entry
            for id_, entry in read_entries(out / "state").items()
            if entry["status"] == Status.PASSED or not options.retry_failed
        }

    @property
    def pending(self) -> list[PlannedRun]:
        """The runs that have not ended."""
        return [run for run in self.runs.values() if run.id not in self.entries]

    @property
    def num_workers(self) -> int:
        """Number of parallel runs: the plan's `jobs`, or `runs_per_gpu` per GPU, or 1."""
        settings = self._plan.execution
        names = gpus.visible_gpu_ids() if settings.gpus is None else settings.gpus
        return settings.jobs or max(1, len(names) * settings.jobs_per_gpu)

    def estimate(self) -> dict[str, float]:
        """Print how long the pending runs will take, and return the relative time of each of them.

        This is based on the passed runs of all batches, or else on the numbers of cells.
        """
        pending = self.pending
        notebooks = {run.notebook for run in pending}
        states = {self.out / "state", *self._course.runs.glob("*/state")}
        entries = [entry for state in states for entry in read_entries(state).values()]
        earlier = [e for e in entries if e["status"] == "passed" and e["notebook"] in notebooks]
        unknown = sorted(notebooks - {entry["notebook"] for entry in earlier})
        times = {
            name: len(self._code(name))
            if unknown
            else statistics.median(e["seconds"] for e in earlier if e["notebook"] == name)
            for name in notebooks
        }
        workers = min(self.num_workers, len(pending))
        # A notebook that runs alone occupies all workers.
        weights = {
            run.name: times[run.notebook] * (workers if self._is_alone(run.notebook) else 1)
            for run in pending
        }
        if unknown and self._options.dry_run:
            print(f"No estimate: there is no earlier run of {', '.join(unknown)}.")
        elif pending and not unknown:
            seconds, count = sum(weights.values()) / workers, _count(len(earlier), "earlier run")
            any_ = " with any parameters" if self._plan.varied else ""
            print(f"Estimate: {format_estimate(seconds)}, from the median of {count}{any_}.")
        return weights

    def _code(self, name: str) -> list[str]:
        return [cell.source for cell in self._notebooks[name].cells if cell.cell_type == "code"]

    def _is_alone(self, name: str) -> bool:
        return self._options.lessons and any(map(_CLOCKS.search, self._code(name)))

    def execute(self) -> int:
        """Execute the pending runs, write the tables and the page, and print a summary."""
        pending, start = self.pending, monotonic()
        with _locked(self.out):
            if done := len(self.runs) - len(pending):
                text = f"{done} of {_count(len(self.runs), 'run')} {'is' if done == 1 else 'are'}"
                print(f"{text} already finished; {len(pending)} remaining.")
            make_cifar10_root_absolute()
            self._facts = collect_facts(next(iter(self._files.values())).parent)
            self._last_refresh = start
            jobs = [self._make_job(run) for run in pending]
            # papermill adds a cell that sets the parameters.
            cells = {r.name: len(self._code(r.notebook)) + bool(r.parameters) for r in pending}
            modules = preloadable_modules(self._notebooks.values())
            settings = replace(
                self._plan.execution, jobs=min(self.num_workers, len(pending)),
                cluster=self._options.cluster,
                preload=None if self._options.fresh_kernels else tuple(modules),
            )  # fmt: skip
            progress = Progress(cells, self.estimate(), self._save)
            try:
                results = engine.run_jobs(jobs, progress, settings) if jobs else []
                is_stopped = any(r.status in (Status.STOPPED, Status.NOT_RUN) for r in results)
                if is_stopped and self._options.lessons:
                    # Remove the links to lessons that were not executed.
                    files = {
                        e["run"]: self.out / e["file"] for e in self._ended_entries() if e["page"]
                    }
                    for file in files.values():
                        write_page(file, "../index.html", files)
                self._write_report(is_running=False)
            except BrokenPipeError:
                raise
            except OSError as error:
                raise CourseError(
                    f"{error.strerror or error} ({error.filename or self.out}). Finished runs in "
                    f"{self.out}: {len(read_entries(self.out / 'state'))}; they are kept. Fix the "
                    "problem and repeat the command to continue."
                ) from None
            finally:
                progress.close()
                # Remove empty working folders.
                for folder in self.out.glob("files/*"):
                    if folder.is_dir() and not any(folder.iterdir()):
                        folder.rmdir()
        return self._print_summary(is_stopped, monotonic() - start)

    def _make_job(self, run: PlannedRun) -> Job:
        output = self.out / "notebooks" / f".{run.name}.ipynb"
        output.parent.mkdir(parents=True, exist_ok=True)
        if self._plan.folder:
            folder = Path(self._plan.folder).expanduser().absolute()
            if not folder.is_dir():
                raise CourseError(f"The working folder {folder} does not exist.")
        else:
            folder = self.out / "files" / run.name
            # A batch that was killed may have left files in the folder.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return Job(
            run.name, self._files[run.notebook], output, folder, run.parameters,
            own_folder=not self._plan.folder, exclusive=self._is_alone(run.notebook),
        )  # fmt: skip

    def _save(self, result: RunResult) -> str:
        """Move the notebook to its final path, and only then save the entry that refers to it.

        Returns the line to print: in a batch, only for runs that did not pass or have a note.
        """
        run = self.runs[result.job.name]
        executed, link, page = None, "", ""
        if result.job.output.exists():
            executed = read_notebook(result.job.output)
            link = f"{self._store or 'notebooks'}/{run.name}.ipynb"
            if self._store:
                papermill_io.write(nbformat.writes(executed), link)
                result.job.output.unlink()
            else:
                result.job.output.replace(self.out / link)
                if result.status != Status.PASSED or self._options.all_pages:
                    siblings = self.runs if self._options.lessons else ()
                    write_page(self.out / link, "../index.html", siblings)
                    page = link.removesuffix("ipynb") + "html"
        entry = self.entries[run.id] = make_entry(
            result, executed, id=run.id, run=run.name, notebook=run.notebook,
            parameters=run.parameters, file=link, page=page,
        )  # fmt: skip
        if result.status != Status.COULD_NOT_RUN:
            text = json.dumps({"schema": SCHEMA_VERSION, **entry}, indent=1, default=str)
            write_atomically(self.out / "state" / f"{run.id}.json", text + "\n")
        if monotonic() - self._last_refresh > _REFRESH_SECONDS:
            self._write_report(is_running=True)
        is_shown = self._options.lessons or result.status != Status.PASSED or result.note
        return result_line(entry) if is_shown else ""

    def _ended_entries(self) -> list[Entry]:
        return [self.entries[run.id] for run in self.runs.values() if run.id in self.entries]

    def _write_report(self, *, is_running: bool) -> None:
        entries = self._ended_entries()
        write_tables(entries, self.out)
        plan, title = self._plan, "Course run" if self._options.lessons else self._plan.title
        write_report(
            entries, self.out, self._facts, title=title, noun=self._noun, fixed=plan.parameters,
            varied=plan.varied, planned=len(self.runs), is_running=is_running,
        )  # fmt: skip
        self._last_refresh = monotonic()

    def _print_summary(self, is_stopped: bool, seconds: float) -> int:
        entries, total = self._ended_entries(), len(self.runs)
        passed = sum(entry["status"] == Status.PASSED for entry in entries)
        if synthetic := [entry["run"] for entry in entries if entry["reported"].get("synthetic")]:
            number = f"{len(synthetic)} of the runs, marked in the report"
            print(synthetic_box(synthetic if self._options.lessons else [number]))
        print(f"{passed} of {_count(total, self._noun)} passed in {format_seconds(seconds)}.")
        print(f"Report: {self.out / 'index.html'}, tables: results.csv, results.parquet")
        if is_stopped:
            advice = "" if self._options.lessons else " Repeat the command to continue."
            print(f"Stopped; remaining {self._noun}s: {total - len(entries)} of {total}.{advice}")
            return 130
        if passed < total and not self._options.retry_failed:
            print("To rerun the runs that did not pass, add --retry-failed.")
        return 0 if passed == total else 1


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
