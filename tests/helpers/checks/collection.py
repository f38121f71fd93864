"""The form of the collections of answers: what students hand in, and the hint it must earn.

A collection is one module for each lab, `lab_NN_answers.py`, with one `Answers` named `answers`.
Each answer is a function named for what is wrong with it, or for how it is right:

    @answers.wrong(1, "result-dropped")
    def calls_to_and_forgets(tensors, device): ...

    @answers.right(1)
    def with_a_loop(tensors, device): ...

Where a check takes more than one answer, `handed_in` makes the arguments of the function:
`handed_in=lambda f: (f, try_all_gpus)`. The answer may also be a class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

HandedIn = Callable[[Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Answer:
    """One answer: `hint` is the id of the hint it must earn, None if it is right."""

    exercise: int
    hint: str | None
    answer: Any
    arrange: HandedIn

    @property
    def name(self) -> str:
        """What is wrong with it, or how it is right."""
        return self.answer.__name__

    def handed_in(self) -> tuple[Any, ...]:
        """The arguments for the check; called late, since they may name what comes further down."""
        return self.arrange(self.answer)


@dataclass
class Answers:
    """All collected answers to the exercises of one lab; `checks` is the lab's module of checks."""

    checks: ModuleType
    collected: list[Answer] = field(default_factory=list)

    def wrong(self, exercise: int, hint: str, handed_in: HandedIn = lambda f: (f,)) -> Callable:
        """Decorator: a wrong answer to `exercise`, which earns `hint`."""
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
        """How many wrong and right answers there are to `exercise`."""
        wrong = [a.hint is not None for a in self.collected if a.exercise == exercise]
        return sum(wrong), len(wrong) - sum(wrong)
