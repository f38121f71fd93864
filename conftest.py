"""Pytest hooks that run the course's notebooks with nbval, as `pytest --nbval`."""

from collections import deque
from functools import partial
from pathlib import Path
from queue import Empty
from time import monotonic

import nbval.kernel
import pytest
from jupyter_client.manager import KernelManager
from nbval.plugin import IPyNbCell, IPyNbFile

from course.execution.kernels import (
    CurrentPythonKernelMixin,
    Kernels,
    make_cifar10_root_absolute,
    preloadable_modules,
)
from tests.rules.audit import NOT_COMPARED

ROOT = Path(__file__).parent
OUTPUTS = ("stream", "display_data", "execute_result", "error")


class NbvalManager(CurrentPythonKernelMixin, KernelManager):
    """A synchronous kernel manager for nbval."""


def pytest_configure(config):
    # Resolve a relative CIFAR10_ROOT now, because kernels run in other folders.
    make_cifar10_root_absolute()
    sanitizer = config.option.nbval_sanitize_with
    if sanitizer and not Path(sanitizer).exists():
        config.option.nbval_sanitize_with = str(ROOT / sanitizer)


def pytest_ignore_collect(collection_path, config):
    """Skip students' labs, which have no outputs, and unrequested translated lessons.

    A translated lesson has the same code as the English one and takes as long to execute.
    """
    if collection_path.suffix != ".ipynb":
        return None
    folder = collection_path.parent
    if folder == ROOT / "labs" or (folder.parent == ROOT / "labs" and folder.name != "solutions"):
        return True
    if folder.parent != ROOT / "notebooks":
        return None
    named = [Path(config.invocation_params.dir, arg.split("::")[0]) for arg in config.args]
    return None if any(path.resolve().is_relative_to(folder) for path in named) else True


def pytest_collectstart(collector):
    if isinstance(collector, IPyNbFile):
        collector.skip_compare += NOT_COMPARED


# A wrapper, so that no kernels are forked while pytest collects tests.
@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    """Fork nbval's kernels from a process that has imported the notebooks' modules."""
    files = {item.parent for item in session.items if isinstance(item, IPyNbCell)}
    if not files or session.config.option.collectonly:
        return (yield)
    kernels = Kernels(preloadable_modules(file.nb for file in files))
    nbval.kernel.KernelManager = partial(kernels.make_manager, manager_class=NbvalManager)
    try:
        return (yield)
    finally:
        kernels.close()


# Runs last, after nbval has started the notebook's kernel.
@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item):
    if isinstance(item, IPyNbCell):
        kernel = item.parent.kernel
        if not isinstance(kernel.get_message, KernelMessages):
            kernel.get_message = KernelMessages(kernel)


class KernelMessages:
    """Reads a kernel's messages for nbval and works around two problems of nbval.

    nbval waits for a dead kernel until the cell times out. This class raises an error immediately.
    nbval also ignores in-place updates and `clear_output`. This class returns the final outputs of
    a cell, as a notebook stores them.
    """

    def __init__(self, kernel):
        self._kernel = kernel
        self._read = kernel.get_message
        self._ready = deque()

    def __call__(self, stream, timeout=None):
        if stream == "shell":
            return self._read_while_alive(monotonic() + timeout)
        if not self._ready:
            self._ready.extend(last_state(self._until_idle(timeout)))
        return self._ready.popleft()

    def _read_while_alive(self, end):
        while True:
            try:
                return self._read("shell", timeout=min(1, max(0, end - monotonic())))
            except Empty:
                if not self._kernel.is_alive():
                    raise RuntimeError("The kernel died while it executed this cell.") from None
                if monotonic() >= end:
                    raise

    def _until_idle(self, timeout):
        while True:
            message = self._read("iopub", timeout=timeout)
            yield message
            kind, content = message["msg_type"], message["content"]
            # After an error, nbval itself reads the remaining messages.
            if kind == "error" or (kind == "status" and content["execution_state"] == "idle"):
                return


def last_state(messages):
    """Return a cell's messages with all updates and `clear_output` calls applied.

    As in a stored notebook, `clear_output(wait=True)` takes effect at the next output. An update
    changes outputs of its own cell only.
    """
    kept, clear_next = [], False
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        is_output = kind in OUTPUTS
        if (kind == "clear_output" and not content["wait"]) or (clear_next and is_output):
            kept = [other for other in kept if other["msg_type"] not in OUTPUTS]
        if kind == "clear_output":
            clear_next = content["wait"]
            continue
        clear_next = clear_next and not is_output
        display_id = content.get("transient", {}).get("display_id")
        for other in kept if display_id is not None else []:
            if other["content"].get("transient", {}).get("display_id") == display_id:
                other["content"] |= {key: content[key] for key in ("data", "metadata")}
        if kind != "update_display_data":
            kept.append(message)
    return kept
