"""Decode hundreds of 32 x 32 JPEG images in one go, to the very pixels they give one by one.

Decoding a JPEG this small is mostly setting up: tables built, memory taken, then 24 blocks of 8 x 8
numbers decoded. CIFAR-10 as JPEGs sets up 60,000 times, with the same tables each time. So the
compressed data of many images is strung into one long image, with a restart marker between each
two: a decoder begins anew at such a marker, which is what JPEG (ITU-T T.81) has it for.

One step of decoding looks across the border of an image: chroma is stored at half the resolution,
and enlarging it smoothly blends neighbouring rows. In a strip the neighbour would be another image.
The strip therefore says that chroma is stored at a quarter of the width and the full height, which
libjpeg enlarges by repeating; the true chroma is picked out of that, and enlarging and conversion
to RGB are done here, in the integer arithmetic of libjpeg (its "fancy upsampling" and its colour
conversion), for all images at once.
"""

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

_START, _END = b"\xff\xd8", b"\xff\xd9"
_BASELINE, _ADOBE, _RESTART_INTERVAL, _SCAN = 0xC0, 0xEE, 0xDD, 0xDA
_RESTARTS = [bytes((0xFF, 0xD0 + k)) for k in range(8)]
# Three components of 8 bits each, numbered 1 to 3; luma in 2 x 2 blocks to each block of chroma.
_FRAME = b"\x08\x00\x20\x00\x20\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01"
_STRIP_FRAME = b"\x08%b\x00\x80\x03\x01\x41\x00\x02\x11\x01\x03\x11\x01"


class Strip:
    """A header that many JPEG images share, and what is needed to decode them together."""

    def __init__(self, header: bytes, segments: list[bytes]) -> None:
        self.header = header
        self._segments = segments

    @classmethod
    def like(cls, image: bytes) -> "Strip | None":
        """Return the strip for images with the header of this one; None if it cannot be strung.

        It can if it is baseline, 32 x 32, YCbCr, with chroma at half the resolution: what Pillow
        and most programs write unless told otherwise.
        """
        segments, start = [], 2
        while image.startswith(_START) and start + 4 <= len(image) and image[start] == 0xFF:
            kind = image[start + 1]
            end = start + 2 + int.from_bytes(image[start + 2 : start + 4])
            segment = image[start:end]
            if kind == _BASELINE:
                if segment[4:] != _FRAME:
                    return None
            elif (0xC1 <= kind <= 0xCF and kind != 0xC4) or kind in (_ADOBE, _RESTART_INTERVAL):
                return None
            segments.append(segment)
            if kind == _SCAN:
                return cls(image[:end], segments)
            start = end
        return None

    def fits(self, image: bytes) -> bool:
        """Whether this image has the strip's header, and no marker before its end."""
        if not (image.startswith(self.header) and image.endswith(_END)):
            return False
        start = len(self.header)
        return image.count(b"\xff", start) - image.count(b"\xff\x00", start) == 1

    def decode(self, images: Sequence[bytes], rgb: np.ndarray) -> None:
        """Decode images that fit into `rgb`, uint8 (N, 3, 32, 32). Raises what Pillow raises."""
        with Image.open(io.BytesIO(self._join(images))) as strip:
            strip.draft("YCbCr", None)
            pixels = np.asarray(strip)
        # Each image is four units of 16 x 16 pixels (two rows of two); each unit became 8 rows of
        # 32: its four 8 x 8 blocks of luma side by side, each pixel of chroma four times.
        # So the axes are: image, row, unit's row and column, block's row and column, column.
        luma = pixels[..., 0].reshape(-1, 8, 2, 2, 2, 2, 8)
        luma = luma.transpose(0, 2, 4, 1, 3, 5, 6).reshape(-1, 32, 32).astype(np.int16)
        # Here: image, row, unit's row and column, column, Cb or Cr.
        chroma = pixels[:, ::4, 1:].reshape(-1, 8, 2, 2, 8, 2)
        chroma = chroma.transpose(0, 5, 2, 1, 3, 4).reshape(-1, 2, 16, 16).astype(np.int16)
        _to_rgb(luma, _enlarge(chroma), rgb)

    def _join(self, images: Sequence[bytes]) -> bytes:
        parts = [_START]
        for segment in self._segments:
            if segment[1] == _BASELINE:
                height = (8 * len(images)).to_bytes(2)
                parts.append(segment[:4] + _STRIP_FRAME % height)
            elif segment[1] == _SCAN:
                parts += [b"\xff\xdd\x00\x04\x00\x04", segment]  # restart after every four units
            else:
                parts.append(segment)
        start = len(self.header)
        for k, image in enumerate(images):
            parts += [image[start:-2], _RESTARTS[k % 8]]
        parts[-1] = _END
        return b"".join(parts)


def _enlarge(chroma: np.ndarray) -> np.ndarray:
    """Twice the rows and columns, each 3/4 the nearest and 1/4 the next: int16 (N, 2, 32, 32)."""
    n = len(chroma)
    near = 3 * chroma
    next_ = np.pad(chroma, ((0, 0), (0, 0), (1, 1), (0, 0)), mode="edge")
    rows = np.empty((n, 2, 32, 16), np.int16)
    np.add(near, next_[:, :, :-2], out=rows[:, :, ::2])
    np.add(near, next_[:, :, 2:], out=rows[:, :, 1::2])
    near = 3 * rows
    next_ = np.pad(rows, ((0, 0), (0, 0), (0, 0), (1, 1)), mode="edge")
    both = np.empty((n, 2, 32, 32), np.int16)
    both[..., ::2] = (near + next_[..., :-2] + 8) >> 4
    both[..., 1::2] = (near + next_[..., 2:] + 7) >> 4
    return both


def _to_rgb(luma: np.ndarray, chroma: np.ndarray, rgb: np.ndarray) -> None:
    """YCbCr to RGB with factors in units of 1/65536: 1.402, 0.34414, 0.71414 and 1.772."""
    blue, red = (chroma[:, k].astype(np.int32) - 128 for k in (0, 1))
    for channel, change in enumerate(
        (91881 * red + 32768, 32768 - 22554 * blue - 46802 * red, 116130 * blue + 32768)
    ):
        np.clip(luma + (change >> 16), 0, 255, out=rgb[:, channel], casting="unsafe")
    return rgb
