"""One download, over all the servers it may take: what has arrived is kept, and gone on from."""

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tqdm import tqdm

from helpers.cifar10.dataset import DataError

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


class NextServer(Exception):
    """This server is done with; the text says why."""


class Slow(Exception):
    """This server works, at the rate given in bytes a second; the others are tried first."""


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


class Attempt:
    """The download of one file into `target`, by way of `target` with the suffix `.part`."""

    def __init__(self, target: Path, expected: File, patience: Patience, progress: bool) -> None:
        self.target = target
        self.part = target.with_name(target.name + ".part")
        self.expected = expected
        self.patience = patience
        self.progress = progress
        self.deadline = time.monotonic() + patience.total

    def at(self, url: str, rate: float) -> None:
        """Get the file from `url`, or what of it is still missing.

        Raises:
            NextServer: this server did not deliver it.
            Slow: it works, at less than `rate` bytes a second.
            DownloadError: the disk is full.
        """
        all_from_here = self._have() == 0
        cuts = 0
        while True:
            before = self._have()
            reason = self._receive(url, rate) if before < self.expected.size else ""
            if self._have() < self.expected.size:
                cuts += 1
                if self._have() <= before or cuts > _CUTS:
                    raise NextServer(f"{reason} after {_megabytes(self._have())}")
            elif is_right(self.part, self.expected):
                self.part.replace(self.target)
                return
            else:
                self.part.unlink()
                if all_from_here:
                    raise NextServer("it sent another file: the checksum is wrong")
                # Perhaps it was the part from an earlier attempt: once more, all of it from here.
                all_from_here = True

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _receive(self, url: str, rate: float) -> str:
        """Append to the part what the server sends; returns why it stopped."""
        offset = self._have()
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise NextServer(self._time_is_up())
        headers = {"User-Agent": "gpu-course-kit"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        try:
            request = urllib.request.Request(url, headers=headers)
            response = urllib.request.urlopen(request, timeout=min(left, self.patience.stall))
        except (HTTPException, OSError, ValueError) as error:  # ValueError: a mistyped address
            raise NextServer(_reason(error)) from error
        with response:
            if not response.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
                offset = 0  # this server sends it from the beginning whatever it was asked
            length = response.headers.get("Content-Length", "")
            if length.isdigit() and offset + int(length) != self.expected.size:
                raise NextServer(
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
                    raise NextServer(f"nothing came for {self.patience.stall:g} s") from None
                except (HTTPException, OSError) as error:
                    return _reason(error)
                if not data:
                    return "the connection was cut off"
                file.write(data)
                received += len(data)
                bar.update(len(data))
                now = time.monotonic()
                if now > self.deadline:
                    raise NextServer(self._time_is_up())
                if now - since > self.patience.grace:
                    self._judge((received - judged) / (now - since), received, rate)
                    judged, since = received, now
        return ""

    def _judge(self, measured: float, received: int, rate: float) -> None:
        seconds = (self.expected.size - received) / measured
        if seconds > self.deadline - time.monotonic():
            raise NextServer(
                f"slow, {rate_in_words(measured)}: it would take {_duration(seconds)} more, "
                f"the time limit is {_duration(self.patience.total)}"
            )
        if measured < rate and seconds > self.patience.grace:
            raise Slow(measured)

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


def rate_in_words(bytes_a_second: float) -> str:
    """A rate as people read it: "55 kB/s"."""
    return f"{bytes_a_second / 1000:,.0f} kB/s"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
