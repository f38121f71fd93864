"""Kernels that start by a fork instead of importing torch again: the side that asks for them.

A kernel that Jupyter starts spends some seconds importing what every lesson imports. Here a server
process (`warm_server.py`) has done that once, and each kernel is forked from it: a process of its
own, with its own memory, random state, folder and environment, that ends like any other kernel.
What they have in common is the order that Python gives to a set of texts.

Only on Linux: elsewhere a forked process cannot use the system's libraries safely. Where there is
no server, or it has gone, kernels start anew.
"""

from __future__ import annotations

import ast
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner
from nbformat import NotebookNode

PROVISIONER = "course-warm-provisioner"
# Packages that may be imported before a fork: they start no thread that a fork would lose and ask
# for no GPU. numpy's OpenBLAS starts threads, and stops them before each fork.
SAFE = {"helpers", "matplotlib", "numpy", "PIL", "torch", "torchvision", "tqdm"}
# What is imported only when something is first used, and would be imported in each kernel anew: by
# the first optimizer, by the first figure. `matplotlib_inline` is not to be among it, because it
# looks for the notebook that imports it.
_FIGURES = "matplotlib.backends.backend_agg"
_LATE = {"torch": "torch._dynamo", "matplotlib.pyplot": _FIGURES, "helpers.plots": _FIGURES}
_START_SECONDS = 120


def possible() -> bool:
    """Whether kernels can be forked on this system."""
    return sys.platform == "linux" and hasattr(os, "fork")


def modules_of(notebooks: Iterable[NotebookNode]) -> list[str]:
    """What the notebooks import and may be imported beforehand, sorted."""
    found: set[str] = set()
    for notebook in notebooks:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                found.update(_imports(cell.source))
    safe = {name for name in found if name.partition(".")[0] in SAFE}
    late = {module for name, module in _LATE.items() if name in safe}
    return sorted(safe) + sorted(late)


def _imports(source: str) -> set[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        # IPython's magics are no Python; such a cell imports when it runs.
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            # `from helpers import lesson` names a module; what is none is passed over.
            if node.module.partition(".")[0] == "helpers":
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


class WarmKernels:
    """A server of kernels that have the given modules imported.

    It starts in the background; the first kernels wait for it. It ends with `close`, or with the
    process that made it, however that ends, and takes its kernels with it.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self.modules = tuple(modules)
        # A socket's address has to be short, so it is not in a folder of the user's choice.
        self._folder = Path(tempfile.mkdtemp(prefix="course-"))
        self.address = str(self._folder / "kernels")
        server = Path(__file__).with_name("warm_server.py")
        self._process = subprocess.Popen(
            [sys.executable, str(server), self.address, *self.modules],
            stdin=subprocess.PIPE,
            # Ctrl-C is for the batch, which ends the server when it is done with it.
            start_new_session=True,
        )
        atexit.register(self.close)

    def fork(self, arguments: list[str], folder: str, environment: dict[str, str]) -> ForkedKernel:
        """Start a kernel with these arguments of `ipykernel_launcher`, in `folder`.

        Raises:
            OSError: there is no server, or it does not answer.
        """
        request = {"argv": arguments, "cwd": folder, "env": environment}
        channel = socket.socket(socket.AF_UNIX)
        try:
            channel.settimeout(_START_SECONDS)
            self._connect(channel)
            channel.sendall(json.dumps(request).encode() + b"\n")
            return ForkedKernel(channel)
        except BaseException:
            channel.close()
            raise

    def _connect(self, channel: socket.socket) -> None:
        """Connect; before the server has started to listen, try again."""
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                channel.connect(self.address)
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def close(self) -> None:
        """End the server and the kernels that it still has."""
        atexit.unregister(self.close)
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            # It is importing; its kernels would end with it.
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class ForkedKernel:
    """A forked kernel, with as much of `subprocess.Popen` as Jupyter uses.

    It is not this process's child: its server says over the channel how it ended.
    """

    stdin = stdout = stderr = None

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._received = b""
        self.returncode: int | None = None
        while b"\n" not in self._received:
            arrived = channel.recv(64)
            if not arrived:
                raise ConnectionError("The server of the kernels has ended.")
            self._received += arrived
        line, _, self._received = self._received.partition(b"\n")
        self.pid = int(line)
        channel.setblocking(False)

    def poll(self) -> int | None:
        """The exit status; None while the kernel runs."""
        if self.returncode is None:
            try:
                arrived = self._channel.recv(64)
            except BlockingIOError:
                return None
            except OSError:
                arrived = b""
            self._received += arrived
            if not arrived:
                # The server was killed, and its kernels go with it.
                self.returncode = -signal.SIGKILL
            elif self._received.endswith(b"\n"):
                self.returncode = int(self._received)
            if self.returncode is not None:
                self._channel.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("kernel", timeout)
            time.sleep(0.01)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the kernel has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the kernel to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the kernel."""
        self.send_signal(signal.SIGKILL)


class WarmProvisioner(LocalProvisioner):
    """Starts a kernel by a fork of the server that the kernel's manager names."""

    async def launch_kernel(self, cmd: list[str], **options: object) -> dict[str, object]:
        """Fork a kernel; start one anew if there is no server."""
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        environment = dict(options.get("env") or os.environ)
        folder = str(options.get("cwd") or Path.cwd())
        try:
            self.process = self.parent.warm.fork(arguments, folder, environment)
        except OSError:
            return await super().launch_kernel(cmd, **options)
        self.pid = self.pgid = self.process.pid
        self.cwd = folder
        return self.connection_info


# Known by name, as Jupyter wants it, without an entry in the installed package.
KernelProvisionerFactory.instance().provisioners[PROVISIONER] = EntryPoint(
    PROVISIONER, f"{__name__}:WarmProvisioner", KernelProvisionerFactory.GROUP_NAME
)
