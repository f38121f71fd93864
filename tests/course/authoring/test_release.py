"""A release changes the course's URLs in every file, and nothing else."""

import json
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
from tests.rules.links import Links

ROOT = Path(__file__).parents[3]
OLD = "somebody/a-course"
LESSON = f"""\
# %% [markdown]
# The text is at <https://github.com/{OLD}/blob/v7/LICENSE>.

# %%
1 + 1
"""
README = f"""\
[![test](https://github.com/{OLD}/actions/workflows/test.yml/badge.svg)](LICENSE)
[Open](https://colab.research.google.com/github/{OLD}/blob/v7/notebooks/01_first.ipynb), or
`git clone https://github.com/{OLD}.git`, or https://github.com/{OLD}/archive/v7.zip; the pages:
https://somebody.github.io/a-course/index.html; or read https://github.com/{OLD}.

Others: https://github.com/{OLD}-2/blob/v7/x, https://github.com/other/a-course, v7, {OLD},
https://github.com/{OLD}/blob/v71/LICENSE
"""
RELEASED = """\
[![test](https://github.com/some-one/fork/actions/workflows/test.yml/badge.svg)](LICENSE)
[Open](https://colab.research.google.com/github/some-one/fork/blob/v8/notebooks/01_first.ipynb), or
`git clone https://github.com/some-one/fork.git`, or https://github.com/some-one/fork/archive/v8.zip; the pages:
https://some-one.github.io/fork/index.html; or read https://github.com/some-one/fork.

Others: https://github.com/somebody/a-course-2/blob/v7/x, https://github.com/other/a-course, v7, somebody/a-course,
https://github.com/some-one/fork/blob/v71/LICENSE
"""  # noqa: E501


def git(root, *arguments):
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ["git", "-C", str(root), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(root):
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A course")


def discard(line):
    """Discard a line of the log."""


@pytest.fixture(scope="module")
def built_course(make_small_course):
    course = make_small_course()
    course.write("01_first", LESSON)
    (course.root / "README.md").write_text(README, encoding="utf-8")
    build(course.folder, [], log=discard)
    commit(course.root)
    return course.root


@pytest.fixture
def course(built_course, tmp_path):
    """A clone of a built and committed course that a test may release."""
    return open_course(shutil.copytree(built_course, tmp_path / "clone"))


def test_changes_every_url_of_the_course_and_no_other(course):
    release(course, "some-one/fork", "v8", log=discard)
    assert (course.root / "README.md").read_text(encoding="utf-8") == RELEASED
    released = open_course(course.root)
    assert (released.repository, released.tag) == ("some-one/fork", "v8")
    assert find_outdated(released) == []


def test_releasing_back_gives_same_bytes(course):
    release(course, "some-one/fork", "release/8", log=discard)
    commit(course.root)
    release(open_course(course.root), OLD, "v7", log=discard)
    assert git(course.root, "diff", "HEAD~1") == ""


@pytest.mark.parametrize(
    "name",
    [
        "fork",
        "some/one/fork",
        "some--one/fork",
        "-some/fork",
        "someone/..",
        "https://gitlab.com/someone/fork",
        "https://github.com/someone/fork/tree/main",
        'someone/"fork',
    ],
)
def test_refuses_invalid_repository(course, name):
    with pytest.raises(CourseError, match="is not a GitHub repository"):
        release(course, name, log=discard)


@pytest.mark.parametrize(
    "pasted",
    [
        "someone/fork.git",
        "https://github.com/someone/fork/",
        "https://someone@github.com/someone/fork.git",
        "git@github.com:someone/fork.git",
        " someone/fork\n",
    ],
)
def test_accepts_pasted_url_and_keeps_the_tag(course, pasted):
    lines = []
    release(replace(course, repository="someone/fork"), pasted, log=lines.append)
    assert lines == ["The course already points to someone/fork at v7."]


@pytest.mark.parametrize("tag", ["v 8", "-v8", "v8/", "a..b", "v8.lock", 'v"8'])
def test_refuses_invalid_tag(course, tag):
    with pytest.raises(CourseError, match="is not a valid tag"):
        release(course, "someone/fork", tag, log=discard)


def test_refuses_uncommitted_changes_outdated_notebooks_and_folders_without_git(course):
    source = course.source_path("01_first")
    source.write_text(source.read_text().replace("1 + 1", "1 + 2"))
    with pytest.raises(CourseError, match=r"uncommitted changes, for example notebooks/source/01"):
        release(course, "someone/fork", log=discard)
    commit(course.root)
    with pytest.raises(CourseError, match="Build the course first: 01_first"):
        release(course, "someone/fork", log=discard)
    shutil.rmtree(course.root / ".git")
    with pytest.raises(CourseError, match="A release needs a clone of the course"):
        release(course, "someone/fork", log=discard)


@pytest.fixture(scope="module")
def fork(tmp_path_factory):
    """This course, and a copy of it that was released as a fork."""
    before, after = (tmp_path_factory.mktemp("release") / name for name in ("before", "after"))
    for name in git(ROOT, "ls-files", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (before / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, before / name)
    commit(before)
    shutil.copytree(before, after)
    assert cli.main(["--root", str(after), "release", "--repo", "someone/fork", "--tag", "v1"]) == 0
    return open_course(before), open_course(after)


def test_every_badge_and_link_of_this_course_points_to_fork(fork):
    before, after = fork
    pages = [after.root / name for name in git(after.root, "ls-files", "*.md", "*.ipynb").split()]
    links = Links(after)
    findings = [finding for page in pages for finding in links.dead_links(page)]
    for page in pages:
        if page.suffix == ".ipynb" and "solutions" not in str(page):
            findings += links.badge_problems(page)
    assert findings == []
    search = [
        "git",
        "-C",
        str(after.root),
        "grep",
        "-n",
        "-E",
        f"(github|gh|com)/{before.repository}",
    ]
    assert subprocess.run(search, capture_output=True, text=True).stdout == ""


def without_urls(path, course):
    """Return a file without URLs, and a notebook without its generated cells and hashes."""
    if (
        path.suffix == ".ipynb"
        and "course" in (notebook := json.loads(path.read_bytes()))["metadata"]
    ):
        for key in ("source_sha256", "generated_sha256"):
            del notebook["metadata"]["course"][key]
        return {**notebook, "cells": notebook["cells"][2:-1]}
    text = path.read_bytes()
    for before, after in (("/", course.tag), ('tag = "', course.tag), ("", course.repository)):
        text = text.replace((before + after).encode(), b"")
    return text


def test_nothing_else_changes_in_this_course(fork):
    before, after = fork
    assert find_outdated(after) == []
    assert "??" not in git(after.root, "status", "--porcelain", "--untracked-files")
    names = git(after.root, "diff", "--name-only", "HEAD").split()
    changed = [
        name
        for name in names
        if without_urls(before.root / name, before) != without_urls(after.root / name, after)
    ]
    assert names
    assert changed == []
