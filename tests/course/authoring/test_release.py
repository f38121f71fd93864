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
# ## A section
#
# The text is at <https://github.com/{OLD}/blob/v7/LICENSE>.

# %%
1 + 1
"""
README = f"""\
# A course

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
    text = (course.root / "README.md").read_text(encoding="utf-8")
    new = README
    for before, after in [
        (f"{OLD}/actions", "some-one/fork/actions"),
        (f"colab.research.google.com/github/{OLD}/blob/v7/", None),
        (f"{OLD}.git`", "some-one/fork.git`"),
        (f"{OLD}/archive/v7.zip", "some-one/fork/archive/v8.zip"),
        ("somebody.github.io/a-course/", "some-one.github.io/fork/"),
        (f"read https://github.com/{OLD}.", "read https://github.com/some-one/fork."),
        (f"{OLD}/blob/v71", "some-one/fork/blob/v71"),
    ]:
        assert before in new
        new = new.replace(before, after or before.replace(OLD, "some-one/fork").replace("v7", "v8"))
    assert text == new


def test_released_course_is_up_to_date_and_points_to_fork(course):
    release(course, "some-one/fork", "v8", log=discard)
    released = open_course(course.root)
    assert (released.repository, released.tag) == ("some-one/fork", "v8")
    assert find_outdated(released) == []
    assert Links(released).badge_problems(released.notebook_path("01_first")) == []


def test_keeps_current_tag_by_default(course):
    release(course, "some-one/fork", log=discard)
    assert open_course(course.root).tag == "v7"


def test_releases_new_tag_of_same_repository(course):
    release(course, OLD, "release/8", log=discard)
    assert f"{OLD}/blob/release/8/notebooks" in (course.root / "README.md").read_text()


def test_releasing_back_gives_same_bytes(course):
    release(course, "some-one/fork", "v8", log=discard)
    git(course.root, "-c", "core.hooksPath=", "commit", "--quiet", "--all", "--message", "Fork")
    release(open_course(course.root), OLD, "v7", log=discard)
    assert git(course.root, "diff", "HEAD~1") == ""


def test_same_repository_changes_nothing(course):
    lines = []
    release(course, OLD, log=lines.append)
    assert lines == [f"The course already points to {OLD} at v7."]


@pytest.mark.parametrize(
    "name",
    [
        "fork",
        "some one/fork",
        "some/one/fork",
        "/fork",
        "someone/",
        "some--one/fork",
        "-some/fork",
        "someone/..",
        "https://gitlab.com/someone/fork",
        "https://github.com/someone/fork/tree/main",
        "https://github.com/someone",
        "",
        'someone/"fork',
    ],
)
def test_refuses_invalid_repository(course, name):
    with pytest.raises(CourseError, match="is not a GitHub repository"):
        release(course, name, log=discard)
    assert git(course.root, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "pasted",
    [
        "someone/fork.git",
        "https://github.com/someone/fork",
        "https://github.com/someone/fork/",
        "https://github.com/someone/fork.git",
        "https://someone@github.com/someone/fork.git",
        "http://www.github.com/someone/fork",
        "GitHub.com/someone/fork",
        "git@github.com:someone/fork.git",
        "ssh://git@github.com/someone/fork.git",
        " someone/fork\n",
    ],
)
def test_accepts_pasted_url(course, pasted):
    released = replace(course, repository="someone/fork")
    lines = []
    release(released, pasted, log=lines.append)
    assert lines == ["The course already points to someone/fork at v7."]


@pytest.mark.parametrize("tag", ["v 8", "-v8", "v8/", "a..b", "v8.lock", "a//b", 'v"8', ".v8"])
def test_refuses_invalid_tag(course, tag):
    with pytest.raises(CourseError, match="is not a valid tag"):
        release(course, "someone/fork", tag, log=discard)


def test_refuses_uncommitted_changes(course):
    (course.root / "README.md").write_text("# Mine\n")
    with pytest.raises(CourseError, match=r"uncommitted changes, for example README\.md"):
        release(course, "someone/fork", log=discard)
    assert (course.root / "README.md").read_text() == "# Mine\n"


