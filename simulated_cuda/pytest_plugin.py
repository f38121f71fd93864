"""The pytest plugin: the option `--simulated-cuda[=N]`, a marker and a fixture.

The simulation starts before conftest files and tests are imported, since many projects decide at
import time whether CUDA is available.
"""

from __future__ import annotations

import contextlib
import copy
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pytest

import simulated_cuda

from . import settings

_OPTION = "--simulated-cuda"
_active = contextlib.ExitStack()
_Mark = namedtuple("_Mark", "gpus memory no_waits fits", defaults=(1, "8GiB", False, None))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("simulated CUDA")
    group.addoption(
        _OPTION, nargs="?", const="1", metavar="N",
        help="run the tests with N simulated GPUs (one if N is missing)",
    )  # fmt: skip
    group.addoption(
        f"{_OPTION}-memory", default="8GiB", metavar="SIZE",
        help="the memory of each simulated GPU, such as 16GiB (default: 8GiB)",
    )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    """Start the simulation if the option is set."""
    # Without "=", argparse would use a path that follows the option as its value.
    if _OPTION in args:
        args[:] = [f"{_OPTION}=1" if argument == _OPTION else argument for argument in args]
        early_config.known_args_namespace = parser.parse_known_args(
            args, namespace=copy.copy(early_config.option)
        )
    options = early_config.known_args_namespace
    if options.simulated_cuda is None:
        return
    try:
        memory = settings.parse_size(options.simulated_cuda_memory)
        requested = settings.Settings(int(options.simulated_cuda), memory)
        simulated_cuda.enable(requested.gpus, requested.memory)
    except (RuntimeError, ValueError) as error:
        raise pytest.UsageError(f"{_OPTION}: {error}") from error
    _active.callback(simulated_cuda.disable)
    _active.enter_context(settings.inherit_in_child_processes(requested))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "simulated_cuda(gpus=1, memory='8GiB', no_waits=False, fits=None): run this test with "
        "simulated GPUs; `no_waits` fails it if the CPU waits for a GPU, and `fits='16GiB'` if it "
        "needs more memory, counting every allocation",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the simulation."""
    _active.close()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return a header line with the simulated GPUs, or None."""
    installed = simulated_cuda._installation()
    if installed is None:
        return None
    return f"CUDA: {settings.Settings(installed.machine.count, installed.machine.total)}"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a misspelled option, with which a test would check nothing."""
    marker = item.get_closest_marker("simulated_cuda")
    try:
        mark = _Mark(*marker.args, **marker.kwargs) if marker else _Mark()
        settings.parse_size(str(mark.fits or mark.memory))
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}. Options: {_Mark._fields}") from error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Enable the simulation for a marked test, and reset the devices before every test."""
    marker = item.get_closest_marker("simulated_cuda")
    before = simulated_cuda._installation()
    if marker is None:
        # Tests that call `enable` themselves also reset the devices themselves.
        if before is not None and item.config.option.simulated_cuda is not None:
            before.machine.reset()
        return (yield)
    mark = _Mark(*marker.args, **marker.kwargs)
    memory = settings.parse_size(str(mark.fits or mark.memory))
    with simulated_cuda.simulated(mark.gpus, memory, every_allocation=mark.fits is not None):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Fail a marked test whose code waits for a GPU or does not fit in its memory."""
    marker = item.get_closest_marker("simulated_cuda")
    mark = _Mark(*marker.args, **marker.kwargs) if marker else _Mark()
    if not (mark.fits or mark.no_waits):
        return (yield)
    import torch

    with simulated_cuda.count_waits() as counter:
        try:
            result = yield
        except torch.OutOfMemoryError as error:
            if not mark.fits:
                raise
            pytest.fail(f"The test does not fit in {mark.fits}.\n{error}")
    if not any(map(torch.cuda.max_memory_allocated, range(mark.gpus))):
        pytest.fail("Nothing was on a simulated GPU: move networks and inputs with .to('cuda')")
    if mark.no_waits and counter.waits:
        lines = "\n".join(f"  {wait}" for wait in counter.waits)
        pytest.fail(f"The CPU waits for the GPU {len(counter)} times:\n{lines}", pytrace=False)
    return result


@pytest.fixture
def simulated_gpu() -> Iterator[Any]:
    """The device `cuda:0`, simulated for this test if the simulation is not already enabled."""
    import torch

    enabled = simulated_cuda.is_enabled()
    with contextlib.nullcontext() if enabled else simulated_cuda.simulated():
        yield torch.device("cuda", 0)
