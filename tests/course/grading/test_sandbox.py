"""What a box lets in, wherever the course lies, and what it says where it cannot start."""

import json
import shutil
import sys
import tempfile
import venv
from pathlib import Path

import pytest

import helpers
from course.grading import box
from course.grading.box import Box, Limits, bubblewrap

walls = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")
# Tells, from inside, what can be done to the package that it belongs to.
TELLING = """\
import json, os, sys
from pathlib import Path
own = Path(__file__).parent
done = []
for what in (
    lambda: (own / "mine.py").write_text(""),
    lambda: (own.parent / "mine.py").write_text(""),
    lambda: own.rename(own.with_name("other")),
    lambda: own.parent.rename(own.parent.with_name("other")),
    lambda: own.parents[1].rename(own.parents[1].with_name("other")),
    lambda: Path(sys.executable).unlink(),
):
    try:
        what()
        done.append(True)
    except OSError:
        done.append(False)
Path("/tmp/note").write_text("there is room for a note")
print(json.dumps({"at": str(own), "python": sys.prefix, "done": done}))
"""


@pytest.fixture
def course_below_tmp(monkeypatch):
    """A package `helpers` and a Python of its own, below the folder that the box makes anew."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    package = folder / "deep" / "course" / "helpers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "telling.py").write_text(TELLING)
    python = folder / "deep" / "venv"
    venv.create(python, symlinks=True)
    monkeypatch.setattr(helpers, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(sys, "executable", str(python / "bin" / "python"))
    for name in ("prefix", "exec_prefix"):
        monkeypatch.setattr(sys, name, str(python))
    yield package
    shutil.rmtree(folder)


@walls
def test_a_course_below_a_folder_that_is_made_anew_is_seen_and_cannot_be_changed(course_below_tmp):
    inside = Box("helpers.telling", Limits())
    said = inside.process.stdout.read()
    complaint = inside.said
    inside.end()
    assert complaint == ""
    told = json.loads(said)
    assert told["at"] == str(course_below_tmp)
    assert told["python"] == sys.prefix
    assert told["done"] == [False] * 6
    assert sorted(p.name for p in course_below_tmp.iterdir()) == ["__init__.py", "telling.py"]


def test_packages_that_a_user_installed_are_found_though_home_is_another(monkeypatch, tmp_path):
    monkeypatch.setattr(box.site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(box.site, "getusersitepackages", lambda: str(tmp_path))
    monkeypatch.setattr(box.site, "getuserbase", lambda: "/somewhere")
    assert tmp_path in box._own_folders()
    assert box._environment()["PYTHONUSERBASE"] == "/somewhere"


def test_a_python_behind_a_link_is_seen_by_both_its_names(monkeypatch, tmp_path):
    (tmp_path / "python-3.11.7").mkdir()
    (tmp_path / "python-3.11").symlink_to("python-3.11.7")
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "python-3.11"))
    assert {tmp_path / "python-3.11", tmp_path / "python-3.11.7"} <= set(box._own_folders())


def test_what_the_box_complains_of_can_be_read():
    inside = Box("no_such_module_anywhere", Limits(), shut=False)
    inside.process.wait()
    said = inside.said
    inside.end()
    assert "No module named no_such_module_anywhere" in said
    assert not list(inside._complaints.parent.glob(inside._complaints.name))