def test_refuses_folder_that_is_not_a_clone(course):
    shutil.rmtree(course.root / ".git")
    with pytest.raises(CourseError, match="A release needs a clone of the course"):
        release(course, "someone/fork", log=discard)


def test_refuses_outdated_notebook(course):
    source = course.source_path("01_first")
    source.write_text(source.read_text().replace("1 + 1", "1 + 2"))
    git(course.root, "-c", "user.name=A", "commit", "--quiet", "--all", "--message", "Two")
    with pytest.raises(CourseError, match="Build the course first: 01_first"):
        release(course, "someone/fork", log=discard)


def test_refuses_url_in_code_before_writing(small_course):
    small_course.write("01_first", f'# %%\n"https://github.com/{OLD}"\n')
    build(small_course.folder, [], log=discard)
    commit(small_course.root)
    with pytest.raises(CourseError, match=r"line 12: the code contains a URL of the course"):
        release(small_course.folder, "someone/fork", log=discard)
    assert git(small_course.root, "status", "--porcelain") == ""


def test_command_lists_changed_files(course, capsys):
    status = cli.main(["--root", str(course.root), "release", "--repo", "some-one/fork"])
    printed = capsys.readouterr().out
    assert status == 0
    assert "pyproject.toml: URLs updated" in printed
    assert "01_first: text changed, outputs kept" in printed


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


def pages(course):
    names = git(course.root, "ls-files", "*.md", "*.ipynb").split()
    return [course.root / name for name in names]


def test_every_badge_and_link_of_this_course_points_to_fork(fork):
    _, after = fork
    links = Links(after)
    findings = [finding for page in pages(after) for finding in links.dead_links(page)]
    badges = [
        path for path in pages(after) if path.suffix == ".ipynb" and "solutions" not in str(path)
    ]
    findings += [finding for path in badges for finding in links.badge_problems(path)]
    assert badges
    assert findings == []


def test_no_old_url_remains_in_this_course(fork):
    before, after = fork
    process = subprocess.run(
        ["git", "-C", str(after.root), "grep", "-n", "-E", f"(github|gh|com)/{before.repository}"],
        capture_output=True,
        text=True,
    )
    assert process.stdout == ""


def same_except_urls(name, before, after):
    """Return whether a file of the fork differs from the original only in URLs."""
    old, new = ((course.root / name).read_bytes() for course in (before, after))
    if old == new:
        return True
    if name.endswith(".ipynb") and "course" in json.loads(old)["metadata"]:
        return notebook_without_urls(old) == notebook_without_urls(new)
    addresses = [(c.repository.encode(), c.tag.encode()) for c in (before, after)]
    return without_urls(old, *addresses[0]) == without_urls(new, *addresses[1])


def without_urls(text, repository, tag):
    for kind in (b"/blob/", b"/archive/", b"/tree/"):
        text = text.replace(repository + kind + tag, b"PLACE")
    return text.replace(b'tag = "' + tag, b"TAG").replace(repository, b"REPOSITORY")


def notebook_without_urls(text):
    """Return a notebook without its generated cells and their hashes."""
    content = json.loads(text)
    for key in ("source_sha256", "generated_sha256"):
        del content["metadata"]["course"][key]
    content["cells"] = content["cells"][2:-1]
    return content


def test_nothing_else_changes_in_this_course(fork):
    before, after = fork
    names = git(before.root, "ls-files").split()
    assert names == git(after.root, "ls-files").split()
    assert git(after.root, "status", "--porcelain", "--untracked-files").count("??") == 0
    assert [name for name in names if not same_except_urls(name, before, after)] == []


def test_outputs_of_this_course_are_kept(fork):
    before, after = fork
    assert find_outdated(after) == []
    for path in pages(after):
        if path.suffix == ".ipynb":
            old = json.loads((before.root / path.relative_to(after.root)).read_text("utf-8"))
            new = json.loads(path.read_text("utf-8"))
            outputs = [[cell.get("outputs") for cell in nb["cells"]] for nb in (old, new)]
            assert outputs[0] == outputs[1]
