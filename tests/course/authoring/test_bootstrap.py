"""The setup cell works in a Python environment where the course is not installed."""

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import nbformat
import pytest

from course.authoring.assemble import bootstrap
from course.course_folder import open_course

ROOT = Path(__file__).parents[3]
COURSE = open_course(ROOT)
CODE = bootstrap(COURSE).source
ADDRESS = "Check this address"
DOWNLOADED = f"{COURSE.repository.split('/')[-1]}-{COURSE.tag}"
PRINT_PATH = "\nimport helpers\nprint(helpers.__file__)"
NOTEBOOKS = sorted(
    str(path.relative_to(ROOT))
    for folder in ("notebooks", "labs", "labs/solutions")
    for path in (ROOT / folder).glob("[!._]*.ipynb")
)


def run(folder, source, code=CODE, *, check=PRINT_PATH, packages=True):
    """Run the cell in `folder` without the course's own installation (-S reads no .pth file)."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    if packages:
        environment["PYTHONPATH"] = sysconfig.get_paths()["purelib"]
    if source is not None:
        environment["COURSE_SOURCE"] = str(source)
    return subprocess.run(
        [sys.executable, "-S", "-c", code + check],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def package_folder(process):
    assert process.returncode == 0, process.stderr
    return Path(process.stdout.strip()).parent


@pytest.fixture(scope="session")
def archive(tmp_path_factory):
    """A zip archive like GitHub's: one folder that contains the course."""
    path = tmp_path_factory.mktemp("published") / "main.zip"
    with zipfile.ZipFile(path, "w") as file:
        for part in (ROOT / "helpers").glob("*.py"):
            file.write(part, f"a-course-1.0/helpers/{part.name}")
    return path


@pytest.fixture
def empty_folder(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def setup_cell(path):
    cells = nbformat.read(ROOT / path, as_version=4).cells
    [cell] = [cell for cell in cells if "bootstrap" in cell.metadata.get("tags", [])]
    return cell


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_every_notebook_downloads_course_in_empty_folder(path, archive, empty_folder):
    process = run(empty_folder, archive.as_uri(), setup_cell(path).source)
    assert package_folder(process) == empty_folder / DOWNLOADED / "helpers"


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_cell_stores_no_output(path):
    assert setup_cell(path).outputs == []


def test_download_leaves_only_the_course(archive, empty_folder):
    run(empty_folder, archive.as_uri())
    assert [path.name for path in empty_folder.iterdir()] == [DOWNLOADED]


def test_second_run_downloads_nothing(archive, empty_folder):
    run(empty_folder, archive.as_uri())
    process = run(empty_folder, "file:///nowhere.zip")
    assert package_folder(process) == empty_folder / DOWNLOADED / "helpers"


def test_running_cell_twice_changes_nothing(archive, empty_folder):
    check = f"\nbefore = list(sys.path)\n{CODE}\nassert sys.path == before{PRINT_PATH}"
    assert (
        package_folder(run(empty_folder, archive.as_uri(), check=check))
        == empty_folder / DOWNLOADED / "helpers"
    )


def test_course_source_can_be_a_folder(empty_folder):
    assert package_folder(run(empty_folder, ROOT)) == ROOT / "helpers"
    assert list(empty_folder.iterdir()) == []


def test_course_source_can_be_a_path_to_a_zip(archive, empty_folder):
    assert package_folder(run(empty_folder, archive)) == empty_folder / DOWNLOADED / "helpers"


def test_cell_is_collapsed_in_jupyterlab_and_colab():
    cell = bootstrap(COURSE)
    assert cell.source.startswith("# @title Set up\n")
    assert cell.metadata.cellView == "form"
    assert cell.metadata.jupyter.source_hidden is True


def test_uses_package_in_the_clone():
    assert package_folder(run(ROOT / "notebooks", "file:///nowhere.zip")) == ROOT / "helpers"


def test_does_nothing_if_package_is_installed(monkeypatch, empty_folder):
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("fetched"))
    monkeypatch.chdir(empty_folder)
    before = list(sys.path)
    exec(CODE, {})
    assert (sys.path, list(empty_folder.iterdir())) == (before, [])


def test_downloads_published_copy_by_default(monkeypatch, empty_folder):
    urls = []

    def urlopen(url, timeout):
        urls.append(url)
        raise OSError("no network in a test")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.delenv("COURSE_SOURCE", raising=False)
    monkeypatch.chdir(empty_folder)
    with pytest.raises(RuntimeError, match="Check the network connection"):
        exec(CODE, {})
    assert urls == [f"https://github.com/{COURSE.repository}/archive/{COURSE.tag}.zip"]


class IncompleteResponse(BaseHTTPRequestHandler):
    """A handler that responds with `status` and sends half of the announced length."""

    status, body = 200, b""

    def do_GET(self):
        self.send_response(self.status)
        self.send_header("Content-Length", str(2 * len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        """Log nothing."""


@pytest.fixture
def server():
    server = HTTPServer(("127.0.0.1", 0), type("Answer", (IncompleteResponse,), {}))
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def address(port):
    return f"http://127.0.0.1:{port}/main.zip"


def assert_clear_error(process, folder, *, reason, advice="Check the network connection"):
    assert process.returncode == 1
    last = process.stderr.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: The course could not be downloaded from ")
    assert reason in last
    assert advice in last
    assert last.endswith("or open the notebook inside a full copy of the course.")
    assert list(folder.iterdir()) == []


def test_reports_missing_network(empty_folder):
    # A bound port that does not listen refuses connections.
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        process = run(empty_folder, address(bound_socket.getsockname()[1]))
    assert_clear_error(process, empty_folder, reason="refused")


def test_reports_wrong_address_with_http_status(empty_folder, server):
    server.RequestHandlerClass.status = 404
    assert_clear_error(
        run(empty_folder, address(server.server_port)), empty_folder, reason="404", advice=ADDRESS
    )


def test_interrupted_download_leaves_nothing(archive, empty_folder, server):
    server.RequestHandlerClass.body = archive.read_bytes()[:1000]
    assert_clear_error(
        run(empty_folder, address(server.server_port)), empty_folder, reason="IncompleteRead"
    )


def test_web_page_instead_of_archive_leaves_nothing(empty_folder, tmp_path):
    page = tmp_path / "login.html"
    page.write_text("<p>Sign in to this network")
    assert_clear_error(
        run(empty_folder, page.as_uri()), empty_folder, reason="not a zip file", advice=ADDRESS
    )


def test_unrelated_archive_leaves_nothing(empty_folder, tmp_path):
    other = shutil.make_archive(str(tmp_path / "other"), "zip", ROOT / "helpers", "checks")
    assert_clear_error(
        run(empty_folder, Path(other).as_uri()),
        empty_folder,
        reason="StopIteration",
        advice=ADDRESS,
    )


def test_reports_missing_packages_with_install_command(archive, empty_folder):
    process = run(empty_folder, archive.as_uri(), packages=False)
    assert process.returncode == 1
    assert "matplotlib is missing, numpy is missing" in process.stderr
    assert '"matplotlib>=' in process.stderr


def test_each_version_has_its_own_folder(archive, empty_folder):
    other = bootstrap(type(COURSE)(ROOT, COURSE.repository, "release/2")).source
    run(empty_folder, archive.as_uri())
    package = package_folder(run(empty_folder, archive.as_uri(), other))
    assert package.parent.name == f"{COURSE.repository.split('/')[-1]}-release-2"
