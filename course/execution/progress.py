"""The terminal output of a batch: a progress bar, and lines for its runs."""

import sys
from collections.abc import Callable, Mapping
from time import monotonic

from tqdm import tqdm

from course.execution.jobs import Job, JobListener, RunResult

_BAR = "{percentage:3.0f} % |{bar}| {n_fmt} of {total_fmt} cells, {elapsed}{postfix}"


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


class Progress(JobListener):
    """A bar for the code cells of all runs. It is hidden if stderr is not a terminal.

    `cells` and `weights` are the number of code cells and the relative time of each run. `save` is
    called with the result of each finished run and returns the line to print. If it is empty and
    there is no bar, a line is printed after every 10% of the runs instead.
    """

    def __init__(
        self,
        cells: Mapping[str, int],
        weights: Mapping[str, float],
        save: Callable[[RunResult], str],
    ) -> None:
        self._cells, self._weights, self._save = cells, weights, save
        self._started = monotonic()
        self._done = dict.fromkeys(cells, 0)
        self._running: dict[str, None] = {}
        self._finished = self._tenths = 0
        self._shown = sys.stderr.isatty()
        self._bar = tqdm(
            total=sum(cells.values()), bar_format=_BAR, disable=not self._shown, leave=False
        )

    def on_job_started(self, job: Job) -> None:
        self._running[job.name] = None

    def on_cell_done(self, job: Job) -> None:
        self._done[job.name] += 1
        self._update(1)

    def _update(self, number: int) -> None:
        runs = f"{self._finished} of {len(self._cells)} runs" if len(self._cells) > 1 else ""
        texts = [runs, self._time_left(), *list(self._running)[:3]]
        self._bar.set_postfix_str(", ".join(filter(None, texts)), refresh=False)
        self._bar.update(number)

    def on_job_finished(self, result: RunResult) -> None:
        name, total = result.job.name, len(self._cells)
        line = self._save(result)
        self._running.pop(name, None)
        # Also count the cells after a failure, which will not run.
        remaining, self._done[name] = self._cells[name] - self._done[name], self._cells[name]
        self._finished += 1
        self._update(remaining)
        estimate = "" if self._shown else self._time_left()
        if line:
            self._bar.write(line + (f"  ({estimate})" if estimate else ""))
        elif not self._shown and self._tenths < self._finished * 10 // total < 10:
            self._tenths = self._finished * 10 // total
            print(f"{self._finished} of {total} runs finished", flush=True)

    def seconds_left(self) -> float:
        """Estimate the remaining time from the completed fraction of the work."""
        weights = self._weights
        completed = sum(weights[n] * self._done[n] / max(1, self._cells[n]) for n in weights)
        elapsed = monotonic() - self._started
        return elapsed * (sum(weights.values()) / completed - 1) if completed else 0.0

    def _time_left(self) -> str:
        seconds = self.seconds_left()
        return f"{format_estimate(seconds)} left" if seconds else ""

    def close(self) -> None:
        """Remove the bar from the screen."""
        self._bar.close()
