"""Validates the plan of a batch, from YAML and the command line, and expands it into runs.

A plan lists notebooks and parameters: fixed parameters, a grid (every combination), a list of
cases, and repeats with different seeds.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from nbformat import NotebookNode

from course.course_folder import CourseError
from course.execution.jobs import ExecutionSettings
from course.execution.parameters import convert_parameters, did_you_mean, read_parameters
from course.execution.provenance import run_id

_KEYS = (
    "notebooks", "parameters", "grid", "cases", "repeats", "seeds", "limits", "retries", "jobs",
    "out", "gpus", "folder",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """A validated plan."""

    notebooks: tuple[str, ...]  # lessons or paths of notebooks
    parameters: dict[str, object] = field(default_factory=dict)  # the same in all runs
    grid: dict[str, list[object]] = field(default_factory=dict)  # every combination runs
    cases: tuple[dict[str, object], ...] = ()  # sets of parameters, one per run
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    out: str | None = None  # folder or URL of the results; None for a folder in `runs/`
    folder: str | None = None  # working folder of all runs; None for a folder per run

    @property
    def varied(self) -> list[str]:
        """Names of the parameters that differ between the runs."""
        return list(dict.fromkeys([*(name for case in self.cases for name in case), *self.grid]))

    @property
    def title(self) -> str:
        """A one-line description of the batch."""
        names = ", ".join(Path(name).stem for name in self.notebooks)
        return f"{names} over {', '.join(self.varied)}" if self.varied else names


@dataclass(frozen=True)
class PlannedRun:
    """One run of a plan: a notebook, and its parameters converted to the notebook's types."""

    notebook: str
    parameters: dict[str, object]
    id: str  # a hash of code, parameters and `helpers`
    name: str  # a readable and unique name that is a valid file name


def read_plan(path: Path) -> dict[str, object]:
    """Read a plan's YAML. Raise `CourseError` if it cannot be read or is not a mapping."""
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CourseError(f"The plan {path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CourseError(f"The plan {path} is not valid YAML: {error}") from None
    if not isinstance(table, dict):
        raise CourseError(f"The plan {path} must consist of lines such as `notebooks: [03]`.")
    return table


def make_plan(table: Mapping[str, object]) -> Plan:
    """Check the names and values of a plan and fill in the defaults.

    Raises `CourseError` if a name or a value is not valid. The message suggests a similar name.
    """
    _check_names(table, _KEYS, "A plan")
    parameters, grid, limits, gpus = (
        mapping_in(table, key) for key in ("parameters", "grid", "limits", "gpus")
    )
    _check_names(limits, ("cell", "run"), "limits")
    _check_names(gpus, ("use", "runs_per_gpu"), "gpus")
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise CourseError(f"grid: {name} must be a non-empty list of values, not {values!r}.")
    cases = table.get("cases") or []
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise CourseError(
            "cases must be a list of parameters such as `- {epochs: 1, learning_rate: 0.01}`."
        )
    seeds, repeats = table.get("seeds"), _integer(table, "repeats", None)
    if seeds is None:
        seeds = list(range(repeats or 0))
    elif not isinstance(seeds, list) or not seeds or not all(isinstance(s, int) for s in seeds):
        raise CourseError(f"seeds must be a non-empty list of integers, not {seeds!r}.")
    elif repeats not in (None, len(seeds)):
        raise CourseError("The plan has both repeats and seeds; remove repeats.")
    parts = {"parameters": parameters, "grid": grid, "repeats": {"seed"} if seeds else set()}
    parts["cases"] = {name for case in cases for name in case}
    for (first, first_names), (second, names) in itertools.combinations(parts.items(), 2):
        if shared := sorted(set(first_names) & set(names)):
            raise CourseError(
                f"Parameter {shared[0]!r} is set by {first} and by {second}; remove one of them."
            )
    notebooks, use = _as_list(table.get("notebooks") or []), gpus.get("use", "all")
    if not notebooks:
        raise CourseError("The plan lists no notebooks. Add one, for example: notebooks: [03]")
    ids = None if use == "all" else [str(u) for u in _as_list(use) if u not in ("none", None)]
    execution = ExecutionSettings(
        jobs=_integer(table, "jobs", None),
        gpus=None if ids is None else tuple(ids),
        jobs_per_gpu=_integer(gpus, "runs_per_gpu", 1),
        cell_limit=_integer(limits, "cell", 3600),
        run_limit=_integer(limits, "run", None),
        retries=_integer(table, "retries", 0, minimum=0),
    )
    # YAML reads 03 as the number 3.
    names = tuple(f"{name:02d}" if isinstance(name, int) else str(name) for name in notebooks)
    texts = {key: str(table[key]) for key in ("out", "folder") if table.get(key) is not None}
    grid |= {"seed": seeds} if seeds else {}
    return Plan(names, parameters, grid, tuple(cases), execution, **texts)


def expand(plan: Plan, notebooks: Mapping[str, NotebookNode]) -> list[PlannedRun]:
    """Return all runs of the plan, in order, with parameters converted to each notebook's types.

    Raises:
        CourseError: no notebook defines a parameter of the plan, or a value has the wrong type.
    """
    defaults = {name: read_parameters(notebook) for name, notebook in notebooks.items()}
    runs: dict[str, PlannedRun] = {}
    for case, *combination in itertools.product(plan.cases or ({},), *plan.grid.values()):
        values = {**plan.parameters, **case, **dict(zip(plan.grid, combination, strict=True))}
        for name, converted in convert_parameters(values, defaults).items():
            # Each run has its own folder, so a relative path must be absolute.
            parameters = {
                key: str(Path(value).expanduser().absolute())
                if str(value).startswith(("./", "../", "~/"))
                else value
                for key, value in converted.items()
            }
            id_ = run_id(notebooks[name], {"notebook": name, **parameters})
            words = "_".join(f"{key}-{value}" for key, value in parameters.items())
            prefix = re.sub(r"[^A-Za-z0-9.-]+", "_", f"{name}_{words}").strip("._")
            # A notebook without the varied parameter would have several identical runs.
            runs.setdefault(id_, PlannedRun(name, parameters, id_, f"{prefix[:80]}_{id_[:8]}"))
    return sorted(runs.values(), key=lambda run: list(notebooks).index(run.notebook))


def check_pairs(option: str, pairs: Sequence[Sequence[str]]) -> None:
    """Raise `CourseError` if a name, the first word of a pair, is repeated."""
    for name in (names := [name for name, *_ in pairs]):
        if names.count(name) > 1:
            raise CourseError(f"{option} sets parameter {name!r} twice.")


def _check_names(table: Mapping[str, object], allowed_names: tuple[str, ...], subject: str) -> None:
    for name in table:
        if name not in allowed_names:
            question = did_you_mean(name, allowed_names)
            raise CourseError(
                f"{subject} has no entry {name!r}.{question} "
                f"Known entries: {', '.join(allowed_names)}."
            )


def mapping_in(table: Mapping[str, object], key: str) -> dict[str, object]:
    """Return the mapping `key` of a plan. Raise `CourseError` if it is something else."""
    value = table.get(key) or {}
    if not isinstance(value, dict):
        raise CourseError(
            f"{key} must map names to values, such as `{key}: {{...}}`, not {value!r}."
        )
    return {str(name): item for name, item in value.items()}


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _integer(
    table: Mapping[str, object], key: str, default: int | None, *, minimum: int = 1
) -> int | None:
    value = table.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise CourseError(f"{key} must be an integer of at least {minimum}, not {value!r}.")
    return value
