"""Point badges, setup cells and links to the repository where the course is published."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from course.authoring.build import build
from course.authoring.up_to_date import find_outdated
from course.course_folder import CourseError, CourseFolder
from course.translation.catalogs import languages
from course.translation.course_translation import read_translation

# GitHub allows letters, digits and single hyphens in owner names, and also . and _ in repository
# names. The part before them is that of a URL from a browser or from `git remote --verbose`.
_REPOSITORY = re.compile(
    r"(?:(?:(?:https?|git|ssh)://)?(?:[\w-]+@)?(?:www\.)?github\.com[/:])?"
    r"((?:[a-z0-9]|-(?=[a-z0-9])){1,39}/(?!\.{1,2}/*$)[a-z0-9._-]{1,100}?)(?:\.git)?/*",
    re.IGNORECASE,
)
_TAG = re.compile(r"(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)))[A-Za-z0-9](?:[\w./-]*[\w-])?", re.ASCII)
# The parts of a URL before the repository name, and between the repository and the tag.
_HOSTS = r"(?:github\.com[/:]|githubusercontent\.com/|/github/|/gh/|ghcr\.io/)"
_REF_PATHS = r"(?:blob|tree|raw|edit|archive(?:/refs/(?:heads|tags))?)"


def release(
    course: CourseFolder,
    repository: str,
    tag: str | None = None,
    *,
    without_solutions: bool = False,
    log: Callable[[str], None] = print,
) -> None:
    """Point the whole course at `repository` ("owner/name") and `tag`.

    `repository` may also be the URL of the repository on GitHub. Without a tag, the current one is
    kept. Changes `[tool.course]` in pyproject.toml, the URLs of the course in pages and sources,
    and each notebook's generated cells. Executes only notebooks whose code contains such a URL.
    `without_solutions` then removes the files with answers to the labs.

    Raises:
        CourseError: a name is malformed, the course is not a git clone or has uncommitted changes,
            or a notebook is not up to date.
    """
    tag = tag or course.tag
    match = _REPOSITORY.fullmatch(repository.strip())
    if match is None or match[1].startswith("-"):
        raise CourseError(
            f"{repository!r} is not a GitHub repository. Use the form owner/name, "
            "for example somebody/gpu-course-kit, or the URL of the repository's page."
        )
    if not _TAG.fullmatch(tag):
        raise CourseError(
            f"{tag!r} is not a valid tag or branch. Use letters, digits, '.', '_', '-' and '/', "
            "for example v1.0."
        )
    new = replace(course, repository=match[1], tag=tag)
    if new == course and not without_solutions:
        log(f"The course already points to {course.repository} at {tag}.")
        return
    if changed := _git(course.root, "status", "--porcelain", "--untracked-files=no").splitlines():
        raise CourseError(
            f"The clone has uncommitted changes, for example {changed[0][3:]}. "
            "Commit them first, so that `git checkout .` can undo the release."
        )
    if findings := find_outdated(course):
        raise CourseError("Build the course first: " + "\n".join(findings))
    texts = {}
    search = ("-e", course.repository, "-e", _pages_url(course))
    for name in _git(course.root, "grep", "-lzIF", *search).split("\0"):
        path = course.root / name
        # The course's notebooks are built from their sources.
        if name and not (name.startswith(("notebooks/", "labs/")) and path.suffix == ".ipynb"):
            before = path.read_bytes().decode("utf-8")
            after = _update_urls(before, course, new)
            texts |= {path: after} if after != before else {}
    for path, text in texts.items():
        path.write_bytes(text.encode())
        log(f"{path.relative_to(course.root).as_posix()}: URLs updated")
    # A release does not publish languages that have not been built.
    built = [code for code in languages(course) if read_translation(course, code).is_built]
    labs = [f"labs/{name}" for name in course.lab_names()]
    build(new, [*course.lesson_names(), *labs, *built], log=log)
    if without_solutions:
        answers = ("labs/source", "labs/solutions", "tests/helpers/checks")
        log(_git(course.root, "rm", "-rf", "--ignore-unmatch", *answers).rstrip())


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    except FileNotFoundError:
        raise CourseError("A release needs git, which is not installed.") from None
    if completed.returncode:
        raise CourseError(f"A release needs a clone of the course: {completed.stderr.strip()}")
    return completed.stdout


def _update_urls(text: str, course: CourseFolder, new: CourseFolder) -> str:
    """Return the text of a file with the new URLs, and the new values under [tool.course]."""
    text = re.sub(
        # Do not match the start of a longer name; a period or `.git` may follow.
        rf"({_HOSTS}){re.escape(course.repository)}(?![\w-]|\.(?!git\b)\w)"
        rf"(?:(/(?:{_REF_PATHS}/)?){re.escape(course.tag)}(?![\w-]|\.(?!zip|tar)\w))?",
        lambda match: match[1] + new.repository + (match[2] + new.tag if match[2] else ""),
        text,
    )
    text = re.sub(rf"{re.escape(_pages_url(course))}(?![\w.-]*\w)", _pages_url(new), text)
    for key, value in (("repository", new.repository), ("tag", new.tag)):
        table = rf"(?m)(^\[tool\.course\]\n(?:[^\[\n].*\n|\n)*?\s*{key}\s*=\s*)([\"']).*?\2"
        text = re.sub(table, lambda m, v=value: f'{m[1]}"{v}"', text)
    return text


def _pages_url(course: CourseFolder) -> str:
    return "https://{}.github.io/{}".format(*course.repository.split("/"))
