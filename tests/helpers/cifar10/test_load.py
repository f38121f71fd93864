"""The sources that `load` tries, their order, and the provenance it reports."""

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torchvision.datasets import CIFAR10

from helpers import cifar10, synthetic_images
from helpers.cifar10 import DataError, load, official
from helpers.cifar10.dataset import OFFICIAL_ARCHIVE, OFFICIAL_BATCHES
from helpers.cifar10.download import File


@pytest.fixture
def published_archive(small_cifar10, monkeypatch):
    """The bytes of a small archive that replaces the official one."""
    data = small_cifar10.official_archive().read_bytes()
    monkeypatch.setattr(official, "ARCHIVE", File(len(data), hashlib.md5(data).hexdigest()))
    return data


def test_loads_images_at_path(small_cifar10, cache):
    dataset = load(small_cifar10.tar(), cache=cache)
    assert (dataset.name, dataset.synthetic) == ("CIFAR-10", False)
    assert dataset.classes == cifar10.CLASSES
    assert (dataset.train.images.shape, dataset.train.images.dtype) == (
        (50, 3, 32, 32),
        torch.uint8,
    )
    assert (dataset.test.labels.shape, dataset.test.labels.dtype) == ((20,), torch.int64)


def test_repr_is_one_line(small_cifar10, cache):
    assert (
        repr(load(small_cifar10.tar(), cache=cache)) == "<CIFAR-10: 50 training and 20 test images>"
    )


def test_expands_home_in_path(small_cifar10, cache, monkeypatch):
    monkeypatch.setenv("HOME", str(small_cifar10.root))
    assert not load(f"~/{small_cifar10.tar().name}", cache=cache).synthetic


def test_provenance_gives_counts_and_file_name_only(small_cifar10, cache):
    provenance = load(small_cifar10.tar(), cache=cache).provenance
    assert provenance == (
        "real CIFAR-10, a subset of 50 training and 20 test images read from image folders in "
        "images.tar.gz"
    )


def test_second_load_comes_from_cache(small_cifar10, cache):
    path = small_cifar10.tar()
    first, second = load(path, cache=cache), load(path, cache=cache)
    assert second.provenance == first.provenance + ", cached"
    for actual, expected in ((second.train, first.train), (second.test, first.test)):
        assert torch.equal(actual.images, expected.images)
        assert torch.equal(actual.labels, expected.labels)


def test_reads_changed_file_again(small_cifar10, cache):
    path = small_cifar10.tar()
    load(path, cache=cache)
    small_cifar10.per_class["train"] = 3
    for part in (small_cifar10.pixels, small_cifar10.labels):
        indices = [k for k in range(50) if k % 5 < 3]
        part["train"] = part["train"][indices]
    assert small_cifar10.tar(source=small_cifar10.folders(name="smaller")) == path
    assert len(load(path, cache=cache).train.labels) == 30


def test_rebuilds_damaged_cache(small_cifar10, cache):
    path = small_cifar10.tar()
    first = load(path, cache=cache)
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:1000])
    assert torch.equal(load(path, cache=cache).train.images, first.train.images)
    assert load(path, cache=cache).provenance.endswith("cached")


def test_unwritable_cache_is_noted_in_provenance(small_cifar10, tmp_path):
    (tmp_path / "file").write_text("")
    dataset = load(small_cifar10.tar(), cache=tmp_path / "file")
    assert dataset.provenance.endswith("(not cached: File exists)")


@pytest.mark.parametrize("source", ["auto", "cifar10"])
def test_cifar10_root_comes_before_cache_and_download(small_cifar10, cache, monkeypatch, source):
    monkeypatch.setenv("CIFAR10_ROOT", str(small_cifar10.folders()))
    assert "image folders in folders" in load(source, cache=cache).provenance


@pytest.mark.parametrize("source", ["auto", "cifar10"])
def test_invalid_cifar10_root_is_an_error(small_cifar10, cache, monkeypatch, source):
    monkeypatch.setenv("CIFAR10_ROOT", str(small_cifar10.root / "nowhere"))
    with pytest.raises(DataError, match=r"CIFAR10_ROOT is set, but cannot be used.*nowhere"):
        load(source, cache=cache)


