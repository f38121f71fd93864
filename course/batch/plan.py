"""Validates the plan of a batch, from YAML and the command line, and expands it into runs.

A plan lists notebooks and parameters: fixed parameters, a grid (every combination), a list of
settings, and repeats with different seeds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from nbformat import NotebookNode

from course.course_folder import CourseError
from course.execution.parameters import convert_parameters, did_you_mean, read_parameters
from course.execution.provenance import run_id

_KEYS = (
    "notebooks", "parameters", "grid", "list", "repeats", "seeds", "limits", "retries", "jobs",
    "out", "gpus", "folder",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """A validated plan.

    Attributes:
        notebooks: lessons or paths of notebooks.
        parameters: parameters that are the same in all runs.
        grid: parameters and their values; every combination runs.
        cases: the settings under `list`.
        seeds: values of the parameter `seed`.
        cell_limit: time limit per cell, in seconds; None for no limit.
        run_limit: time limit per run, in seconds; None for no limit.
        retries: maximum number of retries of a run that does not pass.
        jobs: number of parallel runs; None for `runs_per_gpu` per GPU, or 1 without GPUs.
        out: folder or URL of the results; None for a folder in the course's `runs/`.
        gpus: names as in CUDA_VISIBLE_DEVICES; None for all GPUs of the machine.
        runs_per_gpu: number of runs that share a GPU.
        folder: working folder of all runs; None for a folder per run.
    """

    notebooks: tuple[str, ...]
    parameters: dict[str, object] = field(default_factory=dict)
    grid: dict[str, list[object]] = field(default_factory=dict)
    cases: tuple[dict[str, object], ...] = ()
    seeds: tuple[int, ...] = ()
    cell_limit: int | None = 3600
    run_limit: int | None = None
    retries: int = 0
    jobs: int | None = None
    out: str | None = None
    gpus: tuple[str, ...] | None = None
    runs_per_gpu: int = 1
    folder: str | None = None

    @property
    def varied(self) -> list[str]:
        """Names of the parameters that differ between the runs."""
        names = [*self.grid, *(name for case in self.cases for name in case)]
        return list(dict.fromkeys([*names, *(["seed"] if self.seeds else [])]))

    @property
    def title(self) -> str:
        """A one-line description of the batch."""
        names = [Path(name).stem for name in self.notebooks]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        over = f" over {', '.join(self.varied)}" if self.varied else ""
        return ", ".join(names[:3]) + more + over


@dataclass(frozen=True)
class PlannedRun:
    """One run of a plan: a notebook, and its parameters converted to the notebook's types.

    Attributes:
        id: a hash of code, parameters and `helpers`.
        name: a readable and unique name that is a valid file name.
    """

    notebook: str
    parameters: dict[str, object]
    id: str
    name: str


def read_plan(path: Path) -> dict[str, object]:
    """Read a plan's YAML without checking its contents.

    Raises:
        CourseError: the file does not exist or is not a YAML mapping.
    """
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

    Raises:
        CourseError: a name or a value is not valid. The message suggests a similar name.
    """
    _check_names(table, _KEYS, "A plan")
    limits, gpus, grid = (_mapping(table, key) for key in ("limits", "gpus", "grid"))
    _check_names(limits, ("cell", "run"), "limits")
    _check_names(gpus, ("use", "runs_per_gpu"), "gpus")
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise CourseError(f"grid: {name} must be a non-empty list of values, not {values!r}.")
    cases = table.get("list") or []
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise CourseError(
            "list must contain settings such as `- {epochs: 1, learning_rate: 0.01}`."
        )
    plan = Plan(
        notebooks=_notebooks(table.get("notebooks") or []),
        parameters=_mapping(table, "parameters"),
        grid=grid,
        cases=tuple(cases),
        seeds=_seeds(table),
        cell_limit=_integer(limits, "cell", 3600),
        run_limit=_integer(limits, "run", None),
        retries=_integer(table, "retries", 0, minimum=0),
        jobs=_integer(table, "jobs", None),
        out=_text(table, "out"),
        gpus=_gpus(gpus.get("use", "all")),
        runs_per_gpu=_integer(gpus, "runs_per_gpu", 1),
        folder=_text(table, "folder"),
    )
    if not plan.notebooks:
        raise CourseError("The plan lists no notebooks. Add one, for example: notebooks: [03]")
    _check_set_once(plan)
    return plan


