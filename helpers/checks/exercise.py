"""An exercise is data: cases, a collector, what is right, and the mistakes that students make.

`Exercise.run` asks for the facts of each case and judges them. In a notebook, the collector runs in
the same process; in `course grade`, it runs in a sandbox, and the judge runs outside.
"""

import random
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from helpers.checks.check_box import CheckBox, CheckFailed
from helpers.checks.collecting import Case, Collector, Facts, call_once
from helpers.checks.hints import GENERAL, Hint, read_hints
from helpers.checks.plain import PlainTensor, describe, is_close, is_equal, one_line
from helpers.language import lesson_file, section_title, translate

# A row's predicate returns a true value if its mistake was made; a dictionary has values for the
# hint's placeholders. A row may also be `True`.
Predicate = Callable[[Facts], Any]
# Runs a collector for a case, here or in another process.
RunCollector = Callable[[Callable[..., Facts], Case], Facts]


class Draw(random.Random):
    """Random inputs from a seed that students cannot know; `gpus` is the machine's GPU count."""

    def __init__(self, seed: int, gpus: int = 2) -> None:
        super().__init__(seed)
        self.generator = torch.Generator().manual_seed(seed)
        # One or two GPUs, followed by the CPU.
        self.devices = [f"cuda:{i}" for i in range(min(gpus, 2))] + ["cpu"]
        self.device = self.devices[0]

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32, **kind: Any) -> PlainTensor:
        """Return random normal numbers; `kind` may have `device` and `requires_grad`."""
        return PlainTensor(torch.randn(shape, generator=self.generator).to(dtype), **kind)

    def integers(
        self, low: int, high: int, shape: tuple[int, ...], device: str = "cpu", dtype=torch.int64
    ) -> PlainTensor:
        """Return random integers from `low` to `high` (exclusive)."""
        values = torch.randint(low, high, shape, generator=self.generator)
        return PlainTensor(values.to(dtype), device)


@dataclass(frozen=True)
class Verdict:
    """The result of a check: the filled hint for the mistake, or None if the answer is right."""

    mistake: Hint | None
    facts: Facts
    seed: int

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.mistake is None

    @property
    def hint(self) -> str | None:
        """The id of the mistake's hint."""
        return self.mistake and self.mistake.id


def _unequal(**two: Any) -> Any:
    return len({*two.values()}) > 1 and two


# Rows that an exercise may name in `questions`, tried in this order before its own side effects.
STANDARD: dict[str, Predicate] = {
    "result-elsewhere": lambda f: _unequal(given=str(f.case.device), found=f.value.device),
    "wrong-shape": lambda f: _unequal(given=tuple(f.right.shape), found=f.value.shape),
    "dtype-changed": lambda f: _unequal(before=f.right.dtype, after=f.value.dtype),
    "input-changed": lambda f: any(not is_equal(f.case[n], x) for n, x in f.arguments.items()),
}
# The same, but tried after its own costs.
STANDARD_COSTS: dict[str, Predicate] = {
    "copied": lambda f: f.copies and {"bytes": sum(copy.bytes for copy in f.copies)}
}
# What a judge raises if facts have an unexpected form. Other errors are the author's mistakes.
_FORM_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
_TABLES = ("errors", "side_effects", "wrong_outcomes", "mistakes", "costs")
_NAMES = {*_TABLES, "collect", "returns", "right", "outcome", "tolerance", "questions"}