def test_named_path_comes_before_cifar10_root(small_cifar10, cache, monkeypatch):
    monkeypatch.setenv("CIFAR10_ROOT", "nowhere")
    assert "images.tar.gz" in load(small_cifar10.tar(), cache=cache).provenance


def test_missing_path_lists_accepted_names(cache):
    with pytest.raises(DataError, match=r"CIFAR10: no such file.*'auto', 'cifar10'"):
        load("CIFAR10", cache=cache)


def test_downloads_if_there_is_no_copy(published_archive, serve, cache):
    dataset = load("auto", cache=cache, mirrors=[serve(published_archive).url])
    assert not dataset.synthetic
    assert dataset.provenance.endswith("downloaded from 127.0.0.1")


def test_downloads_once(published_archive, serve, cache):
    server = serve(published_archive)
    load("auto", cache=cache, mirrors=[server.url])
    assert (
        "downloaded earlier, cached" in load("auto", cache=cache, mirrors=[server.url]).provenance
    )
    assert len(server.ranges_requested) == 1


def test_keeps_archive_to_rebuild_cache(published_archive, serve, cache):
    server = serve(published_archive)
    load("cifar10", cache=cache, mirrors=[server.url])
    (file,) = cache.glob("*.images")
    file.write_bytes(b"broken")
    assert "downloaded earlier" in load("cifar10", cache=cache, mirrors=[server.url]).provenance
    assert len(server.ranges_requested) == 1


def test_downloads_damaged_archive_again(published_archive, serve, cache):
    cache.mkdir()
    (cache / "cifar-10-python.tar.gz").write_bytes(published_archive[:-1] + b"?")
    dataset = load("cifar10", cache=cache, mirrors=[serve(published_archive).url])
    assert "downloaded from" in dataset.provenance


def test_download_works_without_writable_cache(published_archive, serve, tmp_path):
    (tmp_path / "file").write_text("")
    dataset = load("cifar10", cache=tmp_path / "file", mirrors=[serve(published_archive).url])
    assert "downloaded from 127.0.0.1 (not cached: " in dataset.provenance


def test_cifar10_mirrors_sets_servers(published_archive, serve, cache, monkeypatch):
    broken, good = serve(published_archive, status=503), serve(published_archive)
    monkeypatch.setenv("CIFAR10_MIRRORS", f"{broken.url}, {good.url}")
    assert not load("auto", cache=cache).synthetic
    assert len(broken.ranges_requested) == 1


def test_official_server_comes_first_by_default(monkeypatch):
    monkeypatch.delenv("CIFAR10_MIRRORS")
    servers = official.servers(None)
    assert servers[0] == "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    assert len(servers) > 1


def test_address_checksums_and_names_match_torchvision():
    assert official.SERVERS[0] == CIFAR10.url
    assert official.ARCHIVE.md5 == CIFAR10.tgz_md5
    assert CIFAR10.filename == OFFICIAL_ARCHIVE
    batches = [*CIFAR10.train_list, *CIFAR10.test_list]
    meta = {CIFAR10.meta["filename"]: CIFAR10.meta["md5"]}
    assert dict(batches) | meta == OFFICIAL_BATCHES


def test_auto_falls_back_to_synthetic_images_and_says_why(serve, cache):
    dataset = load("auto", cache=cache, mirrors=[serve(b"", status=503).url])
    assert (dataset.name, dataset.synthetic) == ("synthetic images", True)
    assert dataset.classes == synthetic_images.CLASSES
    assert dataset.provenance == (
        "60 synthetic images, instead of CIFAR-10: CIFAR10_ROOT is not set, the cache "
        "has no copy, and nothing was downloaded "
        "(127.0.0.1: the server returned 503 Service Unavailable)"
    )


def test_cifar10_never_falls_back_to_synthetic_images(serve, cache):
    with pytest.raises(
        DataError, match=r"CIFAR10_ROOT is not set, the cache .*returned 503.*synthetic"
    ):
        load("cifar10", cache=cache, mirrors=[serve(b"", status=503).url])


