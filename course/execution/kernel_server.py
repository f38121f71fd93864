"""The server process that kernels are forked from, with the notebooks' modules already imported.

Usage: `python kernel_server.py [--fresh] MODULE ...`, with a socket as standard input. The client
is `kernels.py`. It uses only the standard library, so that nothing else is imported first.

Each message on the socket contains the `argv`, `cwd` and `env` of a kernel as JSON, and one end of
a channel. A supervisor process starts the kernel, replies with its process id, and reports when it
exits. If the other end of the channel is closed, for example because the client was killed, it
kills the kernel. In both cases, it kills every process that the notebook left running.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

# Modules that a kernel imports when it starts.
KERNEL_MODULES = ("ipykernel.kernelapp", "ipykernel.zmqshell", "ipykernel.ipkernel", "IPython.lib")
_GRACE_SECONDS = 1.0  # multiprocessing's helper processes exit shortly after the kernel


def main() -> None:
    """Import the modules, then start a supervisor for each message until the socket is closed."""
    modules = sys.argv[1:]
    is_fresh = modules == ["--fresh"]
    # Do not import from the folder of this file.
    del sys.path[0]
    if not is_fresh:
        preload([*KERNEL_MODULES, *modules])
    # Let the operating system reap supervisors that have exited.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=0)
    connections: list[Path] = []
    while True:
        request, descriptors, *_ = socket.recv_fds(requests, 1 << 20, 1)
        if not request:
            remove_sockets(connections)
            return
        connections += [Path(a) for a in json.loads(request)["argv"] if a.endswith(".json")]
        if fork() == 0:
            requests.detach()
            channel = socket.socket(fileno=descriptors[0])
            supervise(channel, json.loads(request), fresh=is_fresh)
        os.close(descriptors[0])


def remove_sockets(connections: list[Path]) -> None:
    """Remove the files of kernels whose client was killed before it could do this."""
    for connection in connections:
        with contextlib.suppress(OSError, ValueError):
            sockets = Path(json.loads(connection.read_text())["ip"])
            for file in [connection, *sockets.parent.glob(f"{sockets.name}-*")]:
                file.unlink()


def preload(modules: list[str]) -> None:
    """Import the modules, ignoring errors."""
    # pyplot reads this variable on import. A kernel would set it to the same value.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for module in modules:
        # If a module is missing or broken, the notebook raises the error.
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    gc.collect()
    # Prevent the garbage collector from writing to the memory that the kernels share.
    gc.freeze()


def fork() -> int:
    """Fork without Python's warning about threads. OpenBLAS stops its threads before a fork."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def supervise(channel: socket.socket, request: dict[str, object], *, fresh: bool) -> None:
    """Start a kernel, wait until it exits or `channel` closes, and clean up. Does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Become the parent of orphaned descendants, so that `kill_descendants` can kill all of them.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER in sys/prctl.h
    pid = fork()
    if pid == 0:
        channel.close()
        os.setsid()
        become_kernel(request, fresh=fresh)
    channel.send(str(pid).encode())
    kernel_exit = os.pidfd_open(pid)
    if kernel_exit not in select.select([channel, kernel_exit], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    report = [os.waitstatus_to_exitcode(status), kill_descendants()]
    with contextlib.suppress(OSError):
        channel.send(json.dumps(report).encode())
    os._exit(0)


def kill_descendants() -> list[str]:
    """Kill all descendants of this process; return the names of those that were still running."""
    names = []
    deadline = time.monotonic() + _GRACE_SECONDS
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for child in map(int, children):
            if os.waitpid(child, os.WNOHANG)[0] == 0 and time.monotonic() > deadline:
                names.append(Path(f"/proc/{child}/comm").read_text().strip())
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        time.sleep(0.01)
    return names


def become_kernel(request: dict[str, object], *, fresh: bool) -> None:
    """Run a kernel in this process, like `python -m ipykernel_launcher`. Does not return."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # ipykernel exits when its parent, the supervisor, exits.
    environment = {**request["env"], "JPY_PARENT_PID": str(os.getppid())}
    os.chdir(request["cwd"])
    command = [sys.executable, "-m", "ipykernel_launcher", *request["argv"]]
    if fresh:
        os.execve(sys.executable, command, environment)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = command[2:]
    if "numpy" in sys.modules:
        # Python reseeds its own generator after a fork; numpy does not.
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules and (threads := environment.get("OMP_NUM_THREADS", "")).isdigit():
        # OpenMP read the variable when torch was imported, before the fork.
        sys.modules["torch"].set_num_threads(int(threads))
    from ipykernel import kernelapp

    status = 0
    try:
        kernelapp.launch_new_instance()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    exit_kernel(kernelapp.IPKernelApp.instance(), status)


def exit_kernel(app: Any, status: int) -> None:
    """Exit as Python does, but without destroying the imported modules.

    Destroying them would take a second and copy most of the shared memory. The notebook's variables
    are deleted first, so that open files are flushed and closed.
    """
    app.shell.user_ns.clear()
    gc.collect()
    # ipykernel's own exit function closes the IOPub channel first. If the control thread has not
    # published its idle status yet, it then waits forever, and the client kills the kernel after
    # 2.5 s.
    if (control := app.control_thread) is not None and control.is_alive():
        control.stop()
        control.join()
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
