"""Every layout gives the same pixels, labels and order as torchvision for the same files."""

import gzip
import hashlib
import shutil
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.datasets import CIFAR10, ImageFolder

from helpers import cifar10
from helpers.cifar10.dataset import OFFICIAL_BATCHES
from helpers.cifar10.formats import read


def stack_samples(samples):
    """Stack torchvision's samples: uint8 `(N, 3, 32, 32)` and int64 `(N,)`."""
    images = torch.stack([torch.from_numpy(np.array(x)).permute(2, 0, 1) for x, _ in samples])
    return images, torch.tensor([y for _, y in samples])


def assert_same(contents, train, test):
    for split, expected in ((contents.train, train), (contents.test, test)):
        images, labels = stack_samples(expected)
        assert split.images.dtype == torch.uint8
        assert torch.equal(split.images, images)
        assert torch.equal(split.labels, labels)


def assert_image_folders(contents, folders):
    assert_same(contents, ImageFolder(folders / "train"), ImageFolder(folders / "test"))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("jpg", {"quality": 75}),
        ("jpg", {"quality": 95, "subsampling": 0}),
        ("jpeg", {}),
        ("png", {}),
    ],
)
def test_image_folders_match_torchvision(small_cifar10, kind, options):
    folders = small_cifar10.folders(kind, **options)
    assert_image_folders(read(folders), folders)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tgz"])
@pytest.mark.parametrize("prefix", ["", "cifar10"])
def test_reads_image_folders_in_tar(small_cifar10, kind, prefix):
    assert_image_folders(read(small_cifar10.tar(kind, prefix)), small_cifar10.folders())


@pytest.mark.parametrize("prefix", ["", "cifar10/"])
def test_reads_image_folders_in_zip(small_cifar10, prefix):
    assert_image_folders(read(small_cifar10.zip(prefix)), small_cifar10.folders())


def test_reads_image_folders_one_level_deeper(small_cifar10):
    folders = small_cifar10.folders(name="copy/cifar10")
    assert_image_folders(read(folders.parent), folders)


def test_recognizes_archive_by_content(small_cifar10):
    path = small_cifar10.tar().rename(small_cifar10.root / "images.dat")
    assert_image_folders(read(path), small_cifar10.folders())


def test_reads_tar_compressed_in_several_members(small_cifar10):
    path = small_cifar10.tar("tar")
    data = path.read_bytes()
    path.write_bytes(gzip.compress(data[:5000]) + gzip.compress(data[5000:]) + bytes(100))
    assert_image_folders(read(path), small_cifar10.folders())


def test_reads_tar_with_long_names_and_links(small_cifar10):
    folders = small_cifar10.folders()
    for split in ("train", "test"):
        for path in (folders / split).rglob("0001.jpg"):
            path.rename(path.with_name("1" * 120 + ".jpg"))
    (folders / "train" / "cat" / "again.jpg").symlink_to("0000.jpg")
    archive = small_cifar10.tar(source=folders)
    (folders / "train" / "cat" / "again.jpg").unlink()
    assert_image_folders(read(archive), folders)


def test_reads_tar_in_pax_format(small_cifar10):
    folders, path = small_cifar10.folders(), small_cifar10.root / "pax.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(folders.rglob("*.jpg")):
            member = archive.gettarinfo(file, file.relative_to(folders).as_posix())
            member.pax_headers = {"comment": "some systems add one to every file"}
            with file.open("rb") as data:
                archive.addfile(member, data)
    assert_image_folders(read(path), folders)


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


def test_reads_batches_folder(small_cifar10, torchvision_datasets):
    root = small_cifar10.batches()
    assert_same(read(root / "cifar-10-batches-py"), *torchvision_datasets(root))


def test_reads_batches_pickled_by_python_2(small_cifar10, torchvision_datasets, python2_dumps):
    root = small_cifar10.batches(dumps=python2_dumps)
    assert_same(read(root), *torchvision_datasets(root))


def test_reads_official_archive(small_cifar10, torchvision_datasets):
    archive = small_cifar10.official_archive()
    assert_same(read(archive), *torchvision_datasets(small_cifar10.root / "archive-source"))


def test_reads_folder_with_archive_and_batches(small_cifar10, torchvision_datasets):
    root = small_cifar10.batches()
    shutil.copy(small_cifar10.official_archive(), root)
    assert_same(read(root), *torchvision_datasets(root))


def test_reads_folder_with_official_archive(small_cifar10, torchvision_datasets):
    archive = small_cifar10.official_archive()
    assert_same(read(archive.parent), *torchvision_datasets(small_cifar10.root / "archive-source"))


def test_falls_back_to_archive_if_batches_are_incomplete(small_cifar10, torchvision_datasets):
    root = small_cifar10.batches()
    shutil.copy(small_cifar10.official_archive(), root)
    (root / "cifar-10-batches-py" / "data_batch_3").unlink()
    assert_same(read(root), *torchvision_datasets(small_cifar10.root / "archive-source"))


@pytest.mark.parametrize("source", [".", "plain_text", "plain_text/train-00000-of-00001.parquet"])
def test_reads_parquet_files_from_the_hub(small_cifar10, source):
    contents = read(small_cifar10.parquet() / source)
    order = np.random.default_rng(1).permutation(50)
    assert contents.train.labels.tolist() == small_cifar10.labels["train"][order].tolist()
    pixels = torch.from_numpy(small_cifar10.pixels["train"][order]).permute(0, 3, 1, 2)
    assert torch.equal(contents.train.images, pixels)
    assert len(contents.test.labels) == 20


def test_ignores_hidden_and_unrelated_files(small_cifar10):
    folders = small_cifar10.folders()
    before = read(folders)
    (folders / "train" / "cat" / ".hidden.jpg").write_bytes(b"")
    (folders / "train" / "cat" / "notes.txt").write_text("notes")
    (folders / ".git").mkdir()
    assert torch.equal(read(folders).train.images, before.train.images)


def test_decodes_real_images_as_pillow_does(real_root, tmp_path):
    """Compare one image in a hundred."""
    if not real_root.is_file():
        pytest.skip("needs CIFAR10_ROOT to be an archive of image folders")
    contents = read(real_root)
    with tarfile.open(real_root) as archive:
        names = [m.name for m in archive if m.isfile() and "test/" in m.name]
        for k in range(0, len(names), 100):
            image = Image.open(archive.extractfile(names[k])).convert("RGB")
            expected = torch.from_numpy(np.array(image)).permute(2, 0, 1)
            assert torch.equal(contents.test.images[k], expected)
            assert cifar10.CLASSES[contents.test.labels[k]] in names[k]
