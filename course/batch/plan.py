"""What `course batch` is to do: a plan from a YAML file and the command line, checked, in full.

A plan names notebooks and parameters: fixed ones, a grid (every combination), a list (one setting
after the other) and repeats, which differ in their seed. `expand` turns it into single runs.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from nbformat import NotebookNode

from course.course_folder import CourseError
from course.execution.parameters import choices_of, defaults_of, fit_parameters

_KEYS = (
    "notebooks",
    "parameters",
    "grid",
    "list",
    "repeats",
    "seeds",
    "limits",
    "retries",
    "jobs",
    "out",
    "gpus",
    "folder",
)


@dataclass(frozen=True)
class Plan:
    """A checked plan. `cases` are the settings under `list`; times are seconds, None is no limit.

    `gpus` are names as in CUDA_VISIBLE_DEVICES, None for all that there are; `share` says how many
    runs use one at a time; `jobs` how many run at once, None for one a place on a GPU.
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
    share: int = 1
    folder: str | None = None

    @property
    def varied(self) -> list[str]:
        """Names of the parameters that differ between the runs."""
        names = [*self.grid, *(name for case in self.cases for name in case)]
        return list(dict.fromkeys([*names, *(["seed"] if self.seeds else [])]))


@dataclass(frozen=True)
class Setting:
    """One run of a plan: a notebook and its parameters in the types that it takes."""

    notebook: str
    parameters: dict[str, object]


def read_plan(path: Path) -> dict[str, object]:
    """Read the YAML of a plan, without looking at what it says.

    Raises:
        CourseError: there is no such file, or it is no YAML with names and values.
    """
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CourseError(f"The plan {path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CourseError(f"The plan {path} is not valid YAML: {error}") from None
    if not isinstance(table, dict):
        raise CourseError(f"The plan {path} has to consist of lines such as `notebooks: [03]`.")
    return table


def make_plan(table: Mapping[str, object]) -> Plan:
    """Check a plan's names and values, and return it with what it leaves open filled in.

    Raises:
        CourseError: something in it cannot be meant; the message names it, and the nearest right
            name.
    """
    table = dict(table)
    if "notebook" in table:
        table["notebooks"] = [*_words(table, "notebooks"), *_words(table, "notebook")]
        del table["notebook"]
    _check_names(table, _KEYS, "A plan")
    limits, gpus = _table(table, "limits"), table.get("gpus")
    _check_names(limits, ("cell", "run"), "limits")
    if isinstance(gpus, dict):
        _check_names(gpus, ("use", "share"), "gpus")
    else:
        gpus = {} if gpus is None else {"use": gpus}
    grid = _table(table, "grid")
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise CourseError(f"grid: {name} takes a list of values, not {values!r}.")
    cases = table.get("list") or []
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise CourseError("list takes settings such as `- {epochs: 1, learning_rate: 0.01}`.")
    plan = Plan(
        notebooks=tuple(_words(table, "notebooks")),
        parameters=_table(table, "parameters"),
        grid=grid,
        cases=tuple(cases),
        seeds=_seeds(table),
        cell_limit=_count(limits, "cell", 3600),
        run_limit=_count(limits, "run", None),
        retries=_count(table, "retries", 0, least=0),
        jobs=_count(table, "jobs", None),
        out=None if table.get("out") is None else str(table["out"]),
        gpus=_gpus(gpus),
        share=_count(gpus, "share", 1),
        folder=None if table.get("folder") is None else str(table["folder"]),
    )
    if not plan.notebooks:
        raise CourseError("The plan names no notebook. Say for instance: notebooks: [03]")
    _check_once(plan)
    return plan


def expand(plan: Plan, notebooks: Mapping[str, NotebookNode]) -> list[Setting]:
    """All runs of the plan, in its order; parameters in the types that each notebook takes.

    Raises:
        CourseError: no notebook has a parameter of that name, or a value is not of its type.
    """
    defaults = {name: defaults_of(notebook) for name, notebook in notebooks.items()}
    choices = {name: choices_of(notebook) for name, notebook in notebooks.items()}
    settings: dict[str, Setting] = {}
    seeds = [{"seed": seed} for seed in plan.seeds] or [{}]
    combinations = [
        dict(zip(plan.grid, values, strict=True))
        for values in itertools.product(*plan.grid.values())
    ]
    for case, combination, seed in itertools.product(plan.cases or ({},), combinations, seeds):
        given = {**plan.parameters, **case, **combination, **seed}
        fitted = fit_parameters(given.items(), defaults, choices)
        for name, parameters in fitted.items():
            here = {key: _anchored(value) for key, value in parameters.items()}
            # A notebook without a varied parameter would run again with the same ones.
            settings.setdefault(f"{name} {sorted(here.items())!r}", Setting(name, here))
    order = list(notebooks)
    return sorted(settings.values(), key=lambda setting: order.index(setting.notebook))


def _anchored(value: object) -> object:
    """A path that says it starts here, made absolute: a run works in a folder of its own."""
    if isinstance(value, str) and value.startswith(("./", "../", "~/")):
        return str(Path(value).expanduser().absolute())
    return value


def _check_names(table: Mapping[str, object], known: tuple[str, ...], what: str) -> None:
    for name in table:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            question = f" Did you mean {near[0]!r}?" if near else ""
            raise CourseError(f"{what} has no {name!r}.{question} Known: {', '.join(known)}.")


def _check_once(plan: Plan) -> None:
    """Refuse a parameter that two parts of the plan set."""
    parts = {
        "parameters": set(plan.parameters),
        "grid": set(plan.grid),
        "list": {name for case in plan.cases for name in case},
        "repeats": {"seed"} if plan.seeds else set(),
    }
    for (one, names), (other, others) in itertools.combinations(parts.items(), 2):
        if both := sorted(names & others):
            raise CourseError(
                f"Parameter {both[0]!r} is set by {one} and by {other}; leave one of them out."
            )


def _table(table: Mapping[str, object], key: str) -> dict[str, object]:
    value = table.get(key) or {}
    if not isinstance(value, dict):
        raise CourseError(f"{key} takes names and values, such as `{key}: {{...}}`, not {value!r}.")
    return {str(name): inner for name, inner in value.items()}


def _words(table: Mapping[str, object], key: str) -> list[str]:
    value = table.get(key) or []
    words = value if isinstance(value, list) else [value]
    # YAML reads 03 as the number 3.
    return [f"{word:02d}" if isinstance(word, int) else str(word) for word in words]


def _count(
    table: Mapping[str, object], key: str, default: int | None, *, least: int = 1
) -> int | None:
    value = table.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise CourseError(f"{key} takes a whole number of {least} or more, not {value!r}.")
    return value


def _seeds(table: Mapping[str, object]) -> tuple[int, ...]:
    seeds = table.get("seeds")
    if seeds is None:
        repeats = _count(table, "repeats", None)
        return () if repeats is None else tuple(range(repeats))
    whole = [seed for seed in seeds if isinstance(seed, int)] if isinstance(seeds, list) else []
    if not whole or len(whole) != len(seeds):
        raise CourseError(f"seeds takes a list of whole numbers, not {seeds!r}.")
    if table.get("repeats") not in (None, len(whole)):
        raise CourseError("The plan says how many repeats and which seeds; leave repeats out.")
    return tuple(whole)


def _gpus(table: Mapping[str, object]) -> tuple[str, ...] | None:
    use = table.get("use", "all")
    if use == "all":
        return None
    if use in ("none", [], None):
        return ()
    return tuple(str(name) for name in (use if isinstance(use, list) else [use]))
