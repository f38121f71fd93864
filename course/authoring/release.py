"""Point badges, setup cells and links to the repository where the course is published."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from course.authoring.build import build
from course.authoring.up_to_date import find_outdated, targets
from course.course_folder import CourseError, CourseFolder
from course.files import write_atomically
from course.translation.catalogs import languages
from course.translation.course_translation import read_translation

# GitHub allows letters, digits and single hyphens in owner names, and also . and _ in repository
# names.
_REPOSITORY = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}"
)
# A URL copied from a browser or from `git remote --verbose`.
_REPOSITORY_URL = re.compile(
    r"(?:(?:(?:https?|git|ssh)://)?(?:[\w-]+@)?(?:www\.)?github\.com[/:])?(.+?)(?:\.git)?/*",
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
    log: Callable[[str], None] = print,
) -> list[Path]:
    """Point the whole course at `repository` ("owner/name") and `tag`; return the files written.

    `repository` may also be the URL of the repository on GitHub. Without a tag, the current one is
    kept. Changes `[tool.course]` in pyproject.toml, the URLs of the course in pages and sources,
    and each notebook's generated cells. Does not execute notebooks.

    Raises:
        CourseError: a name is malformed, the course is not a git clone or has uncommitted changes,
            a notebook is not up to date, or code contains a URL of the course.
    """
    tag = tag or course.tag
    repository = _repository_name(repository)
    _validate_tag(tag)
    if (repository, tag) == (course.repository, course.tag):
        log(f"The course already points to {repository} at {tag}.")
        return []
    tracked = _tracked_files(course.root)
    read = cache(partial(read_translation, course))
    if findings := find_outdated(course, read):
        raise CourseError("Build the course first: " + "\n".join(findings))
    generated = {target.path for target in targets(course, [], read)}
    texts = {
        path: text
        for path in tracked
        if path not in generated
        and (text := _update_urls(path, course, repository, tag)) is not None
    }
    for path, text in texts.items():
        _check_code_unchanged(path, text, course)
    for path, text in texts.items():
        mode = path.stat().st_mode
        write_atomically(path, text)
        path.chmod(mode)
        log(f"{path.relative_to(course.root).as_posix()}: URLs updated")
    # A release does not publish languages that have not been built.
    built = [code for code in languages(course) if read(code).is_built]
    labs = [f"labs/{name}" for name in course.lab_names()]
    names = [*course.lesson_names(), *labs, *built]
    build(replace(course, repository=repository, tag=tag), names, log=log)
    return [path for path in tracked if path in texts or path in generated]


def _repository_name(repository: str) -> str:
    """Return "owner/name" for the name or the URL of a repository."""
    match = _REPOSITORY_URL.fullmatch(repository.strip())
    if match is None or not _REPOSITORY.fullmatch(match[1]):
        raise CourseError(
            f"{repository!r} is not a GitHub repository. Use the form owner/name, "
            "for example somebody/gpu-course-kit, or the URL of the repository's page."
        )
    return match[1]


def _validate_tag(tag: str) -> None:
    if not _TAG.fullmatch(tag):
        raise CourseError(
            f"{tag!r} is not a valid tag or branch. Use letters, digits, '.', '_', '-' and '/', "
            "for example v1.0."
        )


def _tracked_files(root: Path) -> list[Path]:
    """Return every file of the clone; raise `CourseError` if it has uncommitted changes."""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no").splitlines()
    if changed:
        raise CourseError(
            f"The clone has uncommitted changes, for example {changed[0][3:]}. "
            "Commit them first, so that `git checkout .` can undo the release."
        )
    names = _git(root, "ls-files", "-z").split("\0")
    return [root / name for name in names if name and (root / name).is_file()]


def _git(root: Path, *arguments: str) -> str:
    try:
        completed = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, encoding="utf-8"
        )
    except FileNotFoundError:
        raise CourseError("A release needs git, which is not installed.") from None
    if completed.returncode:
        raise CourseError(f"A release needs a clone of the course: {completed.stderr.strip()}")
    return completed.stdout


def _update_urls(path: Path, course: CourseFolder, repository: str, tag: str) -> str | None:
    """Return the file's text with the new URLs; None if nothing changes or the file is binary."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
    old_repository = re.escape(course.repository)
    url_pattern = re.compile(
        # Do not match the start of a longer name; a period or `.git` may follow.
        rf"({_HOSTS}){old_repository}(?![\w-]|\.(?!git\b)\w)"
        rf"(?:(/(?:{_REF_PATHS}/)?){re.escape(course.tag)}(?![\w-]|\.(?!zip|tar)\w))?"
    )
    new_text = url_pattern.sub(
        lambda match: match[1] + repository + (match[2] + tag if match[2] else ""), text
    )
    pages_url = "https://{}.github.io/{}"
    new_text = re.sub(
        re.escape(pages_url.format(*course.repository.split("/"))) + r"(?![\w.-]*\w)",
        pages_url.format(*repository.split("/")),
        new_text,
    )
    if path == course.root / "pyproject.toml":
        new_text = _update_course_table(new_text, repository, tag)
    return new_text if new_text != text else None


def _update_course_table(pyproject: str, repository: str, tag: str) -> str:
    """Return pyproject.toml with new values under [tool.course]."""
    before, header, after_header = pyproject.partition("[tool.course]")
    table, next_table, after = after_header.partition("\n[")
    for key, value in (("repository", repository), ("tag", tag)):
        table = re.sub(
            rf"(?m)^(\s*{key}\s*=\s*)([\"']).*?\2", lambda m, v=value: f'{m[1]}"{v}"', table
        )
    return before + header + table + next_table + after


def _check_code_unchanged(path: Path, text: str, course: CourseFolder) -> None:
    """Raise `CourseError` if code would change, because its notebook would have to be rerun."""
    if path.suffix != ".py" or path.parent not in (course.sources, course.lab_sources):
        return
    lines = zip(path.read_text(encoding="utf-8").splitlines(), text.splitlines(), strict=True)
    for number, (before, after) in enumerate(lines, start=1):
        if before != after and not before.startswith("#"):
            raise CourseError(
                f"{path}, line {number}: the code contains a URL of the course: "
                f"{before.strip()}. Remove it from the code, and build the notebook."
            )
