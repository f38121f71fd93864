"""Check within seconds which servers accept a connection."""

import socket
import threading
import time
import urllib.request
from collections.abc import Sequence
from urllib.parse import urlsplit


class ConnectionProbe:
    """Connects to all servers at the same time, in threads, to find out which ones are down.

    Without a network, trying the servers one after another would take a full timeout for each. If
    the DNS server does not respond, it would take even longer than urllib's timeout.
    """

    def __init__(self, urls: Sequence[str], seconds: float) -> None:
        self._no_answer = f"no connection within {seconds:g} s"
        self._end = time.monotonic() + seconds
        self._seconds = seconds
        self._failures: dict[str, str] = {}
        self._threads = {url: threading.Thread(target=self._connect, args=(url,)) for url in urls}
        for thread in self._threads.values():
            thread.daemon = True
            thread.start()

    def failure(self, url: str) -> str:
        """Return why the server at `url` cannot be reached, or "" if it can."""
        self._threads[url].join(max(0.0, self._end - time.monotonic()))
        return self._no_answer if self._threads[url].is_alive() else self._failures.get(url, "")

    def _connect(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https"):
                return
            proxy = urllib.request.getproxies().get(parts.scheme)
            if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
                parts = urlsplit(proxy if "//" in proxy else f"//{proxy}")
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname or "", port), timeout=self._seconds).close()
        except TimeoutError:
            self._failures[url] = self._no_answer
        except (OSError, ValueError) as error:
            self._failures[url] = f"no connection ({getattr(error, 'strerror', None) or error})"
