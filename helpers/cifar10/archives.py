"""The files inside a folder, a tar archive or a zip archive, as one mapping of names to contents.

Archives are read in memory and never unpacked, so no name in one can reach a file on the disk.
"""

import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from helpers.cifar10.dataset import OFFICIAL_ARCHIVE, OFFICIAL_BATCHES, DataError

# CIFAR-10 as PNG files in a tar is about 190 MB; what unpacks to ten times that is something else.
LARGEST_ARCHIVE = 2 * 1024**3
_KINDS = (".png", ".jpg", ".jpeg", ".parquet")
_NAMES = {*OFFICIAL_BATCHES, OFFICIAL_ARCHIVE}
_BLOCK = 512


class Folder(Mapping[str, bytes]):
    """The files of `root` that could belong to CIFAR-10, read one by one as they are asked for.

    Looks no deeper than a layout can lie (`ANY/train/CLASS/FILE`), so that a home folder named by
    mistake does not take minutes. Hidden files are left out, as are those of other kinds.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        # Size in bytes and time of the last change in nanoseconds: what tells that a file changed.
        self.stats: dict[str, tuple[int, int]] = {}
        for name in ["", *_subfolders(root)]:
            self._add(name)
            for inner in ("cifar-10-batches-py", "plain_text"):
                self._add(_join(name, inner))
            for split in ("train", "test"):
                folder = _join(name, split)
                for label in _subfolders(root / folder):
                    self._add(_join(folder, label))

    def _add(self, folder: str) -> None:
        try:
            with os.scandir(self.root / folder) as entries:
                for entry in entries:
                    if _is_relevant(entry.name) and entry.is_file():
                        status = entry.stat()
                        name = _join(folder, entry.name)
                        self.stats[name] = (status.st_size, status.st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return

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


class Zip(Mapping[str, bytes]):
    """The files of a zip archive, unpacked in memory one by one as they are asked for."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path)
        entries = self._zip.infolist()
        _refuse_if_large(sum(entry.file_size for entry in entries), path)
        self._entries = {
            name: entry
            for entry in entries
            if not entry.is_dir() and _is_relevant(name := _member_name(entry.filename))
        }

    def __getitem__(self, name: str) -> bytes:
        try:
            return self._zip.read(self._entries[name])
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DataError(f"{name} in the archive is damaged ({error}); copy it anew.") from error
        except (RuntimeError, NotImplementedError) as error:  # a password, a rare compression
            raise DataError(f"{name} in the archive cannot be unpacked: {error}.") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def open_archive(path: Path) -> Mapping[str, bytes | memoryview] | None:
    """Return the files of the tar (plain or gzip) or zip archive at `path`; None if it is neither.

    Raises:
        DataError: the archive is cut off, damaged, or far larger than CIFAR-10.
    """
    with path.open("rb") as file:
        start = file.read(_BLOCK)
    try:
        if start.startswith(b"PK"):
            return Zip(path)
        if start.startswith(b"\x1f\x8b"):
            data = _unzip(path.read_bytes(), path)
        elif start[257:262] == b"ustar":
            _refuse_if_large(path.stat().st_size, path)
            data = path.read_bytes()
        else:
            return None
        return _tar_files(data)
    except (EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
        raise DataError(
            f"{path.name} is cut off or damaged ({error}). Copy or download it anew."
        ) from error


def _unzip(data: bytes, path: Path) -> bytes:
    """Unpack gzip's format in one piece, which takes half the time and memory of gzip.open."""
    parts = []
    while data:
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS + 16)
        parts.append(unpacker.decompress(data, LARGEST_ARCHIVE + 1))
        _refuse_if_large(sum(map(len, parts)), path)
        if not unpacker.eof:
            raise EOFError("the compressed data end too soon")
        data = unpacker.unused_data.lstrip(b"\0")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _tar_files(data: bytes) -> dict[str, memoryview]:
    if not data.endswith(bytes(_BLOCK)):
        # tarfile reads such an archive up to where it breaks off, without a word.
        raise tarfile.ReadError("it lacks the zeros that a tar archive ends in")
    places = _plain_tar_members(data)
    if places is None:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            places = [
                (m.name, m.offset_data, m.size) for m in archive if m.isfile() and not m.sparse
            ]
    view = memoryview(data)
    files = {}
    for raw, start, size in places:
        name = _member_name(raw)
        if _is_relevant(name):
            files[name] = view[start : start + size]
    return files


def _plain_tar_members(data: bytes) -> list[tuple[str, int, int]] | None:
    """Name, start and size of each file; None where a header is of any but the plainest kind.

    tarfile takes 25 microseconds a member, more than reading 60,000 small files may cost; this
    takes one. Whatever is unusual (long names, links, damage) is left to tarfile.
    """
    places, headers, start = [], [], 0
    while start + _BLOCK <= len(data) and data[start]:
        kind, has_prefix = data[start + 156], data[start + 345]
        if kind not in b"0\x005" or has_prefix:
            return None
        try:
            size = int(data[start + 124 : start + 136].rstrip(b"\x00 "), 8)
            name = data[start : start + 100].rstrip(b"\x00").decode()
        except ValueError:
            return None
        headers.append(start)
        start += _BLOCK
        if kind != ord("5"):
            places.append((name, start, size))
        start += -(-size // _BLOCK) * _BLOCK
    if not headers or data[start : start + _BLOCK].count(0) != _BLOCK:
        return None
    # Each header carries the sum of its own bytes, taken with blanks in the sum's own place.
    blocks = np.frombuffer(data, np.uint8, start).reshape(-1, _BLOCK)[np.array(headers) // _BLOCK]
    sums = blocks.sum(axis=1, dtype=np.int64) - blocks[:, 148:156].sum(axis=1) + 8 * ord(" ")
    written = [int(bytes(field).rstrip(b"\x00 ") or b"0", 8) for field in blocks[:, 148:156]]
    return places if sums.tolist() == written else None


def _member_name(raw: str) -> str:
    name = raw.replace("\\", "/").removeprefix("./")
    if name.startswith("/") or (".." in name and ".." in name.split("/")):
        raise DataError(
            f"the archive holds {raw!r}, a path that leads outside it. No archive of CIFAR-10 "
            "needs that, so it is not read."
        )
    return name


def _is_relevant(name: str) -> bool:
    if "/." in name or name.startswith((".", "__MACOSX/")):
        return False  # what systems leave behind, as macOS does in zip archives
    return name.lower().endswith(_KINDS) or name.rsplit("/", 1)[-1] in _NAMES


def _refuse_if_large(size: int, path: Path) -> None:
    if size > LARGEST_ARCHIVE:
        raise DataError(
            f"{path.name} unpacks to more than {LARGEST_ARCHIVE // 1024**3} GiB; CIFAR-10 takes "
            "a tenth of that. Is it the right file?"
        )


def _subfolders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