class Exercise:
    """One exercise, a module as in docs/exercises.md. A call checks answers and shows a box."""

    def __init__(self, lab: "Lab", module: ModuleType) -> None:
        self.lab = lab
        self.number = int(module.__name__.split("exercise_")[1].split("_")[0])
        signatures = re.findall(r"(\w+)\(([^)]*)\)", module.answers)
        self.names = [name for name, _ in signatures]
        self.points: int = module.points
        self.success: str = module.success
        self.seconds = lab.seconds
        self.passed = False
        self.tries = 0  # while the last answer was not right
        self.hint_counts: dict[str, int] = {}  # how often each hint was shown
        self._module = module
        for name in vars(module).keys() - _NAMES:
            if similar := get_close_matches(name, _NAMES, 1, 0.8):
                raise NameError(f"{module.__name__} defines {name!r}: is it {similar[0]!r}?")
        self.hints = read_hints(getattr(module, "hints", ""), module.section)
        shared = (GENERAL | lab.hints).items()
        shared = {id: replace(hint, section=hint.section or module.section) for id, hint in shared}
        self.hints |= {id: shared[id] for id in self.row_ids() - self.hints.keys()}
        names = re.findall(r"(\w+)(?:=[^,]*)?", signatures[0][1])
        self._collect = getattr(module, "collect", partial(call_once, names))

    def row_ids(self) -> set[str]:
        """Return the ids of the hints that a row or a question of the engine leads to."""
        ids = {id for name in (*_TABLES, "questions") for id in self._table(name)}
        return ids | {*[*self._table("returns")][:1]}

    def _table(self, name: str) -> dict[str, Predicate]:
        return getattr(self._module, name, {})

    def _standard(self, rows: dict[str, Predicate]) -> dict[str, Predicate]:
        return {id: row for id, row in rows.items() if id in self._table("questions")}

    def __call__(self, *answers: Any) -> None:
        """Show the result of `check` in a box; raise CheckFailed if an answer is wrong."""
        verdict = self.check(*answers)
        self.record(verdict).show()
        if verdict.mistake is not None:
            raise CheckFailed(f"exercise {self.number}: {verdict.mistake.wrong}") from None

    def check(self, *answers: Any, seed: int | None = None) -> Verdict:
        """Check the student's functions or classes here, without showing anything.

        `seed` is that of the inputs, to reproduce an earlier verdict; random if None. Raises
        TypeError if the number of answers does not match the exercise.
        """
        if len(answers) != len(self.names):
            raise TypeError(f"Call this check as check.{self}({', '.join(self.names)})")
        named = dict(zip(self.names, answers, strict=True))
        with Collector(named, self.seconds) as collector:
            return self.run(collector.collect, seed, collector.gpus)

    def run(self, collect: RunCollector, seed: int | None = None, gpus: int = 2) -> Verdict:
        """Judge the facts of each case, up to the first mistake.

        `gpus` is how many GPUs the collector has. `seed` is that of the cases; random if None.
        """
        seed = secrets.randbits(32) if seed is None else seed
        facts = Facts()
        # The judge needs no GPU, and the operations of a simulated one take longer.
        with torch._C.DisableTorchFunction():
            cases = [Case(case) for case in self._module.cases(Draw(seed, gpus))]
        for case in cases:
            facts = collect(self._collect, case)
            with torch._C.DisableTorchFunction():
                mistake = self.judge(case, facts)
            if mistake is not None:
                return Verdict(mistake, facts, seed)
        return Verdict(None, facts, seed)

    def judge(self, case: Case, facts: Facts) -> Hint | None:
        """Return the mistake that the facts of a case show, or None. Uses nothing but its input."""
        facts.case = case
        if facts.error is None and hasattr(self._module, "right"):
            facts.right = self._module.right(case)
        try:
            found = self._find_mistake(facts)
        except _FORM_ERRORS as error:  # facts of a form that no right answer has
            if isinstance(error, AttributeError) and error.obj is facts:  # the author's mistake
                raise
            found = "unusable-result", {"error": one_line(error)}
        if found is None:
            return None
        id, values = found
        if facts.shadowed is not None and id != "not-written":
            id, values = "name-shadowed", dict(zip(("hidden", "what"), facts.shadowed, strict=True))
        outcome = facts.value if facts.outcome is None else facts.outcome
        general = {"name": facts.name or self.names[0], "found": outcome}
        values = general | dict(facts.case) | facts.own | values
        return (self.hints.get(id) or GENERAL[id]).fill(values)

    def _find_mistake(self, facts: Facts) -> tuple[str, dict[str, Any]] | None:
        """Return the id of a hint, and values for its placeholders."""
        if facts.error is not None:
            id, values = _first_row(self._table("errors"), facts) or (facts.error.hint, {})
            return id, facts.error.values | values
        module = self._module
        if hasattr(module, "returns"):
            if facts.value is None:
                return "no-result", {}
            id, is_kind = module.returns
            if not is_kind(facts.value, facts.case):
                return id, {"found": describe(facts.value), "what": describe(facts.value)}
        if found := _first_row(self._standard(STANDARD) | self._table("side_effects"), facts):
            return found
        if mistakes := self._table("mistakes"):
            facts.outcome = getattr(module, "outcome", lambda facts: facts.value)(facts)
            if not self._is_outcome(facts, facts.right):
                for id, wrong_outcome in self._table("wrong_outcomes").items():
                    if self._is_outcome(facts, wrong_outcome(facts.case)):
                        return id, {}
                return _first_row(mistakes, facts) or ([*mistakes][-1], {})
        return _first_row(self._table("costs") | self._standard(STANDARD_COSTS), facts)

    def _is_outcome(self, facts: Facts, expected: Any) -> bool:
        tolerance = getattr(self._module, "tolerance", None)
        close = tolerance and partial(is_close, rtol=tolerance, atol=tolerance / 100)
        return is_equal(facts.outcome, expected, close)

    def record(self, verdict: Verdict) -> CheckBox:
        """Count the attempt and return the box to show; a repeated mistake gets more help."""
        self.tries += not self.passed
        # A wrong answer replaces an earlier right one.
        self.passed = verdict.passed
        lines, link = [translate(self.success)], ""
        if (mistake := verdict.mistake) is not None:
            self.hint_counts[mistake.id] = repeats = self.hint_counts.get(mistake.id, 0) + 1
            lines = [mistake.wrong]
            if repeats >= 2:
                lines.append(translate("Where to look: {look}", look=mistake.look))
            if repeats >= 3 and mistake.section:
                number = self.lab.name.split("_")[0]
                values = {"lesson": number, "section": section_title(number, mistake.section)}
                lines.append(translate("Read again: lesson {lesson}, “{section}”.", **values))
                link = lesson_file(number)
        data = {"lab": self.lab.name, "exercise": self.number, "passed": verdict.passed}
        data |= {"points": self.points if verdict.passed else 0, "of": self.points}
        data |= {"hint": verdict.hint, "tries": self.tries}
        done = [exercise.passed for exercise in self.lab.exercises.values()]
        return CheckBox(data, lines, sum(done), len(done), verdict.facts.printed, link)

    def __str__(self) -> str:
        return f"exercise_{self.number}"


