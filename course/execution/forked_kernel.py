"""The client of the kernel server: starts the server and manages its kernels."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_START_SECONDS = 120


class KernelServer:
    """The server process. It starts in the background, and the first kernels wait for it.

    The server and its kernels end on `close`, or when the process that created the server exits.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._requests, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = Path(__file__).with_name("kernel_server.py")
        with server_end:
            self.process = subprocess.Popen(
                [sys.executable, str(program), *arguments],
                stdin=server_end,
                # Ctrl-C must reach only the `course` process, which stops the server.
                start_new_session=True,
            )
        atexit.register(self.close)

    def start(
        self, arguments: Sequence[str], folder: str, environment: Mapping[str, str]
    ) -> ForkedKernel:
        """Start a kernel with these arguments of `ipykernel_launcher`, in `folder`.

        Raises:
            OSError: the server has ended or does not answer.
        """
        request = {"argv": list(arguments), "cwd": folder, "env": dict(environment)}
        channel, kernel_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        channel.settimeout(_START_SECONDS)
        with kernel_end:
            socket.send_fds(self._requests, [json.dumps(request).encode()], [kernel_end.fileno()])
        return ForkedKernel(channel)

    def close(self) -> None:
        """End the server."""
        atexit.unregister(self.close)
        self._requests.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            # The server is still importing modules.
            self.process.kill()
            self.process.wait()


class ForkedKernel:
    """A forked kernel, with the parts of the `subprocess.Popen` interface that Jupyter uses.

    Attributes:
        remaining_processes: names of the processes that were still running when the kernel exited.
    """

    stdin = stdout = stderr = None

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self.returncode: int | None = None
        self.remaining_processes: list[str] = []
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
                report = json.loads(reply)
                self.remaining_processes, self.returncode = (
                    report["remaining_processes"],
                    report["status"],
                )
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
