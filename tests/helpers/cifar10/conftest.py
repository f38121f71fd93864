"""A tiny CIFAR-10 in every layout, and a local server with configurable faults."""

import pickle
import pickletools
import tarfile
import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers import cifar10
from helpers.cifar10 import synthetic_images


@pytest.fixture(autouse=True)
def isolate_from_machine(monkeypatch, tmp_path):
    """Hide this machine's cache, network and copy of CIFAR-10; draw few synthetic images."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache-home"))
    monkeypatch.setenv("CIFAR10_MIRRORS", "none")
    monkeypatch.delenv("CIFAR10_ROOT", raising=False)
    monkeypatch.setattr(synthetic_images, "generate", partial(synthetic_images.generate, 40, 20))


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


class SmallCifar10:
    """A few images of each class, written in every layout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        random = np.random.default_rng(0)
        self.pixels, self.labels = {}, {}
        for split, count in (("train", 5), ("test", 2)):
            coarse = random.integers(0, 256, (10 * count, 8, 8, 3), dtype=np.uint8)
            self.pixels[split] = coarse.repeat(4, axis=1).repeat(4, axis=2)
            self.labels[split] = np.arange(10).repeat(count)

    def folders(self, kind: str = "jpg", name: str = "folders") -> Path:
        """Write the image folders train/CLASS/* and test/CLASS/*; return their parent."""
        root = self.root / name
        for split, labels in self.labels.items():
            for k, label in enumerate(labels):
                folder = root / split / cifar10.CLASSES[label]
                folder.mkdir(parents=True, exist_ok=True)
                number = k - int(np.argmax(labels == label))
                Image.fromarray(self.pixels[split][k]).save(folder / f"{number:04}.{kind}")
        return root

    def tar(self, kind: str = "tar.gz", prefix: str = "") -> Path:
        path = self.root / f"images.{kind}"
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as archive:
            archive.add(self.folders(), arcname=prefix or ".")
        return path

    def zip(self, prefix: str = "") -> Path:
        path, folders = self.root / "images.zip", self.folders()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folders.rglob("*.jpg")):
                archive.write(file, prefix + file.relative_to(folders).as_posix())
            archive.writestr("__MACOSX/train/cat/._0000.jpg", b"added by macOS")
        return path

    def batches(self, name: str = "data", dumps=pickle.dumps) -> Path:
        """Write cifar-10-batches-py; return its parent folder."""
        folder = self.root / name / "cifar-10-batches-py"
        folder.mkdir(parents=True)
        parts = {f"data_batch_{k + 1}": ("train", slice(k, None, 5)) for k in range(5)}
        for batch_name, (split, part) in {**parts, "test_batch": ("test", slice(None))}.items():
            data = self.pixels[split][part].transpose(0, 3, 1, 2).reshape(-1, 3072)
            labels = self.labels[split][part].tolist()
            batch = {"data": np.ascontiguousarray(data), "labels": labels}
            (folder / batch_name).write_bytes(dumps(batch))
        meta = {"label_names": list(cifar10.CLASSES)}
        (folder / "batches.meta").write_bytes(dumps(meta))
        return folder.parent

    def official_archive(self) -> Path:
        """Write archive/cifar-10-python.tar.gz from the batches in archive-source."""
        path = self.root / "archive" / "cifar-10-python.tar.gz"
        path.parent.mkdir()
        with tarfile.open(path, "w:gz") as archive:
            archive.add(self.batches(name="archive-source"), arcname=".")
        return path


@pytest.fixture
def small_cifar10(tmp_path):
    return SmallCifar10(tmp_path)


def python2_dumps(value) -> bytes:
    """Pickle with the strings and module names of Python 2, which wrote the official batches."""
    data = bytearray(pickle.dumps(value, protocol=2).replace(b"numpy._core", b"numpy.core"))
    for operation, text, position in pickletools.genops(bytes(data)):
        if operation.name == "BINUNICODE" and text.isascii():
            data[position : position + 1] = b"T"  # a string of bytes
    return bytes(data)


class Server:
    """Serve one file, correctly or with a fault."""

    def __init__(self, data: bytes, **behavior) -> None:
        self.data = data
        self.status = 200  # another status is sent without the file
        self.rate = None  # bytes per second
        self.cut = None  # close the connection after this many bytes, the first time only
        self.freeze = None  # stop sending after this many bytes, with the connection open
        self.ranges = True  # support the Range header
        vars(self).update(behavior)
        self.ranges_requested: list[str | None] = []  # None for the whole file
        self.stopped = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(request):
                self.answer(request)

            def log_message(*_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/cifar-10-python.tar.gz"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        byte_range = request.headers.get("Range")
        self.ranges_requested.append(byte_range)
        if self.status != 200:
            request.send_error(self.status)
            return
        start = int(byte_range[len("bytes=") : -1]) if byte_range and self.ranges else 0
        start, size = start if start < len(self.data) else 0, len(self.data)
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        request.send_header("Content-Length", str(size - start))
        request.end_headers()
        end = self.freeze or (size if self.cut is None else start + self.cut)
        self.cut = None
        chunk_size = size if self.rate is None else max(1, self.rate // 50)
        for position in range(start, min(end, size), chunk_size):
            try:
                request.wfile.write(self.data[position : min(position + chunk_size, end)])
            except OSError:
                return  # the client disconnected, as some tests expect
            if self.rate is not None and self.stopped.wait(chunk_size / self.rate):
                return
        if self.freeze is not None:
            self.stopped.wait(30)


@pytest.fixture
def serve():
    servers = []

    def start(data: bytes, **behavior) -> Server:
        servers.append(Server(data, **behavior))
        return servers[-1]

    yield start
    for server in servers:
        server.stopped.set()
        server.http.shutdown()
        server.http.server_close()
