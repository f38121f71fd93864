"""How long one kernel takes on a card: a roofline with the corrections that real GPUs need.

The constants are in `clock_constants.toml`; `python -m tools.fit_clock` fits them to published
measurements, and `docs/the_clock.md` shows how well they predict others.
"""

from __future__ import annotations

import math
from typing import Any

from .cards import Card
from .settings import table
from .work import Work

Constants = dict[str, Any]
_MIB = 1 << 20
_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}


def kernel_seconds(work: Work, card: Card, constants: Constants | None = None) -> float:
    """Return the modelled time of a kernel on a card in seconds, without its launch by the CPU."""
    constants = constants or table("clock_constants")
    parts = [memory_seconds(work, card, constants), *compute_seconds(work, card, constants)]
    largest = max(parts)
    # Memory, cache and arithmetic overlap, but not perfectly.
    p = constants["family"][work.family]["overlap"]
    seconds = largest and largest * sum((part / largest) ** p for part in parts) ** (1 / p)
    return constants["kernel_us"] * 1e-6 + seconds


def memory_seconds(work: Work, card: Card, constants: Constants) -> float:
    """Return the time to move a kernel's bytes; what fits into the L2 cache moves faster."""
    rates = _rates(card, constants)
    family = constants["family"][work.family]
    fraction = rates["bandwidth"] * family["bandwidth"]
    reordered = family.get("reordered", 0.0) if _unit(work, card) == "tensor" else 0.0
    size = work.bytes + reordered * work.reordered
    cached = min(size, rates["cached"] * card.l2 * _MIB)
    moved = size - cached + cached / constants["cache_speed"]
    # A multiprocessor handles so many elements per ns, which limits cards with fast memory.
    limit = card.sms * family.get("per_sm", math.inf) * _BYTES[work.precision]
    return moved / (1e9 * min(card.bandwidth * fraction, limit))


def compute_seconds(work: Work, card: Card, constants: Constants) -> tuple[float, float]:
    """Return the times of a kernel's arithmetic and of its reads from the caches, or 0 and 0."""
    family = constants["family"][work.family]
    if "compute" not in family or not work.flops:
        return 0.0, 0.0
    rates = _rates(card, constants)
    kind = _unit(work, card)
    # Busy units take the same power in each precision, so a low power limit limits a fraction.
    peak = card.peak_tflops("fp64" if work.precision == "fp64" else "fp32")
    full = 1e3 * (max(card.tflops.values()) if kind == "tensor" else peak)
    fraction = min(rates[kind], rates[kind + "_gflops_per_watt"] * card.watts / full)
    peak = fraction * 1e12 * card.peak_tflops(work.precision) * family["compute"][kind]
    if all(size % 8 == 0 for size in work.dims[2:]):
        # Rows of whole vectors: loads need no extra instructions, and tensor cores no padding.
        peak *= family["aligned"][kind]
    if "tile" not in family:
        return work.flops / (peak * rates.get(work.family, 1.0)), 0.0
    # In float32, a multiprocessor reads so many bytes per ns, whatever the memory's bandwidth is.
    rate = card.sms if kind == "fp32" else card.bandwidth * rates["bandwidth"]
    per_read = _BYTES[work.precision] / (1e9 * rate * family["cache"][kind])
    times = _tiled(work.dims, card.sms, peak, per_read, family, kind)
    if work.is_winograd and kind == "fp32":
        batch, m, n, k = work.dims
        # Winograd's algorithm F(2x2, 3x3) computes 16 products of a quarter of the pixels.
        winograd = _tiled((16 * batch, m / 4, n, k / 9), card.sms, peak, per_read, family, kind)
        times = min(times, tuple(family["winograd"] * time for time in winograd), key=max)
    return times


def _tiled(
    dims: tuple[float, ...], sms: int, peak: float, per_read: float, family: Constants, kind: str
) -> tuple[float, float]:  # fmt: skip
    """Return the seconds of a batch of products: of its arithmetic, and of reading its tiles."""
    batch, m, n, k = dims
    rows, columns = family["tile"][kind]
    blocks = batch * math.ceil(m / rows) * math.ceil(n / columns)
    # A multiprocessor needs several blocks in turn to hide latencies; if there are too few, blocks
    # can share the sum over k.
    fill = family["fill"][kind]
    parts = max(1.0, min((1 + 2 * fill) * sms / blocks, k / family["split"]))
    per_sm = blocks * parts / sms
    busy = per_sm / max(1.0, per_sm + fill)
    # The edges of the result are filled up to whole groups of elements.
    edge = family["edge"]
    edges = math.ceil(m / edge) * math.ceil(n / edge) * edge**2
    flops = 2.0 * batch * edges * (k + parts * family["depth"][kind])
    # A row of X is read for each tile of columns, and a column of W for each tile of rows.
    read = batch * k * (m * math.ceil(n / columns) + n * math.ceil(m / rows))
    return flops / (peak * busy), read * per_read


def _unit(work: Work, card: Card) -> str:
    """Return which units compute: "tensor" (cores) or "fp32"."""
    has_tensor_cores = card.capability >= (7, 0) and work.precision in card.tflops
    return "tensor" if has_tensor_cores and work.precision != "fp32" else "fp32"


def _rates(card: Card, constants: Constants) -> Constants:
    """Return what a card of this architecture reaches of its data sheet."""
    return constants["architecture"]["other"] | constants["architecture"].get(card.architecture, {})
