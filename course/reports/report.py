"""The page of a run or a batch, `index.html`: failures, charts of the results, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from course.execution.jobs import Status
from course.files import write_atomically
from course.reports.entries import Entry, result_names
from course.reports.pages import page_environment


def write_report(
    entries: Sequence[Entry],
    folder: Path,
    *,
    title: str,
    noun: str,
    fixed: Mapping[str, object],
    varied: Sequence[str],
    planned: int,
    is_running: bool,
    facts: Mapping[str, str],
) -> Path:
    """Write `index.html`, a self-contained page, and return its path.

    Args:
        entries: the runs that have ended, in the plan's order.
        folder: the batch's folder.
        title: title of the page.
        noun: what a row is, "run" or "notebook".
        fixed: parameters that are the same in all runs.
        varied: names of the parameters that differ between the runs. If there are none, all results
            are in one column.
        planned: number of runs in the plan.
        is_running: whether the batch is still running.
        facts: torch version, machine, commit and command of the last start of the batch.

    Raises:
        OSError: the disk is full. The previous page is unchanged.
    """
    charts: list[str] = []
    if varied:
        # Imported here because matplotlib takes half a second to import.
        from course.reports.charts import make_charts

        charts = make_charts(entries, varied)
    hosts = sorted({entry["host"] for entry in entries if entry["host"]})
    parameters = dict.fromkeys(name for entry in entries for name in entry["parameters"])
    page = (
        page_environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            noun=noun,
            now=datetime.now().astimezone(),
            entries=entries,
            failed=[entry for entry in entries if entry["status"] != Status.PASSED],
            planned=planned,
            is_running=is_running,
            fixed=fixed,
            is_varied=bool(varied),
            parameters=[name for name in parameters if name not in fixed],
            result_names=result_names,
            reported={name for entry in entries for name in entry["reported"]},
            charts=charts,
            # The machines, if there are several, as on a cluster.
            facts={**facts, **({"executed on": ", ".join(hosts)} if len(hosts) > 1 else {})},
        )
    )
    path = folder / "index.html"
    write_atomically(path, page)
    return path
