"""Run a student's code so that the notebook stays usable.

This protects against mistakes, not against malicious code. It captures printed text, blocks
`input()` and `exit()`, stops threads, and restores settings.
"""

import builtins
import io
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from IPython.core.getipython import get_ipython

from helpers.checks.limits import Stopped, end_threads

MAX_CHARACTERS = 2_000


class InputCalled(Stopped):
    """The code called `input()`."""


class ExitCalled(Stopped):
    """The code called `exit()`, `quit()` or `os._exit()`."""


class PrintedText(io.TextIOBase):
    """A text stream that keeps the first `MAX_CHARACTERS` characters."""

    def __init__(self) -> None:
        self.text = ""
        self.truncated = False

    def writable(self) -> bool:
        """Return True; some code checks this before it writes."""
        return True

    def write(self, text: str) -> int:
        """Keep `text` up to the limit; return its length."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        room = MAX_CHARACTERS - len(self.text)
        self.text += text[:room]
        self.truncated = self.truncated or len(text) > room
        return len(text)


@contextmanager
def sandbox(printed: PrintedText) -> Iterator[None]:
    """Run the block so that code in it cannot end the process, print, display or leave threads.

    Calls to `input` and `exit` raise `InputCalled` and `ExitCalled`. The block's printed text goes
    to `printed`.
    """
    threads = {thread.ident for thread in threading.enumerate()}
    undo = [
        *_save_settings(),
        _replace(sys, "stdout", printed),
        _replace(sys, "stderr", printed),
        _replace(builtins, "input", _raise_input_called),
        _replace(os, "_exit", _raise_exit_called),
    ]
    shell = get_ipython()
    if shell is not None:
        # In a notebook, `exit` calls `ask_exit`, which shuts down the kernel. The publisher itself
        # stays: without it, the kernel could not run the next cell.
        undo.append(_replace(shell, "ask_exit", _raise_exit_called))
        undo.append(_replace(shell.display_pub, "publish", _discard))
        undo.append(_replace(shell.display_pub, "clear_output", _discard))
    try:
        yield
    finally:
        _run_all([*undo, lambda: end_threads(threads)])


@contextmanager
def restore_settings() -> Iterator[None]:
    """Restore global settings at the end of the block.

    The settings are torch's default device and dtype, gradient tracking, threads and flags, the
    current GPU, the random number generators of torch and Python, the working directory, the
    environment, signal handlers, warning filters and the recursion limit.
    """
    undo = _save_settings()
    try:
        yield
    finally:
        _run_all(undo)


def _run_all(undo_functions: list[Callable[[], None]]) -> None:
    """Call all functions, the last one first, even if an interrupt arrives in between."""
    interrupt = None
    while undo_functions:
        try:
            undo_functions[-1]()
            undo_functions.pop()
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _replace(owner: Any, name: str, value: Any) -> Callable[[], None]:
    """Set an attribute of an object; return the function that restores it."""
    missing = object()
    before = vars(owner).get(name, missing)
    setattr(owner, name, value)

    def undo() -> None:
        if before is not missing:
            setattr(owner, name, before)
        elif name in vars(owner):
            delattr(owner, name)

    return undo


def _discard(*args: Any, **kwargs: Any) -> None:
    """Show nothing, because the check shows its own box."""


def _raise_input_called(*args: Any, **kwargs: Any) -> str:
    raise InputCalled


def _raise_exit_called(*args: Any, **kwargs: Any) -> None:
    raise ExitCalled


def _set_environment(variables: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


# Functions that return a setting, and those that set it. It is set only if it has changed: some
# setters are slow, such as the one for deterministic algorithms, which imports torch's compiler.
_SETTINGS: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (random.getstate, random.setstate),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (lambda: dict(os.environ), _set_environment),
    (lambda: list(warnings.filters), lambda filters: setattr(warnings, "filters", filters)),
]


def _save_settings() -> list[Callable[[], None]]:
    """Save the global settings and return functions that restore them."""
    saved = [(get, set_value, get()) for get, set_value in _SETTINGS]
    on_main = threading.current_thread() is threading.main_thread()
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)} if on_main else {}
    folder = Path.cwd()
    default_device, benchmark = torch.get_default_device(), torch.backends.cudnn.benchmark
    gradients, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    random_state, has_gpu = torch.get_rng_state(), torch.cuda.is_initialized()
    gpu = torch.cuda.current_device() if has_gpu else None
    gpu_states = torch.cuda.get_rng_state_all() if has_gpu else []

    def restore_settings() -> None:
        for get, set_value, before in saved:
            if get() != before:
                set_value(before)
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)
        with suppress(OSError):  # the directory was deleted
            os.chdir(folder)

    def restore_torch() -> None:
        if torch.get_default_device() != default_device:
            # Setting the CPU explicitly would leave a device mode active.
            torch.set_default_device(None if default_device.type == "cpu" else default_device)
        if torch.is_inference_mode_enabled() == inference:
            torch.set_grad_enabled(gradients)
        torch.backends.cudnn.benchmark = benchmark
        torch.set_rng_state(random_state)
        if gpu_states:
            torch.cuda.set_rng_state_all(gpu_states)
        if gpu is not None and torch.cuda.current_device() != gpu:
            torch.cuda.set_device(gpu)

    return [restore_settings, restore_torch]
