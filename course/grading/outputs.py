"""Limits the size of a cell's outputs and drops types that are not safe in a browser."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

# Maximum characters per text, base64 characters per image, and outputs per cell.
MAX_TEXT = 20_000
MAX_IMAGE = 2_000_000
MAX_OUTPUTS = 50
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")


class LimitedStream(io.StringIO):
    """A text stream that discards text beyond a size limit."""

    encoding = "utf-8"
    _room = MAX_TEXT

    def write(self, text: str) -> int:
        """Write `text`, truncated at the limit."""
        if self._room > 0:
            super().write(text[: self._room])
            self._room -= len(text)
            if self._room <= 0:
                super().write("\n... (truncated)")
        return len(text)

    def close(self) -> None:
        """Do nothing, so that the grader can read the text even if the student's code closes it."""


def safe_output(data: dict[str, Any]) -> dict[str, Any]:
    """Return the text and images of an output, which are safe to show in a browser."""
    kept: dict[str, Any] = {}
    text = data.get("text/plain")
    if isinstance(text, str):
        kept["text/plain"] = text[:MAX_TEXT]
    for kind in ("image/png", "image/jpeg"):
        picture = data.get(kind)
        if isinstance(picture, bytes):
            picture = base64.b64encode(picture).decode()
        if isinstance(picture, str) and len(picture) <= MAX_IMAGE and _BASE64.fullmatch(picture):
            kept[kind] = picture
    return kept
