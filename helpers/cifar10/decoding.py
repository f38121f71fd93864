"""Compressed images to pixels: the very ones that torchvision's ImageFolder gets from Pillow."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from helpers.cifar10.dataset import IMAGE_SHAPE, DataError
from helpers.cifar10.jpeg_strips import Strip

# Small enough for a strip's arrays to stay in a core's cache: 2,000 take half as long again.
_CHUNK = 500


def decode(files: Mapping[str, bytes | memoryview], names: Sequence[str]) -> Tensor:
    """Decode the PNG or JPEG images called `names`, in that order.

    Returns:
        The pixels, uint8 (N, 3, 32, 32), as `Image.open(file).convert("RGB")` gives them.

    Raises:
        DataError: an image cannot be read or is not 32 x 32 pixels; the message names it.
    """
    pixels = np.empty((len(names), *IMAGE_SHAPE), np.uint8)
    for start in range(0, len(names), _CHUNK):
        chunk = {name: bytes(files[name]) for name in names[start : start + _CHUNK]}
        _decode_chunk(chunk, pixels[start : start + _CHUNK])
    return torch.from_numpy(pixels)


def _decode_chunk(chunk: dict[str, bytes], pixels: np.ndarray) -> None:
    names, images = list(chunk), list(chunk.values())
    strung = _decode_strung(names, images, pixels)
    for k in sorted(set(range(len(images))) - set(strung)):
        pixels[k] = _with_pillow(images[k], names[k])


def _decode_strung(names: list[str], images: list[bytes], pixels: np.ndarray) -> list[int]:
    """Decode together those images that can be; returns which."""
    strip = Strip.like(images[0])
    strung = [k for k, image in enumerate(images) if strip.fits(image)] if strip else []
    if not strung:
        return []
    whole = len(strung) == len(images)
    decoded = pixels if whole else np.empty((len(strung), *IMAGE_SHAPE), np.uint8)
    try:
        strip.decode([images[k] for k in strung], decoded)
    except (OSError, SyntaxError, ValueError):  # Pillow's; it will say below which image it is
        return []
    # Pillow can be built with another libjpeg, which may round otherwise; and a decoder that lost
    # its place in the strip would be off by the end of it.
    for k in (0, -1):
        if not np.array_equal(decoded[k], _with_pillow(images[strung[k]], names[strung[k]])):
            return []
    if not whole:
        pixels[strung] = decoded
    return strung


def _with_pillow(data: bytes, name: str) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
            if image.size != (32, 32):
                raise DataError(
                    f"{name} has {image.width} x {image.height} pixels; CIFAR-10's images have "
                    "32 x 32. Is it another data set?"
                )
            return np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    except (OSError, SyntaxError, ValueError) as error:  # Pillow's, for damage of several kinds
        raise DataError(f"{name} cannot be decoded ({error}). Copy the images anew.") from error
