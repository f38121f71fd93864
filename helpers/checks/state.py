"""Note the settings that a student's code may change for the whole program, and put them back."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch


@contextmanager
def settings_restored() -> Iterator[None]:
    """Leave the program's settings at the end of the block as they were at its beginning.

    These are torch's default device and dtype, whether it tracks gradients, its threads and flags,
    the current GPU, torch's and Python's random numbers, the working folder, the environment,
    signal handlers, filters of warnings and the limit of recursion.
    """
    restore = [_torch_settings(), _random_numbers(), _python_settings()]
    try:
        yield
    finally:
        for put_back in restore:
            put_back()


def _torch_settings() -> Callable[[], None]:
    default_device, dtype = torch.get_default_device(), torch.get_default_dtype()
    gradients, threads = torch.is_grad_enabled(), torch.get_num_threads()
    inference = torch.is_inference_mode_enabled()
    deterministic = torch.are_deterministic_algorithms_enabled()
    benchmark = torch.backends.cudnn.benchmark
    gpu = torch.cuda.current_device() if torch.cuda.is_initialized() else None

    def put_back() -> None:
        if torch.get_default_device() != default_device:
            # Naming the CPU would leave a mode behind that was not there.
            torch.set_default_device(None if default_device.type == "cpu" else default_device)
        torch.set_default_dtype(dtype)
        if torch.is_inference_mode_enabled() == inference:
            torch.set_grad_enabled(gradients)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        # To set it imports torch's compiler, which takes seconds.
        if torch.are_deterministic_algorithms_enabled() != deterministic:
            torch.use_deterministic_algorithms(deterministic)
        torch.backends.cudnn.benchmark = benchmark
        if gpu is not None and torch.cuda.current_device() != gpu:
            torch.cuda.set_device(gpu)

    return put_back


def _random_numbers() -> Callable[[], None]:
    cpu = torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    python = random.getstate()

    def put_back() -> None:
        torch.set_rng_state(cpu)
        if gpus:
            torch.cuda.set_rng_state_all(gpus)
        random.setstate(python)

    return put_back


def _python_settings() -> Callable[[], None]:
    folder = Path.cwd()
    environment = dict(os.environ)
    filters = list(warnings.filters)
    recursion = sys.getrecursionlimit()
    on_main = threading.current_thread() is threading.main_thread()
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)} if on_main else {}

    def put_back() -> None:
        with suppress(OSError):  # the folder was deleted
            os.chdir(folder)
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        if warnings.filters != filters:
            warnings.filters[:] = filters
        sys.setrecursionlimit(recursion)
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)

    return put_back
