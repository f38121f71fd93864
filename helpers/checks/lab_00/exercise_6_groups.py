"""Lab 00, exercise 6: `groups`."""

from itertools import combinations
from typing import Any

from helpers.checks.descriptions import describe
from helpers.checks.lab_00.shared import lab
from helpers.checks.trial import Answer, Trial
from helpers.small_computer import SmallComputer

# The program shown in the lab: the two branches execute different instructions.
LEAKY = """
        LOAD A, x[LANE]
        CMP  A, 0
        JNN  keep
        MUL  A, 10
        ADD  A, 1
        SUB  A, 3
        JUMP save
keep:   MUL  A, 3
        ADD  A, 2
        MUL  A, A
save:   STORE A, y[LANE]
        HALT
"""
LANES = 4


@lab.exercise(
    6, points=2, success_message="Lanes of a group take the same branch wherever that is possible."
)
def exercise_6(trial: Trial, groups: Answer) -> None:
    """`groups(x)`: split eight numbers into two groups of four that take the fewest cycles."""
    for negatives in (4, trial.random.choice([1, 2, 3]), trial.random.choice([5, 6, 7]), 0, 8):
        sizes = trial.random.sample(range(1, 99), 8)
        x = [-size if i < negatives else size for i, size in enumerate(sizes)]
        if negatives == 4:
            # Neither the halves of the list nor every second number have one sign.
            x = [x[i] for i in (0, 4, 5, 1, 2, 6, 7, 3)]
        else:
            trial.random.shuffle(x)
        result = trial.result_of(groups, list(x))
        is_pair = isinstance(result, tuple | list) and len(result) == 2
        is_pair = is_pair and all(isinstance(group, tuple | list) for group in result)
        trial.expect(is_pair, "not-two-groups", what=describe(result))
        first, second = (list(group) for group in result)
        trial.expect(
            len(first) == len(second) == LANES, "not-four-each", sizes=[len(first), len(second)]
        )
        same_numbers = sorted([*first, *second]) == sorted(x)
        trial.expect(same_numbers, "different-numbers", x=x, found=[first, second])
        cycles, best = _cycles(first) + _cycles(second), _fewest_cycles(x)
        details = {"x": x, "found": cycles, "best": best, "one": first, "two": second}
        trial.expect(cycles == best, "diverges", **details)


def _cycles(x: list[Any]) -> int:
    return SmallComputer(LEAKY, lanes=LANES, x=x, y=[0] * LANES).run().cycles


def _fewest_cycles(x: list[int]) -> int:
    signs = [value < 0 for value in x]
    splits = {
        (sum(signs[i] for i in indices), sum(signs) - sum(signs[i] for i in indices))
        for indices in combinations(range(8), LANES)
    }
    return min(sum(_cycles([-1] * n + [1] * (LANES - n)) for n in split) for split in splits)
