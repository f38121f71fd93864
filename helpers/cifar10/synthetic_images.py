"""Synthetic 32 x 32 color images of ten classes, for machines without CIFAR-10.

Each image shows a shape of one color on a background of another. The shape determines the class.
Each class also has a typical background color, like the blue water around CIFAR-10's ships: a small
network learns the colors within a minute, and larger ones learn the shapes. Position, size,
rotation, stretch, colors, shading, a bar behind the shape, and noise are random in every image.

The same seed gives the same bytes on every machine. The random numbers come from SHAKE-256, and the
arithmetic uses only operations that IEEE 754 requires to be correctly rounded: float32 addition,
multiplication, division and square root, one at a time.
"""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from helpers.cifar10.dataset import Images

_CHUNK = 128  # arrays of half a megabyte fit in a core's cache
_DRAWS = 24  # random numbers per image, not counting the noise
_NOISE_LENGTH = 1 << 18
_SPREAD = 90  # how far a background may be from the color of its class, in each channel
# Rounded, because math libraries may differ in the last bit of a sine.
_ANGLES = [2 * math.pi * k / 256 for k in range(256)]
_COSINES = np.array([round(4096 * math.cos(a)) / 4096 for a in _ANGLES], np.float32)
_SINES = np.array([round(4096 * math.sin(a)) / 4096 for a in _ANGLES], np.float32)


def generate(train: int = 50_000, test: int = 10_000, seed: int = 0) -> tuple[Images, Images]:
    """Draw `train` training images and `test` test images, each in random order.

    If a count is divisible by ten, all classes have the same number of these images.
    """
    return _draw(train, f"train {seed}"), _draw(test, f"test {seed}")


