"""The terminal output of a run: a progress bar, and a line per finished notebook."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from time import monotonic

from tqdm import tqdm

from course.execution.jobs import Job, RunResult, Status

_CELLS = "{percentage:3.0f} % |{bar}| {n_fmt} of {total_fmt} cells, {elapsed}{postfix}"
_RUNS = (
    "{percentage:3.0f} % |{bar}| {n_fmt} of {total_fmt} runs, {elapsed}, {remaining} left{postfix}"
)


def format_seconds(seconds: float) -> str:
    """Format a duration with at most two units: `0.4 s`, `48 s`, `1 min 12 s`, `2 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60} min"


def format_estimate(seconds: float) -> str:
    """Format a duration as an estimate: `less than a minute`, `about 3 min`, `about 2 h 5 min`."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60} min"


class JobListener:
    """Receives the progress of jobs. The methods of this base class do nothing.

    `on_job_started` and `on_cell_done` are called from worker threads. They are not called for jobs
    on a cluster.
    """

    def on_job_started(self, job: Job) -> None:
        """Called before a job starts its kernel."""

    def on_cell_done(self, job: Job) -> None:
        """Called after a code cell of the job was executed, even if it failed."""

    def on_job_finished(self, result: RunResult) -> None:
        """Called when a job has ended with any status, unless it was stopped."""


class _Progress(JobListener):
    """A progress bar with the elapsed time. It is hidden if stderr is not a terminal."""

    def __init__(self, total: int, bar_format: str, describe: Callable[[RunResult], str]) -> None:
        self._shown = sys.stderr.isatty()
        self._bar = tqdm(total=total, bar_format=bar_format, disable=not self._shown, leave=False)
        self._describe = describe
        self._closed = threading.Event()
        if self._shown:
            threading.Thread(target=self._refresh, daemon=True).start()

    def _refresh(self) -> None:
        while not self._closed.wait(0.5):
            self._bar.refresh()

    def write(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.write(line)

    def close(self) -> None:
        """Remove the bar from the screen."""
        self._closed.set()
        self._bar.close()


class LessonProgress(_Progress):
    """A bar for the code cells of all notebooks, and a line per finished notebook."""

    def __init__(
        self,
        cells: Mapping[str, int],
        describe: Callable[[RunResult], str],
        weights: Mapping[str, float],
    ) -> None:
        """`cells`: number of code cells by notebook; `weights`: relative time by notebook."""
        super().__init__(sum(cells.values()), _CELLS, describe)
        self._cells, self._weights, self._started = cells, weights, monotonic()
        self._done = dict.fromkeys(cells, 0)
        self._running: dict[str, None] = {}

    def on_job_started(self, job: Job) -> None:
        self._running[job.name] = None
        self._show_state()

    def on_cell_done(self, job: Job) -> None:
        self._done[job.name] += 1
        self._bar.update()

    def on_job_finished(self, result: RunResult) -> None:
        name = result.job.name
        self._running.pop(name, None)
        # Also count the cells after a failure, which will not run.
        self._bar.update(self._cells[name] - self._done[name])
        self._done[name] = self._cells[name]
        self._show_state()
        estimate = "" if self._shown else self._time_left()
        self.write(self._describe(result) + (f"  ({estimate})" if estimate else ""))

    def seconds_left(self) -> float:
        """Estimate the remaining time from the completed fraction of the work."""
        total = sum(self._weights.values())
        completed = sum(
            w * self._done[n] / max(1, self._cells[n]) for n, w in self._weights.items()
        )
        return (monotonic() - self._started) * (total - completed) / completed if completed else 0.0

    def _time_left(self) -> str:
        seconds = self.seconds_left()
        return f"{format_estimate(seconds)} left" if seconds else ""

    def _show_state(self) -> None:
        self._bar.set_postfix_str(", ".join(filter(None, [self._time_left(), *self._running])))


class BatchProgress(_Progress):
    """A bar for all runs of a batch, and a line per run that did not pass or has a note.

    If stderr is not a terminal, a line after every 10% of the runs replaces the bar.
    """

    def __init__(self, total: int, describe: Callable[[RunResult], str]) -> None:
        super().__init__(total, _RUNS, describe)
        self._total = total
        self._ended = self._failed = 0

    def on_job_finished(self, result: RunResult) -> None:
        self._ended += 1
        self._failed += result.status != Status.PASSED
        if result.status != Status.PASSED or result.note:
            self.write(self._describe(result))
        if self._failed:
            self._bar.set_postfix_str(f", {self._failed} did not pass", refresh=False)
        self._bar.update()
        is_next_tenth = self._ended * 10 // self._total > (self._ended - 1) * 10 // self._total
        if not self._shown and is_next_tenth and self._ended < self._total:
            print(f"{self._ended} of {self._total} runs finished", flush=True)
