"""Argument types and signal handling shared by all commands."""

from __future__ import annotations

import argparse
import signal


def positive_int(text: str) -> int:
    """Convert the text of an option to an integer of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def positive_float(text: str) -> float:
    """Convert the text of an option to a number greater than 0."""
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text} is not greater than 0")
    return number


def handle_sigterm_as_ctrl_c() -> None:
    """Let SIGTERM, which `timeout` and batch systems send, end the command like Ctrl-C.

    Also restores Ctrl-C for a command that a script runs in the background.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
