"""Right and wrong answers to an exercise, each with the hint that it must get.

A module `lab_NN/test_exercise_N_name.py` has an `Answers` object. Each answer is a function, or a
class, whose name says what is wrong with it or how it solves the exercise:

    answers = Answers(lab_01.exercise_3)

    @answers.right
    def with_cumsum(X): ...

    @answers.wrong("copied")
    def moves_the_ramp(X): ...

    test_answers = answers.make_test()

If a check takes several answers, `arguments` returns them all: `arguments=lambda f: (f, other)`.

A check generates new inputs for every attempt: with the environment variable SEEDS=100, every
answer is checked with 100 different inputs.
"""

import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from helpers.checks.exercise import Exercise
from helpers.language import ENGLISH, languages, set_language

NUM_SEEDS = int(os.environ.get("SEEDS", "1"))


@dataclass
class Answers:
    """The answers to one exercise, as pairs of an answer and the id of its hint (None: right)."""

    exercise: Exercise
    arguments: Callable[[Any], tuple[Any, ...]] = lambda answer: (answer,)
    collected: list[tuple[Any, str | None]] = field(default_factory=list)

    def right(self, answer: Any) -> Any:
        """Collect a right answer; use it as a decorator."""
        self.collected.append((answer, None))
        return answer

    def wrong(self, hint: str) -> Callable[[Any], Any]:
        """Return a decorator that collects a wrong answer, which must get this hint."""

        def collect(answer: Any) -> Any:
            self.collected.append((answer, hint))
            return answer

        return collect

    def make_test(self) -> Callable[..., None]:
        """Return a test that checks every answer."""
        names = [f"{hint or 'right'}-{answer.__name__}" for answer, hint in self.collected]

        @pytest.mark.parametrize(("answer", "hint"), self.collected, ids=names)
        def test_answer_gets_the_expected_hint(answer, hint):
            # The same inputs and language in every run.
            first_seed = zlib.crc32(answer.__name__.encode())
            for seed in range(first_seed, first_seed + NUM_SEEDS):
                set_language(languages()[seed % len(languages())])
                try:
                    verdict = self.exercise.check(*self.arguments(answer), seed=seed)
                    text = verdict.mistake and f"{verdict.mistake.wrong} {verdict.mistake.look}"
                finally:
                    set_language(ENGLISH)
                assert verdict.hint == hint, f"{text} (seed {seed})"
                # Every placeholder in the hint is filled in, with text that a student can read.
                assert verdict.passed or not re.search(r"{|Plain\w+\(", text)

        return test_answer_gets_the_expected_hint
