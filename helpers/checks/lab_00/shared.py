"""Run the student's program. It is a text, so the judge itself runs it."""

from helpers.checks.plain import one_line
from helpers.small_computer import MachineError, ProgramError, SmallComputer

# Far more than a correct program needs for the data of the checks.
LIMIT = 5_000
# What each cell of y holds before a program runs; every correct result is at least 0.
NOTHING = -777
a_program = ("not-a-program", lambda value, case: isinstance(value, str))


def run(f):
    """Return the computer after the program has run on the lanes and data of the case."""
    computer = SmallComputer(f.value, lanes=f.case.get("lanes", 1), **f.case.data)
    computer.run(limit=LIMIT)
    return computer


def y_of(f):
    return run(f)["y"]


def describe_failure(f, error_type, message=""):
    """Return the values of the hint if the program fails with this type of error and message."""
    try:
        run(f)
    except error_type as error:
        data = ", ".join(f"{name} = {value}" for name, value in f.case.data.items())
        text = one_line(error).removeprefix(f"{type(error).__name__}: ")
        return message in text and {"data": data, "limit": LIMIT, "error": text}
    except (MachineError, ProgramError):
        return None


failures = {
    "cannot-be-read": lambda f: describe_failure(f, ProgramError),
    "never-halts": lambda f: describe_failure(f, MachineError, f"{LIMIT:,} instructions"),
    "stops-early": lambda f: describe_failure(f, MachineError),
}
failures_with_y = failures | {"nothing-stored": lambda f: y_of(f) == NOTHING}
x_changed = {"x-changed": lambda f: (x := run(f)["x"]) != f.case.x and {"found": x}}
