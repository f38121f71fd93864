"""The sources that `load` tries, their order, and the provenance it reports."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torchvision.datasets import CIFAR10

from helpers.cifar10 import DataError, download, load, synthetic_images
from helpers.cifar10.dataset import OFFICIAL_ARCHIVE, OFFICIAL_BATCHES
from helpers.cifar10.download import File


@pytest.fixture
def published_archive(small_cifar10, monkeypatch):
    """The bytes of a small archive that replaces the official one."""
    data = small_cifar10.official_archive().read_bytes()
    monkeypatch.setattr(download, "ARCHIVE", File(len(data), hashlib.md5(data).hexdigest()))
    return data


def test_loads_images_at_path(small_cifar10, cache, monkeypatch):
    monkeypatch.setenv("HOME", str(small_cifar10.root))
    monkeypatch.setenv("CIFAR10_ROOT", "nowhere")
    dataset = load(f"~/{small_cifar10.tar().name}", cache=cache)
    assert (dataset.name, dataset.synthetic) == ("CIFAR-10", False)
    assert repr(dataset) == "<CIFAR-10: 50 training and 20 test images>"
    images, labels = dataset.train
    assert (images.shape, images.dtype) == ((50, 3, 32, 32), torch.uint8)
    assert (labels.shape, labels.dtype) == ((50,), torch.int64)
    assert dataset.provenance == (
        "real CIFAR-10, a subset of 50 training and 20 test images read from image folders in "
        "images.tar.gz"
    )
    cached = load("~/images.tar.gz", cache=cache)
    assert cached.provenance == dataset.provenance + ", cached"
    assert torch.equal(cached.train.images, images)


@pytest.mark.parametrize("source", ["auto", "cifar10"])
def test_cifar10_root_comes_first_and_must_be_valid(small_cifar10, cache, monkeypatch, source):
    monkeypatch.setenv("CIFAR10_ROOT", str(small_cifar10.folders()))
    assert "image folders in folders" in load(source, cache=cache).provenance
    monkeypatch.setenv("CIFAR10_ROOT", str(small_cifar10.root / "nowhere"))
    message = r"CIFAR10_ROOT is set, but cannot be used.*nowhere: no such file.*'auto', 'cifar10'"
    with pytest.raises(DataError, match=message):
        load(source, cache=cache)


def test_downloads_once_and_keeps_archive_to_rebuild_cache(published_archive, serve, cache, capfd):
    server = serve(published_archive)
    first = load("auto", cache=cache, mirrors=[server.url])
    assert not first.synthetic
    assert first.provenance.endswith("downloaded from 127.0.0.1")
    assert capfd.readouterr().out == "Loading CIFAR-10. The first time can take a minute ...\n"
    second = load("auto", cache=cache, mirrors=[server.url])
    assert "downloaded earlier, cached" in second.provenance
    assert capfd.readouterr() == ("", "")
    (file,) = cache.glob("*.images")
    file.write_bytes(b"broken")
    assert load("cifar10", cache=cache, mirrors=[server.url]).provenance.endswith("earlier")
    assert len(server.ranges_requested) == 1
    file.write_bytes(b"broken")
    (cache / OFFICIAL_ARCHIVE).write_bytes(published_archive[:-1] + b"?")
    damaged = load("cifar10", cache=cache, mirrors=[server.url])
    assert damaged.provenance.endswith("downloaded from 127.0.0.1")


def test_download_works_without_writable_cache(published_archive, serve, tmp_path):
    (tmp_path / "file").write_text("")
    dataset = load("cifar10", cache=tmp_path / "file", mirrors=[serve(published_archive).url])
    assert "downloaded from 127.0.0.1 (not cached: " in dataset.provenance


def test_cifar10_mirrors_sets_servers(published_archive, serve, cache, monkeypatch):
    broken, good = serve(b"", status=503).url, serve(published_archive).url
    monkeypatch.setenv("CIFAR10_MIRRORS", f"{broken}, {good}")
    assert not load("auto", cache=cache).synthetic


def test_address_checksums_and_names_match_torchvision(monkeypatch):
    monkeypatch.delenv("CIFAR10_MIRRORS")
    assert download.servers() == download.SERVERS
    assert download.SERVERS[0] == CIFAR10.url
    assert download.ARCHIVE.md5 == CIFAR10.tgz_md5
    assert CIFAR10.filename == OFFICIAL_ARCHIVE
    batches = [*CIFAR10.train_list, *CIFAR10.test_list]
    meta = {CIFAR10.meta["filename"]: CIFAR10.meta["md5"]}
    assert dict(batches) | meta == OFFICIAL_BATCHES


def test_only_auto_falls_back_to_synthetic_images_and_says_why(serve, cache):
    mirrors = [serve(b"", status=503).url]
    dataset = load("auto", cache=cache, mirrors=mirrors)
    assert (dataset.name, dataset.synthetic) == ("synthetic images", True)
    assert dataset.classes == synthetic_images.CLASSES
    assert dataset.provenance == (
        "60 synthetic images, instead of CIFAR-10: CIFAR10_ROOT is not set, the cache "
        "has no copy, and nothing was downloaded "
        "(127.0.0.1: the server returned 503 Service Unavailable)"
    )
    with pytest.raises(DataError, match=r"CIFAR10_ROOT is not set.*returned 503.*synthetic"):
        load("cifar10", cache=cache, mirrors=mirrors)


def test_synthetic_images_are_drawn_once_until_their_code_changes(cache, monkeypatch):
    monkeypatch.setenv("CIFAR10_ROOT", "nowhere")
    drawn = load("synthetic", cache=cache)
    assert drawn.provenance == "60 synthetic images, as requested"
    monkeypatch.setattr(synthetic_images, "generate", lambda: pytest.fail("drawn again"))
    cached = load("synthetic", cache=cache)
    assert torch.equal(cached.test.images, drawn.test.images)
    assert cached.provenance == drawn.provenance
    monkeypatch.setattr(synthetic_images, "version", lambda: "newer")
    with pytest.raises(pytest.fail.Exception, match="drawn again"):
        load("synthetic", cache=cache)


LOAD = """
import sys
from pathlib import Path
from helpers import cifar10
from helpers.cifar10 import download
cache, url, size, md5 = sys.argv[1:]
download.ARCHIVE = download.File(int(size), md5)
dataset = cifar10.load("auto", cache=Path(cache), mirrors=[url])
print(len(dataset.train.labels), int(dataset.train.images.sum()), dataset.provenance)
sys.exit(bool({"torchvision", "pyarrow", "matplotlib"} & set(sys.modules)))
"""


def test_two_processes_share_one_download_and_import_little(published_archive, serve, cache):
    # Slow enough that the second process starts during the first one's download.
    server = serve(published_archive, rate=len(published_archive) // 2)
    command = [sys.executable, "-c", LOAD, str(cache), server.url, *map(str, download.ARCHIVE)]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=180)[0].split(maxsplit=2) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs[0][:2] == outputs[1][:2]
    assert len(server.ranges_requested) == 1
    assert sorted(path.suffix for path in cache.iterdir()) == [".gz", ".images", ".lock"]
