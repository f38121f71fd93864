"""Argument types and signal handling shared by all commands."""

import argparse
import math
import signal
from typing import Any


def positive_int(text: str) -> int:
    """Convert the text of an option to an integer of at least 1."""
    return _integer(text, 1)


def nonnegative_int(text: str) -> int:
    """Convert the text of an option to an integer of at least 0."""
    return _integer(text, 0)


def positive_float(text: str) -> float:
    """Convert the text of an option to a finite number greater than 0."""
    number = _number(text, float, "a number")
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a finite number greater than 0")
    return number


def fraction(text: str) -> float:
    """Convert the text of an option to a number from 0 to 1."""
    number = _number(text, float, "a number")
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def _integer(text: str, minimum: int) -> int:
    if (number := _number(text, int, "an integer")) < minimum:
        raise argparse.ArgumentTypeError(f"{text} is less than {minimum}")
    return number


def _number(text: str, kind: type, name: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {name}") from None


def handle_sigterm_as_ctrl_c() -> None:
    """Make SIGTERM, which `timeout` and batch systems send, stop the command like Ctrl-C.

    Also enable Ctrl-C for a command that a script runs in the background.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
