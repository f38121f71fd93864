"""A lab: its exercises, their points, and how answers are checked."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import torch

from helpers.checks import hints
from helpers.checks.check_box import CheckBox, CheckFailed
from helpers.checks.descriptions import one_line
from helpers.checks.hints import Hint, WrongAnswer
from helpers.checks.limits import CodeLimits, Stopped
from helpers.checks.machines import machine_for_checks
from helpers.checks.sandbox import PrintedText, sandbox
from helpers.checks.trial import Trial
from helpers.explain.source import is_library
from helpers.language import section_title, translate


@dataclass(frozen=True)
class Verdict:
    """The result of a check: `mistake` is None if the answer is right."""

    mistake: WrongAnswer | None
    printed: PrintedText
    seed: int

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.mistake is None

    @property
    def hint(self) -> str | None:
        """The id of the hint for the mistake."""
        return None if self.mistake is None else self.mistake.hint.id


@dataclass
class Exercise:
    """One exercise. Calling it with the student's answers checks them and shows the result.

    `tries` counts the attempts up to the first right answer. `hint_counts` maps the id of
    each hint to the number of times that it was shown.
    """

    lab: "Lab"
    number: int
    points: int
    success_message: str
    check_function: Callable[..., None]
    seconds: float
    passed: bool = False
    tries: int = 0
    hint_counts: dict[str, int] = field(default_factory=dict)

    def __call__(self, *answers: Any) -> None:
        """Check the answers and show the result in a box.

        Raises:
            CheckFailed: an answer is wrong. The exception stops the cell.
        """
        __tracebackhide__ = True  # IPython leaves this function out of the traceback.
        try:
            verdict = self.judge(*answers)
        except KeyboardInterrupt as error:
            raise error.with_traceback(_students_frames(error.__traceback__)) from None
        self.record(verdict).show()
        if verdict.mistake is not None:
            raise CheckFailed(f"exercise {self.number}: {verdict.mistake.wrong}") from None

    def record(self, verdict: Verdict) -> CheckBox:
        """Count the attempt and return the box to show."""
        if not self.passed:
            self.tries += 1
        # A wrong answer replaces an earlier right one.
        self.passed = verdict.passed
        if verdict.hint is not None:
            self.hint_counts[verdict.hint] = self.hint_counts.get(verdict.hint, 0) + 1
        return self._box(verdict)

    def judge(self, *answers: Any, seed: int | None = None) -> Verdict:
        """Check the answers without showing anything.

        Args:
            answers: the functions or classes that the exercise asks for.
            seed: seed of the inputs, to reproduce an earlier verdict; random if None.

        Raises:
            TypeError: the number of answers does not match the exercise.
        """
        names = list(inspect.signature(self.check_function).parameters)[1:]
        if len(answers) != len(names):
            raise TypeError(f"Call this check as check.{self}({', '.join(names)})")
        names_by_id = {id(answer): name for answer, name in zip(answers, names, strict=True)}
        trial = Trial(names_by_id, self.seconds, self.hints, seed)
        return self.judge_in(trial, answers, sandbox(CodeLimits(self.seconds)))

    def judge_in(
        self,
        trial: Trial,
        answers: Sequence[Any],
        limited_block: AbstractContextManager[PrintedText],
    ) -> Verdict:
        """Check the answers in an existing trial, inside `limited_block`, which limits the code."""
        mistake = None
        printed = PrintedText()
        try:
            # Set up the machine outside `limited_block`, because the limits may interrupt any code.
            with machine_for_checks(), limited_block as printed:
                # The tensors in a check are small, so more threads would only add overhead.
                torch.set_num_threads(1)
                self.check_function(trial, *answers)
        except WrongAnswer as wrong:
            mistake = trial.shadowed_name_hint() or wrong
        except Stopped as stopped:
            mistake = trial.hint_for(stopped)
        except Exception as error:
            # Raised by one of the student's objects while the check inspected it.
            mistake = hints.UNUSABLE_RESULT.of(name=trial.name, error=one_line(error))
        # A traceback would keep the student's tensors alive.
        if mistake is not None:
            mistake.__traceback__ = mistake.__cause__ = mistake.__context__ = None
        return Verdict(mistake, printed, trial.seed)

    @property
    def hints(self) -> dict[str, Hint]:
        """The exercise's own hints, by id."""
        return self.lab.hints.get(str(self), {})

    def _box(self, verdict: Verdict) -> CheckBox:
        """Return the box to show; a repeated mistake gets more help."""
        lines = [translate(self.success_message)]
        if (mistake := verdict.mistake) is not None:
            repeats, lines = self.hint_counts[mistake.hint.id], [mistake.wrong]
            if repeats >= 2:
                lines.append(translate("Where to look: {look}", look=mistake.look))
            if repeats >= 3 and mistake.hint.section:
                lesson = self.lab.name.split("_")[0]
                section = section_title(lesson, mistake.hint.section)
                lines.append(
                    translate(
                        "Read again: lesson {lesson}, “{section}”.", lesson=lesson, section=section
                    )
                )
        data = {
            "lab": self.lab.name,
            "exercise": self.number,
            "passed": verdict.passed,
            "points": self.points if verdict.passed else 0,
            "of": self.points,
            "hint": verdict.hint,
            "tries": self.tries,
        }
        printed = verdict.printed
        return CheckBox(
            data,
            lines,
            len(self.lab.done),
            len(self.lab.exercises),
            printed.text,
            printed.truncated,
        )

    def __str__(self) -> str:
        return f"exercise_{self.number}"


def _students_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback from the student's code on; None if it is not in there."""
    while traceback is not None and is_library(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


@dataclass
class Lab:
    """The exercises of one lab.

    Args:
        name: the name of the lab's notebook and lesson, such as "01_tensors_and_devices".
        hints: the hints of each exercise, as returned by `read_hints`.
        seconds: the default time limit of a check. An exercise can override it.
    """

    name: str
    hints: dict[str, dict[str, Hint]]
    seconds: float = 10
    exercises: dict[int, Exercise] = field(default_factory=dict)

    def exercise(
        self, number: int, *, points: int, success_message: str, seconds: float | None = None
    ) -> Callable[[Callable[..., None]], Exercise]:
        """Return a decorator that turns a checking function into an `Exercise`.

        The function takes a `Trial` and the student's answers, and raises `WrongAnswer` if one is
        wrong. `success_message` is the sentence shown when the answer is right.
        """

        def make(check_function: Callable[..., None]) -> Exercise:
            exercise = Exercise(
                self, number, points, success_message, check_function, seconds or self.seconds
            )
            self.exercises[number] = exercise
            return exercise

        return make

    @property
    def done(self) -> list[int]:
        """The numbers of the exercises solved in this session."""
        return [number for number, exercise in sorted(self.exercises.items()) if exercise.passed]
