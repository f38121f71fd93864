"""The bootstrap cell, run as a student's Python runs it where the course is not installed."""

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
FETCHED = f"{COURSE.repository.split('/')[-1]}-{COURSE.tag}"
TELL = "\nimport helpers\nprint(helpers.__file__)"
NOTEBOOKS = sorted(
    str(path.relative_to(ROOT))
    for folder in ("notebooks", "labs", "labs/solutions")
    for path in (ROOT / folder).glob("[!._]*.ipynb")
)


def run(folder, source, code=CODE, *, check=TELL, packages=True):
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


def package_of(done):
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip()).parent


@pytest.fixture(scope="session")
def archive(tmp_path_factory):
    """A zip such as GitHub sends: one folder that holds the course."""
    path = tmp_path_factory.mktemp("published") / "main.zip"
    with zipfile.ZipFile(path, "w") as file:
        for part in (ROOT / "helpers").glob("*.py"):
            file.write(part, f"a-course-1.0/helpers/{part.name}")
    return path


@pytest.fixture
def empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def cell_of(path):
    cells = nbformat.read(ROOT / path, as_version=4).cells
    [cell] = [cell for cell in cells if "bootstrap" in cell.metadata.get("tags", [])]
    return cell


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_every_notebook_alone_in_an_empty_folder_fetches_the_course(path, archive, empty):
    done = run(empty, archive.as_uri(), cell_of(path).source)
    assert package_of(done) == empty / FETCHED / "helpers"


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_the_cell_stores_no_output(path):
    assert cell_of(path).outputs == []


def test_nothing_but_the_course_is_left_behind(archive, empty):
    run(empty, archive.as_uri())
    assert [path.name for path in empty.iterdir()] == [FETCHED]


def test_the_second_time_nothing_is_fetched(archive, empty):
    run(empty, archive.as_uri())
    done = run(empty, "file:///nowhere.zip")
    assert package_of(done) == empty / FETCHED / "helpers"


def test_running_the_cell_twice_in_one_session_changes_nothing(archive, empty):
    check = f"\nbefore = list(sys.path)\n{CODE}\nassert sys.path == before{TELL}"
    assert package_of(run(empty, archive.as_uri(), check=check)) == empty / FETCHED / "helpers"


def test_a_folder_can_stand_in_for_the_published_copy(empty):
    assert package_of(run(empty, ROOT)) == ROOT / "helpers"
    assert list(empty.iterdir()) == []


def test_in_a_clone_without_installation_the_package_of_the_clone_is_taken():
    assert package_of(run(ROOT / "notebooks", "file:///nowhere.zip")) == ROOT / "helpers"


def test_where_the_package_is_installed_the_cell_does_nothing(monkeypatch, empty):
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("fetched"))
    monkeypatch.chdir(empty)
    before = list(sys.path)
    exec(CODE, {})
    assert (sys.path, list(empty.iterdir())) == (before, [])


def test_without_a_source_the_published_copy_of_this_tag_is_fetched(monkeypatch, empty):
    asked = []

    def urlopen(url, timeout):
        asked.append(url)
        raise OSError("no network in a test")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.delenv("COURSE_SOURCE", raising=False)
    monkeypatch.chdir(empty)
    with pytest.raises(RuntimeError, match="Is there a network"):
        exec(CODE, {})
    assert asked == [f"https://github.com/{COURSE.repository}/archive/{COURSE.tag}.zip"]


class Sends(BaseHTTPRequestHandler):
    """A server on this machine that answers with `status`, and with half of what it promises."""

    status, body = 200, b""

    def do_GET(self):
        self.send_response(self.status)
        self.send_header("Content-Length", str(2 * len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server():
    server = HTTPServer(("127.0.0.1", 0), type("Answer", (Sends,), {}))
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def address(port):
    return f"http://127.0.0.1:{port}/main.zip"


def assert_the_clear_word(done, folder, *, why):
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: The course could not be fetched from ")
    assert why in last
    assert last.endswith("or open the notebook inside a whole copy of the course.")
    assert list(folder.iterdir()) == []


def test_no_network_is_said_in_one_line_with_what_to_do(empty):
    # A port that is taken and where nobody listens refuses every time.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = run(empty, address(taken.getsockname()[1]))
    assert_the_clear_word(done, empty, why="refused")


def test_a_wrong_address_is_said_with_the_servers_answer(empty, server):
    server.RequestHandlerClass.status = 404
    assert_the_clear_word(run(empty, address(server.server_port)), empty, why="404")


def test_a_fetch_that_breaks_off_leaves_nothing(archive, empty, server):
    server.RequestHandlerClass.body = archive.read_bytes()[:1000]
    assert_the_clear_word(run(empty, address(server.server_port)), empty, why="IncompleteRead")


def test_a_page_instead_of_an_archive_leaves_nothing(empty, tmp_path):
    page = tmp_path / "login.html"
    page.write_text("<p>Sign in to this network")
    assert_the_clear_word(run(empty, page.as_uri()), empty, why="not a zip file")


def test_another_archive_leaves_nothing(empty, tmp_path):
    other = shutil.make_archive(str(tmp_path / "other"), "zip", ROOT / "helpers", "checks")
    assert_the_clear_word(run(empty, Path(other).as_uri()), empty, why="StopIteration")


def test_missing_packages_are_named_with_the_command_that_installs_them(archive, empty):
    done = run(empty, archive.as_uri(), packages=False)
    assert done.returncode == 1
    assert "matplotlib is missing, numpy is missing" in done.stderr
    assert '%pip install "matplotlib>=' in done.stderr


def test_a_mirror_of_another_tag_does_not_mix_with_this_one(archive, empty):
    other = bootstrap(type(COURSE)(ROOT, COURSE.repository, "release/2")).source
    run(empty, archive.as_uri())
    package = package_of(run(empty, archive.as_uri(), other))
    assert package.parent.name == f"{COURSE.repository.split('/')[-1]}-release-2"
