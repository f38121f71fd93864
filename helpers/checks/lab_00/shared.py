"""The `Lab` of lab 00 and its hints, and functions that run the student's programs."""

from pathlib import Path
from typing import Any

from helpers.checks.descriptions import describe, one_line
from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab
from helpers.checks.trial import Answer, Trial
from helpers.small_computer import MachineError, ProgramError, SmallComputer

lab = Lab("00_cpu_and_gpu", read_hints(Path(__file__).parent))

# Far more than a correct program needs for the data of the checks.
_LIMIT = 5_000


def program_of(trial: Trial, function: Answer) -> str:
    """Call the student's function and return the text of its program."""
    program = trial.result_of(function)
    trial.expect(isinstance(program, str), "not-a-program", name=trial.name, what=describe(program))
    return program


def run(trial: Trial, program: str, *, lanes: int = 1, **data: Any) -> SmallComputer:
    """Run a program to its end and return the computer; raise a hint if it cannot run."""
    data_text = ", ".join(f"{name} = {value}" for name, value in data.items())
    try:
        computer = SmallComputer(program, lanes=lanes, **data)
        computer.run(limit=_LIMIT)
    except ProgramError as error:
        raise trial.wrong("cannot-be-read", error=_message(error)) from None
    except MachineError as error:
        if computer.cost.instructions >= _LIMIT:
            raise trial.wrong("never-halts", data=data_text, limit=_LIMIT) from None
        raise trial.wrong("stops-early", data=data_text, error=_message(error)) from None
    return computer


def _message(error: Exception) -> str:
    return one_line(error).removeprefix(f"{type(error).__name__}: ")
