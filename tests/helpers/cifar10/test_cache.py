"""The cache gives back what was stored or nothing, whatever happens to the disk."""

import errno
import os
import resource
import time

import pytest
import torch

from helpers.cifar10.cache import Cache, default_folder, identity_of
from helpers.cifar10.formats import read


@pytest.fixture
def contents(small):
    return read(small.folders())


@pytest.fixture
def stored(cache, contents):
    """A cache that holds `contents` for the source "a" in version 1."""
    assert Cache(cache).store("a", "1", contents) is None
    return Cache(cache)


def the_file(cache):
    (path,) = cache.folder.iterdir()
    return path


@pytest.fixture
def disk_that_takes_2000_bytes():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_was_stored_comes_back(stored, contents):
    loaded = stored.load("a", "1")
    for ours, theirs in ((loaded.train, contents.train), (loaded.test, contents.test)):
        assert torch.equal(ours.images, theirs.images)
        assert torch.equal(ours.labels, theirs.labels)
    assert loaded.layout == contents.layout


def test_changing_what_was_loaded_does_not_change_the_cache(stored, contents):
    stored.load("a", "1").train.images.zero_()
    assert torch.equal(stored.load("a", "1").train.images, contents.train.images)


def test_another_source_is_not_in_the_cache(stored):
    assert stored.load("b", "1") is None


def test_a_source_that_changed_is_not_in_the_cache(stored):
    assert stored.load("a", "2") is None


def test_the_new_contents_of_a_source_take_the_place_of_the_old(stored, contents):
    stored.store("a", "2", contents._replace(layout="new"))
    assert stored.load("a", "2").layout == "new"
    assert len(list(stored.folder.iterdir())) == 1


@pytest.mark.parametrize("size", [0, 1, 100, 1000, -1])
def test_a_truncated_cache_is_not_used(stored, size):
    path = the_file(stored)
    path.write_bytes(path.read_bytes()[:size])
    assert stored.load("a", "1") is None


def test_a_cache_with_something_behind_it_is_not_used(stored):
    with the_file(stored).open("ab") as file:
        file.write(b"x")
    assert stored.load("a", "1") is None


@pytest.mark.parametrize("place", [0, 10, 150, 1000, -100, -1])
def test_a_corrupt_cache_is_not_used(stored, place):
    path = the_file(stored)
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)
    assert stored.load("a", "1") is None


def test_a_header_that_promises_too_much_takes_no_memory(stored):
    path = the_file(stored)
    path.write_bytes(path.read_bytes().replace(b'"counts": [50', b'"counts": [500000000000'))
    assert stored.load("a", "1") is None


def test_a_full_disk_is_told_of_and_leaves_nothing(cache, contents, disk_that_takes_2000_bytes):
    assert Cache(cache).store("a", "1", contents) == os.strerror(errno.EFBIG)
    assert list(cache.iterdir()) == []


def test_a_full_disk_leaves_what_was_stored_before(stored, contents, disk_that_takes_2000_bytes):
    assert stored.store("a", "2", contents) is not None
    assert stored.load("a", "1") is not None


def test_a_folder_that_cannot_be_made_is_told_of(tmp_path, contents):
    (tmp_path / "file").write_text("")
    assert Cache(tmp_path / "file" / "cache").store("a", "1", contents) == "Not a directory"


def test_pressing_stop_while_it_is_written_leaves_nothing(cache, contents, monkeypatch):
    class Stopped:
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
    monkeypatch.setattr(path_type, "open", lambda path, mode: Stopped(real_open(path, mode)))
    with pytest.raises(KeyboardInterrupt):
        Cache(cache).store("a", "1", contents)
    assert list(cache.iterdir()) == []


def test_what_a_killed_process_left_is_removed_but_not_what_one_is_writing(stored, contents):
    old, new = stored.folder / "cifar10-a.1.tmp", stored.folder / "cifar10-a.2.tmp"
    for path in (old, new):
        path.write_bytes(b"part")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    stored.store("a", "2", contents)
    assert not old.exists()
    assert new.exists()


def test_the_identity_of_an_archive_changes_with_it(small):
    path = small.tar()
    before = identity_of(path)
    assert identity_of(path) == before
    os.utime(path, ns=(1, 1))
    assert identity_of(path) != before


def test_the_identity_of_a_folder_changes_with_one_image(small):
    folders = small.folders()
    before = identity_of(folders)
    assert identity_of(folders) == before
    image = folders / "test" / "cat" / "0000.jpg"
    image.write_bytes(image.read_bytes() + b"\0")
    assert identity_of(folders) != before


def test_the_cache_lies_where_the_system_wants_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "gpu-course-kit"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "gpu-course-kit"
