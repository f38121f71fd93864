"""The server that kernels are forked from: it has imported what notebooks import, and no more.

Run as a program: `python warm_server.py SOCKET MODULE ...`. It stands alone, on the standard
library, so that the first thing in the process is what the process is for. Its counterpart is
`warm_kernels.py`.

Each connection to the socket is one kernel: a line of JSON goes in (`argv`, `cwd`, `env`), a line
with the kernel's process id comes out, and when the kernel has ended a line with its exit status.
A connection that closes ends its kernel, and the end of standard input ends them all: whoever
asked for a kernel may be killed at any moment, and none is left behind.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import warnings
from dataclasses import dataclass, field
from pathlib import Path

# What a kernel itself imports when it starts.
KERNEL_MODULES = ("ipykernel.kernelapp", "ipykernel.zmqshell", "ipykernel.ipkernel", "IPython.lib")


def main() -> None:
    """Import, serve; in a forked process, go on as a kernel."""
    address, modules = sys.argv[1], sys.argv[2:]
    # The folder of this file is not a place to import from.
    del sys.path[0]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    # pyplot asks for it when it is imported; a kernel sets it before that, to the same value.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    preload([*KERNEL_MODULES, *modules])
    # A fork would inherit a device that it cannot use, and lose threads that somebody counts on.
    # Without a server, kernels start anew.
    if in_use := accelerator_files():
        sys.exit(f"An import opened {in_use[0]}; kernels cannot be forked from this process.")
    if threading.active_count() > 1:
        sys.exit(f"An import started {threading.enumerate()[-1]}; kernels cannot be forked.")
    gc.collect()
    # The collector then leaves alone what all kernels share, which saves copying it.
    gc.freeze()
    if request := Server(listener).serve():
        become_kernel(request)
        return
    # Whoever started the server may have been killed, and cannot tidy up.
    with contextlib.suppress(OSError):
        Path(address).unlink()
        Path(address).parent.rmdir()


def preload(modules: list[str]) -> None:
    """Import the modules; one that is not there or fails is the notebook's to complain about."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:
            continue


def accelerator_files() -> list[str]:
    """Files of a GPU's driver that this process has open."""
    opened = []
    for link in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):
            opened.append(str(link.readlink()))
    return [name for name in opened if name.startswith(("/dev/nvidia", "/dev/kfd", "/dev/dri"))]


@dataclass
class Connection:
    """One kernel and whoever asked for it."""

    channel: socket.socket
    received: bytes = b""
    pid: int = 0


@dataclass
class Server:
    """Forks a kernel for each connection and tells the connection how it ended."""

    listener: socket.socket
    connections: list[Connection] = field(default_factory=list)

    def serve(self) -> dict[str, object] | None:
        """Serve until standard input ends: None. In a forked process: what that one is to do."""
        waking, wakes = socket.socketpair()
        for end in (waking, wakes):
            end.setblocking(False)
        # A signal without a handler in Python would not be written to the wake-up socket.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(sys.stdin.fileno(), selectors.EVENT_READ, "owner")
            selector.register(self.listener, selectors.EVENT_READ, "listener")
            selector.register(waking, selectors.EVENT_READ, "child")
            while True:
                for key, _ in selector.select():
                    if key.data == "owner":
                        signal.set_wakeup_fd(-1)
                        self._kill_all()
                        return None
                    if key.data == "listener":
                        connection = Connection(self.listener.accept()[0])
                        self.connections.append(connection)
                        selector.register(connection.channel, selectors.EVENT_READ, connection)
                    elif key.data == "child":
                        with contextlib.suppress(BlockingIOError):
                            waking.recv(4096)
                        self._reap()
                    elif request := self._read(key.data, selector):
                        signal.set_wakeup_fd(-1)
                        for end in (waking, wakes):
                            end.close()
                        return request

    def _read(
        self, connection: Connection, selector: selectors.BaseSelector
    ) -> dict[str, object] | None:
        try:
            arrived = connection.channel.recv(1 << 16)
        except OSError:
            arrived = b""
        if not arrived:
            selector.unregister(connection.channel)
            connection.channel.close()
            self.connections.remove(connection)
            if connection.pid:
                kill_group(connection.pid)
            return None
        connection.received += arrived
        if connection.pid or not connection.received.endswith(b"\n"):
            return None
        request = json.loads(connection.received)
        ready, session_made = os.pipe()
        with warnings.catch_warnings():
            # Python warns of the threads of numpy's OpenBLAS, which ends them before a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            os.setsid()
            os.close(session_made)
            os.close(ready)
            for other in self.connections:
                other.channel.close()
            self.listener.close()
            return request
        # Until the kernel has a session of its own, a signal to its group would reach the server.
        os.close(session_made)
        os.read(ready, 1)
        os.close(ready)
        connection.pid = pid
        self._tell(connection, pid)
        return None

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for connection in self.connections:
                if connection.pid == pid:
                    self._tell(connection, os.waitstatus_to_exitcode(status))
                    # From now on the number may be another process's.
                    connection.pid = -1

    def _tell(self, connection: Connection, number: int) -> None:
        # Whoever asked may have gone; that is noticed when reading.
        with contextlib.suppress(OSError):
            connection.channel.sendall(f"{number}\n".encode())

    def _kill_all(self) -> None:
        for connection in self.connections:
            if connection.pid > 0:
                kill_group(connection.pid)


def kill_group(pid: int) -> None:
    """Kill a kernel and the processes it has started, if they are still there."""
    if pid > 0:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def become_kernel(request: dict[str, object]) -> None:
    """Go on as `python -m ipykernel_launcher` would, in a process that has just been forked."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.environ.clear()
    os.environ.update(request["env"])
    # The kernel ends when this process's parent does.
    os.environ["JPY_PARENT_PID"] = str(os.getppid())
    os.chdir(request["cwd"])
    sys.argv = ["ipykernel_launcher", *request["argv"]]
    if "numpy" in sys.modules:
        # Python's own generator takes a new state in a forked process; numpy's does not, and all
        # kernels would draw the same numbers.
        sys.modules["numpy"].random.seed()
    from ipykernel import kernelapp

    status = 0
    try:
        kernelapp.launch_new_instance()
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    end_kernel(kernelapp.IPKernelApp.instance().shell.user_ns, status)


def end_kernel(variables: dict[str, object], status: int) -> None:
    """End the process as Python does, without taking everything apart that was imported.

    To do that would copy most of the memory that the kernels share, and takes a second. What the
    notebook holds goes first, since a file that it left open is written when it is closed.
    """
    variables.clear()
    gc.collect()
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
