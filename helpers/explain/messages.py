"""Recognize PyTorch's device errors by their messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import torch


class Kind(StrEnum):
    """The kinds of device errors that the explainer tells apart."""

    MIX = "mix"  # tensors on two devices in one operation
    NUMPY = "numpy"
    GENERATOR = "generator"
    LOAD = "load"
    MEMORY = "memory"
    NO_GPU = "no-gpu"
    ORDINAL = "ordinal"  # a GPU number that does not exist
    NAME = "name"  # a device name that does not exist
    CUDA_METHOD = "cuda-method"  # `x.cuda("cpu")`
    PIN = "pin"
    MUST_BE_CPU = "must-be-cpu"
    FORK = "fork"
    ASSERT = "assert"
    CUDA = "cuda"  # any other error that the GPU reports


# Messages of torch 2.11 to 2.14. The first pattern that matches decides: narrow ones come first.
_PATTERNS: tuple[tuple[Kind, str], ...] = (
    (Kind.MEMORY, r"(CUDA|HIP|XPU|MPS|CUDA error:) (backend )?out of memory"),
    (Kind.NUMPY, r"can't convert .*device type tensor to numpy"),
    (Kind.GENERATOR, r"Expected a '\w+' device type for generator"),
    (Kind.LOAD, r"Attempting to deserialize object on"),
    (Kind.FORK, r"Cannot re-initialize CUDA in forked subprocess"),
    (Kind.ASSERT, r"device-side assert triggered"),
    (Kind.NAME, r"device type at start of device string|Invalid device string"),
    (Kind.CUDA_METHOD, r"Invalid device, must be \w+ device"),
    (Kind.ORDINAL, r"invalid device ordinal|Invalid device id"),
    (Kind.PIN, r"dense CPU tensors can be pinned|cannot pin "),
    (
        Kind.NO_GPU,
        r"Found no NVIDIA driver|NVIDIA driver on your system is too old|No CUDA GPUs are available"
        r"|Torch not compiled with \w+ enabled|not linked with support for \w+ devices"
        r"|driver version is insufficient|no CUDA-capable device|No HIP GPUs are available"
        r"|Cannot access accelerator device when none is available"
        r"|MPS backend is supported on MacOS|[Pp]inned memory requires CUDA",
    ),
    (
        Kind.MUST_BE_CPU,
        r"'lengths' argument should be a 1D CPU|batch_sizes (tensor )?should (always )?be on CPU"
        r"|tensor_indices_or_sections to be on cpu|only implemented on CPU tensors",
    ),
    (
        Kind.MIX,
        r"same devices?\b|same type of device|same GPU|different devices?\b|at least two devices"
        r"|tensors? to be on \w+ *, but|expected device \S+ but got|expected (it|them) to be on GPU"
        r"|should be either on cpu or on the same device|device type \w+ but got device type"
        r"|gradient (with device type|located on device)|is not on the expected device"
        r"|expected '\w+' to be a? ?(CUDA|CPU)|to have \S+ device, but got tensor with"
        r"|must be on (the )?(CUDA|GPU|CPU)|must be a (CUDA|CPU) tensor"
        r"|storage has not been allocated on MPS|must be on the current device"
        r"|device '?\w+'? does not (equal|match)|device type of \w+ .* (must|should|does)",
    ),
    (Kind.CUDA, r"^(CUDA|HIP|cuDNN|CUBLAS) error|CUDNN_STATUS|CUBLAS_STATUS"),
)
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS)
_INPUT_TYPES = re.compile(r"Input type \((.*?)\) and (?:weight|bias) type \((.*?)\)")
_DEVICE_NAMES = re.compile(
    r"(?<![\w.'])'?(cpu|meta|(?:cuda|mps|xpu|hip|hpu|mtia|xla)(?::\d+)?)\b'?", re.IGNORECASE
)


@dataclass(frozen=True)
class Message:
    """What an error's message says: the kind of error and the devices it names."""

    kind: Kind
    devices: tuple[str, ...] = ()
    text: str = ""
    dtypes_differ: bool = False  # in addition to the devices


def recognize(error: BaseException) -> Message | None:
    """Return what the message of a device error says; None for any other error."""
    if not isinstance(error, Exception):
        return None
    text = str(error)
    devices = tuple(dict.fromkeys(name.lower() for name in _DEVICE_NAMES.findall(text)))
    if isinstance(error, torch.OutOfMemoryError):
        return Message(Kind.MEMORY, devices, text)
    if types := _INPUT_TYPES.search(text):
        return _from_tensor_types(text, *types.groups())
    kinds = (kind for kind, pattern in _COMPILED if pattern.search(text))
    kind = next(kinds, None)
    return Message(kind, devices, text) if kind else None


def mentions_devices(error: BaseException) -> Message | None:
    """Return a message for an unknown text that may be about devices.

    The text mentions a device, or two data types of tensors that may also be on two devices. An
    error about a name that does not exist, such as `optimizer.device`, does not count.
    """
    if isinstance(error, AttributeError | NameError | LookupError):
        return None
    if _INPUT_TYPES.search(str(error)):
        return Message(Kind.MIX, dtypes_differ=True)
    mentioned = re.search(r"\b(devices?|cuda|gpu|cpu|mps|xpu)\b", str(error), re.IGNORECASE)
    return Message(Kind.MIX) if mentioned else None


def _from_tensor_types(text: str, first: str, second: str) -> Message | None:
    """Read the devices from tensor types such as `torch.cuda.FloatTensor` or `MPSFloatType`."""

    def split(name: str) -> tuple[str, str]:
        place = re.search(r"cuda|xpu|mps|hpu", name, re.IGNORECASE)
        dtype = re.search(r"([A-Z][a-z0-9]+)(Tensor|Type)$", name)
        return (
            place.group().lower() if place else "cpu",
            dtype.group(1).removeprefix("MPS") if dtype else name,
        )

    (device, dtype), (other_device, other_dtype) = split(first), split(second)
    if device == other_device and first != second:
        return None  # two data types on one device
    return Message(Kind.MIX, (device, other_device), text, dtypes_differ=dtype != other_dtype)
