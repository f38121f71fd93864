"""Read `cifar-10-batches-py`, the official pickles, without running any code in them."""

import hashlib
import io
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from helpers.cifar10.dataset import (
    CLASSES,
    IMAGE_SHAPE,
    OFFICIAL_BATCHES,
    Contents,
    DataError,
    Images,
)

FOLDER = "cifar-10-batches-py"


def read_batches(files: Mapping[str, bytes], prefix: str) -> Contents:
    """Read the batches whose names start with `prefix`, in the same order as torchvision.

    Raises:
        DataError: a batch is missing, damaged, or not a batch of CIFAR-10.
    """
    if missing := [name for name in OFFICIAL_BATCHES if prefix + name not in files]:
        raise DataError(f"{FOLDER} lacks {', '.join(missing)}; copy the folder again.")
    data = {name: files[prefix + name] for name in OFFICIAL_BATCHES}
    names = _loads(data["batches.meta"], "batches.meta").get("label_names")
    if names != list(CLASSES):
        raise DataError(f"batches.meta names the classes {names}; CIFAR-10's are {list(CLASSES)}.")
    parts = [_images(data[name], name) for name in data if name.startswith("data_batch")]
    train = Images(*(torch.cat(column) for column in zip(*parts, strict=True)))
    contents = Contents(train, _images(data["test_batch"], "test_batch"), FOLDER)
    official = all(_md5(data[name]) == md5 for name, md5 in OFFICIAL_BATCHES.items())
    if len(train.labels) == 50_000 and not official:
        return contents._replace(layout=f"{FOLDER} (its checksums are not the official ones)")
    return contents


def _images(data: bytes, name: str) -> Images:
    batch = _loads(data, name)
    try:
        images = torch.from_numpy(np.array(batch["data"], np.uint8).reshape(-1, *IMAGE_SHAPE))
        labels = torch.from_numpy(np.array(batch["labels"], np.int64))
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            f"{name} is not a batch of CIFAR-10: expected 'data' of shape (N, 3072) and N numbers "
            f"as 'labels' ({type(error).__name__}: {error})."
        ) from error
    if images.shape[0] != labels.shape[0]:
        raise DataError(f"{name} has {len(images)} images and {len(labels)} labels.")
    return Images(images, labels)


class _ArraysOnly(pickle.Unpickler):
    """Unpickles NumPy arrays only: a pickle can call any function."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module.replace("numpy._core", "numpy.core"), name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it calls {module}.{name}, which batches never do"
            ) from None


_ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    # NumPy's array constructors, under their old and new names.
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy.core.numeric", "_frombuffer"): np.empty(0).__reduce_ex__(5)[0],
    # Protocol 2 stores bytes as an encoded string.
    ("_codecs", "encode"): lambda text, _: text.encode("latin1"),
}


def _loads(data: bytes, name: str) -> dict[str, Any]:
    # A damaged pickle can raise almost any exception.
    try:
        value = _ArraysOnly(io.BytesIO(data), encoding="latin1").load()
    except Exception as error:
        raise DataError(f"{name} is damaged or not a batch of CIFAR-10 ({error}).") from error
    if not isinstance(value, dict):
        raise DataError(f"{name} is not a batch of CIFAR-10: it contains a {type(value).__name__}.")
    return {k.decode() if isinstance(k, bytes) else k: v for k, v in value.items()}


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
