"""Recognise a device error by what torch says, in the wordings of its versions since 1.0."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

_DEVICE = r"(?:cpu|meta|(?:cuda|mps|xpu|hip|hpu|mtia|xla)(?::\d+)?)"

# The order matters: the first family that fits decides, so the narrow ones stand first.
_FAMILIES: tuple[tuple[str, str], ...] = (
    ("memory", r"(CUDA|HIP|XPU|MPS|CUDA error:) (backend )?out of memory"),
    ("numpy", r"can't convert .*device type tensor to numpy|convert CUDA tensor to numpy"),
    ("generator", r"Expected a '?\w+'?( device type|:generator device)? for generator"),
    ("load", r"Attempting to deserialize object on"),
    ("fork", r"Cannot re-initialize CUDA in forked subprocess"),
    ("assert", r"device-side assert triggered"),
    ("name", r"device type at start of device string|Invalid device string"),
    ("method", r"Invalid device, must be \w+ device"),
    ("ordinal", r"invalid device ordinal|Invalid device id|invalid device index"),
    ("pin", r"dense CPU tensors can be pinned|only CPU memory can be pinned|cannot pin "),
    (
        "no-gpu",
        r"Found no NVIDIA driver|NVIDIA driver on your system is too old|No CUDA GPUs are available"
        r"|Torch not compiled with \w+ enabled|not linked with support for \w+ devices"
        r"|driver version is insufficient|no CUDA-capable device|No HIP GPUs are available"
        r"|Cannot access accelerator device when none is available"
        r"|MPS backend is supported on MacOS|[Pp]inned memory requires CUDA",
    ),
    (
        "must-be-cpu",
        r"'lengths' argument should be a 1D CPU|batch_sizes (tensor )?should (always )?be on CPU"
        r"|tensor_indices_or_sections to be on cpu|only implemented on CPU tensors",
    ),
    (
        "mix",
        r"same devices?\b|same type of device|same GPU|different devices?\b|at least two devices"
        r"|tensors? to be on \w+ *, but|expected device \S+ but got"
        r"|expected (it|them) to be on (GPU|CPU|\w+)|should be either on cpu or on the same device"
        r"|device type \w+ but got device type|backend \w+ but got backend"
        r"|gradient (with device type|located on device)|is not on the expected device"
        r"|expected '\w+' to be a? ?(CUDA|CPU)"
        r"|to have \S+ device, but got tensor with|must be on (the )?(CUDA|GPU|CPU)"
        r"|must be a (CUDA|CPU) tensor"
        r"|storage has not been allocated on MPS|invalid gradient .*expected device"
        r"|Expected object of (type|device) .*cuda|must be on the current device"
        r"|device '?\w+'? does not (equal|match)|device type of \w+ .* (must|should|does)",
    ),
    ("cuda", r"^(CUDA|HIP|cuDNN|CUBLAS) error|CUDNN_STATUS|CUBLAS_STATUS"),
)
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _FAMILIES)
_TYPES = re.compile(r"Input type \((.*?)\) and (?:weight|bias) type \((.*?)\)")
_NAMES = re.compile(rf"(?<![\w.'])'?({_DEVICE})\b'?", re.IGNORECASE)


@dataclass(frozen=True)
class Wording:
    """What an error's text says: the kind of device error and the devices it names."""

    kind: str
    devices: tuple[str, ...]
    text: str = ""
    other_type: bool = False  # besides the device, the number type differs


def recognise(error: BaseException) -> Wording | None:
    """Say which kind of device error this is; None for any other error.

    Kinds: "mix" (tensors on two devices), "numpy", "generator", "load", "memory", "no-gpu",
    "ordinal" (no GPU of that number), "name" (no such device), "method" (`x.cuda("cpu")`), "pin",
    "must-be-cpu", "fork", "assert" and "cuda" (the GPU itself failed).
    """
    if not isinstance(error, Exception):
        return None
    text = str(error)
    devices = tuple(dict.fromkeys(name.lower() for name in _NAMES.findall(text)))
    if isinstance(error, torch.OutOfMemoryError):
        return Wording("memory", devices, text)
    types = _TYPES.search(text)
    if types:
        return _two_types(types.group(1), types.group(2))
    for kind, pattern in _COMPILED:
        if pattern.search(text):
            return Wording(kind, devices, text)
    return None


def mentions_devices(error: BaseException) -> Wording | None:
    """Return a wording for a text that may be a device error's in words that no family knows.

    It speaks of devices at all, or of number types where the devices may differ as well. A name
    that does not exist, such as `optimizer.device`, is no mix, though it speaks of a device.
    """
    if isinstance(error, AttributeError | NameError | LookupError):
        return None
    if _TYPES.search(str(error)):
        return Wording("mix", (), other_type=True)
    spoken = re.search(r"\b(devices?|cuda|gpu|cpu|mps|xpu)\b", str(error), re.IGNORECASE)
    return Wording("mix", ()) if spoken else None


def _two_types(first: str, second: str) -> Wording | None:
    # torch.FloatTensor and torch.cuda.HalfTensor, or MPSFloatType: where it lives, and its numbers.
    def split(name: str) -> tuple[str, str]:
        place = re.search(r"cuda|xpu|mps|hpu", name, re.IGNORECASE)
        numbers = re.search(r"([A-Z][a-z0-9]+)(Tensor|Type)$", name)
        return (
            place.group().lower() if place else "cpu",
            numbers.group(1).removeprefix("MPS") if numbers else name,
        )

    (place, numbers), (other_place, other_numbers) = split(first), split(second)
    if place == other_place and first != second:
        return None  # numbers of two types, on one device
    return Wording("mix", (place, other_place), other_type=numbers != other_numbers)
