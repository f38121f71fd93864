"""CIFAR-10 as tensors, or synthetic images in its place.

`load` reads the images from a given path, from the cache or from the network, or generates
synthetic ones. The result records their origin. `helpers.loaders` has data loaders for them.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from helpers.cifar10 import download, synthetic_images
from helpers.cifar10.cache import Cache, default_folder, identity_of
from helpers.cifar10.dataset import CLASSES, Contents, DataError, Dataset, Images
from helpers.cifar10.download import DownloadError, TimeLimits, download_archive, servers
from helpers.cifar10.formats import read
from helpers.language import translate

__all__ = ["CLASSES", "DataError", "Dataset", "DownloadError", "Images", "load"]


def load(
    source: str | Path = "auto",
    *,
    cache: Path | None = None,
    mirrors: Sequence[str] | None = None,
    time_limit: float = 300.0,
) -> Dataset:
    """Load CIFAR-10 or synthetic images.

    Args:
        source: "cifar10", "auto", "synthetic", or the path of a folder or archive (see
            `formats.EXPECTED`). "cifar10" loads the real images from the path in the environment
            variable CIFAR10_ROOT if it is set, else from the cache, else from the network. "auto"
            does the same, but falls back to synthetic images.
        cache: folder of the cache (default: `gpu-course-kit` in the user's cache folder).
        mirrors: URLs of cifar-10-python.tar.gz; () disables the download.
        time_limit: how long a download may take, in seconds.

    Returns training and test images, uint8 `(N, 3, 32, 32)`, with labels, int64 `(N,)`.
    Raises DataError if the images are not available, or a path that was set cannot be read.
    """
    store = Cache(default_folder() if cache is None else Path(cache))
    if source == "synthetic":
        return _synthetic_dataset(translate("as requested"), store)
    if source not in ("auto", "cifar10"):
        return _load_path(Path(source).expanduser(), store)
    if root := os.environ.get("CIFAR10_ROOT"):
        try:
            return _load_path(Path(root).expanduser(), store)
        except DataError as error:
            raise DataError(f"CIFAR10_ROOT is set, but cannot be used. {error}") from error
    try:
        return _load_official(store, servers(mirrors), TimeLimits(total=time_limit))
    except DownloadError as error:
        reason = translate(
            "CIFAR10_ROOT is not set, the cache has no copy, and nothing was downloaded ({error})",
            error=error,
        )
        if source == "cifar10":
            advice = "Set CIFAR10_ROOT to the path of a copy, increase time_limit, or load "
            advice += "'synthetic' images."
            raise DataError(f"CIFAR-10 is not available: {reason}. {advice}") from error
        return _synthetic_dataset(translate("instead of CIFAR-10: {reason}", reason=reason), store)


def _load_path(path: Path, store: Cache) -> Dataset:
    if not (path.is_file() or path.is_dir()):
        advice = "Give the path of a copy of CIFAR-10, or 'auto', 'cifar10' or 'synthetic'."
        raise DataError(f"{path}: no such file or folder. {advice}")
    # Computed before reading, so that the next load detects a change made during this one.
    key, identity = str(path.resolve()), identity_of(path)
    contents, cache_error = store.load(key, identity), None
    if contents is None:
        _show_that_loading_takes_time()
        contents = read(path)
        cache_error = store.store(key, identity, contents)
    name = path.resolve().name
    origin = translate("read from {layout} in {name}", layout=translate(contents.layout), name=name)
    return _real_dataset(contents, origin, cache_error)


def _show_that_loading_takes_time() -> None:
    print(translate("Loading CIFAR-10. The first time can take a minute ..."), flush=True)


def _load_official(store: Cache, urls: Sequence[str], limits: TimeLimits) -> Dataset:
    key = identity = download.ARCHIVE.md5
    contents, cache_error = store.load(key, identity), None
    origin = translate("downloaded earlier")
    if contents is None:
        _show_that_loading_takes_time()
        with tempfile.TemporaryDirectory() as temporary:
            folder = store.folder if store.is_writable() else Path(temporary)
            archive, origin = download_archive(folder, urls, limits)
            contents = read(archive)
        cache_error = store.store(key, identity, contents)
    return _real_dataset(contents, origin, cache_error)


def _real_dataset(contents: Contents, origin: str, cache_error: str | None) -> Dataset:
    """Return the images; `cache_error` is None if they are from the cache, "" if now stored."""
    values = {"counts": contents.counts, "origin": origin, "reason": cache_error}
    provenance = translate("real CIFAR-10, {counts} {origin}", **values)
    if cache_error is None:
        provenance = translate("real CIFAR-10, {counts} {origin}, cached", **values)
    elif cache_error:
        provenance = translate("real CIFAR-10, {counts} {origin} (not cached: {reason})", **values)
    return Dataset("CIFAR-10", CLASSES, contents.train, contents.test, provenance, synthetic=False)


def _synthetic_dataset(reason: str, store: Cache) -> Dataset:
    # Drawing takes seconds, and four lessons need the same images.
    key, identity = "synthetic images", synthetic_images.version()
    contents = store.load(key, identity)
    if contents is None:
        contents = Contents(*synthetic_images.generate(), layout=key)
        store.store(key, identity, contents)
    train, test = contents.train, contents.test
    count = len(train.labels) + len(test.labels)
    provenance = translate("{count:,} synthetic images, {reason}", count=count, reason=reason)
    return Dataset(key, synthetic_images.CLASSES, train, test, provenance, synthetic=True)
