"""What a kernel has to do: the arithmetic and the bytes of each operation that PyTorch runs.

`works_of` looks only at shapes and dtypes, so it works for tensors without data too. An operation
that CUDA runs as one kernel is one `Work`, whatever the CPU does for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .settings import table

Tensor = torch.Tensor
Shape = Sequence[int]


@dataclass(frozen=True, slots=True)
class Work:
    """One kernel.

    Attributes:
        family: "elementwise", "reduction", "batch_norm", "batch_norm_planes" (not channels_last),
            "product" or "batched" (several of one size), "convolution", "grouped" or "depthwise",
            or "_backward" after these three; "attention" or "optimizer".
        bytes: bytes of device memory that it reads and writes.
        flops: floating-point operations of products, convolutions and attention; 0 for others.
        precision: "fp64", "fp32", "tf32", "fp16" or "bf16"; integers count as "fp32".
        dims: batch, m, n, k: a batch of products of m x k and k x n. A convolution is counted as
            the product that computes it.
        name: such as "addmm".
        is_winograd: whether it is a convolution for which cuDNN has Winograd kernels.
        reordered: bytes of images that are not channels_last, which tensor cores need.
    """

    family: str
    bytes: float
    flops: float = 0.0
    precision: str = "fp32"
    dims: tuple[float, float, float, float] = (0, 0, 0, 0)
    name: str = ""
    is_winograd: bool = False
    reordered: float = 0.0


_OPERATIONS = table("operations")
_FREE, _FILLS, _REDUCTIONS, _GATHERS, _SCATTERS = (
    frozenset(_OPERATIONS[key]) for key in ("free", "fills", "reductions", "gathers", "scatters")
)
_EXTRA_READS = _OPERATIONS["extra_reads"]
_PRECISIONS = {torch.float16: "fp16", torch.bfloat16: "bf16"} | dict.fromkeys(
    (torch.float64, torch.complex128), "fp64"
)


def works_of(name: str, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> list[Work]:
    """Return the kernels that CUDA launches for an ATen operation ("addmm"); none for views."""
    if name in _FREE:
        return []
    if name in _SPECIAL:
        return _SPECIAL[name](name, args, result)
    if name.startswith(("_foreach_", "_fused_", "_amp_foreach_")):
        return _optimizer(name, args, result)
    results = [x for x in tree_leaves(result) if isinstance(x, Tensor)]
    tensors = [x for x in tree_leaves([args, kwargs]) if isinstance(x, Tensor)]
    if not results or _is_view(results[0], tensors, name):
        return []
    written = sum(map(nbytes, results))
    if name in _FILLS:
        return [Work("elementwise", written, name=name)]
    if name in _GATHERS:
        return [Work("elementwise", 2 * written + sum(map(nbytes, tensors[1:])), name=name)]
    if name in _SCATTERS:
        return [Work("elementwise", 2 * sum(map(nbytes, tensors[1:])), name=name)]
    overwritten = tensors[:1] if name == "copy_" else []
    read = sum(nbytes(x) for x in tensors if not any(x is other for other in overwritten))
    family = "reduction" if name in _REDUCTIONS else "elementwise"
    if "batch_norm" in name:
        family = "batch_norm" if _is_channels_last(tensors[0]) else "batch_norm_planes"
    if name == "native_batch_norm" and not args[5]:  # evaluation: no statistics are computed
        family = "elementwise"
    elif name in _EXTRA_READS:
        read += _EXTRA_READS[name] * nbytes(tensors[0])
    return [Work(family, read + written, 0.0, precision_of(results[0].dtype), name=name)]


def nbytes(tensor: Tensor) -> int:
    """Return the bytes that reading a tensor once moves: expanded dimensions count once."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= size if stride else min(size, 1)
    return count * tensor.element_size()


def precision_of(dtype: torch.dtype, allow_tf32: bool = False) -> str:
    """Return the precision in which a kernel computes with this dtype."""
    return _PRECISIONS.get(dtype, "tf32" if allow_tf32 and dtype is torch.float32 else "fp32")


def _is_channels_last(image: Tensor) -> bool:
    """Return whether images are in this memory format; others have only one."""
    return image.dim() != 4 or image.is_contiguous(memory_format=torch.channels_last)


def _is_view(result: Tensor, tensors: Iterable[Tensor], name: str) -> bool:
    """Return whether an operation that is not in place returned a view of an argument."""
    storage, others = result.untyped_storage()._cdata, (x for x in tensors if x is not result)
    return name[-1] != "_" and any(x.untyped_storage()._cdata == storage for x in others)


def product(
    name: str, dims: tuple[float, float, float, float], dtype: torch.dtype, extra: float = 0
) -> Work:
    """Return the work of a batch of matrix products; `extra` counts further bytes."""
    batch, m, n, k = dims
    size = batch * (m * k + k * n + m * n) * dtype.itemsize
    tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
    precision = precision_of(dtype, tf32)
    family = "batched" if batch > 1 else "product"
    return Work(family, size + extra, 2 * batch * m * n * k, precision, dims, name)


def _matmul(name: str, args: Sequence[Any], result: Tensor) -> list[Work]:
    first, second = args[-2:] if name in ("mm", "bmm", "mv", "dot") else args[1:3]
    if name == "linear":
        first, second = args[0], args[1].t()
    if name == "dot":
        first, second = first[None], second[:, None]
    if second.dim() == 1:
        second = second[:, None]
    batch = first.shape[0] if name in ("bmm", "baddbmm") else 1
    m = math.prod(first.shape[:-1]) // batch
    dims = (batch, m, second.shape[-1], first.shape[-1])
    return [product(name, dims, result.dtype)]


