"""Damaged, incomplete and unrelated data raise an error that says what is wrong."""

import itertools
import os
import pickle
import shutil

import numpy as np
import pytest
from PIL import Image

from helpers.cifar10 import DataError
from helpers.cifar10.formats import read


def error_of(path) -> str:
    with pytest.raises(DataError) as info:
        read(path)
    return str(info.value)


@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.7])
@pytest.mark.parametrize(
    ("kind", "fault"),  # a tar has no checksum of its files' contents
    [("tar", "truncated"), *itertools.product(["tar.gz", "zip"], ["truncated", "corrupt"])],
)
def test_reports_truncated_or_corrupt_archive(small_cifar10, kind, fraction, fault):
    path = small_cifar10.zip() if kind == "zip" else small_cifar10.tar(kind)
    data = path.read_bytes()
    # Zeros at the end of a tar are padding, not data.
    data = data.rstrip(b"\0") if kind == "tar" else data
    position = int(len(data) * fraction)
    rest = bytes([data[position] ^ 0xFF]) + data[position + 1 :]
    path.write_bytes(data[:position] + (rest if fault == "corrupt" else b""))
    assert path.name in error_of(path)


def in_cat(folders):
    return folders / "train" / "cat" / "0003.jpg"


FOLDERS = {
    "a class without test images": (
        lambda f: shutil.rmtree(f / "test" / "cat"),
        "no test images of: cat",
    ),
    "a missing image": (lambda f: in_cat(f).unlink(), "cat 4"),
    "no test images": (lambda f: (f / "test").rename(f / "valid"), "no test images"),
    "a truncated image": (
        lambda f: in_cat(f).write_bytes(in_cat(f).read_bytes()[:-300]),
        "train/cat/0003.jpg cannot be decoded",
    ),
    "an image of another size": (
        lambda f: Image.new("RGB", (64, 48)).save(in_cat(f)),
        "train/cat/0003.jpg has 64 x 48 pixels",
    ),
    "another class": (
        lambda f: (f / "train" / "cat").rename(f / "train" / "tabby"),
        "other classes: tabby",
    ),
    "a second copy": (
        lambda f: (
            [shutil.copytree(f / "train", f / name / "train") for name in ("a", "b")]
            + [shutil.rmtree(f / name) for name in ("train", "test")]
        ),
        "several datasets: a/, b/",
    ),
}


@pytest.mark.parametrize(("change", "message"), FOLDERS.values(), ids=FOLDERS)
def test_reports_what_is_wrong_in_image_folders(small_cifar10, change, message):
    folders = small_cifar10.folders()
    change(folders)
    assert message in error_of(folders)


def test_reports_paths_without_images(small_cifar10):
    message = error_of(small_cifar10.folders() / "train")
    assert "name the folder that contains train and test" in message
    (tmp_path := small_cifar10.root / "empty").mkdir()
    assert "the folder contains nothing" in error_of(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for name in ("nowhere", "pipe"):
        assert "no such file or folder" in error_of(tmp_path / name)
    (tmp_path / "thesis.tex").write_text("CIFAR-10 is a nice dataset.")
    assert "neither a folder nor an archive" in error_of(tmp_path / "thesis.tex")
    assert "the folder contains pipe, thesis.tex. Expected one of: " in error_of(tmp_path)


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_refuses_huge_archive(small_cifar10, monkeypatch, kind):
    monkeypatch.setattr("helpers.cifar10.formats.MAX_ARCHIVE_BYTES", 10_000)
    assert "Is it the right file?" in error_of(getattr(small_cifar10, kind)())


class CodeRunner:
    def __reduce__(self):
        return os.mkdir, ("harm",)


NOT_A_BATCH = "data_batch_3 is not a batch of CIFAR-10"
BATCHES = [
    ("data_batch_3", b"", "data_batch_3 is damaged"),
    ("data_batch_3", pickle.dumps({"data": CodeRunner()}), "it calls posix.mkdir"),
    ("data_batch_3", pickle.dumps([1, 2]), NOT_A_BATCH),
    ("data_batch_3", pickle.dumps({"data": np.zeros((2, 7)), "labels": [1]}), NOT_A_BATCH),
    ("batches.meta", pickle.dumps({"label_names": ["cat"]}), "names the classes ['cat']"),
]


@pytest.mark.parametrize(("name", "data", "message"), BATCHES)
def test_reports_what_is_wrong_in_batches(small_cifar10, name, data, message):
    folder = small_cifar10.batches() / "cifar-10-batches-py"
    (folder / name).write_bytes(data)
    assert message in error_of(folder)
    (folder / name).unlink()
    assert f"lacks {name}" in error_of(folder)
