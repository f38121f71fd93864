"""Copies from the CPU to a GPU, from pageable and pinned memory, blocking and non-blocking.

Baseline: a blocking copy from pageable memory. Needs a CUDA GPU; without one, the records
from other machines are kept.
"""

import time
from pathlib import Path

import torch
from torch import Tensor

from benchmarks._recording import Results, devices
from helpers.timing import compare

DESCRIPTION = "copies from the host to a GPU"
SIZES = tuple(4096 * 8**power for power in range(6))  # bytes: 4 KB to 134 MB
ROUNDS = 7
SECONDS = 0.3
MATRIX = 4096  # side of the matrices that are multiplied during a copy


def measure(cifar10_root: Path | str) -> Results:
    """Return GB/s for each kind of memory, the time until a call returns, and stream timings."""
    device = devices()[-1]
    if device.type != "cuda":
        print("not measured: this needs a CUDA GPU; records from other machines are kept")
        return {}
    rates: dict[str, list[float]] = {"pageable": [], "pinned": []}
    for size in SIZES:
        pageable = torch.zeros(size, dtype=torch.uint8)
        pinned = pageable.pin_memory()
        target = torch.empty(size, dtype=torch.uint8, device=device)
        variants = {
            "pageable": lambda source=pageable, target=target: target.copy_(source),
            "pinned": lambda source=pinned, target=target: target.copy_(source, non_blocking=True),
        }
        comparison = compare(variants, device, rounds=ROUNDS, seconds=SECONDS)
        for kind in variants:
            rates[kind].append(size / comparison[kind].median / 1e9)
    results = {
        "rounds": ROUNDS,
        "bytes": list(SIZES),
        "gigabytes_per_second": rates,
        "seconds_until_the_call_returns": {
            f"{kind}{', non_blocking' * non_blocking}": _seconds_until_return(
                source, target, non_blocking
            )
            for kind, source in (("pageable", pageable), ("pinned", pinned))
            for non_blocking in (False, True)
        },
        "overlap": _overlap(pinned, target, device),
    }
    return {device: results}


def _seconds_until_return(source: Tensor, target: Tensor, non_blocking: bool) -> float:
    # The timer deliberately does not wait for the device. It measures when the CPU can continue,
    # not when the copy ends.
    times = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize(target.device)
        start = time.perf_counter()
        target.copy_(source, non_blocking=non_blocking)
        times.append(time.perf_counter() - start)
    return sorted(times)[ROUNDS // 2]


def _overlap(pinned: Tensor, target: Tensor, device: torch.device) -> dict[str, float]:
    """Return the seconds of a copy and matrix products, on one stream and on two."""
    matrix = torch.randn(MATRIX, MATRIX, device=device)
    copy_stream = torch.cuda.Stream(device)

    def copy() -> None:
        target.copy_(pinned, non_blocking=True)

    def compute() -> None:
        for _ in range(8):
            matrix @ matrix

    def on_one_stream() -> None:
        copy()
        compute()

    def on_two_streams() -> None:
        copy_stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(copy_stream):
            copy()
        compute()
        torch.cuda.current_stream(device).wait_stream(copy_stream)

    variants = {
        "copy alone": copy,
        "compute alone": compute,
        "one stream": on_one_stream,
        "two streams": on_two_streams,
    }
    comparison = compare(variants, device, rounds=ROUNDS, seconds=SECONDS)
    return {name: comparison[name].median for name in variants}
