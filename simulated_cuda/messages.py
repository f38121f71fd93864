"""PyTorch's exact CUDA error messages, and their exception types.

`rules.py` and the handlers raise them. Some messages differ between versions of PyTorch; the
message of the installed version is used.
"""

from typing import Any

import torch

from . import settings

# The names of integer dtypes in PyTorch's messages.
INTEGERS = {
    torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int",
    torch.int64: "Long", torch.bool: "Bool",
}  # fmt: skip

_VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])

CUDA_ERROR = getattr(torch, "AcceleratorError", RuntimeError)


def text(name: str, *values: Any, **named: Any) -> str:
    """Return a text of `errors.toml` with these values."""
    return settings.table("errors")[name].format(*values, **named)


def two_devices(first: torch.device, second: torch.device) -> RuntimeError:
    """Return the error of element-wise operations; `first` is not the CPU."""
    return RuntimeError(text("two_devices", first, second))


def wrong_argument(
    name: str, device: torch.device, others: torch.device, method: str,
    prefix: str = "wrapper_CUDA_",
) -> RuntimeError:  # fmt: skip
    """Return the error of operations that check each argument; the first one is on `others`."""
    return RuntimeError(text("wrong_argument", name, device, others, prefix + method))


def _cuda_error(what: str, help_text: str, in_kernel: bool = False) -> Exception:
    """Return the error of a failed CUDA call; `in_kernel`: of a kernel, perhaps an earlier one."""
    message = f"CUDA error: {what}\n{help_text}\n"
    if in_kernel or _VERSION < (2, 13):
        message += text("asynchronous")
    elif _VERSION == (2, 13):
        message += "For more detailed error information, run with CUDA_LOG_FILE=stderr\n"
    if _VERSION < (2, 13):
        message += "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    return CUDA_ERROR(message)


def invalid_ordinal() -> Exception:
    """Return the error for a device that does not exist."""
    help_text = "GPU device may be out of range, do you have enough GPUs?"
    return _cuda_error("invalid device ordinal", help_text)


class NotSimulatedError(RuntimeError):
    """Raised for a feature of CUDA that is not simulated."""


def not_simulated(name: str, advice: str) -> NotSimulatedError:
    """Return the error for the feature `name`; `advice` is a sentence with an alternative."""
    return NotSimulatedError(f"Not simulated: {name}. {advice}")


def fake_tensor_not_simulated() -> NotSimulatedError:
    """Return the error for a FakeTensor on CUDA."""
    return not_simulated("FakeTensor on CUDA", text("fake_tensor"))


def device_assertion() -> Exception:
    """Return the error for an index out of range in a CUDA kernel."""
    help_text = text("search", "cudaErrorAssert")
    return _cuda_error("device-side assert triggered", help_text, in_kernel=True)


def initialization_error() -> Exception:
    """Return the error for an operation on a GPU tensor in a forked process."""
    return _cuda_error("initialization error", text("search", "cudaErrorInitializationError"))


def out_of_memory(
    needed: int, index: int, total: int, free: int, allocated: int, cached: int, limit: int | None
) -> str:
    """Return the out-of-memory message. All sizes are in bytes.

    `cached` is the memory that is reserved but not allocated. `limit` is the limit that the
    program has set, or None.
    """
    allowed = "" if limit is None else f"{size(limit)} allowed; "
    sizes = {"total": total, "free": free, "allocated": allocated, "cached": cached}
    sizes = {name: size(nbytes) for name, nbytes in sizes.items()}
    return text("out_of_memory", needed=size(needed), index=index, allowed=allowed, **sizes)


def size(nbytes: int) -> str:
    """Format a size as the caching allocator does: in bytes, or KiB, MiB, GiB to two decimals."""
    if nbytes <= 1024:
        return f"{nbytes} bytes"
    for unit, scale in (("KiB", 1 << 10), ("MiB", 1 << 20)):
        if nbytes <= scale << 10:
            return f"{nbytes / scale:.2f} {unit}"
    return f"{nbytes / (1 << 30):.2f} GiB"


def no_kernel(operation: str) -> str:
    """Return the message for a missing CUDA kernel, without PyTorch's list of backends."""
    return text("no_kernel", operation if "::" in operation else f"aten::{operation}")
