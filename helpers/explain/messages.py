"""The kinds of PyTorch's device errors: their messages, and an explanation of each."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Kind:
    """One kind of device error: the pattern of its messages in torch 2.11 to 2.14, and texts.

    `why` is "" if the reason depends on the line; `advice` is for lines without a fix.
    """

    name: str
    pattern: str
    title: str
    why: str = ""
    advice: tuple[str, ...] = ()


# The first matching pattern wins, so specific patterns come first.
KINDS = (
    Kind(
        "memory",
        r"(CUDA|HIP|XPU|MPS|CUDA error:) (backend )?out of memory",
        "The GPU is out of memory",
        "The line needs more memory than is free.",
        (
            "Use smaller batches, `del` tensors that you no longer need, and evaluate under "
            "`torch.no_grad()`.",
            "Add `loss.item()` to a running total, not `loss`, which keeps the whole graph in "
            "memory.",
        ),
    ),
    Kind(
        "numpy",
        r"can't convert .*device type tensor to numpy",
        "NumPy can access only CPU memory",
        "NumPy cannot access GPU memory: copy the tensor to the CPU first.",
    ),
    Kind(
        "generator",
        r"Expected a '\w+' device type for generator",
        "The generator is on another device",
        "Random numbers are drawn on the device of their generator.",
        ("Create it on that device: `torch.Generator(device=device)`.",),
    ),
    Kind(
        "load",
        r"Attempting to deserialize object on",
        "The file was saved on a GPU that this machine does not have",
        "torch loads each tensor to the device it was saved on, unless you pass `map_location`.",
        ("Pass `map_location='cpu'` to `torch.load`.",),
    ),
    Kind(
        "fork",
        r"Cannot re-initialize CUDA in forked subprocess",
        "A DataLoader worker cannot use the GPU",
        "A forked worker process cannot use the CUDA context of its parent process.",
        ("Return CPU tensors from the dataset, and move each batch in the training loop.",),
    ),
    Kind(
        "assert",
        r"device-side assert triggered",
        "A device-side assertion failed on the GPU",
        "The usual cause is a label or an index out of range: the labels of C classes are 0 to "
        "C - 1.",
        (
            "Restart the kernel and run the same code on the CPU: there the message names the "
            "line and the value.",
        ),
    ),
    Kind(
        "name",
        r"device type at start of device string|Invalid device string|Invalid device, must be",
        "There is no device with this name",
        advice=("Write `'cpu'`, `'cuda'` or, for one of several GPUs, `'cuda:1'`.",),
    ),
    Kind(
        "ordinal",
        r"invalid device ordinal|Invalid device id",
        "There is no GPU with this number",
        advice=("GPUs are numbered from 0 to `torch.cuda.device_count() - 1`.",),
    ),
    Kind(
        "pin",
        r"dense CPU tensors can be pinned|cannot pin ",
        "Only CPU tensors can be pinned",
        "Pinned memory is CPU memory from which copies to the GPU are fast.",
    ),
    Kind(
        "no-gpu",
        r"Found no NVIDIA driver|driver on your system is too old|No (CUDA|HIP) GPUs are available"
        r"|Torch not compiled with|not linked with support for|driver version is insufficient"
        r"|no CUDA-capable device|Cannot access accelerator device when none is available"
        r"|MPS backend is supported on MacOS|[Pp]inned memory requires CUDA",
        "This machine has no GPU that torch can use",
        "Let the program use the GPU where there is one, and the CPU elsewhere.",
        (
            "Choose once: `device = 'cuda' if torch.cuda.is_available() else 'cpu'`. Then write "
            "`.to(device)` in place of `.cuda()`, and `device=device` in place of `device='cuda'`.",
        ),
    ),
    Kind(
        "must-be-cpu",
        r"'lengths' argument should be a 1D CPU|batch_sizes (tensor )?should (always )?be on CPU"
        r"|tensor_indices_or_sections to be on cpu|only implemented on CPU tensors",
        "This argument must stay on the CPU",
        "torch reads these numbers on the CPU to plan the work of the GPU.",
    ),
    Kind(
        "mix",
        r"same devices?\b|different devices?\b|at least two devices"
        r"|expected device \S+ but got|expected (it|them) to be on GPU"
        r"|gradient (with device type|located on device)|is not on the expected device"
        r"|to have \S+ device, but got tensor with|storage has not been allocated on MPS",
        "Two devices in one operation",
        "An operation needs all its tensors on one device; torch does not copy them for you.",
    ),
    Kind(
        "cuda",
        r"^(CUDA|HIP|cuDNN|CUBLAS) error|CUDNN_STATUS|CUBLAS_STATUS",
        "The GPU reported an error",
        "The GPU runs asynchronously, so the line that caused the error may be an earlier one.",
        ("Restart the kernel and run again with the environment variable CUDA_LAUNCH_BLOCKING=1.",),
    ),
)
MEMORY, MISMATCH = (kind for kind in KINDS if kind.name in ("memory", "mix"))
_INPUT_TYPES = re.compile(r"Input type \((.*?)\) and (?:weight|bias) type \((.*?)\)")
_DEVICE_NAMES = re.compile(r"(?<![\w.'])'?(cpu|meta|(?:cuda|mps|xpu)(?::\d+)?)\b'?", re.IGNORECASE)


@dataclass(frozen=True)
class Message:
    """The content of an error message: the kind of error and the devices that it names."""

    kind: Kind
    devices: tuple[str, ...] = ()
    text: str = ""
    dtypes_differ: bool = False  # the devices may differ too


def recognize(error: BaseException) -> Message | None:
    """Return the content of a message about devices; None for any other error."""
    text = str(error)
    if not isinstance(error, Exception):
        return None
    if types := _INPUT_TYPES.search(text):  # `torch.cuda.FloatTensor`, or `MPSFloatType`
        found = [re.search("cuda|xpu|mps", name, re.IGNORECASE) for name in types.groups()]
        devices = [name[0].lower() if name else "cpu" for name in found]
        dtypes = {re.sub(r".*\.|MPS|Tensor|Type", "", name) for name in types.groups()}
        return Message(MISMATCH, tuple(dict.fromkeys(devices)), text, len(dtypes) > 1)
    for kind in KINDS:
        is_full = kind is MEMORY and isinstance(error, torch.OutOfMemoryError)
        if is_full or re.search(kind.pattern, text, re.IGNORECASE):
            names = dict.fromkeys(name.lower() for name in _DEVICE_NAMES.findall(text))
            return Message(kind, tuple(names), text)
    return None
