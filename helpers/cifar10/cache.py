"""A cache of decoded images on disk. Every load after the first takes a fraction of a second.

Each source has one NumPy archive (.npz), whose checksums detect damage. The file is written under
a temporary name and renamed when complete.
"""

import contextlib
import hashlib
import os
import secrets
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import torch

from helpers.cifar10.dataset import Contents, Images
from helpers.cifar10.formats import files_in

# Increase this number when the file format or the decoding of images changes.
_VERSION = "2"
_STALE_SECONDS = 3600


def default_folder() -> Path:
    """`gpu-course-kit` under `$XDG_CACHE_HOME`, or under `~/.cache` if that is not set."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpu-course-kit"


class Cache:
    """The cache in `folder`, which need not exist and may be read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def is_writable(self) -> bool:
        """Return whether files can be written to the folder; create it if necessary."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                return True
        except OSError:
            return False

    def load(self, source: str, identity: str) -> Contents | None:
        """Return the contents stored for `source` with this identity, or None."""
        try:
            with np.load(self._file(source)) as file:
                version, stored_identity, layout = file["description"].tolist()
                if (version, stored_identity) != (_VERSION, identity):
                    return None
                train, test = (
                    Images(*(torch.from_numpy(file[f"{split}_{part}"]) for part in Images._fields))
                    for split in ("train", "test")
                )
                return Contents(train, test, layout)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None  # missing or damaged: the source is read instead

    def store(self, source: str, identity: str, contents: Contents) -> str:
        """Store `contents` for `source`; return "", or the reason why they cannot be stored."""
        arrays = {"description": np.array([_VERSION, identity, contents.layout])}
        for split in ("train", "test"):
            for part, tensor in getattr(contents, split)._asdict().items():
                arrays[f"{split}_{part}"] = tensor.numpy()
        path = self._file(source)
        temporary = path.with_suffix(f".{secrets.token_hex(4)}.tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for partial in self.folder.glob("cifar10-*.tmp"):  # of processes that were killed
                if time.time() - partial.stat().st_mtime > _STALE_SECONDS:
                    partial.unlink(missing_ok=True)
            with temporary.open("xb") as file:
                np.savez(file, **arrays)
            temporary.replace(path)
        except OSError as error:
            return error.strerror or str(error)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return ""

    def _file(self, source: str) -> Path:
        # When a source changes, its new contents replace the old ones.
        key = hashlib.sha256(source.encode()).hexdigest()[:16]
        return self.folder / f"cifar10-{key}.images"


def identity_of(source: Path) -> str:
    """Return a hash that changes if the file at `source`, or any image in that folder, changes."""
    files = files_in(source) if source.is_dir() else {"": source}
    stats = ((name, path.stat()) for name, path in sorted(files.items()))
    text = repr([(name, status.st_size, status.st_mtime_ns) for name, status in stats])
    return hashlib.sha256(text.encode()).hexdigest()
