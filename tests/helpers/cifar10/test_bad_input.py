"""What is broken, incomplete or something else is an error that says so."""

import io
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.cifar10 import DataError
from helpers.cifar10.archives import Folder
from helpers.cifar10.formats import read


def error_of(path) -> str:
    with pytest.raises(DataError) as info:
        read(path)
    return str(info.value)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
@pytest.mark.parametrize("part", [0.01, 0.5, 0.99])
def test_a_truncated_archive(small, kind, part):
    path = small.zip() if kind == "zip" else small.tar(kind)
    data = path.read_bytes()
    # A tar ends in blocks of zeros, which nobody misses.
    data = data.rstrip(b"\0") if kind == "tar" else data
    path.write_bytes(data[: int(len(data) * part)])
    message = error_of(path)
    assert path.name in message
    assert "cut off or damaged" in message


def test_a_corrupt_archive_compressed_by_gzip(small):
    path = small.tar()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert "cut off or damaged" in error_of(path)


def test_a_corrupt_image_in_a_zip(small):
    path = small.zip()
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("train/cat/0003.jpg").header_offset + 60
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)
    message = error_of(path)
    assert "train/cat/0003.jpg" in message
    assert "copy it anew" in message


def test_a_corrupt_header_in_a_tar(small):
    path = small.tar("tar")
    data = bytearray(path.read_bytes())
    place = data.index(b"train/cat/0003.jpg") + len("train/cat/000")
    data[place] ^= 0x04  # now it says 0007.jpg, which only the header's checksum can tell
    path.write_bytes(data)
    with pytest.raises(DataError):
        read(path)


@pytest.mark.parametrize("layout", ["folders", "batches", "parquet"])
def test_a_missing_class(small, layout):
    for split in ("train", "test"):
        keep = small.labels[split] != 9
        small.labels[split] = small.labels[split][keep]
        small.pixels[split] = small.pixels[split][keep]
    assert "no train images of: truck" in error_of(getattr(small, layout)())


def test_a_class_that_is_missing_only_in_the_test_images(small):
    folders = small.folders()
    for path in (folders / "test" / "cat").iterdir():
        path.unlink()
    assert "no test images of: cat" in error_of(folders)


def test_a_copy_that_stopped_halfway_is_no_subset(small):
    folders = small.folders()
    (folders / "train" / "truck" / "0004.jpg").unlink()
    assert "truck 4" in error_of(folders)


def test_no_test_images(small):
    folders = small.folders()
    (folders / "test").rename(folders / "valid")
    assert "no test images" in error_of(folders)


@pytest.mark.parametrize("content", [b"", b"no image", None])
@pytest.mark.parametrize("kind", ["jpg", "png"])
def test_an_unreadable_image_is_named(small, kind, content):
    folders = small.folders(kind)
    path = folders / "train" / "cat" / f"0003.{kind}"
    path.write_bytes(path.read_bytes()[:-300] if content is None else content)
    message = error_of(folders)
    assert f"train/cat/0003.{kind}" in message
    assert "cannot be decoded" in message


def test_an_image_that_goes_away_while_being_read_is_named(small):
    files = Folder(small.folders())
    (files.root / "train" / "cat" / "0003.jpg").unlink()
    with pytest.raises(DataError, match=r"train/cat/0003\.jpg cannot be read"):
        files["train/cat/0003.jpg"]


def test_images_of_another_size(small):
    folders = small.folders()
    path = folders / "train" / "cat" / "0003.jpg"
    Image.new("RGB", (64, 48)).save(path)
    assert "train/cat/0003.jpg has 64 x 48 pixels" in error_of(folders)


def test_image_folders_of_other_classes(small):
    folders = small.folders()
    for split in ("train", "test"):
        (folders / split / "cat").rename(folders / split / "tabby")
    assert "other classes: tabby" in error_of(folders)


def test_a_folder_with_something_else_in_it(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    message = error_of(tmp_path)
    assert "the folder holds thesis.tex" in message
    assert "cifar-10-batches-py" in message


def test_the_training_images_alone(small):
    assert "name the folder that holds train and test" in error_of(small.folders() / "train")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "no such file or folder" in error_of(tmp_path / "pipe")


def test_an_empty_folder(tmp_path):
    assert "the folder is empty" in error_of(tmp_path)


def test_a_folder_with_two_data_sets(small):
    folders = small.folders(where="both/one")
    small.folders(where="both/two")
    assert "several data sets: one/, two/" in error_of(folders.parent)


def test_a_file_of_another_kind(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("CIFAR-10 is a nice data set.")
    assert "no archive that can be read" in error_of(path)


def test_nothing_there(tmp_path):
    assert "no such file or folder" in error_of(tmp_path / "nowhere")


def test_an_archive_whose_names_lead_outside(small):
    path = small.root / "evil.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("../../train/cat/0000.jpg"), io.BytesIO())
    assert "leads outside" in error_of(path)


def test_an_archive_is_never_unpacked(small, tmp_path):
    path, before = small.tar(), sorted(tmp_path.rglob("*"))
    small_paths = [p for p in before if p != path]
    read(path)
    assert sorted(p for p in tmp_path.rglob("*") if p != path) == small_paths


def test_an_archive_far_larger_than_cifar10(small, monkeypatch):
    monkeypatch.setattr("helpers.cifar10.archives.LARGEST_ARCHIVE", 10_000)
    assert "Is it the right file?" in error_of(small.tar())
    assert "Is it the right file?" in error_of(small.zip())


def test_a_missing_batch(small):
    root = small.batches()
    (root / "cifar-10-batches-py" / "data_batch_3").unlink()
    assert "no data_batch_3" in error_of(root)


def test_a_truncated_batch(small):
    path = small.batches() / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(path.read_bytes()[:2000])
    assert "data_batch_3 is damaged" in error_of(path.parent)


class Harmful:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_batch_cannot_run_code(small, tmp_path):
    path = small.batches() / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(pickle.dumps({"data": Harmful(tmp_path / "harm"), "labels": []}))
    assert "it calls posix.mkdir" in error_of(path.parent).replace("nt.mkdir", "posix.mkdir")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("protocol", range(6))
def test_a_batch_is_read_whatever_pickle_protocol_it_has(small, protocol):
    root = small.batches(dumps=lambda value: pickle.dumps(value, protocol))
    assert read(root).train.images.shape == (50, 3, 32, 32)


@pytest.mark.parametrize("batch", [[1, 2], {"data": 1}, {"data": np.zeros((2, 7)), "labels": [1]}])
def test_a_pickle_of_something_else(small, batch):
    path = small.batches() / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(pickle.dumps(batch))
    assert "data_batch_3 is no batch of CIFAR-10" in error_of(path.parent)


def test_batches_of_other_classes(small):
    folder = small.batches() / "cifar-10-batches-py"
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["cat", "dog"]}))
    assert "batches.meta names the classes ['cat', 'dog']" in error_of(folder)


def test_a_damaged_parquet_file(small):
    path = small.parquet() / "plain_text" / "train-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    assert f"{path.name} is damaged" in error_of(path.parent)


def test_parquet_files_with_other_columns(small):
    assert "without the columns" in error_of(small.parquet(images="picture"))


def test_parquet_files_of_other_classes(small):
    other = b'{"info": {"features": {"label": {"names": ["cat", "dog"]}}}}'
    assert "its classes are cat, dog" in error_of(small.parquet(metadata={b"huggingface": other}))


def test_parquet_files_where_pyarrow_is_missing(small, monkeypatch):
    folder = small.parquet()
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert "pip install pyarrow" in error_of(folder)
