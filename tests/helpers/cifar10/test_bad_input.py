"""Damaged, incomplete and unrelated data raise an error that says what is wrong."""

import io
import os
import pickle
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.cifar10 import DataError
from helpers.cifar10.formats import files_in
from helpers.cifar10.formats import read


def error_of(path) -> str:
    with pytest.raises(DataError) as info:
        read(path)
    return str(info.value)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.99])
def test_reports_truncated_archive(small_cifar10, kind, fraction):
    path = small_cifar10.zip() if kind == "zip" else small_cifar10.tar(kind)
    data = path.read_bytes()
    # Zeros at the end of a tar are padding, not data.
    data = data.rstrip(b"\0") if kind == "tar" else data
    path.write_bytes(data[: int(len(data) * fraction)])
    message = error_of(path)
    assert path.name in message
    assert "truncated or damaged" in message


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_reports_corrupt_gzip_archive(small_cifar10, fraction):
    path = small_cifar10.tar()
    data = bytearray(path.read_bytes())
    data[int(len(data) * fraction)] ^= 0xFF
    path.write_bytes(data)
    assert "truncated or damaged" in error_of(path)


def test_reports_corrupt_image_in_zip(small_cifar10):
    path = small_cifar10.zip()
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo("train/cat/0003.jpg").header_offset + 60
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(data)
    message = error_of(path)
    assert "train/cat/0003.jpg" in message
    assert "copy the archive again" in message


def test_reports_corrupt_tar_header(small_cifar10):
    path = small_cifar10.tar("tar")
    data = bytearray(path.read_bytes())
    offset = data.index(b"train/cat/0003.jpg") + len("train/cat/000")
    data[offset] ^= 0x04  # now 0007.jpg, which only the header's checksum can detect
    path.write_bytes(data)
    with pytest.raises(DataError):
        read(path)


@pytest.mark.parametrize("layout", ["folders", "batches", "parquet"])
def test_reports_missing_class(small_cifar10, layout):
    for split in ("train", "test"):
        mask = small_cifar10.labels[split] != 9
        small_cifar10.labels[split] = small_cifar10.labels[split][mask]
        small_cifar10.pixels[split] = small_cifar10.pixels[split][mask]
    assert "no train images of: truck" in error_of(getattr(small_cifar10, layout)())


def test_reports_class_missing_in_test_images(small_cifar10):
    folders = small_cifar10.folders()
    for path in (folders / "test" / "cat").iterdir():
        path.unlink()
    assert "no test images of: cat" in error_of(folders)


def test_refuses_unequal_class_counts(small_cifar10):
    folders = small_cifar10.folders()
    (folders / "train" / "truck" / "0004.jpg").unlink()
    assert "truck 4" in error_of(folders)


def test_reports_missing_test_split(small_cifar10):
    folders = small_cifar10.folders()
    (folders / "test").rename(folders / "valid")
    assert "no test images" in error_of(folders)


@pytest.mark.parametrize("content", [b"", b"not an image", None])
@pytest.mark.parametrize("kind", ["jpg", "png"])
def test_reports_unreadable_image(small_cifar10, kind, content):
    folders = small_cifar10.folders(kind)
    path = folders / "train" / "cat" / f"0003.{kind}"
    path.write_bytes(path.read_bytes()[:-300] if content is None else content)
    message = error_of(folders)
    assert f"train/cat/0003.{kind}" in message
    assert "cannot be decoded" in message


def test_reports_image_deleted_while_reading(small_cifar10):
    files = Folder(small_cifar10.folders())
    (files.root / "train" / "cat" / "0003.jpg").unlink()
    with pytest.raises(DataError, match=r"train/cat/0003\.jpg cannot be read"):
        files["train/cat/0003.jpg"]


def test_reports_wrong_image_size(small_cifar10):
    folders = small_cifar10.folders()
    path = folders / "train" / "cat" / "0003.jpg"
    Image.new("RGB", (64, 48)).save(path)
    assert "train/cat/0003.jpg has 64 x 48 pixels" in error_of(folders)


def test_reports_unknown_class_folders(small_cifar10):
    folders = small_cifar10.folders()
    for split in ("train", "test"):
        (folders / split / "cat").rename(folders / split / "tabby")
    assert "other classes: tabby" in error_of(folders)