def version() -> str:
    """Return a hash of this module, which changes with the images that it draws."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def _draw(count: int, name: str) -> Images:
    order = np.frombuffer(_bytes(f"{name} order", 8 * count), "<u8")
    labels = np.argsort(order, kind="stable") % len(CLASSES)
    numbers = np.frombuffer(_bytes(f"{name} numbers", 2 * count * _DRAWS), "<u2")
    numbers = (numbers.astype(np.float32) / 65536).reshape(count, _DRAWS)
    noise = np.frombuffer(_bytes(f"{name} noise", 2 * (_NOISE_LENGTH + 3 * 32 * 32)), np.uint8)
    noise = noise.reshape(2, -1).astype(np.float32).sum(0) / 255 - 1  # triangular: mostly near 0
    windows = np.lib.stride_tricks.sliding_window_view(noise, 3 * 32 * 32)
    images = np.empty((count, 3, 32, 32), np.uint8)
    for label, (distance, color) in enumerate(_SHAPES.values()):
        members = np.flatnonzero(labels == label)
        for start in range(0, len(members), _CHUNK):
            chunk = members[start : start + _CHUNK]
            images[chunk] = _paint(numbers[chunk], windows, distance, color)
    return Images(torch.from_numpy(images), torch.from_numpy(labels.astype(np.int64)))


def _paint(
    numbers: np.ndarray, windows: np.ndarray, distance: "_Distance", color: tuple[int, int, int]
) -> np.ndarray:
    """Paint one image for each row of `numbers`, all of one class; uint8 (n, 3, 32, 32)."""
    columns = iter(numbers.T[:, :, None, None])  # each (n, 1, 1), from 0 up to 1

    def between(low: float, high: float) -> np.ndarray:
        return np.float32(low) + np.float32(high - low) * next(columns)

    def direction() -> tuple[np.ndarray, np.ndarray]:
        angle = (next(columns) * 256).astype(np.intp)
        return _COSINES[angle], _SINES[angle]

    y, x = np.arange(32, dtype=np.float32)[:, None], np.arange(32, dtype=np.float32)
    dx, dy = x - between(11.5, 19.5), y - between(11.5, 19.5)
    radius, stretch = between(6.5, 12), between(0.8, 1.25)
    cosine, sine = direction()
    u = (dx * cosine + dy * sine) / (radius * stretch)
    v = (dy * cosine - dx * sine) / radius * stretch
    # A pixel that is half covered gets half of each color, which makes smooth edges.
    shape = _coverage(distance(u, v) * radius)

    cosine, sine = direction()
    across = (x - 15.5) * cosine + (y - 15.5) * sine
    bar = _coverage(np.abs(across - between(-14, 14)) - between(-1.5, 2.5))
    cosine, sine = direction()
    slope = ((x - 15.5) * cosine + (y - 15.5) * sine) * between(0, 2.2)

    images = np.empty((len(numbers), 3, 32, 32), np.float32)
    for channel in range(3):
        background = np.clip(color[channel] + between(-_SPREAD, _SPREAD), 0, 255)
        # At least 40 away from the background in each channel, so that the shape is visible.
        foreground = background + between(40, 216)
        foreground -= 256 * (foreground >= 256)
        plane = images[:, channel]
        plane[...] = background + slope
        plane += (between(0, 256) - plane) * bar
        plane += (foreground - plane) * shape
    start = (next(columns)[:, 0, 0] * _NOISE_LENGTH).astype(np.intp)
    images += windows[start].reshape(images.shape) * between(8, 54)[:, None]
    return np.rint(np.clip(images, 0, 255)).astype(np.uint8)


def _coverage(distance: np.ndarray) -> np.ndarray:
    """Return the covered fraction of a pixel whose center is `distance` pixels outside an edge."""
    return np.clip(np.float32(0.5) - distance, 0, 1)


def _bytes(name: str, count: int) -> bytes:
    return hashlib.shake_256(name.encode()).digest(count)


# Signed distance from the point (u, v) to the edge of a shape of radius about 1; negative inside.
_Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _box(u: np.ndarray, v: np.ndarray, width: float, height: float) -> np.ndarray:
    return np.maximum(np.abs(u) - np.float32(width), np.abs(v) - np.float32(height))


def _from_center(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.sqrt(u * u + v * v)


def _checks(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    # p and q change sign at the borders of squares, so the sign of p q determines the color.
    p, q = (np.abs(w * 1.1 - np.floor(w * 1.1) - np.float32(0.5)) - 0.25 for w in (u, v))
    return np.maximum(-np.sign(p * q) * np.minimum(np.abs(p), np.abs(q)), _box(u, v, 0.9, 0.9))


def _star(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    # Five lines form a pentagram: a point is inside if it is outside at most one of them.
    angles = [round(256 * k / 5) for k in range(5)]
    return np.sort([u * _SINES[angle] - v * _COSINES[angle] - 0.33 for angle in angles], axis=0)[-2]


def _stripes(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    nearest = np.clip(np.rint(v * np.float32(1.6)), -1, 1) / np.float32(1.6)
    return _box(u, v - nearest, 0.85, 0.17)


def _triangle(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    side = np.abs(u) * np.float32(0.866) + v * 0.5
    return np.maximum(side, -v) - 0.5


# The shape of each class, and the mean color of its background: red, green, blue.
_SHAPES: dict[str, tuple[_Distance, tuple[int, int, int]]] = {
    "checks": (_checks, (200, 60, 60)),
    "crescent": (
        lambda u, v: np.maximum(
            _from_center(u, v) - 0.95, np.float32(0.75) - _from_center(u - 0.45, v)
        ),
        (60, 60, 200),
    ),
    "cross": (
        lambda u, v: np.minimum(_box(u, v, 0.95, 0.28), _box(u, v, 0.28, 0.95)),
        (60, 200, 60),
    ),
    "disc": (lambda u, v: _from_center(u, v) - 0.85, (200, 200, 60)),
    "frame": (lambda u, v: np.abs(_box(u, v, 0.7, 0.7)) - 0.17, (200, 60, 200)),
    "ring": (lambda u, v: np.abs(_from_center(u, v) - 0.75) - 0.17, (60, 200, 200)),
    "square": (lambda u, v: _box(u, v, 0.78, 0.78), (60, 60, 60)),
    "star": (_star, (200, 200, 200)),
    "stripes": (_stripes, (200, 130, 60)),
    "triangle": (_triangle, (130, 130, 130)),
}
CLASSES = tuple(_SHAPES)
