"""The setup cell works in a Python environment where the course is not installed."""

import os
import shutil
import sysconfig
import zipfile
from pathlib import Path

import pytest

from course.authoring.assemble import bootstrap
from course.course_folder import CourseFolder, open_course
from tests.conftest import run_python

ROOT = Path(__file__).parents[3]
COURSE = open_course(ROOT)
CODE = bootstrap(COURSE).source
DOWNLOADED = f"{COURSE.repository.split('/')[-1]}-{COURSE.tag}"
NETWORK, ADDRESS = "Check the network connection", "Check this address"


def run(folder, source, code=CODE, *, packages=True):
    """Run the cell in `folder` without the course's own installation (-S reads no .pth file)."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    if packages:
        environment["PYTHONPATH"] = sysconfig.get_paths()["purelib"]
    program = f"{code}\nimport helpers\nprint(helpers.__file__)"
    environment["COURSE_SOURCE"] = str(source)
    return run_python("-S", "-c", program, cwd=folder, env=environment)


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
def empty_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("empty")


def test_downloads_the_course_once_and_leaves_nothing_else(archive, empty_folder):
    twice = f"{CODE}\nimport sys\nbefore = list(sys.path)\n{CODE}\nassert sys.path == before"
    downloaded = empty_folder / DOWNLOADED / "helpers"
    assert package_folder(run(empty_folder, archive.as_uri(), twice)) == downloaded
    assert package_folder(run(empty_folder, "file:///nowhere.zip")) == downloaded
    assert [path.name for path in empty_folder.iterdir()] == [DOWNLOADED]


def test_each_version_has_its_own_folder(archive, empty_folder):
    other = bootstrap(CourseFolder(ROOT, COURSE.repository, "release/2")).source
    run(empty_folder, archive)
    package = package_folder(run(empty_folder, archive, other))
    assert package.parent.name == f"{COURSE.repository.split('/')[-1]}-release-2"


def test_uses_the_clone_or_the_folder_in_course_source(empty_folder):
    assert package_folder(run(ROOT / "notebooks", "file:///nowhere.zip")) == ROOT / "helpers"
    assert package_folder(run(empty_folder, ROOT)) == ROOT / "helpers"
    assert list(empty_folder.iterdir()) == []


def test_downloads_published_copy_by_default(monkeypatch, empty_folder):
    def urlopen(url, timeout):
        raise OSError(f"no network for {url}")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.delenv("COURSE_SOURCE", raising=False)
    monkeypatch.chdir(empty_folder)
    url = f"https://github.com/{COURSE.repository}/archive/{COURSE.tag}.zip"
    with pytest.raises(RuntimeError, match=f"no network for {url}"):
        exec(CODE, {})


@pytest.mark.parametrize(
    ("source", "reason", "advice"),
    [
        ("http://127.0.0.1:1/main.zip", "refused", NETWORK),
        ("file://{folder}/incomplete.zip", "not a zip file", ADDRESS),
        ("file://{folder}/login.html", "not a zip file", ADDRESS),
        ("file://{folder}/other.zip", "StopIteration", ADDRESS),
    ],
)
def test_failed_download_has_clear_message_and_leaves_nothing(
    empty_folder, tmp_path, archive, source, reason, advice
):
    (tmp_path / "login.html").write_text("<p>Sign in to this network")
    (tmp_path / "incomplete.zip").write_bytes(archive.read_bytes()[:1000])
    shutil.make_archive(str(tmp_path / "other"), "zip", ROOT / "helpers", "checks")
    process = run(empty_folder, source.format(folder=tmp_path))
    message = process.stderr.strip().rpartition("RuntimeError: The course could not be ")[2]
    assert reason in message
    assert advice in message
    assert list(empty_folder.iterdir()) == []


def test_reports_missing_packages_with_install_command(archive, empty_folder):
    process = run(empty_folder, archive.as_uri(), packages=False)
    assert "matplotlib is missing, numpy is missing" in process.stderr
    assert '"matplotlib>=' in process.stderr
