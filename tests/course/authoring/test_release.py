"""A release changes the course's URLs in every file, and nothing else."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from course import cli
from course.authoring.build import build
from course.authoring.release import release
from course.authoring.up_to_date import find_outdated
from course.course_folder import CourseError, open_course
from tests.rules.pages import Links

ROOT = Path(__file__).parents[3]
OLD = "somebody/a-course"
LESSON = f"# %% [markdown]\n# See <https://github.com/{OLD}/blob/v7/LICENSE>.\n\n# %%\n1 + 1\n"
README = f"""\
[![test](https://github.com/{OLD}/actions/workflows/test.yml/badge.svg)](LICENSE)
[Open](https://colab.research.google.com/github/{OLD}/blob/v7/notebooks/01_first.ipynb), or
`git clone https://github.com/{OLD}.git`, or https://github.com/{OLD}/archive/v7.zip; the pages:
https://somebody.github.io/a-course/index.html; or read https://github.com/{OLD}.

Others: https://github.com/{OLD}-2/blob/v7/x, https://github.com/other/a-course, v7, {OLD},
https://github.com/{OLD}/blob/v71/LICENSE
"""


def git(root, *arguments):
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ["git", "-C", str(root), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(root):
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A course")


@pytest.fixture(scope="module")
def built_course(make_small_course):
    course = make_small_course()
    course.write("01_first", LESSON)
    (course.root / "README.md").write_text(README, encoding="utf-8")
    build(course.folder, [], log=lambda line: None)
    commit(course.root)
    return course.root


@pytest.fixture
def course(built_course, tmp_path):
    """A clone of a built and committed course that a test may release."""
    return open_course(shutil.copytree(built_course, tmp_path / "clone"))


def test_changes_every_url_of_the_course_and_no_other(course):
    release(course, "some-one/fork", "v8", log=lambda line: None)
    own, others = README.split("Others:")
    own = own.replace(OLD, "some-one/fork").replace("v7", "v8")
    own = own.replace("somebody.github.io/a-course", "some-one.github.io/fork")
    others = others.replace(f"{OLD}/blob/v71", "some-one/fork/blob/v71")
    assert (course.root / "README.md").read_text() == f"{own}Others:{others}"
    released = open_course(course.root)
    assert (released.repository, released.tag) == ("some-one/fork", "v8")
    assert find_outdated(released) == []


def test_a_release_may_leave_the_answers_out(course):
    answers = course.root / "tests" / "helpers" / "checks" / "answers.py"
    answers.parent.mkdir(parents=True)
    answers.write_text("")
    commit(course.root)
    release(course, "some-one/fork", without_solutions=True, log=lambda line: None)
    assert not answers.exists()
    assert course.notebook_path("01_first").exists()


NAMES = ["fork", "some--one/fork", "-some/fork", "someone/..", "https://gitlab.com/someone/fork"]
TAGS = ["v 8", "-v8", "v8/", "a..b", "v8.lock", 'v"8']


@pytest.mark.parametrize(
    ("name", "tag", "kind"),
    [
        *[(name, None, "GitHub repository") for name in NAMES],
        *[("someone/fork", tag, "valid tag or branch") for tag in TAGS],
    ],
)
def test_refuses_invalid_repository_or_tag(course, name, tag, kind):
    with pytest.raises(CourseError, match=f"is not a {kind}"):
        release(course, name, tag, log=lambda line: None)


@pytest.mark.parametrize(
    "pasted", [" fork/a.git\n", "https://ada@github.com/fork/a/", "git@github.com:fork/a.git"]
)
def test_accepts_pasted_url_and_keeps_the_tag(course, pasted):
    lines = []
    release(replace(course, repository="fork/a"), pasted, log=lines.append)
    assert lines == ["The course already points to fork/a at v7."]


def test_refuses_uncommitted_changes_outdated_notebooks_and_folders_without_git(course):
    source = course.source_path("01_first")
    source.write_text(source.read_text().replace("1 + 1", "1 + 2"))
    with pytest.raises(CourseError, match=r"uncommitted changes, for example notebooks/source/01"):
        release(course, "someone/fork", log=lambda line: None)
    commit(course.root)
    with pytest.raises(CourseError, match="Build the course first: 01_first"):
        release(course, "someone/fork", log=lambda line: None)
    shutil.rmtree(course.root / ".git")
    with pytest.raises(CourseError, match="A release needs a clone of the course"):
        release(course, "someone/fork", log=lambda line: None)


@pytest.mark.slow
def test_every_url_of_this_course_points_to_fork(tmp_path):
    for name in git(ROOT, "ls-files", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    commit(tmp_path)
    assert cli.main(f"--root {tmp_path} release --repo someone/fork --tag v1".split()) == 0
    before, after = open_course(ROOT), open_course(tmp_path)
    pages = [after.root / name for name in git(after.root, "ls-files", "*.md", "*.ipynb").split()]
    links = Links(after)
    findings = [finding for page in pages for finding in links.dead_links(page)]
    for page in pages:
        if page.suffix == ".ipynb" and "solutions" not in str(page):
            findings += links.badge_problems(page)
    assert findings == []
    old = f"(github|gh|com)/{before.repository}"
    assert subprocess.run(["git", "grep", "-E", old], cwd=after.root).returncode == 1
