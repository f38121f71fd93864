"""Context managers for training: deferred interrupts, and CPU settings for small batches."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def defer_interrupt() -> Iterator[threading.Event]:
    """Defer Ctrl-C or the stop button until the end of the step. A second one is immediate.

    An interrupt in the middle of `optimizer.step()` would leave only part of the weights updated.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event  # only the main thread receives signals
        return
    previous = signal.getsignal(signal.SIGINT)

    def handle(signum: int, frame: Any) -> None:
        if event.is_set() and callable(previous):
            previous(signum, frame)
        event.set()

    signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, previous)


@contextlib.contextmanager
def fast_small_batches(device: torch.device, loader: Any) -> Iterator[None]:
    """On a CPU, train batches of up to 4 images on one thread and without oneDNN.

    For such small batches, waking a second thread and preparing a oneDNN convolution cost more than
    they save, and on a busy machine each step waits for the slower thread. The measurements are in
    benchmarks/training_steps.py.
    """
    batch_size = getattr(loader, "batch_size", None)
    if device.type != "cpu" or batch_size is None or batch_size > 4:
        yield
        return
    onednn, threads = torch.backends.mkldnn.enabled, torch.get_num_threads()
    torch.backends.mkldnn.enabled = False
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = onednn
        torch.set_num_threads(threads)
