"""Run the student's program. It is a text, so the judge itself runs it."""

from helpers.checks.plain import one_line
from helpers.small_computer import MachineError, ProgramError, SmallComputer

# Far more than a correct program needs for the data of the checks.
LIMIT = 5_000
# The value of y before a program runs; no check uses it as an input.
NOTHING = 777

a_program = ("not-a-program", lambda value, case: isinstance(value, str))


def run(f, lanes=1, **data):
    """Return the computer after the program has run on these data, or those of the case."""
    computer = SmallComputer(f.value, lanes=lanes, **(data or f.case.data))
    computer.run(limit=LIMIT)
    return computer


def y_of(f):
    return run(f)["y"]


def describe_failure(f, error_type, *, is_endless=False):
    """Return the values of the hint if the program cannot run to its end for this reason."""
    text = ", ".join(f"{name} = {value}" for name, value in f.case.data.items())
    try:
        run(f, f.case.get("lanes", 1))
    except error_type as error:
        message = one_line(error).removeprefix(f"{type(error).__name__}: ")
        endless = str(LIMIT) in message.replace(",", "")
        return endless == is_endless and {"data": text, "limit": LIMIT, "error": message}
    except (MachineError, ProgramError):
        return None


failures = {
    "cannot-be-read": lambda f: describe_failure(f, ProgramError),
    "never-halts": lambda f: describe_failure(f, MachineError, is_endless=True),
    "stops-early": lambda f: describe_failure(f, MachineError),
}
