"""The modelled time of a simulated GPU: a CPU that launches kernels, and queues that run them.

Launching a kernel takes the CPU a fixed time; the kernel then waits in the queue of its stream
until those before it have ended. Copies between the host and the device use engines of their own.
Where CUDA makes the CPU wait, it waits here too. Times are in seconds since the start of the
simulation; what Python itself computes between two operations takes no time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cards import Card
from .kernel_time import compute_seconds, kernel_seconds, memory_seconds
from .settings import table
from .waits import user_line
from .work import Work


@dataclass(slots=True)
class Span:
    """A kernel, a copy, or a wait: what ran on which row, from `start` to `end` in seconds.

    `row` is "CPU" for its waits, "launches", "GPU 0" or "copy to GPU 0", for example. `line` is the
    line of the program that waited, such as "train.py:12", and "" for everything else.
    """

    row: str
    name: str
    start: float
    end: float
    work: Work | None = None
    line: str = ""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


class Queue:
    """Work in order: `ready` is the time at which the last of it ends."""

    ready = 0.0


@dataclass
class Clock:
    """The time of a program and of the cards that it uses.

    `now` is the time of the CPU, and `spans` what ran, in the order of launches. If there are
    `max_spans`, `on_overflow` is called, which may clear them.
    """

    card: Card
    launch_seconds: float = 0.0
    now: float = 0.0
    launches: int = 0
    spans: list[Span] = field(default_factory=list)
    max_spans: float = float("inf")
    on_overflow: Callable[[], None] = field(default=lambda: None)
    is_suppressed: bool = False
    _queues: dict[Any, Queue] = field(default_factory=dict)
    _launching: Span | None = None  # without a pause since its start

    def __post_init__(self) -> None:
        self._constants = table("clock_constants")
        # Newer cards are in computers with newer CPUs.
        launch_us = "launch_us" if self.card.capability < (8, 0) else "launch_us_newer"
        self.launch_seconds = self.launch_seconds or 1e-6 * self._constants[launch_us]

    def queue(self, device: int, stream: Any = 0) -> Queue:
        """Return the queue of a device's stream, or of a copy engine such as "to GPU"."""
        return self._queues.setdefault((device, stream), Queue())

    def clear(self) -> None:
        """Forget the spans."""
        self.spans, self._launching = [], None

    def _spend(self, launches: float) -> None:
        """Let the CPU launch; launches without a pause between them are one span."""
        if len(self.spans) >= self.max_spans:
            self.on_overflow()
        start = self.now
        self.now += launches * self.launch_seconds
        if self._launching is None or self._launching.end != start:
            self._launching = Span("launches", "launches", start, start)
            self.spans.append(self._launching)
        self._launching.end = self.now

    def launch(
        self, works: Sequence[Work], device: int, stream: Any = 0, in_backward: bool = False
    ) -> None:
        """Let the CPU launch the kernels of one operation on a stream."""
        if self.is_suppressed:
            return
        if not works:  # a view or an allocation
            self._spend(self._constants["view"])
            return
        self._spend(self._constants["backward"] if in_backward else 1.0)
        queue = self.queue(device, stream)
        row = f"GPU {device}" if stream == 0 else f"GPU {device}, another stream"
        for work in works:
            start = max(self.now, queue.ready)
            queue.ready = start + kernel_seconds(work, self.card, self._constants)
            self.spans.append(Span(row, work.name, start, queue.ready, work))
            self.launches += 1

    def copy(
        self, nbytes: int, source: int, target: int, *, stream: Any = 0, pinned: bool = False,
        non_blocking: bool = False,
    ) -> None:  # fmt: skip
        """Copy between the host, -1, and a device, or between two devices."""
        constants = self._constants["copy"]
        self._spend(1.0)
        device, direction = (target, "to") if target >= 0 else (source, "from")
        queue, engine = self.queue(device, stream), self.queue(device, direction)
        speed = constants["pinned"] * (
            1 if pinned or min(source, target) >= 0 else constants["pageable"]
        )
        start = max(self.now, queue.ready, engine.ready)
        end = start + 1e-6 * constants["latency_us"] + nbytes / (1e9 * self.card.pcie * speed)
        queue.ready = engine.ready = end
        name = f"copy {nbytes:,} bytes"
        self.spans.append(Span(f"copy {direction} GPU {device}", name, start, end))
        # The driver copies pageable memory into a buffer of its own while the CPU waits.
        if min(source, target) < 0 and not (non_blocking and pinned):
            self.wait_until(end, name)

    def wait(self, device: int | None = None, stream: Any = None, name: str = "wait") -> None:
        """Let the CPU wait for a stream, for all streams of a device, or for everything."""
        readies = [
            queue.ready for (index, which), queue in self._queues.items()
            if (device is None or index == device) and (stream is None or which == stream)
        ]  # fmt: skip
        self.wait_until(max(readies, default=0.0), name)

    def poll(self) -> float:
        """Return the time of the CPU after asking the driver whether work is complete."""
        self.now += 1e-6 * self._constants["poll_us"]
        return self.now

    def wait_until(self, time: float, name: str) -> None:
        """Let the CPU wait until a time."""
        if self.is_suppressed:
            return
        file, line = user_line()
        place = "cell" if "ipykernel_" in file else Path(file).name
        start, self.now = self.now, max(self.now, time)
        self.spans.append(Span("CPU", name, start, self.now, line=f"{place}:{line}"))

    @property
    def end(self) -> float:
        """The time at which the CPU and all queues are done."""
        return max([self.now, *(queue.ready for queue in self._queues.values())])

    def limit_of(self, work: Work) -> str:
        """Return what limits a kernel: "memory", "compute" or "launch" (too small for either)."""
        memory = memory_seconds(work, self.card, self._constants)
        compute = max(compute_seconds(work, self.card, self._constants))
        if max(memory, compute) < 1e-6 * self._constants["kernel_us"]:
            return "launch"
        return "memory" if memory >= compute else "compute"
