"""Argument types and signal handling shared by all commands."""

from __future__ import annotations

import argparse
import math
import signal


def positive_int(text: str) -> int:
    """Convert the text of an option to an integer of at least 1."""
    return _integer(text, 1)


def nonnegative_int(text: str) -> int:
    """Convert the text of an option to an integer of at least 0."""
    return _integer(text, 0)


def _integer(text: str, minimum: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
    if number < minimum:
        raise argparse.ArgumentTypeError(f"{text} is less than {minimum}")
    return number


def positive_float(text: str) -> float:
    """Convert the text of an option to a finite number greater than 0."""
    number = _number(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a finite number greater than 0")
    return number


def fraction(text: str) -> float:
    """Convert the text of an option to a number from 0 to 1."""
    number = _number(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def handle_sigterm_as_ctrl_c() -> None:
    """Make SIGTERM, which `timeout` and batch systems send, stop the command like Ctrl-C.

    Also enable Ctrl-C for a command that a script runs in the background.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
