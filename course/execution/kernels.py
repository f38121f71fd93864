"""Starts and ends the kernels that execute notebooks.

Every kernel uses the same Python as the `course` command. On Linux, kernels are forked from a
server process (`kernel_server.py`) that has already imported torch and the other modules, which
saves several seconds per kernel. A forked kernel has its own memory, random state, working
directory and environment. On other systems, or without a server, each kernel starts as a new
process.
"""

from __future__ import annotations

import ast
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.connect import ConnectionFileMixin
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner
from nbformat import NotebookNode
from traitlets import default

from course.execution.forked_kernel import ForkedKernel, KernelServer

_PROVISIONER = "course-provisioner"
# Packages that are safe to import before a fork: they do not start threads or open a GPU. (OpenBLAS
# in numpy has threads, but stops them before each fork.)
_PRELOADED = {"helpers", "matplotlib", "numpy", "PIL", "torch", "torchvision", "tqdm"}
# Modules that these packages import lazily, for the first optimizer or figure. `matplotlib_inline`
# is not included because it requires a running notebook at import.
_FIGURES = "matplotlib.backends.backend_agg"
_LAZY_IMPORTS = {"torch": "torch._dynamo", "matplotlib.pyplot": _FIGURES, "helpers.plots": _FIGURES}


def preloadable_modules(notebooks: Iterable[NotebookNode]) -> list[str]:
    """Return the modules that the notebooks import and that can be imported before a fork."""
    modules: set[str] = set()
    for notebook in notebooks:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                modules.update(_imports(cell.source))
    preloadable = {name for name in modules if name.partition(".")[0] in _PRELOADED}
    return sorted(preloadable) + sorted(
        {lazy for name, lazy in _LAZY_IMPORTS.items() if name in preloadable}
    )


def _imports(source: str) -> set[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        # A cell with an IPython magic is not valid Python. Its imports are not preloaded.
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            # `from helpers import lesson` imports a module.
            if node.module.partition(".")[0] == "helpers":
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


class IpcTransport(ConnectionFileMixin):
    """Connects to a kernel through socket files instead of network ports, except on Windows.

    Jupyter picks free ports, closes them, and lets the kernel open them. If another process takes
    a port in between, the kernel fails with "Address already in use".
    """

    @default("transport")
    def _default_transport(self) -> str:
        # macOS limits the path of a socket (here with "-1" appended) to 103 characters.
        is_short = len(tempfile.gettempdir()) < 60
        return "ipc" if os.name == "posix" and is_short else "tcp"

    @default("ip")
    def _default_ip(self) -> str:
        if self.transport != "ipc":
            return self._ip_default()
        return str(Path(tempfile.gettempdir(), f"kernel-{uuid.uuid4().hex}"))


class CurrentPythonKernelMixin(IpcTransport):
    """A mixin for kernel managers that starts kernels with the Python of this process.

    By default, Jupyter looks up a kernel named `python3`. A kernel spec in the user's home folder
    takes precedence, but often belongs to another environment.
    """

    # Set by `Kernels.manager_class`. `process` is set when the kernel has started.
    kernels: ClassVar[Kernels | None] = None
    environment: ClassVar[Mapping[str, str]] = {}
    process: ClassVar[subprocess.Popen | ForkedKernel | None] = None

    @property
    def kernel_spec(self) -> KernelSpec:
        """The kernel spec of this environment. Registered kernel specs are ignored."""
        spec = KernelSpec(resource_dir=RESOURCES, **get_kernel_dict(["--log-level=CRITICAL"]))
        spec.env |= self.environment
        if self.kernels is not None:
            spec.metadata |= {"kernel_provisioner": {"provisioner_name": _PROVISIONER}}
        return spec


class CurrentPythonKernelManager(CurrentPythonKernelMixin, AsyncKernelManager):
    """The kernel manager of nbclient and papermill."""


class Kernels:
    """Starts kernels, through a server if there is one, and can kill all of them.

    Args:
        modules: the modules that the server imports before it forks kernels; None starts each
            kernel as a new Python process.
    """

    def __init__(self, modules: Sequence[str] | None = None) -> None:
        self._processes: list[subprocess.Popen | ForkedKernel] = []
        self._ended = False
        self.server: KernelServer | None = None
        if sys.platform == "linux" and hasattr(os, "pidfd_open"):
            self.server = KernelServer(["--fresh"] if modules is None else modules)

    def manager_class(
        self,
        environment: Mapping[str, str] | None = None,
        base: type[CurrentPythonKernelMixin] = CurrentPythonKernelManager,
    ) -> type[CurrentPythonKernelMixin]:
        """Return a kernel manager class for one job; nbclient creates the manager from it.

        Args:
            environment: additional environment variables of the kernel.
            base: the base class.
        """
        attributes = {"kernels": self, "environment": dict(environment or {}), "process": None}
        return type(base.__name__, (base,), attributes)

    def add(self, process: subprocess.Popen | ForkedKernel) -> None:
        """Register a running kernel. If `kill_all` was called, kill it."""
        self._processes = [p for p in self._processes if p.poll() is None]
        self._processes.append(process)
        if self._ended:
            self.kill_all()

    def kill_all(self) -> None:
        """Kill every running kernel and every kernel that is added later, without waiting."""
        self._ended = True
        for process in list(self._processes):
            # A kernel may exit between the check and the signal.
            with contextlib.suppress(OSError):
                if process.poll() is None:
                    _kill(process)

    def close(self) -> None:
        """End the kernels and their server."""
        self.kill_all()
        if self.server is not None:
            self.server.close()


def _kill(process: subprocess.Popen | ForkedKernel) -> None:
    if isinstance(process, ForkedKernel) or not hasattr(os, "killpg"):
        process.kill()
    else:
        # Jupyter starts each kernel in its own process group, with the notebook's child processes.
        os.killpg(process.pid, signal.SIGKILL)


class CourseProvisioner(LocalProvisioner):
    """Starts a kernel through the server of the manager's `Kernels`."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> dict[str, Any]:
        """Start a kernel. If there is no server, start it as a new process."""
        manager = type(self.parent)
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        environment = dict(options.get("env") or os.environ)
        self.cwd = str(options.get("cwd") or Path.cwd())
        try:
            if manager.kernels.server is None:
                raise OSError("There is no server on this system.")
            self.process = manager.kernels.server.start(arguments, self.cwd, environment)
            self.pid = self.pgid = self.process.pid
        except OSError:
            await super().launch_kernel(cmd, **options)
        manager.process = self.process
        manager.kernels.add(self.process)
        return self.connection_info


# Jupyter looks up provisioners in package metadata, which has no entry for this class.
KernelProvisionerFactory.instance().provisioners[_PROVISIONER] = EntryPoint(
    _PROVISIONER, f"{__name__}:CourseProvisioner", KernelProvisionerFactory.GROUP_NAME
)


def make_cifar10_root_absolute() -> None:
    """Make a relative `CIFAR10_ROOT` absolute, because kernels run in other folders."""
    if root := os.environ.get("CIFAR10_ROOT"):
        os.environ["CIFAR10_ROOT"] = str(Path(root).expanduser().absolute())
