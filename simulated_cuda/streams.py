"""Streams and events of a device that has finished every piece of work before the next is asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .cuda_api import device_number
from .machine import Machine


class Stream:
    """A queue of work that is always empty."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device = _machine().devices[device_number(_machine(), device)]
        self.priority = priority
        self.cuda_stream = self.stream_id = id(self)
        self.device_index = self.device.index

    def query(self) -> bool:
        """Whether all work is done: always."""
        return True

    def is_capturing(self) -> bool:
        """Whether a CUDA graph is being captured: never."""
        return False

    def synchronize(self) -> None:
        """Wait for nothing."""

    def wait_event(self, event: Event) -> None:
        """Wait for nothing."""

    def wait_stream(self, stream: Stream) -> None:
        """Wait for nothing."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one where none is given, and return it."""
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self._before = _current.get(self.device_index)
        self._device_before = _machine().current
        _machine().current = self.device_index
        _current[self.device_index] = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        _machine().current = self._device_before
        if self._before is None:
            _current.pop(self.device_index, None)
        else:
            _current[self.device_index] = self._before

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """A mark in a stream. `elapsed_time` is the CPU's own, since the CPU did the work."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
        external: bool = False,
    ) -> None:  # fmt: skip
        self.enable_timing = enable_timing
        self.recorded: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Note the time."""
        self.recorded = time.perf_counter()

    def query(self) -> bool:
        """Whether the work before the event is done: always."""
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Wait for nothing."""

    def synchronize(self) -> None:
        """Wait for nothing."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two recorded events; raises ValueError as CUDA's does."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.recorded is None or end_event.recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event.recorded - self.recorded) * 1000

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {'uninitialized' if self.recorded is None else 'recorded'}>"


_machines: list[Machine] = []
_current: dict[int, Stream] = {}
_default: dict[int, Stream] = {}


def _machine() -> Machine:
    if not _machines:
        raise RuntimeError("the simulated GPU is off: enable it before you make streams and events")
    return _machines[-1]


class StreamContext:
    """`with torch.cuda.stream(stream)`; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *details: Any) -> None:
        if self.stream is not None:
            self.stream.__exit__(*details)


def replacements(machine: Machine) -> dict[str, Any]:
    """What takes the place of `torch.cuda`'s streams and events, by name."""
    _machines[:] = [machine]
    _current.clear()
    _default.clear()

    def default_stream(device: Any = None) -> Stream:
        index = device_number(machine, device)
        if index not in _default:
            _default[index] = Stream(index)
            _default[index].cuda_stream = _default[index].stream_id = 0
        return _default[index]

    def current_stream(device: Any = None) -> Stream:
        return _current.get(device_number(machine, device)) or default_stream(device)

    def set_stream(stream: Stream | None) -> None:
        if stream is not None:
            _current[stream.device_index] = stream

    def stream_(stream: Stream | None) -> StreamContext:
        return StreamContext(stream)

    functions: dict[str, Callable[..., Any]] = {
        "Stream": Stream,
        "Event": Event,
        "StreamContext": StreamContext,
        "stream": stream_,
        "current_stream": current_stream,
        "default_stream": default_stream,
        "set_stream": set_stream,
    }
    return functions
