"""The cache returns exactly the stored images, or None if its file is missing or damaged."""

import errno
import os
import resource
import time

import numpy as np
import pytest
import torch

from helpers.cifar10.cache import Cache, identity_of
from helpers.cifar10.formats import read


@pytest.fixture
def contents(small_cifar10):
    return read(small_cifar10.folders())


@pytest.fixture
def stored_cache(cache, contents):
    """A cache with `contents` stored for the source "a" with the identity "1"."""
    assert Cache(cache).store("a", "1", contents) == ""
    return Cache(cache)


def test_load_returns_stored_images_of_this_source_and_identity(stored_cache, contents):
    loaded = stored_cache.load("a", "1")
    stored = (*contents.train, *contents.test)
    assert all(map(torch.equal, (*loaded.train, *loaded.test), stored))
    assert loaded.layout == contents.layout
    assert stored_cache.load("b", "1") is stored_cache.load("a", "2") is None


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("fault", ["truncated", "corrupt"])
def test_damaged_file_returns_none(stored_cache, fraction, fault):
    (path,) = stored_cache.folder.iterdir()
    data = bytearray(path.read_bytes())
    position = int(fraction * len(data))
    data[position] ^= 0x10
    path.write_bytes(data[:position] if fault == "truncated" else data)
    assert stored_cache.load("a", "1") is None


def test_only_a_complete_write_replaces_old_contents(stored_cache, contents):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        assert stored_cache.store("a", "2", contents) == os.strerror(errno.EFBIG)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert stored_cache.load("a", "1") is not None
    stored_cache.store("a", "2", contents._replace(layout="new"))
    assert stored_cache.load("a", "2").layout == "new"
    assert len(list(stored_cache.folder.iterdir())) == 1


def test_interrupt_while_writing_leaves_no_file(cache, contents, monkeypatch):
    def interrupt(file, **arrays):
        file.write(b"part")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Cache(cache).store("a", "1", contents)
    assert list(cache.iterdir()) == []


def test_removes_only_abandoned_partial_files(stored_cache, contents):
    old, new = stored_cache.folder / "cifar10-a.1.tmp", stored_cache.folder / "cifar10-a.2.tmp"
    for path in (old, new):
        path.write_bytes(b"part")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    stored_cache.store("a", "2", contents)
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize("kind", ["tar", "folders"])
def test_identity_changes_with_the_archive_or_one_image(small_cifar10, kind):
    path = getattr(small_cifar10, kind)()
    before = identity_of(path)
    os.utime(path / "test" / "cat" / "0000.jpg" if path.is_dir() else path, ns=(1, 1))
    assert identity_of(path) != before
