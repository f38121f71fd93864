"""Lab 00, exercise 4: `cycles`."""

from helpers.checks.descriptions import describe, is_int
from helpers.checks.lab_00.shared import lab
from helpers.checks.trial import Answer, Trial
from helpers.small_computer import SmallComputer

# The program shown in the lab.
SUM_OF_SQUARES = """
        LOAD B, n
        SET  A, 0
        SET  I, 0
next:   CMP  I, B
        JZ   done
        LOAD C, x[I]
        MUL  C, C
        ADD  A, C
        ADD  I, 1
        JUMP next
done:   STORE A, y
        HALT
"""


@lab.exercise(
    4, points=3, success_message="You can predict the cost of a program without running it."
)
def exercise_4(trial: Trial, cycles: Answer) -> None:
    """`cycles(n)`: the cycles that the program above takes for a list of `n` numbers."""
    for n in (trial.random.randint(4, 9), 1, 2, 0, trial.random.randint(50, 99)):
        result = trial.result_of(cycles, n)
        trial.expect(is_int(result), "not-a-whole-number", what=describe(result))
        computer = SmallComputer(SUM_OF_SQUARES, x=[1] * max(n, 1), n=n, y=0)
        cost = computer.run()
        if result == cost.cycles:
            continue
        details = {"n": n, "found": result, "exact": cost.cycles}
        trial.expect(result != cost.instructions, "counts-instructions", **details)
        trial.expect(result != cost.cycles - 1, "one-missing", **details)
        trial.expect(result != cost.cycles - 2, "last-test-missing", **details)
        one_pass = SmallComputer(SUM_OF_SQUARES, x=[1], n=1, y=0).run().cycles
        trial.expect(not (n > 1 and result == one_pass), "loop-counted-once", **details)
        trial.expect(not (n > 1 and result == n * one_pass), "all-in-the-loop", **details)
        raise trial.wrong("wrong-cycles", **details)
