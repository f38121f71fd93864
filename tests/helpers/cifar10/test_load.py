"""Where `load` looks, in which order, and what it says about where the images came from."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from helpers import cifar10, drawn_images
from helpers.cifar10 import DataError, load, official
from helpers.cifar10.attempt import File


@pytest.fixture
def published(small, monkeypatch):
    """The bytes of a small archive that stands for the published one."""
    import hashlib

    data = small.official_archive().read_bytes()
    monkeypatch.setattr(official, "ARCHIVE", File(len(data), hashlib.md5(data).hexdigest()))
    return data


def test_a_path_gives_the_images_there(small, cache):
    dataset = load(small.tar(), cache=cache)
    assert (dataset.name, dataset.drawn) == ("CIFAR-10", False)
    assert dataset.classes == cifar10.CLASSES
    assert (dataset.train.images.shape, dataset.train.images.dtype) == (
        (50, 3, 32, 32),
        torch.uint8,
    )
    assert (dataset.test.labels.shape, dataset.test.labels.dtype) == ((20,), torch.int64)


def test_a_data_set_shown_in_a_notebook_is_one_line(small, cache):
    assert repr(load(small.tar(), cache=cache)) == "<CIFAR-10: 50 training and 20 test images>"


def test_a_path_can_be_text_and_start_at_home(small, cache, monkeypatch):
    monkeypatch.setenv("HOME", str(small.root))
    assert not load(f"~/{small.tar().name}", cache=cache).drawn


def test_the_provenance_says_what_and_how_many_and_no_more_of_the_path_than_its_end(small, cache):
    provenance = load(small.tar(), cache=cache).provenance
    assert provenance == (
        "real CIFAR-10, a subset of 50 training and 20 test images read from image folders in "
        "images.tar.gz"
    )


def test_the_second_load_comes_from_the_cache_and_says_so(small, cache):
    path = small.tar()
    first, second = load(path, cache=cache), load(path, cache=cache)
    assert second.provenance == first.provenance + ", cached"
    for ours, theirs in ((second.train, first.train), (second.test, first.test)):
        assert torch.equal(ours.images, theirs.images)
        assert torch.equal(ours.labels, theirs.labels)


def test_a_changed_file_is_read_anew(small, cache):
    path = small.tar()
    load(path, cache=cache)
    small.per_class["train"] = 3
    for part in (small.pixels, small.labels):
        keep = [k for k in range(50) if k % 5 < 3]
        part["train"] = part["train"][keep]
    assert small.tar(source=small.folders(where="smaller")) == path
    assert len(load(path, cache=cache).train.labels) == 30


def test_a_broken_cache_is_rebuilt(small, cache):
    path = small.tar()
    first = load(path, cache=cache)
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:1000])
    assert torch.equal(load(path, cache=cache).train.images, first.train.images)
    assert load(path, cache=cache).provenance.endswith("cached")


def test_where_nothing_can_be_cached_the_images_are_there_and_the_provenance_says_so(
    small, tmp_path
):
    (tmp_path / "file").write_text("")
    dataset = load(small.tar(), cache=tmp_path / "file")
    assert dataset.provenance.endswith("(not cached: File exists)")


@pytest.mark.parametrize("source", ["auto", "cifar10"])
def test_the_path_in_the_environment_comes_first(small, cache, monkeypatch, source):
    monkeypatch.setenv("CIFAR10_ROOT", str(small.folders()))
    assert "image folders in folders" in load(source, cache=cache).provenance


@pytest.mark.parametrize("source", ["auto", "cifar10"])
def test_a_broken_path_in_the_environment_is_an_error(small, cache, monkeypatch, source):
    monkeypatch.setenv("CIFAR10_ROOT", str(small.root / "nowhere"))
    with pytest.raises(DataError, match=r"CIFAR10_ROOT is set, but cannot be used.*nowhere"):
        load(source, cache=cache)


def test_a_named_path_comes_before_the_environment(small, cache, monkeypatch):
    monkeypatch.setenv("CIFAR10_ROOT", "nowhere")
    assert "images.tar.gz" in load(small.tar(), cache=cache).provenance


def test_a_named_path_that_is_not_there_is_an_error_that_lists_the_words_there_are(cache):
    with pytest.raises(DataError, match=r"CIFAR10: there is no such file.*'auto', 'cifar10'"):
        load("CIFAR10", cache=cache)


def test_the_download_comes_next(published, serve, cache):
    dataset = load("auto", cache=cache, mirrors=[serve(published).url])
    assert not dataset.drawn
    assert dataset.provenance.endswith("downloaded from 127.0.0.1")


def test_a_download_is_made_once(published, serve, cache):
    server = serve(published)
    load("auto", cache=cache, mirrors=[server.url])
    assert (
        "downloaded earlier, cached" in load("auto", cache=cache, mirrors=[server.url]).provenance
    )
    assert len(server.asked) == 1


def test_the_archive_is_kept_for_when_the_cache_breaks(published, serve, cache):
    server = serve(published)
    load("cifar10", cache=cache, mirrors=[server.url])
    (file,) = cache.glob("*.images")
    file.write_bytes(b"broken")
    assert "downloaded earlier" in load("cifar10", cache=cache, mirrors=[server.url]).provenance
    assert len(server.asked) == 1


def test_a_kept_archive_that_is_damaged_is_downloaded_anew(published, serve, cache):
    cache.mkdir()
    (cache / "cifar-10-python.tar.gz").write_bytes(published[:-1] + b"?")
    dataset = load("cifar10", cache=cache, mirrors=[serve(published).url])
    assert "downloaded from" in dataset.provenance


def test_where_nothing_can_be_written_the_download_still_serves_this_session(
    published, serve, tmp_path
):
    (tmp_path / "file").write_text("")
    dataset = load("cifar10", cache=tmp_path / "file", mirrors=[serve(published).url])
    assert "downloaded from 127.0.0.1 (not cached: " in dataset.provenance


def test_the_servers_can_be_set_in_the_environment(published, serve, cache, monkeypatch):
    broken, good = serve(published, status=503), serve(published)
    monkeypatch.setenv("CIFAR10_MIRRORS", f"{broken.url}, {good.url}")
    assert not load("auto", cache=cache).drawn
    assert len(broken.asked) == 1


def test_by_default_the_servers_are_the_official_one_and_then_its_mirrors(monkeypatch):
    monkeypatch.delenv("CIFAR10_MIRRORS")
    servers = official.servers(None)
    assert servers[0] == "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    assert len(servers) > 1


def test_address_checksums_and_names_are_those_of_torchvision():
    from torchvision.datasets import CIFAR10

    assert official.SERVERS[0] == CIFAR10.url
    assert official.ARCHIVE.md5 == CIFAR10.tgz_md5
    from helpers.cifar10.dataset import OFFICIAL_ARCHIVE, OFFICIAL_BATCHES

    assert CIFAR10.filename == OFFICIAL_ARCHIVE
    listed = [*CIFAR10.train_list, *CIFAR10.test_list]
    meta = {CIFAR10.meta["filename"]: CIFAR10.meta["md5"]}
    assert dict(listed) | meta == OFFICIAL_BATCHES


def test_auto_draws_images_in_the_end_and_says_why(serve, cache):
    dataset = load("auto", cache=cache, mirrors=[serve(b"", status=503).url])
    assert (dataset.name, dataset.drawn) == ("drawn images", True)
    assert dataset.classes == drawn_images.CLASSES
    assert dataset.provenance == (
        "60 images drawn by the program, in place of CIFAR-10: CIFAR10_ROOT is not set, the cache "
        "holds no copy, no download (127.0.0.1: it answered 503 Service Unavailable)"
    )


def test_cifar10_by_name_is_never_drawn(serve, cache):
    with pytest.raises(
        DataError, match=r"CIFAR10_ROOT is not set, the cache .*answered 503.*drawn"
    ):
        load("cifar10", cache=cache, mirrors=[serve(b"", status=503).url])


def test_drawn_by_name_looks_nowhere(small, cache, monkeypatch):
    monkeypatch.setenv("CIFAR10_ROOT", "nowhere")
    dataset = load("drawn", cache=cache)
    assert dataset.drawn
    assert dataset.provenance == "60 images drawn by the program, as asked"


def test_a_failure_that_took_long_is_not_repeated_by_the_next_notebook(published, serve, cache):
    slow = serve(published, rate=len(published) // 100)
    load("auto", cache=cache, mirrors=[slow.url], time_limit=1.2)
    dataset = load("auto", cache=cache, mirrors=[slow.url], time_limit=1.2)
    assert "tried within the last 1 minutes: 127.0.0.1: " in dataset.provenance
    assert len(slow.asked) == 1


def test_after_a_failure_cifar10_by_name_and_other_servers_are_tried_all_the_same(
    published, serve, cache
):
    good = serve(published)
    cache.mkdir()
    failure = {"time": time.time(), "servers": [good.url], "reason": "it was slow"}
    (cache / "download-failed.json").write_text(json.dumps(failure))
    assert load("auto", cache=cache, mirrors=[good.url]).drawn
    assert not load("cifar10", cache=cache, mirrors=[good.url]).drawn
    assert not (cache / "download-failed.json").exists()


def test_a_failure_long_ago_is_forgotten(published, serve, cache):
    good = serve(published)
    cache.mkdir()
    failure = {"time": time.time() - 3600, "servers": [good.url], "reason": "it was slow"}
    (cache / "download-failed.json").write_text(json.dumps(failure))
    assert not load("auto", cache=cache, mirrors=[good.url]).drawn


def test_nothing_is_printed(published, serve, cache, capfd):
    load("auto", cache=cache, mirrors=[serve(published, status=503).url])
    load("auto", cache=cache, mirrors=[serve(published).url])
    assert capfd.readouterr() == ("", "")


LOAD = """
import sys
from pathlib import Path
from helpers import cifar10
from helpers.cifar10 import official
from helpers.cifar10.attempt import File
cache, url, size, md5 = sys.argv[1:]
official.ARCHIVE = File(int(size), md5)
dataset = cifar10.load("auto", cache=Path(cache), mirrors=[url])
print(len(dataset.train.labels), int(dataset.train.images.sum()), dataset.provenance)
"""


def test_two_processes_download_once_and_fill_one_cache(published, serve, cache):
    # Slow enough that the second comes while the first is at it.
    server = serve(published, rate=len(published) // 2)
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
    assert len(server.asked) == 1
    assert sorted(path.suffix for path in cache.iterdir()) == [".gz", ".images", ".lock"]
    assert load("auto", cache=cache).provenance.endswith("cached")


def test_loading_from_the_cache_imports_no_torchvision_and_no_pyarrow(small, cache):
    path = small.tar()
    load(path, cache=cache)
    code = (
        "import sys; from pathlib import Path; from helpers import cifar10; "
        "cifar10.load(Path(sys.argv[1]), cache=Path(sys.argv[2])); "
        "sys.exit(bool({'torchvision', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code, path, cache], check=True, cwd=Path.cwd())
