"""What a person sees of a run on the terminal: one progress bar, and a line for each notebook."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

from tqdm import tqdm

from helpers.instructor.batch import Job, Outcome, Watcher

_FORMAT = "{percentage:3.0f} % |{bar}| {n_fmt} of {total_fmt} cells, {elapsed}{postfix}"


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
        self._bar = tqdm(
            total=sum(cells.values()),
            bar_format=_FORMAT,
            disable=not sys.stderr.isatty(),
            leave=False,
        )

    def began(self, job: Job) -> None:
        self._running.append(job.name)
        self._bar.set_postfix_str(", ".join(self._running))

    def cell_done(self, job: Job) -> None:
        self._done[job.name] += 1
        self._bar.update()

    def waiting(self) -> None:
        self._bar.refresh()

    def ended(self, outcome: Outcome) -> None:
        name = outcome.job.name
        self._running.remove(name)
        # The cells behind a failure will not come any more.
        self._bar.update(self._cells[name] - self._done[name])
        self._bar.set_postfix_str(", ".join(self._running), refresh=False)
        self._bar.write(self._describe(outcome))

    def close(self) -> None:
        """Take the bar off the screen."""
        self._bar.close()
