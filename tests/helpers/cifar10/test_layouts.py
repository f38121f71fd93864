"""Every layout gives the same pixels, labels and order as torchvision for the same files."""

import hashlib
import shutil

import numpy as np
import pytest
import torch
from torchvision.datasets import CIFAR10, ImageFolder

from helpers.cifar10.dataset import OFFICIAL_BATCHES
from helpers.cifar10.formats import read
from tests.helpers.cifar10.conftest import python2_dumps


def assert_same(contents, train, test):
    for split, expected in ((contents.train, train), (contents.test, test)):
        images = [torch.from_numpy(np.array(x)).permute(2, 0, 1) for x, _ in expected]
        assert split.images.dtype == torch.uint8
        assert torch.equal(split.images, torch.stack(images))
        assert split.labels.tolist() == [y for _, y in expected]


def assert_image_folders(contents, folders):
    assert_same(contents, ImageFolder(folders / "train"), ImageFolder(folders / "test"))


@pytest.mark.parametrize("kind", ["jpg", "png"])
def test_image_folders_match_torchvision(small_cifar10, kind):
    folders = small_cifar10.folders(kind, name="copy/cifar10")
    assert_image_folders(read(folders), folders)
    before = read(folders.parent)
    assert_image_folders(before, folders)
    (folders / "train" / "cat" / ".hidden.jpg").write_bytes(b"")
    (folders / "train" / "cat" / "notes.txt").write_text("notes")
    assert torch.equal(read(folders).train.images, before.train.images)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
@pytest.mark.parametrize("prefix", ["", "cifar10/"])
def test_reads_image_folders_in_archive_of_any_name(small_cifar10, kind, prefix):
    archive = small_cifar10.zip(prefix) if kind == "zip" else small_cifar10.tar(kind, prefix)
    archive = archive.rename(archive.with_name("images.dat"))
    assert_image_folders(read(archive), small_cifar10.folders())


@pytest.fixture
def torchvision_datasets(monkeypatch):
    """A function that loads the small batches with torchvision, which checks their checksums."""

    def load(root):
        folder = root / CIFAR10.base_folder
        md5 = {n: hashlib.md5((folder / n).read_bytes()).hexdigest() for n in OFFICIAL_BATCHES}
        names = list(OFFICIAL_BATCHES)
        monkeypatch.setattr(CIFAR10, "train_list", [[n, md5[n]] for n in names[:5]])
        monkeypatch.setattr(CIFAR10, "test_list", [["test_batch", md5["test_batch"]]])
        monkeypatch.setattr(CIFAR10, "meta", CIFAR10.meta | {"md5": md5["batches.meta"]})
        return CIFAR10(root, train=True), CIFAR10(root, train=False)

    return load


def test_reads_batches_pickled_by_python_2(small_cifar10, torchvision_datasets):
    root = small_cifar10.batches(dumps=python2_dumps)
    assert_same(read(root / "cifar-10-batches-py"), *torchvision_datasets(root))


def test_reads_official_archive_or_its_folder(small_cifar10, torchvision_datasets):
    archive = small_cifar10.official_archive()
    expected = torchvision_datasets(small_cifar10.root / "archive-source")
    assert_same(read(archive), *expected)
    assert_same(read(archive.parent), *expected)


def test_falls_back_to_archive_if_batches_are_incomplete(small_cifar10, torchvision_datasets):
    root = small_cifar10.batches()
    shutil.copy(small_cifar10.official_archive(), root)
    (root / "cifar-10-batches-py" / "data_batch_3").unlink()
    assert_same(read(root), *torchvision_datasets(small_cifar10.root / "archive-source"))
