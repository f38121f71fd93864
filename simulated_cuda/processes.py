"""Threads and processes: activate the mode in all threads; block devices in forked processes."""

import os
import sys
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch.overrides import _get_current_function_mode_stack

from . import messages, timed
from .machine import Machine

_machines: weakref.WeakSet[Machine] = weakref.WeakSet()
_is_watching = False


def watch_forks(machine: Machine) -> None:
    """Mark the machine as unusable in processes forked after its first use, as CUDA does."""
    global _is_watching
    _machines.add(machine)
    if not _is_watching and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_mark_forked)
        _is_watching = True


def _mark_forked() -> None:
    for machine in list(_machines):
        machine.forked = machine.initialized


def wrap_run(mode: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that runs a thread, or a task of a pool: the mode is per thread."""

    def run_with_mode(*args: Any) -> Any:
        if mode in _get_current_function_mode_stack():
            return run(*args)
        with ExitStack() as stack:
            machine = mode.machine
            for each in (mode, *(timed.modes(machine) if machine.clock is not None else ())):
                stack.enter_context(each)
            return run(*args)

    return run_with_mode


def lazy_init_replacement(machine: Machine) -> Callable[[], None]:
    """Return a `torch.cuda._lazy_init` that raises an error where the CUDA driver would fail."""

    def _lazy_init() -> None:
        machine.touch()
        caller = sys._getframe(1)
        # Python code that calls `_lazy_init` only initializes CUDA. If C++ code is the caller, this
        # frame is the Python code that called it, which does not contain the name.
        if "_lazy_init" not in caller.f_code.co_names:
            place = f"the call at {caller.f_code.co_filename}:{caller.f_lineno}"
            raise messages.not_simulated(place, messages.text("driver_call"))

    return _lazy_init
