"""The command line of `course batch`. Options can override a plan file or replace it."""

import argparse
import hashlib
import itertools
import json
from dataclasses import fields
from pathlib import Path

from course.command_line import handle_sigterm_as_ctrl_c, nonnegative_int, positive_int
from course.course_folder import CourseError, open_course

_REPEATABLE = {"action": "append", "default": []}
_COUNT, _SECONDS = ({"type": positive_int, "metavar": name} for name in ("N", "SECONDS"))
# The titles of the groups of options; for each option its name, its help and argparse's options.
_OPTIONS = {
    "what to run (adds to the plan or overrides it)": (
        ("-p", "a parameter that is the same in all runs",
         {"dest": "parameters", "nargs": 2, "metavar": ("NAME", "VALUE"), **_REPEATABLE}),
        ("--grid", "a parameter and its values; if repeated, every combination runs",
         {"nargs": "+", "metavar": ("NAME", "VALUE"), **_REPEATABLE}),
        ("--case", "one set of parameters; can be repeated",
         {"nargs": "+", "metavar": "NAME=VALUE", **_REPEATABLE}),
        ("--repeats", "run each case with seeds 0 to N-1", _COUNT),
        ("--seeds", "run each case with these seeds", {"nargs": "+", "type": int, "metavar": "N"}),
    ),
    "how to run it": (
        ("--jobs", "concurrent runs (default: one per GPU, or 1)", _COUNT),
        ("--cell-timeout", "time limit per cell (default: 3600)", _SECONDS),
        ("--run-timeout", "time limit per run", _SECONDS),
        ("--retries", "retry runs that do not pass, up to N times",
         {"type": nonnegative_int, "metavar": "N"}),
        ("--gpus", "indices, `all` (default) or `none`; one per run",
         {"nargs": "+", "metavar": "GPU"}),
        ("--runs-per-gpu", "runs that share a GPU (default: 1)", _COUNT),
        ("--folder", "working directory of all runs (default: one per run)", {"metavar": "DIR"}),
        ("--out", "results folder, or a URL such as s3://...", {"metavar": "DIR"}),
        ("--dask", "run on the workers of this Dask cluster",
         {"dest": "cluster", "metavar": "ADDRESS"}),
        ("--fresh-kernels", "start every kernel as a new Python process", {"action": "store_true"}),
        ("--pages", "write a page for every run (default: only for runs that did not pass)",
         {"dest": "all_pages", "action": "store_true"}),
        ("--dry-run", "show the runs and a time estimate", {"action": "store_true"}),
        ("--retry-failed", "rerun the runs that did not pass", {"action": "store_true"}),
    ),
}  # fmt: skip


def add_batch(commands: argparse._SubParsersAction) -> None:
    """Add `course batch` to the commands."""
    command = commands.add_parser(
        "batch",
        help="execute notebooks with many combinations of parameters",
        description="Execute notebooks with many sets of parameters, several at once, and collect "
        "what they report in results.csv, results.parquet and index.html. If you repeat the "
        "command, it continues where it stopped.",
        epilog="example: course batch 03 --grid seed 0 1 2 3 --jobs 2",
    )
    command.add_argument(
        "what", nargs="+", metavar="WHAT", help="a plan (.yaml), lessons, or .ipynb files"
    )
    for title, rows in _OPTIONS.items():
        group = command.add_argument_group(title)
        for name, text, options in rows:
            group.add_argument(name, help=text, **options)
    command.set_defaults(command=_batch)


def _batch(options: argparse.Namespace) -> int:
    # Imported here so that each command imports only what it needs.
    from course.batch.batch import BatchOptions, batch
    from course.batch.plan import make_plan

    handle_sigterm_as_ctrl_c()
    table, name = _make_plan_table(options)
    chosen = {field.name for field in fields(BatchOptions)} & vars(options).keys()
    batch_options = BatchOptions(**{name: getattr(options, name) for name in chosen})
    return batch(open_course(options.root), make_plan(table), name, batch_options)


def _make_plan_table(options: argparse.Namespace) -> tuple[dict[str, object], str]:
    """Return the plan's table and the batch's name, from the plan's file name or a hash."""
    from course.batch.plan import check_pairs, mapping_in, read_plan

    files = [word for word in options.what if Path(word).suffix in (".yaml", ".yml")]
    if files and len(options.what) > 1:
        raise CourseError("Give either a plan or notebooks, not both: a plan lists its notebooks.")
    table = dict(read_plan(Path(files[0]))) if files else {"notebooks": list(options.what)}
    check_pairs("-p", options.parameters)
    check_pairs("--grid", options.grid)
    gpus = options.gpus[0] if options.gpus and len(options.gpus) == 1 else options.gpus
    given = {
        "parameters": dict(options.parameters),
        "grid": {name: values for name, *values in options.grid},
        "limits": {"cell": options.cell_timeout, "run": options.run_timeout},
        "gpus": {"use": gpus, "runs_per_gpu": options.runs_per_gpu},
    }
    for key, values in given.items():
        if values := {name: value for name, value in values.items() if value is not None}:
            table[key] = {**mapping_in(table, key), **values}
    for word in itertools.chain(*options.case):
        if "=" not in word:
            raise CourseError(f"--case takes NAME=VALUE, not {word!r}.")
    if options.case:
        table["cases"] = [dict(word.split("=", 1) for word in words) for words in options.case]
    for name in ("repeats", "seeds", "retries", "jobs", "out", "folder"):
        if getattr(options, name) is not None:
            table[name] = getattr(options, name)
    if files:
        return table, Path(files[0]).stem
    content = [table.get(key) for key in ("notebooks", "parameters", "grid", "cases", "seeds")]
    digest = hashlib.sha256(json.dumps([content, table.get("repeats")]).encode()).hexdigest()
    return table, f"batch_{Path(options.what[0]).stem}_{digest[:6]}"