def _convolution(name: str, args: Sequence[Any], result: Any) -> list[Work]:
    image, weight, bias, transposed, groups = args[0], args[1], args[2], args[6], args[8]
    output = result
    if transposed:  # it computes the gradient of a convolution from `output` to `image`
        image, output = output, image
    works = [_convolution_work(name, image, weight, output, groups, args[3])]
    if bias is not None:
        works.append(Work("elementwise", 2 * nbytes(result), name="add bias"))
    return works


def _convolution_work(
    name: str, image: Tensor, weight: Tensor, output: Tensor, groups: int, stride: Shape,
    direction: str = "forward",
) -> Work:  # fmt: skip
    channels_in, window = weight.shape[1], math.prod(weight.shape[2:])
    channels_out = output.shape[1] // groups
    pixels = output.shape[0] * math.prod(output.shape[2:])
    if direction == "forward":
        dims = (groups, pixels, channels_out, channels_in * window)
    elif direction == "input":
        image_pixels = image.shape[0] * math.prod(image.shape[2:])
        dims = (groups, image_pixels, channels_in, channels_out * window * pixels / image_pixels)
    else:
        dims = (groups, channels_out, channels_in * window, pixels)
    size = nbytes(image) + nbytes(weight) + nbytes(output)
    family = "convolution" if groups == 1 else "depthwise" if channels_in == 1 else "grouped"
    if direction != "forward":
        family += "_backward"
    # Tensor cores are of no use for convolutions of single channels.
    allow_tf32 = torch.backends.cudnn.allow_tf32
    precision = "fp32" if "depthwise" in family else precision_of(image.dtype, allow_tf32)
    is_winograd = (
        tuple(weight.shape[2:]) == (3, 3) and {*stride} == {1} and groups == 1
        and direction != "weight"
    )  # fmt: skip
    reordered = 0 if _is_channels_last(image) else nbytes(image) + nbytes(output)
    return Work(family, size, 2 * math.prod(dims), precision, dims, name, is_winograd, reordered)


def _convolution_backward(name: str, args: Sequence[Any], result: Any) -> list[Work]:
    gradient, image, weight = args[:3]
    stride, transposed, groups, wanted = args[4], args[7], args[9], args[10]
    if transposed:
        gradient, image = image, gradient
    works = [
        _convolution_work(name, image, weight, gradient, groups, stride, direction)
        for is_wanted, direction in zip(wanted, ("input", "weight"), strict=False) if is_wanted
    ]  # fmt: skip
    if wanted[2]:
        works.append(Work("reduction", nbytes(args[0]), name="sum"))
    return works


def attention(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Work:
    """Return the work of one fused attention kernel, for tensors of shape (..., L, E)."""
    heads = math.prod(query.shape[:-2])
    length, width, keys = query.shape[-2], query.shape[-1], key.shape[-2]
    flops = 2 * heads * length * keys * (width + value.shape[-1]) * (0.5 if causal else 1)
    moved = 2 * nbytes(query) + nbytes(key) + nbytes(value)
    dims = (heads, length, keys, width)
    return Work("attention", moved, flops, precision_of(query.dtype), dims, "attention")


def attention_backward(work: Work) -> Work:
    """Return the work of the gradients: the scores again, and five products instead of two."""
    name = "attention backward"
    return replace(work, name=name, bytes=2 * work.bytes, flops=2.5 * work.flops)


def _attention(name: str, args: Sequence[Any], result: Any) -> list[Work]:
    backward = "backward" in name
    query, key, value = args[1:4] if backward else args[:3]
    causal = any(x is True for x in args[4:])
    work = attention(query, key, value, causal)
    return [attention_backward(work) if backward else work]


# One launch of a multi-tensor kernel handles this many elements (320 blocks of 65,536).
_ELEMENTS_PER_LAUNCH = 320 * 65536


def _optimizer(name: str, args: Sequence[Any], result: Any) -> list[Work]:
    """Return the launches of a kernel over lists of tensors."""
    lists = [a for a in args if isinstance(a, list | tuple) and a and isinstance(a[0], Tensor)]
    if not lists:
        return []
    read = sum(nbytes(x) for tensors in lists for x in tensors)
    results = [x for x in tree_leaves(result) if isinstance(x, Tensor)]
    changed = {"_fused_adam_": 3, "_fused_adamw_": 3, "_fused_sgd_": 2}.get(name, 1)
    if results:
        written = sum(map(nbytes, results))
    else:
        written = sum(nbytes(x) for tensors in lists[:changed] for x in tensors)
    overwritten = sum(map(nbytes, lists[0])) if name in ("_foreach_copy_", "_foreach_zero_") else 0
    total = read + written - overwritten
    elements = sum(x.numel() for x in lists[0])
    count = max(1, math.ceil(elements / _ELEMENTS_PER_LAUNCH), math.ceil(len(lists[0]) / 36))
    return [Work("optimizer", total / count, name=name)] * count


_ATTENTION = (
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
)  # fmt: skip
_SPECIAL: dict[str, Callable[[str, Sequence[Any], Any], list[Work]]] = {
    **dict.fromkeys(("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "linear"), _matmul),
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_overrideable": _convolution,
    "convolution_backward": _convolution_backward,
    **dict.fromkeys([n + b for n in _ATTENTION for b in ("", "_backward")], _attention),
}
