"""The command line of `course batch`. Options can override a plan file or replace it."""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import fields
from pathlib import Path

from course.command_line import handle_sigterm_as_ctrl_c, nonnegative_int, positive_int
from course.course_folder import CourseError, open_course


def add_batch(commands: argparse._SubParsersAction) -> None:
    """Add `course batch` to the commands."""
    command = commands.add_parser(
        "batch",
        help="execute notebooks with many combinations of parameters",
        description="Execute notebooks with many settings, several at once, and collect what they "
        "report in results.csv, results.parquet and index.html. If you repeat the command, it "
        "continues where it stopped.",
        epilog="example: course batch 03 --grid seed 0 1 2 3 --jobs 2",
    )
    command.add_argument(
        "what", nargs="+", metavar="WHAT", help="a plan (.yaml), lessons, or .ipynb files"
    )
    plan_options = command.add_argument_group("what to run (adds to the plan or overrides it)")
    repeatable = {"action": "append", "default": []}
    plan_options.add_argument(
        "-p", dest="parameters", nargs=2, metavar=("NAME", "VALUE"), **repeatable,
        help="a parameter that is the same in all runs",
    )  # fmt: skip
    plan_options.add_argument(
        "--grid", nargs="+", metavar=("NAME", "VALUE"), **repeatable,
        help="a parameter and its values; if repeated, every combination runs",
    )  # fmt: skip
    plan_options.add_argument(
        "--case", nargs="+", metavar="NAME=VALUE", **repeatable,
        help="one set of parameters; can be repeated",
    )  # fmt: skip
    plan_options.add_argument(
        "--repeats", type=positive_int, metavar="N", help="run each setting with seeds 0 to N-1"
    )
    plan_options.add_argument(
        "--seeds", type=int, nargs="+", metavar="SEED", help="run each setting with these seeds"
    )
    execution_options = command.add_argument_group("how to run it")
    execution_options.add_argument(
        "--jobs",
        type=positive_int,
        metavar="N",
        help="concurrent runs (default: one per GPU, or 1)",
    )
    execution_options.add_argument(
        "--cell-timeout",
        type=positive_int,
        metavar="SECONDS",
        help="time limit per cell (default: 3600)",
    )
    execution_options.add_argument(
        "--run-timeout", type=positive_int, metavar="SECONDS", help="time limit per run"
    )
    execution_options.add_argument(
        "--retries",
        type=nonnegative_int,
        metavar="N",
        help="retry runs that do not pass, up to N times",
    )
    execution_options.add_argument(
        "--gpus", nargs="+", metavar="GPU", help="indices, `all` (default) or `none`; one per run"
    )
    execution_options.add_argument(
        "--runs-per-gpu", type=positive_int, metavar="N", help="runs that share a GPU (default: 1)"
    )
    execution_options.add_argument(
        "--folder", metavar="DIR", help="working directory of all runs (default: one per run)"
    )
    execution_options.add_argument(
        "--out", metavar="DIR", help="results folder, or a URL such as s3://..."
    )
    execution_options.add_argument(
        "--dask", dest="cluster", metavar="ADDRESS", help="run on the workers of this Dask cluster"
    )
    execution_options.add_argument(
        "--fresh-kernels", action="store_true", help="start every kernel as a new Python process"
    )
    execution_options.add_argument(
        "--pages",
        dest="all_pages",
        action="store_true",
        help="write a page for every run (default: only for runs that did not pass)",
    )
    execution_options.add_argument(
        "--dry-run", action="store_true", help="show the runs and a time estimate"
    )
    execution_options.add_argument(
        "--retry-failed", action="store_true", help="rerun the runs that did not pass"
    )
    command.set_defaults(command=_batch)


def _batch(options: argparse.Namespace) -> int:
    # Imported here so that each command imports only what it needs.
    from course.batch.batch import batch
    from course.batch.batch_runner import BatchOptions
    from course.batch.plan import make_plan

    handle_sigterm_as_ctrl_c()
    table, name = _make_plan_table(options)
    batch_options = BatchOptions(
        **{field.name: getattr(options, field.name) for field in fields(BatchOptions)}
    )
    return batch(open_course(options.root), make_plan(table), name, batch_options)


def _make_plan_table(options: argparse.Namespace) -> tuple[dict[str, object], str]:
    """Return the plan's table and the batch's name, from the plan's file name or a hash."""
    from course.batch.plan import read_plan

    files = [word for word in options.what if Path(word).suffix in (".yaml", ".yml")]
    if files and len(options.what) > 1:
        raise CourseError("Give either a plan or notebooks, not both: a plan lists its notebooks.")
    table = dict(read_plan(Path(files[0]))) if files else {"notebooks": list(options.what)}
    _update_table(
        table, "parameters", _check_no_repeats("-p", options.parameters, dict(options.parameters))
    )
    grid = {name: values for name, *values in options.grid}
    _update_table(table, "grid", _check_no_repeats("--grid", options.grid, grid))
    if options.case:
        table["list"] = [_parse_case(words) for words in options.case]
    names = ("repeats", "seeds", "retries", "jobs", "out", "folder")
    table |= _without_none(**{name: getattr(options, name) for name in names})
    _update_table(
        table, "limits", _without_none(cell=options.cell_timeout, run=options.run_timeout)
    )
    use = options.gpus[0] if options.gpus and len(options.gpus) == 1 else options.gpus
    _update_table(table, "gpus", _without_none(use=use, runs_per_gpu=options.runs_per_gpu))
    if files:
        return table, Path(files[0]).stem
    content = [table.get(key) for key in ("notebooks", "parameters", "grid", "list", "seeds")]
    digest = hashlib.sha256(json.dumps([content, table.get("repeats")]).encode()).hexdigest()
    return table, f"batch_{Path(options.what[0]).stem}_{digest[:6]}"


def _without_none(**options: object) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


def _check_no_repeats(
    option: str, pairs: list[list[str]], values: dict[str, object]
) -> dict[str, object]:
    names = [name for name, *_ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise CourseError(f"{option} sets parameter {name!r} twice.")
    return values


def _update_table(table: dict[str, object], key: str, values: dict[str, object]) -> None:
    if not values:
        return
    current = table.get(key) or {}
    if not isinstance(current, dict):
        raise CourseError(f"{key} in the plan must map names to values, not {current!r}.")
    table[key] = {**current, **values}


def _parse_case(words: list[str]) -> dict[str, object]:
    pairs = [word.partition("=") for word in words]
    for word, (_, equals, _) in zip(words, pairs, strict=True):
        if not equals:
            raise CourseError(f"--case takes NAME=VALUE, not {word!r}.")
    return {name: value for name, _, value in pairs}
