"""Read a profile of `torch.profiler`: the spans of its trace, and the busy time."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from torch.autograd import DeviceType
from torch.autograd.profiler_util import FunctionEventAvg
from torch.profiler import profile

# The row of a figure in which each category of a trace's events is drawn.
_ROWS = {"user_annotation": "part", "cpu_op": "operation", "kernel": "kernel"}


@dataclass(frozen=True)
class Span:
    """One bar of a trace; times in microseconds since the first bar."""

    row: str  # "part" (from record_function), "operation" (on the CPU) or "kernel" (on the GPU)
    name: str
    start: float
    end: float


def spans_of(profiler: profile) -> list[Span]:
    """Return the spans of a finished profile, from the trace that it exports, by start time."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    shown_events = [event for event in events if event.get("cat") in _ROWS and event["ph"] == "X"]
    origin = min((event["ts"] for event in shown_events), default=0)
    spans = []
    for event in shown_events:
        start = event["ts"] - origin
        spans.append(Span(_ROWS[event["cat"]], event["name"], start, start + event["dur"]))
    # If two spans start at the same time, the longer one contains the other.
    return sorted(spans, key=lambda span: (span.start, -span.end))


def cpu_averages(profiler: profile) -> dict[str, FunctionEventAvg]:
    """Return the rows of `profiler.key_averages()` with times on the CPU, by name.

    On a GPU, a name from `record_function` has a second row, whose time on the CPU is 0.
    """
    rows = profiler.key_averages()
    return {row.key: row for row in rows if row.device_type == DeviceType.CPU}


def outermost(spans: Iterable[Span]) -> list[Span]:
    """Return the spans that are not inside another one; `spans` must be sorted by start time."""
    outer_spans: list[Span] = []
    for span in spans:
        if not outer_spans or span.end > outer_spans[-1].end:
            outer_spans.append(span)
    return outer_spans


def busy_fraction(spans: Iterable[Span], start: float, end: float) -> float:
    """Return the fraction of the time from `start` to `end` in which at least one span runs."""
    busy, busy_until = 0.0, start
    for span in sorted(spans, key=lambda span: span.start):
        busy += max(0.0, min(span.end, end) - max(span.start, busy_until))
        busy_until = max(busy_until, span.end)
    return busy / (end - start)
