"""What the commands share: the kinds of numbers they take, and how they hear of their end."""

from __future__ import annotations

import argparse
import signal


def count(text: str) -> int:
    """A whole number of 1 or more, as `argparse` reads an option."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def above_zero(text: str) -> float:
    """A number above 0, as `argparse` reads an option."""
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def end_as_by_ctrl_c() -> None:
    """Let SIGTERM, which `timeout` and batch systems send, end the command as Ctrl-C does.

    A command in a script's background would otherwise not hear Ctrl-C either.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