def _first_row(rows: Mapping[str, Predicate], facts: Facts) -> tuple[str, dict[str, Any]] | None:
    for id, predicate in rows.items():
        if result := predicate is True or predicate(facts):
            return id, result if isinstance(result, dict) else {}
    return None


class Lab:
    """The exercises of one lab: the modules `exercise_N_name.py` of a package.

    `name` is that of the lab's notebook and lesson, such as "01_tensors_and_devices". `hints` is a
    text for `read_hints`, for exercises that have rows with these ids. `seconds` is the time limit
    of a check. `shared` are names for all modules; their rows come after an exercise's own.
    """

    def __init__(
        self, package: str, name: str, *, hints="", section="", seconds: float = 10, **shared: Any
    ) -> None:
        self.name = name
        self.seconds = seconds
        self.hints = read_hints(hints, section)
        files = sorted(Path(import_module(package).__file__).parent.glob("exercise_*.py"))
        modules = [import_module(f"{package}.{file.stem}") for file in files]
        for names, (name, value) in product(map(vars, modules), shared.items()):
            names[name] = names[name] | value if name in names else value
        exercises = (Exercise(self, module) for module in modules)
        self.exercises = {exercise.number: exercise for exercise in exercises}
        # `from helpers.checks import lab_01 as check` gives notebooks `check.exercise_1`.
        vars(import_module(package)).update({str(e): e for e in self.exercises.values()})
