"""A tiny CIFAR-10 in every layout, and a local server with configurable faults."""

import io
import os
import pickle
import struct
import tarfile
import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers import cifar10, synthetic_images
from helpers.cifar10.dataset import OFFICIAL_BATCHES

REAL_ROOT = os.environ.get("CIFAR10_ROOT")


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


def python3_dumps(value) -> bytes:
    return pickle.dumps(value, protocol=2)


class SmallCifar10:
    """A few images of each class, written in every layout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.per_class = {"train": 5, "test": 2}
        random = np.random.default_rng(0)
        self.pixels, self.labels = {}, {}
        for split, count in self.per_class.items():
            coarse = random.integers(0, 256, (10 * count, 8, 8, 3), dtype=np.uint8)
            self.pixels[split] = coarse.repeat(4, axis=1).repeat(4, axis=2)
            self.labels[split] = np.arange(10).repeat(count)

    def folders(self, kind: str = "jpg", name: str = "folders", **options) -> Path:
        """Write the image folders train/CLASS/* and test/CLASS/*; return their parent."""
        root = self.root / name
        for split, count in self.per_class.items():
            for k, (pixels, label) in enumerate(zip(*self._pairs(split), strict=True)):
                path = root / split / cifar10.CLASSES[label] / f"{k % count:04}.{kind}"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(path, **options)
        return root

    def tar(self, kind: str = "tar.gz", prefix: str = "", source: Path | None = None) -> Path:
        path = self.root / f"images.{kind}"
        mode = "w:gz" if kind.endswith("gz") else "w"
        # The format of GNU tar; Python's default adds a second header to every file.
        with tarfile.open(path, mode, format=tarfile.GNU_FORMAT) as archive:
            archive.add(source or self.folders(), arcname=prefix or ".")
        return path

    def zip(self, prefix: str = "") -> Path:
        path, folders = self.root / "images.zip", self.folders()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folders.rglob("*.jpg")):
                archive.write(file, prefix + file.relative_to(folders).as_posix())
            archive.writestr("__MACOSX/train/cat/._0000.jpg", b"added by macOS")
        return path

    def batches(self, name: str = "data", dumps=python3_dumps) -> Path:
        """Write cifar-10-batches-py; return its parent folder."""
        folder = self.root / name / "cifar-10-batches-py"
        folder.mkdir(parents=True)
        parts = [
            (batch_name, slice(k, None, 5))
            for k, batch_name in enumerate(list(OFFICIAL_BATCHES)[:5])
        ]
        for batch_name, part in [*parts, ("test_batch", slice(None))]:
            pixels, labels = self._pairs("test" if batch_name == "test_batch" else "train")
            data = pixels[part].transpose(0, 3, 1, 2).reshape(-1, 3072)
            batch = {"data": np.ascontiguousarray(data), "labels": labels[part].tolist()}
            (folder / batch_name).write_bytes(dumps(batch))
        meta = {"label_names": list(cifar10.CLASSES), "num_vis": 3072}
        (folder / "batches.meta").write_bytes(dumps(meta))
        return folder.parent

    def official_archive(self, name: str = "archive") -> Path:
        """Write cifar-10-python.tar.gz; return its path."""
        path = self.root / name / "cifar-10-python.tar.gz"
        path.parent.mkdir()
        batches = self.batches(name=f"{name}-source")
        with tarfile.open(path, "w:gz") as archive:
            archive.add(batches / "cifar-10-batches-py", arcname="cifar-10-batches-py")
        return path

    def parquet(self, images: str = "img", metadata=None) -> Path:
        """Write plain_text/*.parquet; return the parent folder."""
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        folder = self.root / "hub" / "plain_text"
        folder.mkdir(parents=True)
        for split in self.per_class:
            pixels, labels = self._pairs(split)
            order = np.random.default_rng(1).permutation(len(labels))
            rows = [{"bytes": png(pixels[k]), "path": None} for k in order]
            table = pa.table({images: rows, "label": [int(labels[k]) for k in order]})
            table = table.replace_schema_metadata(metadata)
            pq.write_table(table, folder / f"{split}-00000-of-00001.parquet")
        return folder.parent

    def _pairs(self, split: str) -> tuple[np.ndarray, np.ndarray]:
        return self.pixels[split], self.labels[split]


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def small_cifar10(tmp_path):
    (tmp_path / "small").mkdir()
    return SmallCifar10(tmp_path / "small")


def _python2(value) -> bytes:
    """Pickle like Python 2 and its NumPy, which wrote the official batches."""
    if isinstance(value, bytes | str):
        text = value.encode() if isinstance(value, str) else value
        return b"T" + struct.pack("<i", len(text)) + text
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    if value is None:
        return b"N"
    if isinstance(value, list):
        return b"](" + b"".join(map(_python2, value)) + b"e"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_python2, value)) + b"t"
    if isinstance(value, dict):
        return b"}(" + b"".join(_python2(x) for pair in value.items() for x in pair) + b"u"
    dtype = b"cnumpy\ndtype\n" + _python2(("u1", 0, 1)) + b"R"
    dtype += _python2((3, "|", None, None, None, -1, -1, 0)) + b"b"
    empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n"
    empty += _python2((0,)) + _python2("b") + b"tR"
    state = b"(" + _python2(1) + _python2(value.shape) + dtype + _python2(False)
    return empty + state + _python2(value.tobytes()) + b"tb"


@pytest.fixture
def python2_dumps():
    return lambda value: b"\x80\x02" + _python2(value) + b"."


class Server:
    """Serve one file, correctly or with a fault.

    Attributes:
        status: HTTP status to answer with; 200 serves the file.
        rate: bytes per second; None for no limit.
        cut: close the connection after this many bytes, the first time only.
        hang: accept the request and never answer.
        freeze: stop sending after this many bytes, with the connection open.
        ranges: whether to support the Range header.
        ranges_requested: the Range header of each request, None for the whole file.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.status, self.rate, self.cut, self.hang, self.ranges = 200, None, None, False, True
        self.freeze = None
        self.ranges_requested: list[str | None] = []
        self.stopped = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/cifar-10-python.tar.gz"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        byte_range = request.headers.get("Range")
        self.ranges_requested.append(byte_range)
        if self.hang:
            self.stopped.wait(30)
            return
        if self.status != 200:
            request.send_error(self.status)
            return
        start = (
            int(byte_range.removeprefix("bytes=").rstrip("-")) if byte_range and self.ranges else 0
        )
        start = start if start < len(self.data) else 0
        request.send_response(206 if start else 200)
        if start:
            last = len(self.data) - 1
            request.send_header("Content-Range", f"bytes {start}-{last}/{len(self.data)}")
        request.send_header("Content-Length", str(len(self.data) - start))
        request.end_headers()
        end = len(self.data) if self.cut is None else min(len(self.data), start + self.cut)
        self.cut = None
        self._send(request, self.data[start : self.freeze or end])
        if self.freeze is not None:
            self.stopped.wait(30)

    def _send(self, request: BaseHTTPRequestHandler, data: bytes) -> None:
        chunk_size = len(data) if self.rate is None else max(1, self.rate // 50)
        try:
            for start in range(0, len(data), max(1, chunk_size)):
                request.wfile.write(data[start : start + chunk_size])
                if self.rate is not None and self.stopped.wait(chunk_size / self.rate):
                    return
        except OSError:
            return  # the client disconnected, as some tests expect

    def stop(self) -> None:
        self.stopped.set()
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def serve():
    servers = []

    def start(data: bytes, **behavior) -> Server:
        server = Server(data)
        for name, value in behavior.items():
            setattr(server, name, value)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def real_root():
    """Path of the real images, from CIFAR10_ROOT."""
    if not REAL_ROOT:
        pytest.skip("needs real CIFAR-10: set CIFAR10_ROOT")
    return Path(REAL_ROOT)
