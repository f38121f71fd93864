"""Recognize and read the file formats in which CIFAR-10 is distributed."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.cifar10.batches import read_batches
from helpers.cifar10.dataset import (
    CLASSES,
    OFFICIAL_ARCHIVE,
    OFFICIAL_BATCHES,
    Contents,
    DataError,
    Images,
    check,
    check_labels,
)
from helpers.cifar10.files import Folder, decode, read_archive

EXPECTED = (
    "Expected one of: a folder cifar-10-batches-py or the archive cifar-10-python.tar.gz; image "
    "folders train/CLASS/*.png (or .jpg) and test/CLASS/*, plain or in a .tar, .tar.gz or .zip; "
    "Parquet files train-*.parquet and test-*.parquet as on the Hugging Face hub."
)
_IMAGE = re.compile(r"(.+/)?(train|test)/([^/]+)/[^/]+\.(?i:png|jpe?g)")
_PARQUET = re.compile(r"(.+/)?(train|test)[^/]*\.parquet")
_Files = Mapping[str, bytes]


def read(path: Path) -> Contents:
    """Read CIFAR-10, or a balanced subset, from the folder, archive or file at `path`.

    Raises:
        DataError: `path` is missing, unreadable, damaged, or not CIFAR-10.
    """
    try:
        contents = _read(path)
        check(contents)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    return contents


def _read(path: Path) -> Contents:
    if not (path.is_file() or path.is_dir()):
        raise DataError("there is no such file or folder.")
    if path.is_dir():
        files = Folder(path)
    elif path.suffix == ".parquet":  # one file of a set
        folder = Folder(path.parent)
        files = {name: folder[name] for name in folder if _PARQUET.fullmatch(name)}
    else:
        files = read_archive(path)
    if files is None:
        raise DataError(f"this is neither a folder nor an archive. {EXPECTED}")

    batches = _prefixes(files, OFFICIAL_BATCHES)
    complete = [p for p in batches if all(p + name in files for name in OFFICIAL_BATCHES)]
    archives = _prefixes(files, [OFFICIAL_ARCHIVE])
    if complete:
        return read_batches(files, _only_prefix(complete))
    if archives and path.is_dir():
        return _read(path / _only_prefix(archives) / OFFICIAL_ARCHIVE)
    if images := _group_by_split(files, _IMAGE):
        return _read_images(files, images)
    if tables := _group_by_split(files, _PARQUET):
        return _read_parquet(files, tables)
    if batches:
        return read_batches(files, _only_prefix(batches))
    raise DataError(f"no images of CIFAR-10 were found{_describe_contents(path)}. {EXPECTED}")


def _read_images(files: _Files, names_by_split: dict[str, list[str]]) -> Contents:
    classes = {_class_name(name) for names in names_by_split.values() for name in names}
    if unknown := sorted(classes - set(CLASSES)):
        raise DataError(
            f"the image folders have other classes: {_abbreviate(unknown)}. CIFAR-10's are "
            f"{', '.join(CLASSES)}."
        )
    splits = []
    for split in ("train", "test"):
        names = sorted(names_by_split.get(split, []), key=lambda name: name.rsplit("/", 2)[1:])
        labels = _labels([CLASSES.index(_class_name(name)) for name in names])
        check_labels(split, labels)  # before decoding, which takes seconds
        splits.append((names, labels))
    train, test = (Images(decode(files, names), labels) for names, labels in splits)
    return Contents(train, test, "image folders")


def _labels(numbers: list[int]) -> Tensor:
    # Through NumPy, which ignores torch's default device.
    return torch.from_numpy(np.array(numbers, np.int64))


def _class_name(name: str) -> str:
    return name.rsplit("/", 2)[1]


def _read_parquet(files: _Files, names_by_split: dict[str, list[str]]) -> Contents:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DataError(
            "these are Parquet files, and reading them needs pyarrow: pip install pyarrow"
        ) from error
    splits = []
    for split in ("train", "test"):
        images, labels = [decode({}, [])], [_labels([])]
        for name in sorted(names_by_split.get(split, [])):
            try:
                table = pq.read_table(pa.BufferReader(files[name]), columns=["img", "label"])
                _check_label_names(table.schema.metadata or {})
                blobs = table["img"].combine_chunks().field("bytes").to_pylist()
                rows = {f"row {row} of {name}": blob or b"" for row, blob in enumerate(blobs)}
                labels.append(_labels(table["label"].to_pylist()))
            except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
                raise DataError(
                    f"{name} is damaged or lacks the columns img (a struct with bytes) and "
                    f"label ({error})."
                ) from error
            images.append(decode(rows, list(rows)))
        splits.append(Images(torch.cat(images), torch.cat(labels)))
    return Contents(*splits, "Parquet files")


def _check_label_names(metadata: dict[bytes, bytes]) -> None:
    features: Any = json.loads(metadata.get(b"huggingface", b"{}"))
    for key in ("info", "features", "label", "names"):
        features = features.get(key) or {}
        if not features:
            return
    if features != list(CLASSES):
        raise DataError(
            f"its classes are {_abbreviate(features)}; CIFAR-10's are {', '.join(CLASSES)}."
        )


def _prefixes(files: Iterable[str], filenames: Iterable[str]) -> list[str]:
    """Return the folders, each with a trailing slash, that contain any of the files `filenames`."""
    filenames = set(filenames)
    return sorted(
        {n[: -len(filename)] for n in files if (filename := n.rsplit("/", 1)[-1]) in filenames}
    )


def _group_by_split(files: Iterable[str], pattern: re.Pattern[str]) -> dict[str, list[str]]:
    """Return the matching names by split, from the only folder that has any."""
    prefixes: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in files:
        if match := pattern.fullmatch(name):
            prefixes[match[1] or ""][match[2]].append(name)
    both = sorted(p for p, splits in prefixes.items() if len(splits) == 2) or sorted(prefixes)
    return prefixes[_only_prefix(both)] if both else {}


def _only_prefix(prefixes: list[str]) -> str:
    if "" in prefixes:
        return ""
    if len(prefixes) > 1:
        raise DataError(
            f"there are several datasets: {_abbreviate(prefixes)}. Pass the path of one of them."
        )
    return prefixes[0]


def _describe_contents(path: Path) -> str:
    if not path.is_dir():
        return ""
    names = sorted(entry.name for entry in path.iterdir())
    if set(names) >= set(CLASSES):
        return "; these are the classes of one split: name the folder that contains train and test"
    return f"; the folder contains {_abbreviate(names)}" if names else "; the folder is empty"


def _abbreviate(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
