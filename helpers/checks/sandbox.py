"""Run a student's code so that the notebook stays usable.

This protects against mistakes, not against malicious code. It captures printed text, blocks
`input()` and `exit()`, and restores settings.
"""

import builtins
import io
import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from unittest.mock import Mock, patch

import torch
from IPython.core.getipython import get_ipython

MAX_CHARACTERS = 1_000


class InputCalled(BaseException):
    """The code called `input()`."""


class PrintedText(io.StringIO):
    """A text stream that keeps the first `MAX_CHARACTERS` characters."""

    def write(self, text: str) -> int:
        """Keep `text` up to the limit; return its length."""
        super().write(text[: max(0, MAX_CHARACTERS - self.tell())])
        return len(text)


@contextmanager
def sandbox(printed: PrintedText) -> Iterator[None]:
    """Run the block so that it cannot end the process or display; printed text goes to `printed`.

    Calls to `input` and `exit` raise `InputCalled` and `SystemExit`.
    """
    stop = Mock(side_effect=SystemExit)
    replaced = [(builtins, "input", Mock(side_effect=InputCalled)), (os, "_exit", stop)]
    if (shell := get_ipython()) is not None:
        # In a notebook, `exit` calls `ask_exit`, which shuts down the kernel.
        replaced += [(shell, "ask_exit", stop)]
        replaced += [(shell.display_pub, "publish", lambda *args, **kwargs: None)]
    with ExitStack() as stack:
        for owner, name, value in replaced:
            stack.enter_context(patch.object(owner, name, value))
        stack.enter_context(restore_settings())
        stack.enter_context(redirect_stdout(printed))
        stack.enter_context(redirect_stderr(printed))
        yield


# Functions that return a setting, and those that set it.
_SETTINGS = [
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
]


@contextmanager
def restore_settings() -> Iterator[None]:
    """Restore `_SETTINGS`, the default device, the GPU and its generators after the block."""
    saved = [(set_value, get()) for get, set_value in _SETTINGS]
    device = torch.get_default_device()
    if has_gpu := torch.cuda.is_initialized():
        gpu, gpu_states = torch.cuda.current_device(), torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        if torch.get_default_device() != device:
            # Setting the CPU explicitly would leave a device mode active.
            torch.set_default_device(None if device.type == "cpu" else device)
        for set_value, value in saved:
            set_value(value)
        if has_gpu:
            torch.cuda.set_rng_state_all(gpu_states)
            # An exercise may simulate a machine without GPUs.
            if torch.cuda.current_device() != gpu:
                torch.cuda.set_device(gpu)
