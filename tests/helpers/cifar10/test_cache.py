"""The cache returns exactly the stored images, or None if its file is missing or damaged."""

import errno
import os
import resource
import time

import pytest
import torch

from helpers.cifar10.cache import Cache, default_folder, identity_of
from helpers.cifar10.formats import read


@pytest.fixture
def contents(small_cifar10):
    return read(small_cifar10.folders())


@pytest.fixture
def stored_cache(cache, contents):
    """A cache with `contents` stored for the source "a" with the identity "1"."""
    assert Cache(cache).store("a", "1", contents) is None
    return Cache(cache)


def cache_file(cache):
    (path,) = cache.folder.iterdir()
    return path


@pytest.fixture
def limit_file_size():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_load_returns_stored_images(stored_cache, contents):
    loaded = stored_cache.load("a", "1")
    for loaded_split, stored_split in (
        (loaded.train, contents.train),
        (loaded.test, contents.test),
    ):
        assert torch.equal(loaded_split.images, stored_split.images)
        assert torch.equal(loaded_split.labels, stored_split.labels)
    assert loaded.layout == contents.layout


def test_modifying_loaded_images_leaves_cache_unchanged(stored_cache, contents):
    stored_cache.load("a", "1").train.images.zero_()
    assert torch.equal(stored_cache.load("a", "1").train.images, contents.train.images)


def test_unknown_source_returns_none(stored_cache):
    assert stored_cache.load("b", "1") is None


def test_changed_identity_returns_none(stored_cache):
    assert stored_cache.load("a", "2") is None


def test_new_contents_replace_old_ones(stored_cache, contents):
    stored_cache.store("a", "2", contents._replace(layout="new"))
    assert stored_cache.load("a", "2").layout == "new"
    assert len(list(stored_cache.folder.iterdir())) == 1


@pytest.mark.parametrize("size", [0, 1, 100, 1000, -1])
def test_truncated_file_returns_none(stored_cache, size):
    path = cache_file(stored_cache)
    path.write_bytes(path.read_bytes()[:size])
    assert stored_cache.load("a", "1") is None


def test_trailing_data_returns_none(stored_cache):
    with cache_file(stored_cache).open("ab") as file:
        file.write(b"x")
    assert stored_cache.load("a", "1") is None


@pytest.mark.parametrize("offset", [0, 10, 150, 1000, -100, -1])
def test_corrupt_file_returns_none(stored_cache, offset):
    path = cache_file(stored_cache)
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)
    assert stored_cache.load("a", "1") is None


def test_damaged_header_with_a_huge_count_returns_none(stored_cache):
    path = cache_file(stored_cache)
    path.write_bytes(path.read_bytes().replace(b'"counts": [50', b'"counts": [500000000000'))
    assert stored_cache.load("a", "1") is None


def test_write_error_is_returned_and_leaves_no_file(cache, contents, limit_file_size):
    assert Cache(cache).store("a", "1", contents) == os.strerror(errno.EFBIG)
    assert list(cache.iterdir()) == []


def test_write_error_keeps_old_contents(stored_cache, contents, limit_file_size):
    assert stored_cache.store("a", "2", contents) is not None
    assert stored_cache.load("a", "1") is not None


def test_reports_folder_that_cannot_be_created(tmp_path, contents):
    (tmp_path / "file").write_text("")
    assert Cache(tmp_path / "file" / "cache").store("a", "1", contents) == "Not a directory"


def test_interrupt_while_writing_leaves_no_file(cache, contents, monkeypatch):
    class InterruptedFile:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            self.file.write(memoryview(data)[:100])
            if self.file.tell() > 100:
                raise KeyboardInterrupt

    path_type = type(cache)
    real_open = path_type.open
    monkeypatch.setattr(
        path_type, "open", lambda path, mode: InterruptedFile(real_open(path, mode))
    )
    with pytest.raises(KeyboardInterrupt):
        Cache(cache).store("a", "1", contents)
    assert list(cache.iterdir()) == []


def test_removes_only_abandoned_partial_files(stored_cache, contents):
    old, new = stored_cache.folder / "cifar10-a.1.tmp", stored_cache.folder / "cifar10-a.2.tmp"
    for path in (old, new):
        path.write_bytes(b"part")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    stored_cache.store("a", "2", contents)
    assert not old.exists()
    assert new.exists()


def test_identity_changes_with_archive(small_cifar10):
    path = small_cifar10.tar()
    before = identity_of(path)
    assert identity_of(path) == before
    os.utime(path, ns=(1, 1))
    assert identity_of(path) != before


def test_identity_changes_with_one_image_of_a_folder(small_cifar10):
    folders = small_cifar10.folders()
    before = identity_of(folders)
    assert identity_of(folders) == before
    image = folders / "test" / "cat" / "0000.jpg"
    image.write_bytes(image.read_bytes() + b"\0")
    assert identity_of(folders) != before


def test_default_folder_follows_xdg_cache_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "gpu-course-kit"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "gpu-course-kit"
