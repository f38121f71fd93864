"""The kernel that every notebook of the course is executed in: the Python that is running."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager


class ThisPython(AsyncKernelManager):
    """Starts the Python that runs the command `course`.

    A kernel named `python3` that somebody once registered in a home folder comes first when
    Jupyter looks for one by name, and often belongs to another environment.
    """

    started: ClassVar[WeakSet[ThisPython]] = WeakSet()

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        ThisPython.started.add(self)

    @property
    def kernel_spec(self) -> KernelSpec:
        """The specification of a kernel in this environment, whatever else is registered."""
        return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict(["--log-level=CRITICAL"]))


def kill_kernels() -> None:
    """End every kernel that is running, with the processes it started, without waiting."""
    for manager in list(ThisPython.started):
        provisioner = manager.provisioner
        if provisioner is None or not provisioner.has_process:
            continue
        # It may have ended between the question and the signal.
        with contextlib.suppress(ProcessLookupError):
            if provisioner.pgid and hasattr(os, "killpg"):
                os.killpg(provisioner.pgid, signal.SIGKILL)
            else:
                provisioner.process.kill()


def anchor_data_folder() -> None:
    """Make a relative `CIFAR10_ROOT` absolute, for kernels that work in another folder."""
    if root := os.environ.get("CIFAR10_ROOT"):
        os.environ["CIFAR10_ROOT"] = str(Path(root).expanduser().absolute())
