"""Read the files in a folder or an archive, and decode the images among them."""

import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from helpers.cifar10.dataset import IMAGE_SHAPE, OFFICIAL_ARCHIVE, OFFICIAL_BATCHES, DataError

# CIFAR-10 as PNG files in a tar is about 190 MB; ten times that is a different dataset.
MAX_ARCHIVE_BYTES = 2 * 1024**3
_SUFFIXES = (".png", ".jpg", ".jpeg", ".parquet")
_NAMES = {*OFFICIAL_BATCHES, OFFICIAL_ARCHIVE}


class Folder(Mapping[str, bytes]):
    """The files under `root` that could belong to CIFAR-10; each is read when it is accessed.

    Searches no deeper than `ANY/train/CLASS/FILE`, so that passing a home folder by mistake does
    not take minutes. Skips hidden files.

    Attributes:
        stats: size in bytes and modification time in nanoseconds, by name.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stats: dict[str, tuple[int, int]] = {}
        for base in [root, *_subfolders(root)]:
            folders = [base, base / "cifar-10-batches-py", base / "plain_text"]
            folders += [f for split in ("train", "test") for f in _subfolders(base / split)]
            for entry in (entry for folder in folders for entry in _entries(folder)):
                if _is_relevant(entry.name) and entry.is_file():
                    name = Path(entry.path).relative_to(root).as_posix()
                    self.stats[name] = (entry.stat().st_size, entry.stat().st_mtime_ns)

    def __getitem__(self, name: str) -> bytes:
        if name not in self.stats:
            raise KeyError(name)
        try:
            return (self.root / name).read_bytes()
        except OSError as error:
            raise DataError(f"{name} cannot be read: {error.strerror}.") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self.stats)

    def __len__(self) -> int:
        return len(self.stats)


def read_archive(path: Path) -> dict[str, bytes] | None:
    """Return the files in the tar (plain or compressed) or zip archive at `path`.

    The archive is read in memory and never unpacked to disk. Returns None if `path` is not an
    archive.

    Raises:
        DataError: the archive is truncated, damaged, or far larger than CIFAR-10.
    """
    try:
        if zipfile.is_zipfile(path):
            return _read_zip(path)
        with path.open("rb") as file:
            start = file.read(512)
        if start.startswith((b"PK", b"\x1f\x8b")) or start[257:262] == b"ustar":
            return _read_tar(path)
        return None
    except (EOFError, OSError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
        raise DataError(
            f"{path.name} is truncated or damaged ({error}). Copy or download it again."
        ) from error


def _read_zip(path: Path) -> dict[str, bytes]:
    files = {}
    with zipfile.ZipFile(path) as archive:
        _check_size(sum(entry.file_size for entry in archive.infolist()), path)
        for entry in archive.infolist():
            name = _member_name(entry.filename)
            if entry.is_dir() or not _is_relevant(name):
                continue
            try:
                files[name] = archive.read(entry)
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                message = f"{name} in the archive is damaged ({error}); copy the archive again."
                raise DataError(message) from error
            except (RuntimeError, NotImplementedError) as error:  # encrypted, or unsupported
                raise DataError(f"{name} in the archive cannot be unpacked: {error}.") from error
    return files


def _read_tar(path: Path) -> dict[str, bytes]:
    files, size = {}, 0
    with tarfile.open(path) as archive:
        for member in archive:
            name = _member_name(member.name)
            size += member.size
            _check_size(size, path)
            if member.isfile() and _is_relevant(name) and (file := archive.extractfile(member)):
                files[name] = file.read()
        # tarfile treats a truncated archive as complete; a complete one ends in zeros.
        archive.fileobj.seek(archive.offset)
        if archive.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("the end of the archive is missing")
        # The checksum of a compressed archive is at its end.
        while rest := archive.fileobj.read(1 << 20):
            size += len(rest)
            _check_size(size, path)
    return files


def _member_name(raw: str) -> str:
    name = raw.replace("\\", "/").removeprefix("./")
    if name.startswith("/") or ".." in name.split("/"):
        raise DataError(f"the archive contains {raw!r}, a path outside the archive.")
    return name


def _is_relevant(name: str) -> bool:
    if "/." in name or name.startswith((".", "__MACOSX/")):
        return False
    return name.lower().endswith(_SUFFIXES) or name.rsplit("/", 1)[-1] in _NAMES


def _check_size(size: int, path: Path) -> None:
    if size > MAX_ARCHIVE_BYTES:
        raise DataError(
            f"{path.name} unpacks to more than {MAX_ARCHIVE_BYTES // 1024**3} GiB; CIFAR-10 takes "
            "a tenth of that. Is it the right file?"
        )


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _subfolders(folder: Path) -> list[Path]:
    visible = (e for e in _entries(folder) if e.is_dir() and not e.name.startswith("."))
    return sorted(folder / entry.name for entry in visible)


def decode(files: Mapping[str, bytes], names: Sequence[str]) -> Tensor:
    """Decode the PNG or JPEG images called `names`, in that order.

    Returns:
        The pixels as `Image.open(file).convert("RGB")` gives them, uint8 `(N, 3, 32, 32)`.

    Raises:
        DataError: an image cannot be read or is not 32 x 32 pixels; the message names it.
    """
    pixels = np.empty((len(names), *IMAGE_SHAPE), np.uint8)
    Image.preinit()  # once, rather than in several threads at the same time

    def decode_part(start: int) -> None:
        for k in range(start, min(start + 1000, len(names))):
            pixels[k] = _decode_one(files[names[k]], names[k])

    with ThreadPoolExecutor() as threads:
        list(threads.map(decode_part, range(0, len(names), 1000)))
    return torch.from_numpy(pixels)


def _decode_one(data: bytes, name: str) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
            if image.size != (32, 32):
                raise DataError(
                    f"{name} has {image.width} x {image.height} pixels; CIFAR-10's images have "
                    "32 x 32. Is it a different dataset?"
                )
            return np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    except (OSError, SyntaxError, ValueError) as error:  # Pillow raises these for damaged files
        raise DataError(f"{name} cannot be decoded ({error}). Copy the images again.") from error
