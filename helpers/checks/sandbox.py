"""Run a student's code so that the notebook stays usable whatever the code does.

This is no defence against malice: it is for mistakes. It keeps what the code prints, refuses
`input()` and `exit()`, limits time and memory, ends threads, and restores settings.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from IPython.core.displaypub import DisplayPublisher
from IPython.core.getipython import get_ipython

from helpers.checks.limits import CodeLimits, Stopped, end_threads
from helpers.checks.state import settings_restored

KEPT_CHARACTERS = 2_000


class AskedForInput(Stopped):
    """The code called `input()`."""


class EndedTheProgram(Stopped):
    """The code called `exit()`, `quit()` or `os._exit()`."""


class Kept(io.TextIOBase):
    """Takes what is printed and keeps its beginning."""

    def __init__(self) -> None:
        self.text = ""
        self.cut = False

    def writable(self) -> bool:
        """A text stream that can be written to."""
        return True

    def write(self, text: str) -> int:
        """Keep `text` as long as there is room."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        room = KEPT_CHARACTERS - len(self.text)
        self.text += text[:room]
        self.cut = self.cut or len(text) > room
        return len(text)


@contextmanager
def sandbox(seconds: float) -> Iterator[Kept]:
    """Run the block as above; yields what it prints.

    Raises `OutOfTime`, `OutOfMemory`, `AskedForInput` or `EndedTheProgram`, all of them `Stopped`,
    and whatever else the block raises.
    """
    kept = Kept()
    threads = {thread.ident for thread in threading.enumerate()}
    with settings_restored(), ExitStack() as stack:
        stack.callback(end_threads, threads)
        for stream in ("stdout", "stderr"):
            stack.enter_context(patch.object(sys, stream, kept))
        stack.enter_context(patch.object(builtins, "input", _no_input))
        stack.enter_context(patch.object(os, "_exit", _no_exit))
        shell = get_ipython()
        if shell is not None:
            # `exit` in a notebook asks the shell to end the kernel.
            stack.enter_context(patch.object(shell, "ask_exit", _no_exit))
            publisher = shell.display_pub
            stack.callback(setattr, shell, "display_pub", publisher)
            shell.display_pub = _Nowhere(shell=shell)
        # This generator sleeps while the block runs: the block is its caller's caller's.
        with CodeLimits(seconds, boundary=sys._getframe(2)):
            yield kept


class _Nowhere(DisplayPublisher):
    def publish(self, *args: Any, **kwargs: Any) -> None:
        """Show nothing: a check shows what it has to say itself."""

    def clear_output(self, wait: bool = False) -> None:
        """Clear nothing."""


def _no_input(*args: Any, **kwargs: Any) -> str:
    raise AskedForInput


def _no_exit(*args: Any, **kwargs: Any) -> None:
    raise EndedTheProgram