def test_lists_contents_of_unrelated_folder(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    message = error_of(tmp_path)
    assert "the folder contains thesis.tex" in message
    assert "cifar-10-batches-py" in message


def test_explains_that_the_folder_of_one_split_is_not_enough(small_cifar10):
    assert "name the folder that contains train and test" in error_of(
        small_cifar10.folders() / "train"
    )


def test_does_not_block_on_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "no such file or folder" in error_of(tmp_path / "pipe")


def test_reports_empty_folder(tmp_path):
    assert "the folder is empty" in error_of(tmp_path)


def test_reports_names_of_several_datasets(small_cifar10):
    folders = small_cifar10.folders(name="both/one")
    small_cifar10.folders(name="both/two")
    assert "several datasets: one/, two/" in error_of(folders.parent)


def test_reports_file_of_unknown_type(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("CIFAR-10 is a nice dataset.")
    assert "neither a folder nor an archive" in error_of(path)


def test_reports_missing_path(tmp_path):
    assert "no such file or folder" in error_of(tmp_path / "nowhere")


def test_refuses_archive_with_paths_outside_of_it(small_cifar10):
    path = small_cifar10.root / "evil.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("../../train/cat/0000.jpg"), io.BytesIO())
    assert "a path outside the archive" in error_of(path)


def test_never_unpacks_archive_to_disk(small_cifar10, tmp_path):
    path = small_cifar10.tar()
    before = sorted(tmp_path.rglob("*"))
    read(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_refuses_huge_archive(small_cifar10, monkeypatch):
    monkeypatch.setattr("helpers.cifar10.files.MAX_ARCHIVE_BYTES", 10_000)
    assert "Is it the right file?" in error_of(small_cifar10.tar())
    assert "Is it the right file?" in error_of(small_cifar10.zip())


def test_reports_missing_batch(small_cifar10):
    root = small_cifar10.batches()
    (root / "cifar-10-batches-py" / "data_batch_3").unlink()
    assert "lacks data_batch_3" in error_of(root)


def test_reports_truncated_batch(small_cifar10):
    path = small_cifar10.batches() / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(path.read_bytes()[:2000])
    assert "data_batch_3 is damaged" in error_of(path.parent)


class CodeRunner:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_batch_cannot_run_code(small_cifar10, tmp_path):
    path = small_cifar10.batches() / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(pickle.dumps({"data": CodeRunner(tmp_path / "harm"), "labels": []}))
    assert "it calls posix.mkdir" in error_of(path.parent).replace("nt.mkdir", "posix.mkdir")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("protocol", range(6))
def test_reads_batches_of_every_pickle_protocol(small_cifar10, protocol):
    root = small_cifar10.batches(dumps=lambda value: pickle.dumps(value, protocol))
    assert read(root).train.images.shape == (50, 3, 32, 32)


@pytest.mark.parametrize("batch", [[1, 2], {"data": 1}, {"data": np.zeros((2, 7)), "labels": [1]}])
def test_refuses_unrelated_pickle(small_cifar10, batch):
    path = small_cifar10.batches() / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(pickle.dumps(batch))
    assert "data_batch_3 is not a batch of CIFAR-10" in error_of(path.parent)


def test_reports_unknown_classes_in_batches(small_cifar10):
    folder = small_cifar10.batches() / "cifar-10-batches-py"
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["cat", "dog"]}))
    assert "batches.meta names the classes ['cat', 'dog']" in error_of(folder)


def test_reports_damaged_parquet_file(small_cifar10):
    path = small_cifar10.parquet() / "plain_text" / "train-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    assert f"{path.name} is damaged" in error_of(path.parent)


def test_reports_missing_parquet_columns(small_cifar10):
    assert "lacks the columns" in error_of(small_cifar10.parquet(images="picture"))


def test_reports_unknown_classes_in_parquet(small_cifar10):
    other = b'{"info": {"features": {"label": {"names": ["cat", "dog"]}}}}'
    assert "its classes are cat, dog" in error_of(
        small_cifar10.parquet(metadata={b"huggingface": other})
    )


def test_parquet_without_pyarrow_says_how_to_install_it(small_cifar10, monkeypatch):
    folder = small_cifar10.parquet()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow" in error_of(folder)
