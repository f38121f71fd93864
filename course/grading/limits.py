"""The limits of a submission and the reasons for stopping it; the bounded result of a cell.

A result has no output types that are not safe in a browser.
"""

import base64
import enum
import io
import re
from dataclasses import dataclass
from typing import Any

# Maximum characters per text and per error message, base64 characters per image, and outputs per
# cell.
MAX_TEXT = 20_000
MAX_ERROR = 500
MAX_IMAGE = 2_000_000
MAX_OUTPUTS = 50
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")

# What `--no-sandbox` means.
UNPROTECTED = (
    "Without it, time, memory and processes are limited, but the students' code can use the "
    "network, and read and change every file that you can, even other submissions and solutions"
)


@dataclass(frozen=True)
class SandboxLimits:
    """The limits of one submission. Time spent waiting for a busy CPU does not count."""

    cell_seconds: float = 30
    grace: float = 20  # additional seconds before a cell's process is killed
    seconds: float = 300
    memory_bytes: int = 3 << 30
    processes: int = 24
    disk_bytes: int = 64 << 20
    max_output_bytes: int = 32 << 20


class StopReason(enum.StrEnum):
    """The reason for stopping a submission early."""

    TIME = "time"
    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    ENDED = "ended"
    KILLED = "killed"
    BUSY = "busy"
    FAILED = "failed"

    @property
    def depends_on_machine(self) -> bool:
        """Whether the result might be different on a less busy machine."""
        return self in ("time", "memory", "killed", "busy")


@dataclass(frozen=True)
class Stop:
    """A reason, and a text that completes the message "its code ..."."""

    reason: StopReason
    text: str


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


def make_result(
    error: str = "",
    traceback: str = "",
    stop: str = "",
    outputs: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the result of a cell: its outputs, its error or "", and why it was stopped or ""."""
    texts = {"error": error[:MAX_ERROR], "traceback": traceback[:MAX_TEXT], "stop": stop}
    return {"outputs": outputs or [], **texts}


def read_result(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the safe parts of a cell's result. The student's code may have written the reply."""
    try:
        # stdout and stderr, displayed outputs and values.
        outputs = [_sanitize(output) for output in reply["outputs"][: 2 + 2 * MAX_OUTPUTS]]
        outputs = [output for output in outputs if output.get("data") != {}]
        stop = StopReason(reply["stop"]) if reply["stop"] else ""
        return make_result(f"{reply['error']}", f"{reply['traceback']}", stop, outputs)
    except (ValueError, KeyError, TypeError, AttributeError):
        return make_result("its result is malformed")


def _sanitize(output: dict[str, Any]) -> dict[str, Any]:
    if "name" in output:
        name = "stderr" if output["name"] == "stderr" else "stdout"
        # The worker adds a note to truncated text.
        return {"name": name, "text": f"{output['text']}"[: 2 * MAX_TEXT]}
    return {"data": safe_output(output["data"])}
