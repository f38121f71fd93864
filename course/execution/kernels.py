"""Starts and ends the kernels that execute notebooks.

Every kernel uses the same Python as the `course` command. On Linux, kernels are forked from a
server process (`kernel_server.py`) that has already imported torch and the other modules, which
saves several seconds per kernel. A forked kernel has its own memory, random state, working
directory and environment. On other systems, or without a server, each kernel starts as a new
process.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.connect import ConnectionFileMixin
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner
from nbformat import NotebookNode
from traitlets import default

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
    for cell in (cell for notebook in notebooks for cell in notebook.cells):
        # A cell with an IPython magic is not valid Python. Its imports are not preloaded.
        with contextlib.suppress(SyntaxError):
            for node in ast.walk(ast.parse(cell.source if cell.cell_type == "code" else "")):
                if isinstance(node, ast.Import):
                    modules.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    modules.add(node.module)
                    # `from helpers import lesson` imports a module.
                    if node.module.partition(".")[0] == "helpers":
                        modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    preloadable = {name for name in modules if name.partition(".")[0] in _PRELOADED}
    lazy_imports = {lazy for name, lazy in _LAZY_IMPORTS.items() if name in preloadable}
    return sorted(preloadable) + sorted(lazy_imports)


class CurrentPythonKernelMixin(ConnectionFileMixin):
    """A mixin for kernel managers that starts kernels with the Python of this process.

    By default, Jupyter looks up a kernel named `python3`. A kernel spec in the user's home folder
    takes precedence, but often belongs to another environment. Except on Windows, the kernels use
    socket files, because another process may take a network port before the kernel opens it.
    """

    kernels: Kernels | None = None  # starts the kernel; None starts it as a new process
    environment: Mapping[str, str] = MappingProxyType({})  # additional variables
    process: subprocess.Popen | ForkedKernel | None = None  # None before `kernels` has started it

    @property
    def kernel_spec(self) -> KernelSpec:
        """The kernel spec of this environment. Registered kernel specs are ignored."""
        spec = KernelSpec(resource_dir=RESOURCES, **get_kernel_dict(["--log-level=CRITICAL"]))
        spec.env |= self.environment
        if self.kernels is not None:
            spec.metadata |= {"kernel_provisioner": {"provisioner_name": _PROVISIONER}}
        return spec

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


class CurrentPythonKernelManager(CurrentPythonKernelMixin, AsyncKernelManager):
    """The kernel manager of nbclient and papermill."""


class Kernels:
    """Starts kernels, through a server if there is one, and can kill all of them.

    The server imports `modules` in the background, and the first kernels wait for it. If they are
    None, each kernel is a new Python process. The server ends with all its kernels on `close`, or
    when this process exits.
    """

    def __init__(self, modules: Sequence[str] | None = None) -> None:
        self._processes: list[subprocess.Popen | ForkedKernel] = []
        self._lock = threading.Lock()
        self._ended = False
        self.server: subprocess.Popen | None = None
        if sys.platform == "linux" and hasattr(os, "pidfd_open"):
            self._requests, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            program = str(Path(__file__).with_name("kernel_server.py"))
            arguments = ["--fresh"] if modules is None else modules
            with server_end:
                # In a new session, because Ctrl-C must reach only the `course` process.
                self.server = subprocess.Popen(
                    [sys.executable, program, *arguments], stdin=server_end, start_new_session=True
                )
            atexit.register(self.close)

    def make_manager(
        self,
        environment: Mapping[str, str] = MappingProxyType({}),
        manager_class: type[CurrentPythonKernelMixin] = CurrentPythonKernelManager,
        **options: Any,
    ) -> CurrentPythonKernelMixin:
        """Return the manager of a new kernel with additional environment variables."""
        manager = manager_class(**options)
        manager.kernels, manager.environment = self, environment
        return manager

    def fork(
        self, arguments: Sequence[str], folder: str, environment: Mapping[str, str]
    ) -> ForkedKernel:
        """Start a kernel with these arguments of `ipykernel_launcher`, in `folder`.

        Raises `OSError` if there is no server, or if it has ended or does not answer.
        """
        if self.server is None:
            raise OSError("There is no server on this system.")
        request = {"argv": list(arguments), "cwd": folder, "env": dict(environment)}
        channel, kernel_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        channel.settimeout(120)
        with kernel_end:
            socket.send_fds(self._requests, [json.dumps(request).encode()], [kernel_end.fileno()])
        return ForkedKernel(channel)

    def add(self, process: subprocess.Popen | ForkedKernel) -> None:
        """Register a running kernel. If `kill_all` was called, kill it."""
        with self._lock:  # every notebook has its thread
            self._processes = [p for p in self._processes if p.poll() is None] + [process]
        if self._ended:
            self.kill_all()

    def kill_all(self) -> None:
        """Kill every running kernel and every kernel that is added later, without waiting."""
        self._ended = True
        for process in list(self._processes):
            # A kernel may exit between the check and the signal.
            with contextlib.suppress(OSError):
                if isinstance(process, ForkedKernel) or not hasattr(os, "killpg"):
                    process.kill()
                elif process.poll() is None:
                    # Jupyter starts each kernel in its own process group, with its children.
                    os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the kernels and their server."""
        self.kill_all()
        if self.server is not None:
            atexit.unregister(self.close)
            self._requests.close()
            try:
                self.server.wait(timeout=5)
            except subprocess.TimeoutExpired:
                # The server is still importing modules.
                self.server.kill()
                self.server.wait()


class ForkedKernel:
    """A forked kernel, with the parts of the `subprocess.Popen` interface that Jupyter uses."""

    stdin = stdout = stderr = None

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self.returncode: int | None = None
        self.remaining_processes: list[str] = []  # names of those that the kernel left running
        if not (reply := channel.recv(64)):
            raise ConnectionError("The kernel server has exited.")
        self.pid = int(reply)

    def poll(self) -> int | None:
        """Return the exit status; None while the kernel is running or being cleaned up."""
        if self.returncode is None and select.select([self._channel], [], [], 0)[0]:
            reply = b""
            with contextlib.suppress(OSError):
                reply = self._channel.recv(1 << 16)
            if reply:
                self.returncode, self.remaining_processes = json.loads(reply)
            elif self.returncode is None:
                # The supervisor was killed. ipykernel exits when its parent exits.
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self) -> int:
        """Wait for the kernel to exit and return the exit status."""
        while self.poll() is None:
            time.sleep(0.01)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the kernel has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the kernel and all of its child processes."""
        if self.poll() is None:
            self._channel.shutdown(socket.SHUT_WR)


class CourseProvisioner(LocalProvisioner):
    """Starts a kernel through the server of the manager's `Kernels`."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> dict[str, Any]:
        """Start a kernel. If there is no server, start it as a new process."""
        manager = self.parent
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        self.cwd = str(options.get("cwd") or Path.cwd())
        try:
            environment = options.get("env") or os.environ
            self.process = manager.kernels.fork(arguments, self.cwd, environment)
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
