"""Streams and events of a device that finishes every operation before the next one starts."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from . import messages, waits
from .clock import Queue
from .device_tags import device_at
from .machine import Machine


class _CurrentStreams(threading.local):
    """The current stream of each device in this thread, by device index."""

    def __init__(self) -> None:
        self.by_device: dict[int, Stream] = {}


_machines: list[Machine] = []
_current = _CurrentStreams()
_default: dict[int, Stream] = {}


def _machine() -> Machine:
    if not _machines:
        raise RuntimeError(messages.text("streams_are_off"))
    return _machines[-1]


class Stream:
    """A stream whose work is always complete; replaces `torch.cuda.Stream` and `torch.Stream`."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device_index = _machine().resolve_gpu(device)
        self.device = device_at(self.device_index)
        self.priority = priority
        self.cuda_stream = self.stream_id = self.native_handle = id(self)
        # DeviceType::CUDA in c10/core/DeviceType.h.
        self.device_type = 1
        self._previous: list[tuple[Stream | None, int]] = []

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the lowest and the highest priority; PyTorch limits the range to these."""
        return 0, -3

    def query(self) -> bool:
        """Return whether all work is complete; without a clock it always is."""
        queue = _queue(self)
        return queue is None or _machine().clock.poll() >= queue.ready

    def is_capturing(self) -> bool:
        """Return False: CUDA graphs are not simulated."""
        return False

    def synchronize(self) -> None:
        """Wait for the work of this stream. The debug mode for waits reports it."""
        waits.report_synchronization("Stream.synchronize")
        if (clock := _machine().clock) is not None:
            clock.wait(self.device_index, self.stream_id, "Stream.synchronize")

    def wait_stream(self, stream: Stream) -> None:
        """Let later work of this stream wait for the work that `stream` has now."""
        if (queue := _queue(stream)) is not None:
            _delay(self, queue.ready)

    def wait_event(self, event: Event) -> None:
        """Let later work of this stream wait for an event."""
        event.wait(self)

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new event, and return it."""
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self._previous.append((_current.by_device.get(self.device_index), _machine().current))
        _machine().current = self.device_index
        _current.by_device[self.device_index] = self
        return self

    def __exit__(self, *details: object) -> None:
        stream, _machine().current = self._previous.pop()
        if stream is None:
            _current.by_device.pop(self.device_index, None)
        else:
            _current.by_device[self.device_index] = stream

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """A point in a stream.

    `elapsed_time` is modelled if the simulation has a clock, otherwise wall-clock time, since
    operations run on the CPU.
    """

    def __init__(self, *args: Any, enable_timing: bool = False, **options: Any) -> None:
        # The first argument of torch.cuda.Event is enable_timing, that of torch.Event is a device.
        self.enable_timing = enable_timing or args[:1] == (True,)
        self.recorded: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Store the time at which the stream reaches this event."""
        queue = _queue(stream)
        if queue is None:
            self.recorded = time.perf_counter()
        else:
            self.recorded = max(_machine().clock.now, queue.ready)

    def query(self) -> bool:
        """Return whether all work before the event is complete; without a clock it always is."""
        clock = _machine().clock
        return clock is None or self.recorded is None or clock.poll() >= self.recorded

    def synchronize(self) -> None:
        """Wait for the work before the event."""
        if (clock := _machine().clock) is not None and self.recorded is not None:
            clock.wait_until(self.recorded, "Event.synchronize")

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream, by default the current one, wait for this event."""
        _delay(stream, self.recorded or 0.0)

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds between two recorded events; raise ValueError as PyTorch does."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.recorded is None or end_event.recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event.recorded - self.recorded) * 1000

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {'uninitialized' if self.recorded is None else 'recorded'}>"


def current_key(device_index: int) -> int:
    """Return 0 for the default stream of a device, or a number for another current stream."""
    stream = _current.by_device.get(device_index)
    return stream.stream_id if stream is not None else 0


def _queue(stream: Stream | None) -> Queue | None:
    """Return a stream's queue, by default that of the current stream; None without a clock."""
    machine = _machine()
    if machine.clock is None:
        return None
    index = machine.current if stream is None else stream.device_index
    return machine.clock.queue(index, current_key(index) if stream is None else stream.stream_id)


def _delay(stream: Stream | None, until: float) -> None:
    """Let later work of a stream start at this time or later."""
    if (queue := _queue(stream)) is not None:
        queue.ready = max(queue.ready, until)


def replacements(machine: Machine) -> dict[str, Any]:
    """Return the replacements for streams and events of `torch.cuda`, by name."""
    _machines[:] = [machine]
    _current.by_device.clear()
    _default.clear()

    def default_stream(device: Any = None) -> Stream:
        index = machine.resolve_gpu(device)
        if index not in _default:
            _default[index] = Stream(index)
            _default[index].cuda_stream = _default[index].stream_id = 0
        return _default[index]

    def current_stream(device: Any = None) -> Stream:
        return _current.by_device.get(machine.resolve_gpu(device)) or default_stream(device)

    def set_stream(stream: Stream | None) -> None:
        if stream is not None:
            _current.by_device[stream.device_index] = stream

    return {
        "Stream": Stream,
        "Event": Event,
        "StreamContext": lambda stream: stream or contextlib.nullcontext(),
        "stream": lambda stream: stream or contextlib.nullcontext(),
        "current_stream": current_stream,
        "default_stream": default_stream,
        "set_stream": set_stream,
    }
