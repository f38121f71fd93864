"""Limits the size of a cell's outputs and drops types that are not safe in a browser."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

# Maximum characters per text and per error message, base64 characters per image, and outputs per
# cell.
MAX_TEXT = 20_000
MAX_ERROR = 500
MAX_IMAGE = 2_000_000
MAX_OUTPUTS = 50
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")


class LimitedStream(io.StringIO):
    """A text stream that discards text beyond a size limit."""

    encoding = "utf-8"
    _remaining = MAX_TEXT

    def write(self, text: str) -> int:
        """Write `text`, truncated at the limit."""
        if self._remaining > 0:
            super().write(text[: self._remaining])
            self._remaining -= len(text)
            if self._remaining <= 0:
                super().write("\n... (truncated)")
        return len(text)

    def close(self) -> None:
        """Do nothing, so that the text can be read after the student's code closes the stream."""


def safe_output(data: dict[str, Any]) -> dict[str, Any]:
    """Return the text and images of an output, which are safe to show in a browser."""
    result: dict[str, Any] = {}
    text = data.get("text/plain")
    if isinstance(text, str):
        result["text/plain"] = text[:MAX_TEXT]
    for mime_type in ("image/png", "image/jpeg"):
        image = data.get(mime_type)
        if isinstance(image, bytes):
            image = base64.b64encode(image).decode()
        if isinstance(image, str) and len(image) <= MAX_IMAGE and _BASE64.fullmatch(image):
            result[mime_type] = image
    return result
