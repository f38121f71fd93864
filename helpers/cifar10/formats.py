"""Recognize and read the file formats in which CIFAR-10 is distributed."""

import hashlib
import io
import os
import pickle
import re
import tarfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from helpers.cifar10.dataset import (
    CLASSES,
    IMAGE_SHAPE,
    OFFICIAL_ARCHIVE,
    OFFICIAL_BATCHES,
    Contents,
    DataError,
    Images,
    check_labels,
)

EXPECTED = (
    "Expected one of: a folder cifar-10-batches-py or the archive cifar-10-python.tar.gz; image "
    "folders train/CLASS/*.png (or .jpg) and test/CLASS/*, plain or in a .tar, .tar.gz or .zip."
)
# CIFAR-10 as PNG files in a tar is about 190 MB; ten times that is a different dataset.
MAX_ARCHIVE_BYTES = 2 * 1024**3
_BATCHES = "cifar-10-batches-py"
_IMAGE = re.compile(r"(.+/)?(train|test)/([^/]+)/[^/]+\.(?i:png|jpe?g)")
_DAMAGE = (zlib.error, zipfile.BadZipFile, tarfile.TarError)
_Files = Mapping[str, bytes | Path]  # the contents of each file, or its path in a folder


def read(path: Path) -> Contents:
    """Read CIFAR-10, or a balanced subset, from the folder, archive or file at `path`.

    Raises:
        DataError: `path` is missing, unreadable, damaged, or not CIFAR-10.
    """
    try:
        contents = _read(path)
        check_labels("train", contents.train.labels)
        check_labels("test", contents.test.labels)
        return contents
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read(path: Path) -> Contents:
    if path.is_dir():
        files: _Files = files_in(path)
    elif path.is_file():
        files = _read_archive(path)
    else:
        raise DataError("there is no such file or folder.")
    batches = _folders_with(files, OFFICIAL_BATCHES)
    complete = [folder for folder in batches if all(folder + n in files for n in OFFICIAL_BATCHES)]
    archives = _folders_with(files, [OFFICIAL_ARCHIVE])
    if complete:
        return _read_batches(files, _the_only(complete))
    if archives and path.is_dir():
        return _read(path / _the_only(archives) / OFFICIAL_ARCHIVE)
    if images := _group_by_split(files):
        return _read_images(files, images)
    if batches:
        return _read_batches(files, _the_only(batches))
    names = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
    found = f"; the folder contains {_abbreviate(names) or 'nothing'}" if path.is_dir() else ""
    if set(names) >= set(CLASSES):
        found = "; these are one split's classes: name the folder that contains train and test"
    raise DataError(f"no images of CIFAR-10 were found{found}. {EXPECTED}")


