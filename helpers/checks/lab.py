"""A lab: its exercises, what each is worth, and how an answer to one is judged."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from helpers.checks import hints
from helpers.checks.hints import Hint, NotRight
from helpers.checks.limits import Stopped
from helpers.checks.machines import machine_to_judge_on
from helpers.checks.sandbox import Kept, sandbox
from helpers.checks.showing import NotYet, show
from helpers.checks.trial import Trial, told


@dataclass(frozen=True)
class Verdict:
    """What a check found: `mistake` is None where the answer is right."""

    mistake: NotRight | None
    printed: Kept
    seed: int

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.mistake is None

    @property
    def hint(self) -> str | None:
        """The id of the hint it earns."""
        return None if self.mistake is None else self.mistake.hint.id


@dataclass
class Exercise:
    """One exercise. Calling it with the student's answers checks them and shows what it found.

    `tries` counts up to the first right answer; `given` counts how often each hint was earned.
    """

    lab: Lab
    number: int
    points: int
    right: str
    judging: Callable[..., None]
    seconds: float
    passed: bool = False
    tries: int = 0
    given: dict[str, int] = field(default_factory=dict)

    def __call__(self, *answers: Any) -> None:
        """Check the answers: a green box, or a hint and `NotYet`, which ends the cell."""
        verdict = self.judge(*answers)
        if not self.passed:
            self.tries += 1
        # A right answer that was changed into a wrong one is wrong again.
        self.passed = verdict.passed
        if verdict.passed:
            show(self, verdict)
            return
        self.given[verdict.hint] = self.given.get(verdict.hint, 0) + 1
        show(self, verdict)
        raise NotYet(f"exercise {self.number}: {verdict.mistake.wrong}") from None

    def judge(self, *answers: Any, seed: int | None = None) -> Verdict:
        """Judge the answers and show nothing; `seed` repeats the inputs of another try."""
        names = list(inspect.signature(self.judging).parameters)[1:]
        if len(answers) != len(names):
            raise TypeError(f"This check is called like this: check.{self}({', '.join(names)})")
        trial = Trial({id(a): n for a, n in zip(answers, names, strict=True)}, self.seconds, seed)
        mistake = None
        kept = Kept()
        try:
            # Within the limits stands nothing that must not be left halfway.
            with machine_to_judge_on(), sandbox(self.seconds) as kept:
                # A check's tensors are small; two threads would wait for one another, for long
                # where the machine is busy.
                torch.set_num_threads(1)
                self.judging(trial, *answers)
        except NotRight as wrong:
            mistake = trial.hidden() or wrong
        except Stopped as stopped:
            mistake = trial.why(stopped)
        except Exception as error:
            # Something the student's object did when the check looked at it.
            mistake = hints.UNSAFE_RESULT.of(name=trial.name, error=told(error))
        # Not to keep the student's tensors alive.
        if mistake is not None:
            mistake.__traceback__ = mistake.__cause__ = mistake.__context__ = None
        return Verdict(mistake, kept, trial.seed)

    def __str__(self) -> str:
        return f"exercise_{self.number}"


@dataclass
class Lab:
    """The exercises of one lab.

    Args:
        name: of its notebook: "01_tensors_and_devices". The lesson it practices has the same.
        seconds: how long one check may take, unless the exercise says otherwise.
    """

    name: str
    seconds: float = 10
    exercises: dict[int, Exercise] = field(default_factory=dict)

    def exercise(
        self, number: int, *, points: int, right: str, seconds: float | None = None
    ) -> Callable[[Callable[..., None]], Exercise]:
        """Decorator: make an exercise of the function that judges it.

        The function takes a `Trial` and the student's answers, and raises the `NotRight` of a hint
        when one is wrong. `right` is the sentence shown when all is well.
        """

        def make(judging: Callable[..., None]) -> Exercise:
            made = Exercise(self, number, points, right, judging, seconds or self.seconds)
            self.exercises[number] = made
            return made

        return make

    @property
    def done(self) -> list[int]:
        """The numbers of the exercises that are solved, in this session."""
        return [number for number, each in sorted(self.exercises.items()) if each.passed]

    def forget(self) -> None:
        """Begin anew: no exercise tried yet."""
        for exercise in self.exercises.values():
            exercise.passed, exercise.tries = False, 0
            exercise.given.clear()


def hints_of(checks: ModuleType) -> list[Hint]:
    """The hints of a lab's own, of all its exercises; `checks` is its package."""
    modules = [m for name, m in sys.modules.items() if name.startswith(f"{checks.__name__}.")]
    found = [v for module in modules for v in vars(module).values() if isinstance(v, Hint)]
    return list(dict.fromkeys(found))