def expand(plan: Plan, notebooks: Mapping[str, NotebookNode]) -> list[PlannedRun]:
    """Return all runs of the plan, in order, with parameters converted to each notebook's types.

    Raises:
        CourseError: no notebook defines a parameter of the plan, or a value has the wrong type.
    """
    parameters_by_notebook = {
        name: read_parameters(notebook) for name, notebook in notebooks.items()
    }
    runs: dict[str, PlannedRun] = {}
    seeds = [{"seed": seed} for seed in plan.seeds] or [{}]
    combinations = [
        dict(zip(plan.grid, combination_values, strict=True))
        for combination_values in itertools.product(*plan.grid.values())
    ]
    for case, combination, seed in itertools.product(plan.cases or ({},), combinations, seeds):
        values = {**plan.parameters, **case, **combination, **seed}
        for name, converted in convert_parameters(values.items(), parameters_by_notebook).items():
            parameters = {key: _make_absolute(value) for key, value in converted.items()}
            run = _plan_run(name, parameters, notebooks[name])
            # A notebook without the varied parameter would have several identical runs.
            runs.setdefault(run.id, run)
    order = list(notebooks)
    return sorted(runs.values(), key=lambda run: order.index(run.notebook))


def _plan_run(name: str, parameters: dict[str, object], notebook: NotebookNode) -> PlannedRun:
    id_ = run_id(notebook, {"notebook": name, **parameters})
    words = "_".join(f"{key}-{value}" for key, value in parameters.items())
    prefix = re.sub(r"[^A-Za-z0-9.-]+", "_", f"{name}_{words}").strip("._")
    return PlannedRun(name, parameters, id_, f"{prefix[:80]}_{id_[:8]}")


def _make_absolute(value: object) -> object:
    """Make a path absolute if it starts with `./`, `../` or `~/`: each run has its own folder."""
    if isinstance(value, str) and value.startswith(("./", "../", "~/")):
        return str(Path(value).expanduser().absolute())
    return value


def _check_names(table: Mapping[str, object], allowed_names: tuple[str, ...], subject: str) -> None:
    for name in table:
        if name not in allowed_names:
            question = did_you_mean(name, allowed_names)
            raise CourseError(
                f"{subject} has no entry {name!r}.{question} "
                f"Known entries: {', '.join(allowed_names)}."
            )


def _check_set_once(plan: Plan) -> None:
    """Raise `CourseError` if two parts of the plan set the same parameter."""
    parts = {
        "parameters": set(plan.parameters),
        "grid": set(plan.grid),
        "list": {name for case in plan.cases for name in case},
        "repeats": {"seed"} if plan.seeds else set(),
    }
    for (first, first_names), (second, second_names) in itertools.combinations(parts.items(), 2):
        if shared := sorted(first_names & second_names):
            raise CourseError(
                f"Parameter {shared[0]!r} is set by {first} and by {second}; remove one of them."
            )


def _mapping(table: Mapping[str, object], key: str) -> dict[str, object]:
    value = table.get(key) or {}
    if not isinstance(value, dict):
        raise CourseError(
            f"{key} must map names to values, such as `{key}: {{...}}`, not {value!r}."
        )
    return {str(name): item for name, item in value.items()}


def _notebooks(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    # YAML reads 03 as the number 3.
    return tuple(f"{name:02d}" if isinstance(name, int) else str(name) for name in names)


def _text(table: Mapping[str, object], key: str) -> str | None:
    return None if table.get(key) is None else str(table[key])


def _integer(
    table: Mapping[str, object], key: str, default: int | None, *, minimum: int = 1
) -> int | None:
    value = table.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise CourseError(f"{key} must be an integer of at least {minimum}, not {value!r}.")
    return value


def _seeds(table: Mapping[str, object]) -> tuple[int, ...]:
    seeds, repeats = table.get("seeds"), _integer(table, "repeats", None)
    if seeds is None:
        return tuple(range(repeats or 0))
    if not isinstance(seeds, list) or not seeds or not all(isinstance(s, int) for s in seeds):
        raise CourseError(f"seeds must be a non-empty list of integers, not {seeds!r}.")
    if repeats not in (None, len(seeds)):
        raise CourseError("The plan has both repeats and seeds; remove repeats.")
    return tuple(seeds)


def _gpus(use: object) -> tuple[str, ...] | None:
    if use == "all":
        return None
    if use in ("none", [], None):
        return ()
    return tuple(str(name) for name in (use if isinstance(use, list) else [use]))
