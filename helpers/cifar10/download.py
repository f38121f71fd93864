"""Download one file from the first of several servers that delivers it in time.

A server that is down, refuses connections, hangs, is slow, disconnects or sends a different file
delays the download by only a few seconds. Received data is kept in `FILE.part`. The next attempt,
from any server, continues there.
"""

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tqdm import tqdm

from helpers.cifar10.connections import ConnectionProbe
from helpers.cifar10.dataset import DataError

_CHUNK_BYTES = 1 << 16


class File(NamedTuple):
    """The expected size, in bytes, and MD5 of a file."""

    size: int
    md5: str


@dataclass(frozen=True)
class TimeLimits:
    """Limits of a download: times in seconds, and a rate in bytes per second.

    Attributes:
        total: limit for the whole download, from all servers.
        connect: limit for connecting to the servers, all at the same time.
        stall: limit for the time without new data.
        grace: how long a server's rate is measured before it is compared with `rate`.
        rate: minimum rate; a slower server is used only if no other server delivers the file.
    """

    total: float = 300.0
    connect: float = 3.0
    stall: float = 5.0
    grace: float = 4.0
    rate: float = 500_000.0


class DownloadError(DataError):
    """No server delivered the file; the message gives the reason for each server."""


class _ServerFailed(Exception):
    """This server did not deliver the file. With `retry`, it may deliver the rest later."""

    def __init__(self, reason: str, *, retry: bool = False) -> None:
        super().__init__(reason)
        self.retry = retry


def download(
    urls: Sequence[str],
    target: Path,
    expected: File,
    time_limits: TimeLimits | None = None,
    progress: bool = False,
) -> str:
    """Download `target` and return the name of the host it came from.

    Args:
        urls: URLs of the file, in the order to try them.
        target: path to write; its folder must exist. An interrupted download is kept next to it
            with the suffix `.part`.
        expected: size and MD5 that the file must have.
        time_limits: time limits of the download; the defaults if None.
        progress: whether to show a progress bar, on stderr or in the notebook.

    Raises:
        DownloadError: no server delivered the file in time, or the disk is full.
    """
    time_limits = time_limits or TimeLimits()
    part = target.with_name(target.name + ".part")
    attempt = _Attempt(part, expected, time_limits, progress, time.monotonic() + time_limits.total)
    probe = ConnectionProbe(urls, time_limits.connect)
    failures: dict[str, str] = {}
    # Slow servers are skipped at first, and used if no other one delivers the file.
    remaining, min_rate = list(urls), time_limits.rate
    while remaining:
        retries = []
        for url in remaining:
            try:
                if reason := probe.failure(url):
                    raise _ServerFailed(reason)
                attempt.fetch(url, min_rate)
                part.replace(target)
                return _host(url)
            except _ServerFailed as error:
                failures[url] = str(error)
                retries += [url] if error.retry else []
        remaining, min_rate = retries, 0.0
    hosts: dict[str, list[str]] = {}
    for url, reason in failures.items():
        hosts.setdefault(reason, []).append(_host(url))
    raise DownloadError(
        "; ".join(f"{', '.join(names)}: {reason}" for reason, names in hosts.items())
    )


def is_intact(path: Path, expected: File) -> bool:
    """Return whether the file at `path` has the expected size and MD5."""
    if path.stat().st_size != expected.size:
        return False
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    return digest.hexdigest() == expected.md5


@dataclass(frozen=True)
class _Attempt:
    """One download, which may take parts of the file from several servers."""

    part: Path
    expected: File
    time_limits: TimeLimits
    progress: bool
    deadline: float

    def fetch(self, url: str, min_rate: float) -> None:
        """Download the missing bytes of the partial file from `url`; raise _ServerFailed."""
        start = self.part.stat().st_size if self.part.exists() else 0
        if start < self.expected.size:
            self._append(url, start, min_rate)
        if not is_intact(self.part, self.expected):
            self.part.unlink()
            # The wrong bytes may come from an earlier attempt or another server.
            message = "it sent a different file: the checksum is wrong"
            raise _ServerFailed(message, retry=start > 0)

    def _append(self, url: str, start: int, min_rate: float) -> None:
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise self._time_limit_reached()
        headers = {"User-Agent": "gpu-course-kit"}
        if start:
            headers["Range"] = f"bytes={start}-"
        try:
            request = urllib.request.Request(url, headers=headers)
            response = urllib.request.urlopen(
                request, timeout=min(remaining, self.time_limits.stall)
            )
        except (HTTPException, OSError, ValueError) as error:  # ValueError: a malformed address
            raise _ServerFailed(_reason(error)) from error
        with response:
            if not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                start = 0  # the server ignores the Range header
            length = response.headers.get("Content-Length", "")
            if length.isdigit() and start + int(length) != self.expected.size:
                raise _ServerFailed(
                    f"it offers {start + int(length):,} bytes; expected {self.expected.size:,}"
                )
            try:
                self._write(response, start, min_rate, _host(url))
            except OSError as error:  # a disk error; _read handles network errors
                self.part.unlink(missing_ok=True)
                raise DownloadError(
                    f"the download cannot be written to {self.part.parent}: "
                    f"{error.strerror or error}"
                ) from error

    def _write(self, response: HTTPResponse, start: int, min_rate: float, host: str) -> None:
        received = measured_from = start
        start_time = time.monotonic()
        with self.part.open("ab") as file, self._progress_bar(start, host) as bar:
            file.truncate(start)
            while received < self.expected.size:
                data = self._read(response, progressed=received > start)
                file.write(data)
                bar.update(len(data))
                received += len(data)
                now = time.monotonic()
                if now > self.deadline:
                    raise self._time_limit_reached()
                if now - start_time > self.time_limits.grace:
                    self._check_rate(
                        (received - measured_from) / (now - start_time), received, min_rate
                    )
                    measured_from, start_time = received, now

    def _read(self, response: HTTPResponse, progressed: bool) -> bytes:
        try:
            if data := response.read1(_CHUNK_BYTES):
                return data
            reason = "the server disconnected"
        except TimeoutError:
            raise _ServerFailed(f"no data for {self.time_limits.stall:g} s") from None
        except (HTTPException, OSError) as error:
            reason = _reason(error)
        raise _ServerFailed(reason, retry=progressed)

    def _check_rate(self, rate: float, received: int, min_rate: float) -> None:
        seconds = (self.expected.size - received) / rate
        slow = f"slow, {rate / 1000:,.0f} kB/s"
        if seconds > self.deadline - time.monotonic():
            raise _ServerFailed(
                f"{slow}: it would take {seconds:.0f} s more, the time limit is "
                f"{self.time_limits.total:.0f} s"
            )
        if rate < min_rate and seconds > self.time_limits.grace:
            raise _ServerFailed(slow, retry=True)

    def _time_limit_reached(self) -> _ServerFailed:
        return _ServerFailed(f"the time limit of {self.time_limits.total:.0f} s was reached")

    def _progress_bar(self, start: int, host: str) -> tqdm:
        bar = tqdm
        if self.progress:
            # Without notebook widgets this import prints a warning.
            from tqdm.auto import tqdm as bar
        return bar(
            total=self.expected.size,
            initial=start,
            unit="B",
            unit_scale=True,
            desc=f"{self.part.stem} from {host}",
            disable=not self.progress,
        )


def _host(url: str) -> str:
    return urlsplit(url).hostname or urlsplit(url).path.rsplit("/", 1)[-1]


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server returned {error.code} {error.reason}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "the server did not respond"
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
