"""A cache of decoded images on disk. Every load after the first takes a fraction of a second.

Each source has one file: a line of JSON, then the bytes of the pixels and labels. The file is
written under a temporary name and renamed when complete; a checksum detects damage.
"""

import contextlib
import hashlib
import json
import os
import secrets
import time
import zlib
from pathlib import Path

import numpy as np
import torch

from helpers.cifar10.dataset import IMAGE_SHAPE, Contents, Images
from helpers.cifar10.files import Folder

# Increase this number when the file format or the decoding of images changes.
_VERSION = 1
_BYTES_PER_SAMPLE = 3 * 32 * 32 + 8
_STALE_SECONDS = 3600
_MAX_HEADER_BYTES = 10_000


def default_folder() -> Path:
    """`gpu-course-kit` under `$XDG_CACHE_HOME`, or under `~/.cache` if that is not set."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gpu-course-kit"


class Cache:
    """The cache in `folder`, which need not exist and may be read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, source: str, identity: str) -> Contents | None:
        """Return the contents stored for `source` with this identity, or None."""
        try:
            with self._file(source).open("rb") as file:
                header = json.loads(file.readline(_MAX_HEADER_BYTES))
                if (header["version"], header["identity"]) != (_VERSION, identity):
                    return None
                # Check the size first: a damaged header must not cause a huge allocation.
                size = file.tell() + sum(header["counts"]) * _BYTES_PER_SAMPLE
                if os.fstat(file.fileno()).st_size != size:
                    return None
                checksum, splits = 0, []
                for count in header["counts"]:
                    images = np.empty((count, *IMAGE_SHAPE), np.uint8)
                    labels = np.empty(count, np.int64)
                    for array in (images, labels):
                        file.readinto(array.reshape(-1).view(np.uint8))
                        checksum = zlib.crc32(array, checksum)
                    splits.append(Images(torch.from_numpy(images), torch.from_numpy(labels)))
                return (
                    Contents(*splits, header["layout"]) if checksum == header["checksum"] else None
                )
        except (OSError, ValueError, KeyError, TypeError):
            return None  # missing or damaged: the source is read instead

    def store(self, source: str, identity: str, contents: Contents) -> str | None:
        """Store `contents` for `source`; return None, or the reason why they cannot be stored.

        An error or an interrupt leaves no partial file behind.
        """
        arrays = [
            np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8)
            for split in (contents.train, contents.test)
            for tensor in split
        ]
        checksum = 0
        for array in arrays:
            checksum = zlib.crc32(array, checksum)
        header = {
            "version": _VERSION,
            "identity": identity,
            "counts": [len(contents.train.labels), len(contents.test.labels)],
            "checksum": checksum,
            "layout": contents.layout,
        }
        path = self._file(source)
        temporary = path.with_suffix(f".{secrets.token_hex(4)}.tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._remove_stale_files()
            with temporary.open("xb") as file:
                file.write(json.dumps(header).encode() + b"\n")
                for array in arrays:
                    file.write(array)
            temporary.replace(path)
        except OSError as error:
            return error.strerror or str(error)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return None

    def _file(self, source: str) -> Path:
        # When a source changes, its new contents replace the old ones.
        key = hashlib.sha256(source.encode()).hexdigest()[:16]
        return self.folder / f"cifar10-{key}.images"

    def _remove_stale_files(self) -> None:
        """Remove partial files of processes that were killed."""
        for path in self.folder.glob("cifar10-*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    path.unlink()


def identity_of(source: Path) -> str:
    """Return a hash that changes if the file at `source`, or any image in that folder, changes."""
    if source.is_dir():
        stats = sorted(Folder(source).stats.items())
    else:
        status = source.stat()
        stats = [(status.st_size, status.st_mtime_ns)]
    return hashlib.sha256(repr(stats).encode()).hexdigest()
