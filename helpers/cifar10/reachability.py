"""Find out within seconds which servers take a connection at all, asking all of them at once."""

import socket
import threading
import time
import urllib.request
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit


class Probe:
    """Asks each server's address, in threads, while the caller may already be busy with the first.

    Without this, each dead server costs its own time-out, and a name server that does not answer
    costs more than any time-out given to urllib, which waits for it without limit.
    """

    def __init__(self, urls: Sequence[str], seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._answers: dict[str, str] = {}
        self._done = {url: threading.Event() for url in urls}
        for url in self._done:
            threading.Thread(target=self._ask, args=(url,), daemon=True).start()

    def failure(self, url: str) -> str:
        """Why the server cannot be reached; "" if it can, or if there is no telling."""
        if not self._done[url].wait(max(0.0, self._end - time.monotonic())):
            return f"no connection within {self._seconds:g} s"
        return self._answers[url]

    def _ask(self, url: str) -> None:
        answer = ""
        try:
            if address := _address(urlsplit(url)):
                socket.create_connection(address, timeout=self._seconds).close()
        except TimeoutError:
            answer = f"no connection within {self._seconds:g} s"
        except (OSError, ValueError) as error:
            answer = f"no connection ({getattr(error, 'strerror', None) or error})"
        self._answers[url] = answer
        self._done[url].set()


def _address(url: SplitResult) -> tuple[str, int] | None:
    """Host and port to connect to: the proxy's where there is one; None for a local file."""
    if url.scheme not in ("http", "https"):
        return None
    proxy = urllib.request.getproxies().get(url.scheme)
    if proxy and not urllib.request.proxy_bypass(url.hostname or ""):
        url = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
