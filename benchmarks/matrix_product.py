"""Matrix products of increasing size on a GPU, in each number format that PyTorch supports.

Baseline: float32 without TF32. Without a GPU, only the CPU's float32 is measured.
"""

from pathlib import Path

import torch

from benchmarks._recording import devices, merge_records, record
from helpers.timing import measure as measure_time

SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
ROUNDS = 5


def measure(
    cifar10_root: Path, sizes: tuple[int, ...] = SIZES, seconds: float = 0.2
) -> dict[str, object]:
    """Return TFLOP/s of the product of two square matrices, by number format and size."""
    device = devices()[-1]
    sizes = sizes if device.type == "cuda" else sizes[:6]
    rates: dict[str, list[float]] = {}
    for name, dtype, tf32 in _formats(device):
        before, torch.backends.cuda.matmul.allow_tf32 = torch.backends.cuda.matmul.allow_tf32, tf32
        try:
            rates[name] = [_rate(size, dtype, device, seconds) for size in sizes]
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
    results = {"rounds": ROUNDS, "sizes": list(sizes), "tflop_per_second": rates}
    return merge_records("matrix_product", "matrix products by size", [record(device, results)])


def _formats(device: torch.device) -> list[tuple[str, torch.dtype, bool]]:
    formats = [("float32", torch.float32, False)]
    if device.type == "cuda":
        formats.append(("float16", torch.float16, False))
        # TF32 and bfloat16 need an Ampere GPU or newer.
        if torch.cuda.get_device_capability(device) >= (8, 0):
            formats.append(("TF32", torch.float32, True))
            formats.append(("bfloat16", torch.bfloat16, False))
    return formats


def _rate(size: int, dtype: torch.dtype, device: torch.device, seconds: float) -> float:
    a = torch.randn(size, size, device=device).to(dtype)
    timing = measure_time(lambda: a @ a, device, runs=ROUNDS, seconds=seconds)
    return 2 * size**3 / timing.median / 1e12