def test_synthetic_ignores_other_sources(small_cifar10, cache, monkeypatch):
    monkeypatch.setenv("CIFAR10_ROOT", "nowhere")
    dataset = load("synthetic", cache=cache)
    assert dataset.synthetic
    assert dataset.provenance == "60 synthetic images, as requested"


def test_synthetic_images_are_drawn_once_until_their_code_changes(cache, monkeypatch):
    drawn = load("synthetic", cache=cache)
    generate = synthetic_images.generate
    monkeypatch.setattr(synthetic_images, "generate", lambda: pytest.fail("drawn again"))
    cached = load("synthetic", cache=cache)
    assert torch.equal(cached.test.images, drawn.test.images)
    assert torch.equal(cached.train.labels, drawn.train.labels)
    assert cached.provenance == drawn.provenance
    monkeypatch.setattr(synthetic_images, "version", lambda: "newer")
    monkeypatch.setattr(synthetic_images, "generate", lambda: generate(seed=1))
    assert not torch.equal(load("synthetic", cache=cache).test.images, drawn.test.images)


def test_recent_slow_failure_is_not_repeated(published_archive, serve, cache):
    slow = serve(published_archive, rate=len(published_archive) // 100)
    load("auto", cache=cache, mirrors=[slow.url], time_limit=1.2)
    dataset = load("auto", cache=cache, mirrors=[slow.url], time_limit=1.2)
    assert "failed 1 min ago: 127.0.0.1: " in dataset.provenance
    assert len(slow.ranges_requested) == 1


def test_cifar10_retries_after_recent_failure(published_archive, serve, cache):
    good = serve(published_archive)
    cache.mkdir()
    failure = {"time": time.time(), "servers": [good.url], "reason": "it was slow"}
    (cache / "download-failed.json").write_text(json.dumps(failure))
    assert load("auto", cache=cache, mirrors=[good.url]).synthetic
    assert not load("cifar10", cache=cache, mirrors=[good.url]).synthetic
    assert not (cache / "download-failed.json").exists()


def test_retries_after_old_failure(published_archive, serve, cache):
    good = serve(published_archive)
    cache.mkdir()
    failure = {"time": time.time() - 3600, "servers": [good.url], "reason": "it was slow"}
    (cache / "download-failed.json").write_text(json.dumps(failure))
    assert not load("auto", cache=cache, mirrors=[good.url]).synthetic


def test_prints_nothing(published_archive, serve, cache, capfd):
    load("auto", cache=cache, mirrors=[serve(published_archive, status=503).url])
    load("auto", cache=cache, mirrors=[serve(published_archive).url])
    assert capfd.readouterr() == ("", "")


LOAD = """
import sys
from pathlib import Path
from helpers import cifar10
from helpers.cifar10 import official
from helpers.cifar10.download import File
cache, url, size, md5 = sys.argv[1:]
official.ARCHIVE = File(int(size), md5)
dataset = cifar10.load("auto", cache=Path(cache), mirrors=[url])
print(len(dataset.train.labels), int(dataset.train.images.sum()), dataset.provenance)
"""


def test_two_processes_share_one_download(published_archive, serve, cache):
    # Slow enough that the second process starts during the first one's download.
    server = serve(published_archive, rate=len(published_archive) // 2)
    arguments = [str(cache), server.url, *map(str, official.ARCHIVE)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", LOAD, *arguments], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=180)[0].split(maxsplit=2) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs[0][:2] == outputs[1][:2]
    assert len(server.ranges_requested) == 1
    assert sorted(path.suffix for path in cache.iterdir()) == [".gz", ".images", ".lock"]
    assert load("auto", cache=cache).provenance.endswith("cached")


def test_loading_from_cache_imports_neither_torchvision_nor_pyarrow(small_cifar10, cache):
    path = small_cifar10.tar()
    load(path, cache=cache)
    code = (
        "import sys; from pathlib import Path; from helpers import cifar10; "
        "cifar10.load(Path(sys.argv[1]), cache=Path(sys.argv[2])); "
        "sys.exit(bool({'torchvision', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code, path, cache], check=True, cwd=Path.cwd())