def files_in(root: Path) -> dict[str, Path]:
    """Return the files under `root` that could belong to CIFAR-10, by name.

    Searches no deeper than `ANY/train/CLASS/FILE`: a home folder would take minutes.
    """

    def entries(folder: Path) -> list[os.DirEntry[str]]:
        try:
            return [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []

    def subfolders(folder: Path) -> list[Path]:
        return sorted(folder / entry.name for entry in entries(folder) if entry.is_dir())

    files = {}
    for base in [root, *subfolders(root)]:
        splits = [f for split in ("train", "test") for f in subfolders(base / split)]
        for folder in [base, base / _BATCHES, *splits]:
            prefix = "" if folder == root else f"{folder.relative_to(root).as_posix()}/"
            for entry in entries(folder):
                if _is_relevant(entry.name) and entry.is_file():
                    files[prefix + entry.name] = folder / entry.name
    return files


def _is_relevant(name: str) -> bool:
    if "/." in name or name.startswith((".", "__MACOSX/")):
        return False
    endings = (*OFFICIAL_BATCHES, OFFICIAL_ARCHIVE, ".png", ".jpg", ".jpeg")
    return name.lower().endswith(endings)


def _read_archive(path: Path) -> dict[str, bytes]:
    """Return the files in a tar (plain or compressed) or zip archive, without unpacking to disk."""
    with path.open("rb") as file:
        start = file.read(512)
    try:
        if zipfile.is_zipfile(path):
            return _read_zip(path)
        if start.startswith((b"PK", b"\x1f\x8b")) or start[257:262] == b"ustar":
            return _read_tar(path)
    except (EOFError, OSError, RuntimeError, *_DAMAGE) as error:  # RuntimeError: encrypted
        message = f"{path.name} is truncated or damaged ({error}). Copy or download it again."
        raise DataError(message) from error
    raise DataError(f"this is neither a folder nor an archive. {EXPECTED}")


def _read_zip(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        entries = {e.filename.replace("\\", "/"): e for e in archive.infolist() if not e.is_dir()}
        _check_size(sum(entry.file_size for entry in entries.values()), path)
        return {name: archive.read(e) for name, e in entries.items() if _is_relevant(name)}


def _read_tar(path: Path) -> dict[str, bytes]:
    files, size = {}, 0
    with tarfile.open(path) as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            size += member.size
            _check_size(size, path)
            if member.isfile() and _is_relevant(name) and (file := archive.extractfile(member)):
                files[name] = file.read()
        # tarfile treats a truncated archive as complete; a complete one ends in zeros.
        archive.fileobj.seek(archive.offset)
        if archive.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("the end of the archive is missing")
        while archive.fileobj.read(1 << 20):  # the checksum of a compressed archive is at its end
            pass
    return files


def _check_size(size: int, path: Path) -> None:
    if size > MAX_ARCHIVE_BYTES:
        limit = f"{MAX_ARCHIVE_BYTES // 1024**3} GiB; CIFAR-10 takes a tenth of that"
        raise DataError(f"{path.name} unpacks to more than {limit}. Is it the right file?")


def _content(files: _Files, name: str) -> bytes:
    file = files[name]
    try:
        return file.read_bytes() if isinstance(file, Path) else file
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}.") from error


def _read_batches(files: _Files, folder: str) -> Contents:
    """Read the official pickles in the same order as torchvision."""
    if missing := [name for name in OFFICIAL_BATCHES if folder + name not in files]:
        raise DataError(f"{_BATCHES} lacks {', '.join(missing)}; copy the folder again.")
    data = {name: _content(files, folder + name) for name in OFFICIAL_BATCHES}
    names = _unpickle(data["batches.meta"], "batches.meta").get("label_names")
    if names != list(CLASSES):
        raise DataError(f"batches.meta names the classes {names}; CIFAR-10's are {list(CLASSES)}.")
    splits: dict[str, Images] = {}
    for name in [name for name in data if name != "batches.meta"]:
        batch = _unpickle(data[name], name)
        try:
            images = torch.from_numpy(np.array(batch["data"], np.uint8).reshape(-1, *IMAGE_SHAPE))
            labels = _labels(batch["labels"])
        except (KeyError, ValueError, TypeError) as error:
            expected = "'data' of shape (N, 3072) and N numbers as 'labels'"
            message = f"{name} is not a batch of CIFAR-10: expected {expected}"
            raise DataError(f"{message} ({type(error).__name__}: {error}).") from error
        if len(images) != len(labels):
            raise DataError(f"{name} has {len(images)} images and {len(labels)} labels.")
        splits[name] = Images(images, labels)
    test = splits.pop("test_batch")
    train = Images(*(torch.cat(column) for column in zip(*splits.values(), strict=True)))
    md5 = {n: hashlib.md5(d, usedforsecurity=False).hexdigest() for n, d in data.items()}
    layout = _BATCHES
    if len(train.labels) == 50_000 and md5 != OFFICIAL_BATCHES:
        layout = f"{_BATCHES} (its checksums are not the official ones)"
    return Contents(train, test, layout)


class _ArraysOnly(pickle.Unpickler):
    """Unpickles NumPy arrays only: a pickle can call any function."""

    def find_class(self, module: str, name: str) -> Any:
        allowed = {
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
            # NumPy's array constructors, under their old and new names.
            ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
            ("numpy.core.numeric", "_frombuffer"): np.empty(0).__reduce_ex__(5)[0],
            # Protocol 2 stores bytes as an encoded string.
            ("_codecs", "encode"): lambda text, _: text.encode("latin1"),
        }
        key = module.replace("numpy._core", "numpy.core"), name
        if key not in allowed:
            raise pickle.UnpicklingError(f"it calls {module}.{name}, which batches never do")
        return allowed[key]


def _unpickle(data: bytes, name: str) -> dict[str, Any]:
    try:
        value = _ArraysOnly(io.BytesIO(data), encoding="latin1").load()
    except Exception as error:  # a damaged pickle can raise almost any exception
        raise DataError(f"{name} is damaged or not a batch of CIFAR-10 ({error}).") from error
    if not isinstance(value, dict):
        raise DataError(f"{name} is not a batch of CIFAR-10: it contains a {type(value).__name__}.")
    return {k.decode() if isinstance(k, bytes) else k: v for k, v in value.items()}


def _read_images(files: _Files, names_by_split: dict[str, list[str]]) -> Contents:
    def class_name(name: str) -> str:
        return name.rsplit("/", 2)[1]

    classes = {class_name(name) for names in names_by_split.values() for name in names}
    if unknown := sorted(classes - set(CLASSES)):
        message = f"the image folders have other classes: {_abbreviate(unknown)}"
        raise DataError(f"{message}. CIFAR-10's are {', '.join(CLASSES)}.")
    splits = []
    for split in ("train", "test"):
        names = sorted(names_by_split.get(split, []), key=lambda name: name.rsplit("/", 2)[1:])
        labels = _labels([CLASSES.index(class_name(name)) for name in names])
        check_labels(split, labels)  # before decoding, which takes seconds
        splits.append((names, labels))
    train, test = (Images(_decode(files, names), labels) for names, labels in splits)
    return Contents(train, test, "image folders")


def _decode(files: _Files, names: Sequence[str]) -> Tensor:
    """Decode the PNG or JPEG images called `names` in order: RGB, uint8 `(N, 3, 32, 32)`."""
    pixels = np.empty((len(names), *IMAGE_SHAPE), np.uint8)
    Image.preinit()  # once, rather than in several threads at the same time

    def decode_part(start: int) -> None:
        for k, name in enumerate(names[start : start + 1000], start):
            data = io.BytesIO(_content(files, name))
            try:
                with Image.open(data, formats=("PNG", "JPEG")) as image:
                    if image.size != (32, 32):
                        raise DataError(
                            f"{name} has {image.width} x {image.height} pixels; CIFAR-10's images "
                            "have 32 x 32. Is it a different dataset?"
                        )
                    pixels[k] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)
            except (OSError, SyntaxError, ValueError) as error:  # Pillow's, for damaged files
                raise DataError(
                    f"{name} cannot be decoded ({error}). Copy the images again."
                ) from error

    with ThreadPoolExecutor() as threads:
        list(threads.map(decode_part, range(0, len(names), 1000)))
    return torch.from_numpy(pixels)


def _labels(numbers: list[int]) -> Tensor:
    # Through NumPy, which ignores torch's default device.
    return torch.from_numpy(np.array(numbers, np.int64))


def _folders_with(files: Iterable[str], filenames: Iterable[str]) -> list[str]:
    """Return the folders, each with a trailing slash, that contain any of the files `filenames`."""
    parts = [name.rpartition("/") for name in files]
    return sorted({folder + slash for folder, slash, name in parts if name in set(filenames)})


def _group_by_split(files: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of images by split, from the only folder that has any."""
    folders: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in files:
        if match := _IMAGE.fullmatch(name):
            folders[match[1] or ""][match[2]].append(name)
    both = sorted(f for f, splits in folders.items() if len(splits) == 2) or sorted(folders)
    return folders[_the_only(both)] if both else {}


def _the_only(folders: list[str]) -> str:
    if "" in folders:
        return ""
    if len(folders) > 1:
        raise DataError(f"there are several datasets: {_abbreviate(folders)}. Pass one of them.")
    return folders[0]


def _abbreviate(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
