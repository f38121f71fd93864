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
ADDRESS = "Check this address or path, and the network connection"
ARCHIVE = "Check that this is an archive of the course"


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
        ("http://127.0.0.1:1/main.zip", "refused", ADDRESS),
        ("{folder}/missing.zip", "No such file", ADDRESS),
        ("file://{folder}/missing.zip", "No such file", ADDRESS),
        ("{folder}/incomplete.zip", "not a zip file", ARCHIVE),
        ("{folder}/incomplete.tar.gz", "EOFError", ARCHIVE),
        ("{folder}/login.html", "not a zip file", ARCHIVE),
        ("{folder}/other.zip", "it contains no folder helpers", ARCHIVE),
    ],
)
def test_failed_setup_has_clear_message_and_leaves_nothing(
    empty_folder, tmp_path, archive, source, reason, advice
):
    (tmp_path / "login.html").write_text("<p>Sign in to this network")
    (tmp_path / "incomplete.zip").write_bytes(archive.read_bytes()[:1000])
    shutil.make_archive(str(tmp_path / "other"), "zip", ROOT / "helpers", "checks")
    tar = Path(shutil.make_archive(str(tmp_path / "full"), "gztar", ROOT, "helpers/checks"))
    (tmp_path / "incomplete.tar.gz").write_bytes(tar.read_bytes()[:1000])
    process = run(empty_folder, source.format(folder=tmp_path))
    message = process.stderr.strip().rpartition("RuntimeError: The course could not be ")[2]
    assert reason in message
    assert advice in message
    assert list(empty_folder.iterdir()) == []


@pytest.mark.parametrize("format_", ["zip", "gztar"])
def test_unpacks_both_formats_without_a_top_folder(empty_folder, tmp_path, format_):
    shutil.copytree(ROOT / "helpers", tmp_path / "in" / "helpers")
    archive = shutil.make_archive(str(tmp_path / "course"), format_, tmp_path / "in")
    process = run(empty_folder, archive, CODE.partition("from helpers")[0])
    assert package_folder(process) == empty_folder / DOWNLOADED / "helpers"


def test_names_the_folder_that_cannot_be_written(archive, empty_folder):
    # A limit on the size of files stands for a full disk; root can write to read-only folders.
    limit = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    process = run(empty_folder, archive, limit + CODE)
    assert f"Free some space in {empty_folder}, or move the notebook" in process.stderr
    assert list(empty_folder.iterdir()) == []


def test_refuses_a_copy_that_is_older_than_the_notebook(archive, empty_folder):
    run(empty_folder, archive)
    copy = empty_folder / DOWNLOADED
    file = copy / "helpers" / "packages.py"
    file.write_text(file.read_text("utf-8").replace("VERSION = ", "OTHER = "), "utf-8")
    process = run(empty_folder, archive)
    assert f"is older than the notebook. Delete the folder {copy} " in process.stderr


def test_reports_missing_packages_with_install_command(archive, empty_folder):
    process = run(empty_folder, archive.as_uri(), packages=False)
    assert "matplotlib is missing, numpy is missing" in process.stderr
    assert '"matplotlib>=' in process.stderr
