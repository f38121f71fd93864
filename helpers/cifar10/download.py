"""Download one file from the first of several servers that can deliver it in time.

Servers are asked in order. One that is down, refuses, hangs, is slow, cuts off or sends another
file costs seconds, not the lesson; what has arrived is kept in `FILE.part` and the next attempt,
at whichever server, goes on from there. Only a file with the right checksum gets its name.
"""

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tqdm import tqdm

from helpers.cifar10.dataset import DataError
from helpers.cifar10.reachability import Probe

_CHUNK = 1 << 16
_CUTS = 5


class File(NamedTuple):
    """A file as it should arrive: its size in bytes and its MD5."""

    size: int
    md5: str


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds, and what rate in bytes a second is too slow.

    Attributes:
        total: for the whole download, over all servers.
        connect: for the servers to take a connection, all asked at once.
        stall: for the next byte.
        grace: how long the rate of a server is measured before it is judged.
        rate: below it the other servers are tried before this one is taken after all.
    """

    total: float = 300.0
    connect: float = 3.0
    stall: float = 5.0
    grace: float = 4.0
    rate: float = 500_000.0


class DownloadError(DataError):
    """No server delivered the file; the message says of each what went wrong."""


class _NextServer(Exception):
    """This server is done with; the text says why."""


class _Slow(Exception):
    """This server works, at the rate given in bytes a second; the others are tried first."""


def download(
    urls: Sequence[str],
    target: Path,
    expected: File,
    patience: Patience | None = None,
    progress: bool = False,
) -> str:
    """Download `target` and return the host it came from.

    Args:
        urls: where to ask, in order.
        target: what to call the file; its folder must exist. An interrupted download is kept
            beside it with the suffix `.part`.
        expected: what must arrive.
        patience: how long to wait.
        progress: whether to show a progress bar, on stderr or in the notebook.

    Raises:
        DownloadError: no server delivered the file in time, or the disk is full.
    """
    attempt = _Attempt(target, expected, patience or Patience(), progress)
    probe = Probe(urls, attempt.patience.connect)
    failures: dict[str, str] = {}
    slow: list[tuple[float, str]] = []
    for url in urls:
        if reason := probe.failure(url):
            failures[url] = reason
            continue
        try:
            attempt.at(url, attempt.patience.rate)
            return host(url)
        except _Slow as error:
            slow.append((error.args[0], url))
            failures[url] = f"slow, {_rate(error.args[0])}"
        except _NextServer as error:
            failures[url] = str(error)
    for _, url in sorted(slow, reverse=True):
        try:
            attempt.at(url, 0.0)
            return host(url)
        except _NextServer as error:
            failures[url] = str(error)
    hosts: dict[str, list[str]] = {}
    for url, reason in failures.items():
        hosts.setdefault(reason, []).append(host(url))
    raise DownloadError("; ".join(f"{', '.join(at)}: {reason}" for reason, at in hosts.items()))


def is_right(path: Path, expected: File) -> bool:
    """Whether the file at `path` has the expected size and checksum."""
    if path.stat().st_size != expected.size:
        return False
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    return digest.hexdigest() == expected.md5


def host(url: str) -> str:
    """The part of a URL that a person would name the server by."""
    return urlsplit(url).hostname or urlsplit(url).path.rsplit("/", 1)[-1]


class _Attempt:
    """One download, over all the servers it may take."""

    def __init__(self, target: Path, expected: File, patience: Patience, progress: bool) -> None:
        self.target = target
        self.part = target.with_name(target.name + ".part")
        self.expected = expected
        self.patience = patience
        self.progress = progress
        self.deadline = time.monotonic() + patience.total

    def at(self, url: str, rate: float) -> None:
        """Get the file from `url`, or what of it is still missing."""
        all_from_here = self._have() == 0
        cuts = 0
        while True:
            before = self._have()
            reason = self._receive(url, rate) if before < self.expected.size else ""
            if self._have() < self.expected.size:
                cuts += 1
                if self._have() <= before or cuts > _CUTS:
                    raise _NextServer(f"{reason} after {_megabytes(self._have())}")
            elif is_right(self.part, self.expected):
                self.part.replace(self.target)
                return
            else:
                self.part.unlink()
                if all_from_here:
                    raise _NextServer("it sent another file: the checksum is wrong")
                # Perhaps it was the part from an earlier attempt: once more, all of it from here.
                all_from_here = True

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _receive(self, url: str, rate: float) -> str:
        """Append to the part what the server sends; returns why it stopped."""
        offset = self._have()
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise _NextServer(self._time_is_up())
        headers = {"User-Agent": "gpu-course-kit"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        try:
            request = urllib.request.Request(url, headers=headers)
            response = urllib.request.urlopen(request, timeout=min(left, self.patience.stall))
        except (HTTPException, OSError, ValueError) as error:  # ValueError: a mistyped address
            raise _NextServer(_reason(error)) from error
        with response:
            if not response.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
                offset = 0  # this server sends it from the beginning whatever it was asked
            length = response.headers.get("Content-Length", "")
            if length.isdigit() and offset + int(length) != self.expected.size:
                raise _NextServer(
                    f"it offers {offset + int(length):,} bytes, the file has {self.expected.size:,}"
                )
            try:
                return self._write(response.read1, offset, rate, host(url))
            except OSError as error:  # the disk's: the network's do not get past _write
                self.part.unlink(missing_ok=True)
                raise DownloadError(
                    f"{self.part.parent} cannot take the download: {error.strerror or error}"
                ) from error

    def _write(self, read: Callable[[int], bytes], offset: int, rate: float, server: str) -> str:
        received = offset
        judged, since = received, time.monotonic()
        with self.part.open("ab") as file, self._progress_bar(offset, server) as bar:
            file.truncate(offset)
            while received < self.expected.size:
                try:
                    data = read(_CHUNK)
                except TimeoutError:
                    raise _NextServer(f"nothing came for {self.patience.stall:g} s") from None
                except (HTTPException, OSError) as error:
                    return _reason(error)
                if not data:
                    return "the connection was cut off"
                file.write(data)
                received += len(data)
                bar.update(len(data))
                now = time.monotonic()
                if now > self.deadline:
                    raise _NextServer(self._time_is_up())
                if now - since > self.patience.grace:
                    self._judge((received - judged) / (now - since), received, rate)
                    judged, since = received, now
        return ""

    def _judge(self, measured: float, received: int, rate: float) -> None:
        seconds = (self.expected.size - received) / measured
        if seconds > self.deadline - time.monotonic():
            raise _NextServer(
                f"slow, {_rate(measured)}: it would take {_duration(seconds)} more, the time limit "
                f"is {_duration(self.patience.total)}"
            )
        if measured < rate and seconds > self.patience.grace:
            raise _Slow(measured)

    def _time_is_up(self) -> str:
        return f"the time limit of {_duration(self.patience.total)} was over"

    def _progress_bar(self, offset: int, server: str) -> tqdm:
        bar = tqdm
        if self.progress:
            # Where a notebook has no widgets, importing this warns: not for those who want no bar.
            from tqdm.auto import tqdm as bar
        return bar(
            total=self.expected.size,
            initial=offset,
            unit="B",
            unit_scale=True,
            desc=f"{self.target.name} from {server}",
            disable=not self.progress,
        )


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answered {error.code} {error.reason}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "it did not answer"
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _rate(bytes_a_second: float) -> str:
    return f"{bytes_a_second / 1000:,.0f} kB/s"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
