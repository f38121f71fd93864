"""Lab 00, exercise 3: `largest`."""

from helpers.checks.lab_00.shared import lab, program_of, run
from helpers.checks.trial import Answer, Trial


@lab.exercise(3, points=3, success_message="The largest of any list.")
def exercise_3(trial: Trial, largest: Answer) -> None:
    """`largest()`: a program that stores the largest of `n` numbers in y."""
    program = program_of(trial, largest)
    sample = trial.random.sample
    numbers = sample(range(1, 99), 6)
    # The first list starts with neither its smallest nor its largest number.
    lists = [[50, 0, *numbers[:3], 100, *numbers[3:]], [-100 - value for value in numbers]]
    lists += [[200, *numbers], [*numbers, 200], [sample(range(-99, 99), 1)[0]], [5, 5, 5]]
    for values in lists:
        computer = run(trial, program, x=values, n=len(values), y=777)
        y, expected = computer["y"], max(values)
        if y == expected:
            trial.expect(computer["x"] == values, "list-changed", values=values)
            continue
        details = {"values": values, "found": y}
        trial.expect(y != 777, "nothing-stored", **details)
        trial.expect(not (y == 0 and expected < 0), "starts-at-zero", **details)
        trial.expect(y != min(values), "smallest", **details)
        ends_with_it = len(values) > 1 and values[-1] == expected
        trial.expect(not ends_with_it or y != max(values[:-1]), "last-missed", **details)
        starts_with_it = len(values) > 1 and values[0] == expected
        trial.expect(not starts_with_it or y != max(values[1:]), "first-missed", **details)
        raise trial.wrong("wrong-value", **details)
