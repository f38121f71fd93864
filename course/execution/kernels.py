"""The kernel that every notebook of the course is executed in: the Python that is running."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager

from course.execution.warm_kernels import PROVISIONER, WarmKernels


class ThisPython(AsyncKernelManager):
    """Starts the Python that runs the command `course`.

    A kernel named `python3` that somebody once registered in a home folder comes first when
    Jupyter looks for one by name, and often belongs to another environment.
    """

    started: ClassVar[WeakSet[ThisPython]] = WeakSet()
    # What `kernel_class` makes different for one job.
    warm: ClassVar[WarmKernels | None] = None
    additions: ClassVar[Mapping[str, str]] = {}
    group: ClassVar[str] = ""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        ThisPython.started.add(self)

    @property
    def kernel_spec(self) -> KernelSpec:
        """The specification of a kernel in this environment, whatever else is registered."""
        spec = KernelSpec(resource_dir=RESOURCES, **get_kernel_dict(["--log-level=CRITICAL"]))
        spec.env |= self.additions
        if self.warm is not None:
            spec.metadata |= {"kernel_provisioner": {"provisioner_name": PROVISIONER}}
        return spec


def kernel_class(
    *,
    warm: WarmKernels | None = None,
    environment: Mapping[str, str] | None = None,
    group: str = "",
) -> type[ThisPython]:
    """A kind of `ThisPython` for one job: nbclient takes a class, and passes nothing on to it.

    Args:
        warm: fork the kernel from this server instead of starting it anew.
        environment: variables of the environment that the kernel gets besides this process's.
        group: `kill_kernels` ends the kernels of one group alone when it is asked to.
    """
    own = {"warm": warm, "additions": dict(environment or {}), "group": group}
    return type("ThisPython", (ThisPython,), own)


def kill_kernels(group: str | None = None) -> None:
    """End every kernel that is running (of the group), with what it started, without waiting."""
    for manager in list(ThisPython.started):
        provisioner = manager.provisioner
        if provisioner is None or not provisioner.has_process:
            continue
        # The number of one that has ended may be another process's by now.
        if provisioner.process.poll() is not None or (group not in (None, manager.group)):
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
