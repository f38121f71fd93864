"""What a person sees of a run on the terminal: one progress bar, and lines as notebooks end."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable

from tqdm import tqdm

from course.execution.engine import Watcher
from course.execution.runner import PASSED, Job, Outcome

_CELLS = "{percentage:3.0f} % |{bar}| {n_fmt} of {total_fmt} cells, {elapsed}{postfix}"
_RUNS = (
    "{percentage:3.0f} % |{bar}| {n_fmt} of {total_fmt} runs, {elapsed}, {remaining} left{postfix}"
)


class _Bar:
    """A bar on a terminal whose clock goes on; nothing at all elsewhere."""

    def __init__(self, total: int, form: str) -> None:
        shown = sys.stderr.isatty()
        self.bar = tqdm(total=total, bar_format=form, disable=not shown, leave=False)
        self._over = threading.Event()
        if shown:
            threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        while not self._over.wait(0.5):
            self.bar.refresh()

    def close(self) -> None:
        """Take the bar off the screen."""
        self._over.set()
        self.bar.close()


class ProgressBar(Watcher):
    """One bar over the code cells of all notebooks, and `describe(outcome)` as each ends.

    Where stderr is no terminal there is no bar, and the lines say enough.
    """

    def __init__(self, cells: dict[str, int], describe: Callable[[Outcome], str]) -> None:
        """`cells`: for each notebook's name how many code cells it has."""
        self._cells = cells
        self._done: Counter[str] = Counter()
        self._running: list[str] = []
        self._describe = describe
        self._shown = _Bar(sum(cells.values()), _CELLS)
        self._bar = self._shown.bar

    def began(self, job: Job) -> None:
        self._running.append(job.name)
        self._bar.set_postfix_str(", ".join(self._running))

    def cell_done(self, job: Job) -> None:
        self._done[job.name] += 1
        self._bar.update()

    def ended(self, outcome: Outcome) -> None:
        name = outcome.job.name
        self._running.remove(name)
        # The cells behind a failure will not come any more.
        self._bar.update(self._cells[name] - self._done[name])
        self._bar.set_postfix_str(", ".join(self._running), refresh=False)
        self._bar.write(self._describe(outcome))

    def close(self) -> None:
        """Take the bar off the screen."""
        self._shown.close()


class BatchProgress(Watcher):
    """One bar over the runs of a batch, and a line for each that did not pass.

    Where stderr is no terminal there is no bar: a line after each tenth of the runs instead, so
    that a log of a night stays short.
    """

    def __init__(self, total: int, describe: Callable[[Outcome], str]) -> None:
        self._total, self._describe = total, describe
        self._ended = self._failed = 0
        self._shown = _Bar(total, _RUNS)

    def ended(self, outcome: Outcome) -> None:
        self._ended += 1
        bar = self._shown.bar
        if outcome.status != PASSED:
            self._failed += 1
            bar.write(self._describe(outcome))
            bar.set_postfix_str(f", {self._failed} did not pass", refresh=False)
        bar.update()
        tenth = self._ended * 10 // self._total > (self._ended - 1) * 10 // self._total
        if bar.disable and tenth and self._ended < self._total:
            print(f"{self._ended} of {self._total} runs ended", flush=True)

    def close(self) -> None:
        """Take the bar off the screen."""
        self._shown.close()
