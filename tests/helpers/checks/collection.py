"""Collections of answers to the labs, each with the hint that it must get.

Each lab has one module, `lab_NN_answers.py`, with one `Answers` object named `answers`.
Each answer is a function whose name says what is wrong with it, or how it solves the exercise:

    @answers.wrong(1, "result-dropped")
    def drops_the_result_of_to(tensors, device): ...

    @answers.right(1)
    def with_a_loop(tensors, device): ...

If a check takes more than one answer, `arguments` returns them all:
`arguments=lambda f: (f, try_all_gpus)`. The answer may also be a class.
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

CheckArguments = Callable[[Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Answer:
    """One answer: `hint` is the id of the hint it must get, None if it is right."""

    exercise: int
    hint: str | None
    answer: Any
    make_arguments: CheckArguments

    @property
    def name(self) -> str:
        """Name of the function: what is wrong, or how it solves the exercise."""
        return self.answer.__name__

    def arguments(self) -> tuple[Any, ...]:
        """Return the check's arguments, which may use functions defined after the answer."""
        return self.make_arguments(self.answer)


@dataclass
class Answers:
    """All collected answers to the exercises of one lab; `checks` is the lab's checks module."""

    checks: ModuleType
    collected: list[Answer] = field(default_factory=list)

    def wrong(
        self, exercise: int, hint: str, arguments: CheckArguments = lambda f: (f,)
    ) -> Callable:
        """Return a decorator that collects a wrong answer to `exercise`, which must get `hint`."""
        return self._collect(exercise, hint, arguments)

    def right(self, exercise: int, arguments: CheckArguments = lambda f: (f,)) -> Callable:
        """Return a decorator that collects a right answer to `exercise`."""
        return self._collect(exercise, None, arguments)

    def _collect(self, exercise: int, hint: str | None, arguments: CheckArguments) -> Callable:
        def collect(answer: Any) -> Any:
            self.collected.append(Answer(exercise, hint, answer, arguments))
            return answer

        return collect

    def count(self, exercise: int) -> tuple[int, int]:
        """Return the numbers of wrong and right answers to `exercise`."""
        hints = [a.hint for a in self.collected if a.exercise == exercise]
        return len(hints) - hints.count(None), hints.count(None)
