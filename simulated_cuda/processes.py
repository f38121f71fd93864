"""Threads and processes: the mode holds in threads that start later, not in forked processes."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from .machine import Machine

_machines: weakref.WeakSet[Machine] = weakref.WeakSet()
_watching = False


def watch_forks(machine: Machine) -> None:
    """Mark the machine in every process that is forked after it was used, as CUDA does."""
    global _watching
    _machines.add(machine)
    if not _watching and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_mark)
        _watching = True


def _mark() -> None:
    for machine in list(_machines):
        machine.forked = machine.initialized


def in_every_thread(mode: Any, bootstrap: Callable[..., Any]) -> Callable[..., Any]:
    """Python's method that runs a new thread, with the mode on: modes belong to one thread each."""

    def run(thread: threading.Thread) -> Any:
        with mode:
            return bootstrap(thread)

    return run
