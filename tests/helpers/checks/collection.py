"""How answers to the labs are collected: each with the hint that it must get.

A collection is one module for each lab, `lab_NN_answers.py`, with one `Answers` named `answers`.
Each answer is a function whose name says what is wrong with it, or how it solves the exercise:

    @answers.wrong(1, "result-dropped")
    def calls_to_and_forgets(tensors, device): ...

    @answers.right(1)
    def with_a_loop(tensors, device): ...

If a check takes more than one answer, `handed_in` returns its arguments:
`handed_in=lambda f: (f, try_all_gpus)`. The answer may also be a class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

# "lab_01", "lab_02", ...
LABS = sorted(
    path.stem.removesuffix("_answers") for path in Path(__file__).parent.glob("lab_*_answers.py")
)

HandedIn = Callable[[Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Answer:
    """One answer: `hint` is the id of the hint it must get, None if it is right."""

    exercise: int
    hint: str | None
    answer: Any
    arrange: HandedIn

    @property
    def name(self) -> str:
        """What is wrong with it, or how it solves the exercise."""
        return self.answer.__name__

    def handed_in(self) -> tuple[Any, ...]:
        """Return the arguments for the check; called late, since they may use later definitions."""
        return self.arrange(self.answer)


@dataclass
class Answers:
    """All collected answers to the exercises of one lab; `checks` is the lab's module of checks."""

    checks: ModuleType
    collected: list[Answer] = field(default_factory=list)

    def wrong(self, exercise: int, hint: str, handed_in: HandedIn = lambda f: (f,)) -> Callable:
        """Decorator: a wrong answer to `exercise`, which gets `hint`."""
        return self._collect(exercise, hint, handed_in)

    def right(self, exercise: int, handed_in: HandedIn = lambda f: (f,)) -> Callable:
        """Decorator: a right answer to `exercise`."""
        return self._collect(exercise, None, handed_in)

    def _collect(self, exercise: int, hint: str | None, handed_in: HandedIn) -> Callable:
        def keep(answer: Any) -> Any:
            self.collected.append(Answer(exercise, hint, answer, handed_in))
            return answer

        return keep

    def count(self, exercise: int) -> tuple[int, int]:
        """Return how many wrong and right answers to `exercise` there are."""
        wrong = [a.hint is not None for a in self.collected if a.exercise == exercise]
        return sum(wrong), len(wrong) - sum(wrong)
