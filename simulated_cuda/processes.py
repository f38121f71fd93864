"""Threads and processes: all threads get the mode; forked processes cannot use the device."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from torch.overrides import _get_current_function_mode_stack

from . import messages
from .machine import Machine

_machines: weakref.WeakSet[Machine] = weakref.WeakSet()
_watching = False


def watch_forks(machine: Machine) -> None:
    """Mark the machine as unusable in processes forked after its first use, as CUDA does."""
    global _watching
    _machines.add(machine)
    if not _watching and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_mark)
        _watching = True


def _mark() -> None:
    for machine in list(_machines):
        machine.forked = machine.initialized


def in_every_thread(mode: Any, bootstrap: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap Python's method that runs a new thread: modes are active per thread."""

    def run(thread: threading.Thread) -> Any:
        with mode:
            return bootstrap(thread)

    return run


def in_every_task(mode: Any, run_task: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that runs a task of a thread pool, whose threads may be older than `mode`."""

    def run(*args: Any) -> Any:
        if mode in _get_current_function_mode_stack():
            return run_task(*args)
        with mode:
            return run_task(*args)

    return run


def initialization(machine: Machine) -> Callable[[], None]:
    """The replacement of `torch.cuda._lazy_init`, which PyTorch calls before it uses CUDA itself.

    Raises `NotSimulatedError` if PyTorch calls it: the next step would be the driver's error.
    """

    def _lazy_init() -> None:
        machine.touch()
        caller = sys._getframe(1)
        # Python code that calls it by name only wants CUDA to be initialized.
        if "_lazy_init" not in caller.f_code.co_names:
            raise messages.not_simulated(
                f"the call at {caller.f_code.co_filename}:{caller.f_lineno}",
                "It would reach the CUDA driver. If it runs in a thread that was started before "
                "simulated_cuda.enable(), call enable() first; otherwise skip it when "
                "simulated_cuda.is_enabled() is true.",
            )

    return _lazy_init
