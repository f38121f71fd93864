"""Download one file from the first of several servers that can deliver it in time.

Servers are asked in order. One that is down, refuses, hangs, is slow, cuts off or sends another
file costs seconds, not the lesson; what has arrived is kept in `FILE.part` and the next attempt,
at whichever server, goes on from there. Only a file with the right checksum gets its name.
"""

from collections.abc import Sequence
from pathlib import Path

from helpers.cifar10.attempt import (
    Attempt,
    DownloadError,
    File,
    NextServer,
    Patience,
    Slow,
    host,
    rate_in_words,
)
from helpers.cifar10.reachability import Probe


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
    attempt = Attempt(target, expected, patience or Patience(), progress)
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
        except Slow as error:
            slow.append((error.args[0], url))
            failures[url] = f"slow, {rate_in_words(error.args[0])}"
        except NextServer as error:
            failures[url] = str(error)
    for _, url in sorted(slow, reverse=True):
        try:
            attempt.at(url, 0.0)
            return host(url)
        except NextServer as error:
            failures[url] = str(error)
    hosts: dict[str, list[str]] = {}
    for url, reason in failures.items():
        hosts.setdefault(reason, []).append(host(url))
    raise DownloadError("; ".join(f"{', '.join(at)}: {reason}" for reason, at in hosts.items()))
