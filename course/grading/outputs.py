"""Limits a cell's outputs to what a page can hold and a browser can show without harm."""

from __future__ import annotations

import base64
from typing import Any

# Characters of a text, bytes of a picture in base64, outputs of a cell.
TEXT = 20_000
PICTURE = 2_000_000
MOST = 50


class LimitedStream:
    """A text stream that keeps the beginning of what is written."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._room = TEXT

    def write(self, text: str) -> int:
        """Keep `text` as long as there is room."""
        if self._room > 0:
            self._parts.append(text[: self._room])
            self._room -= len(text)
            if self._room <= 0:
                self._parts.append("\n... (cut here)")
        return len(text)

    def flush(self) -> None:
        """Do nothing: there is nothing to flush."""

    def isatty(self) -> bool:
        """Return False: the stream is not a terminal."""
        return False

    def __str__(self) -> str:
        return "".join(self._parts)


def safe_output(data: dict[str, Any]) -> dict[str, Any]:
    """Return the text and pictures of an output, which are safe to show in a browser."""
    kept: dict[str, Any] = {}
    text = data.get("text/plain")
    if isinstance(text, str):
        kept["text/plain"] = text[:TEXT]
    for kind in ("image/png", "image/jpeg"):
        picture = data.get(kind)
        if isinstance(picture, bytes):
            picture = base64.b64encode(picture).decode()
        if isinstance(picture, str) and len(picture) <= PICTURE:
            kept[kind] = picture
    return kept
