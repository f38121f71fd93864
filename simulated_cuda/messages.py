"""PyTorch's exact CUDA error messages, and their exception types.

`rules.py` and the handlers raise them. Some messages differ between versions of PyTorch; the
message of the installed version is used.
"""

import torch

# The names of integer dtypes in PyTorch's messages.
INTEGERS = {
    torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int",
    torch.int64: "Long", torch.bool: "Bool",
}  # fmt: skip

_VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])

CUDA_ERROR = getattr(torch, "AcceleratorError", RuntimeError)

FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
    "use the 'spawn' start method"
)

_SAME_DEVICE = "Expected all tensors to be on the same device, but "


def two_devices(first: torch.device, second: torch.device) -> RuntimeError:
    """Return the error of element-wise operations; `first` is not the CPU."""
    return RuntimeError(f"{_SAME_DEVICE}found at least two devices, {first} and {second}!")


def wrong_argument(
    name: str, device: torch.device, others: torch.device, method: str,
    prefix: str = "wrapper_CUDA_",
) -> RuntimeError:  # fmt: skip
    """Return the error of operations that check each argument.

    `others` is the device of the first argument.
    """
    return RuntimeError(
        f"{_SAME_DEVICE}got {name} is on {device}, different from other tensors on {others} "
        f"(when checking argument in method {prefix}{method})"
    )


_ASYNCHRONOUS = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
    "below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)


def _cuda_error(text: str, help_text: str, in_kernel: bool = False) -> Exception:
    """Return the error of a failed call of the CUDA runtime (c10/cuda/CUDAException.cpp).

    `in_kernel` is True if a kernel failed, which may be reported by a later call.
    """
    text = f"CUDA error: {text}\n{help_text}\n"
    if in_kernel or _VERSION < (2, 13):
        text += _ASYNCHRONOUS
    elif _VERSION == (2, 13):
        text += "For more detailed error information, run with CUDA_LOG_FILE=stderr\n"
    if _VERSION < (2, 13):
        text += "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    return CUDA_ERROR(text)


_SEARCH = (
    "Search for `{}' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html "
    "for more information."
)


def invalid_ordinal() -> Exception:
    """Return the error for a device that does not exist."""
    help_text = "GPU device may be out of range, do you have enough GPUs?"
    return _cuda_error("invalid device ordinal", help_text)


class NotSimulatedError(RuntimeError):
    """Raised for a feature of CUDA that is not simulated."""


def not_simulated(name: str, advice: str) -> NotSimulatedError:
    """Return the error for the feature `name`; `advice` is a sentence with an alternative."""
    return NotSimulatedError(f"Not simulated: {name}. {advice}")


ADVICE_ON_FAKE_TENSORS = (
    "torch.export, make_fx and FakeTensorMode need the CUDA driver. Use tensors "
    "on the CPU, or a machine with a GPU."
)


def device_assertion() -> Exception:
    """Return the error for an index out of range in a CUDA kernel."""
    help_text = _SEARCH.format("cudaErrorAssert")
    return _cuda_error("device-side assert triggered", help_text, in_kernel=True)


def initialization_error() -> Exception:
    """Return the error for an operation on a GPU tensor in a forked process."""
    return _cuda_error("initialization error", _SEARCH.format("cudaErrorInitializationError"))


def out_of_memory(
    needed: int, index: int, total: int, free: int, allocated: int, cached: int, limit: int | None
) -> str:
    """Return the out-of-memory message. All sizes are in bytes.

    `cached` is the memory that is reserved but not allocated. `limit` is the limit that the
    program has set, or None.
    """
    allowed = "" if limit is None else f"{size(limit)} allowed; "
    return (
        f"CUDA out of memory. Tried to allocate {size(needed)}. GPU {index} has a total capacity "
        f"of {size(total)} of which {size(free)} is free. {allowed}Of the allocated memory "
        f"{size(allocated)} is allocated by PyTorch, and {size(cached)} is reserved by PyTorch "
        "but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
        "documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/cuda.html"
        "#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
    )


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
    name = operation if "::" in operation else f"aten::{operation}"
    return (
        f"Could not run '{name}' with arguments from the 'CUDA' backend. This could be "
        "because the operator doesn't exist for this backend, or was omitted during the "
        "selective/custom build process (if using custom build)."
    )
