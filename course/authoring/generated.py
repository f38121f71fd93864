"""The generated first and last cells of lessons and labs, in the language of their words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from course.authoring.labs import points_of
from course.authoring.sources import Source
from course.course_folder import CourseFolder
from course.translation.words import Words

# A PNG, because JupyterLab does not show SVG attachments.
BADGE = Path(__file__).parents[2] / "docs" / "site" / "static" / "colab-badge.png"


def lesson_opening(course: CourseFolder, source: Source, words: Words) -> list[str]:
    """Return the paragraphs above a lesson's set-up cell."""
    path = f"notebooks/{source.name}.ipynb"
    header = source.header
    time = words.translate("About {minutes} minutes.", minutes=header.minutes)
    opening = [
        f"# {words.translate(header.title)}",
        words.translate(header.promise),
        f"{time} {_badge(course, path)}",
        f"**{words.translate('After this lesson, you can')}**",
        _bullets(map(words.translate, header.objectives)),
    ]
    return opening + _needed(words, [words.translate(entry) for entry in header.prerequisites])


def lab_opening(
    course: CourseFolder,
    source: Source,
    lesson: Source | None,
    root: str,
    words: Words,
    *,
    answers: bool,
) -> list[str]:
    """Return the paragraphs above a lab's set-up cell.

    `root` is the path from the notebook to the folder of the course.
    """
    header, points = source.header, points_of(source)
    title = words.translate(header.title)
    kind = words.translate("Lab with answers") if answers else words.translate("Lab")
    time = words.translate(
        "About {minutes} minutes, {exercises} exercises, {points} points.",
        minutes=header.minutes,
        exercises=len(points),
        points=sum(points.values()),
    )
    parts = [
        f"# {kind}: {title}",
        words.translate(header.promise),
        f"{time} {_badge(course, f'labs/{source.name}.ipynb')}",
        f"**{words.translate('What you practice')}**",
        _bullets(map(words.translate, header.objectives)),
    ]
    needed = [words.translate(entry) for entry in header.prerequisites]
    if lesson is not None:
        document = f"notebooks/{source.name}"
        link = f"[{words.title(document, lesson.header.title)}]({root}/{document}.ipynb)"
        colab = f"[{words.translate('in Colab')}]({_colab_address(course, f'{document}.ipynb')})"
        needed.insert(0, words.translate("The lesson: {link} ({colab})", link=link, colab=colab))
    parts += _needed(words, needed)
    parts.append(
        words.translate(
            "In each exercise, replace the line that raises `NotImplementedError`, or edit the "
            "given code. Run the cell, and then run the check below it, which tries your code on "
            "its own inputs. If a check fails, it shows a hint; run it again for the next hint. "
            "You can try as often as you like: the points stay the same."
        )
    )
    return parts


def _needed(words: Words, entries: list[str]) -> list[str]:
    title = words.translate("Before you start, you need")
    return [f"**{title}**", _bullets(entries)] if entries else []


def lab_closing(source: Source, lesson: Source | None, root: str, words: Words) -> list[str]:
    """Return the paragraphs at the end of a lab."""
    save = words.translate("Save the notebook: the boxes above show your results.")
    closing = [f"## {words.translate('What to do next')}", save]
    if lesson is not None:
        document = f"notebooks/{source.name}"
        title = words.title(document, lesson.header.title)
        link = f"[{title}]({root}/{document}.ipynb)"
        closing.append(
            words.translate(
                "If a check keeps failing, go back to {lesson}: the third hint names the section.",
                lesson=link,
            )
        )
    return closing + _credits(source, words)


def lesson_closing(
    course: CourseFolder, source: Source, following: Source | None, words: Words
) -> list[str]:
    """Return the paragraphs at the end of a lesson; `following` is the next one, if any."""
    # Colab cannot follow a link between files of a repository, so there are two links.
    steps = []
    in_colab = words.translate("in Colab")
    lab = f"{source.name}.ipynb"
    if (course.labs / lab).is_file():
        link = f"[{words.translate('the lab for this lesson')}](../labs/{lab})"
        colab = f"[{in_colab}]({_colab_address(course, f'labs/{lab}')})"
        steps.append(words.translate("Practice: {lab} ({colab})", lab=link, colab=colab))
    if following is not None:
        document = f"notebooks/{following.name}"
        file = f"{following.name}.ipynb"
        link = f"[{words.title(document, following.header.title)}]({file})"
        colab = f"[{in_colab}]({_colab_address(course, f'notebooks/{file}')})"
        step = words.translate("Continue: {lesson} ({colab}).", lesson=link, colab=colab)
        steps.append(f"{step} {words.title(document, following.header.promise)}")
    else:
        steps.append(
            words.translate(
                "This is the last lesson. Apply what you have learned to your own network."
            )
        )
    parts = [f"## {words.translate('What to do next')}", _bullets(steps), *_credits(source, words)]
    site = f"https://github.com/{course.repository}"
    name = course.repository.split("/")[-1]
    part = words.translate(
        "Part of {course}; text and code under the {license}.",
        course=f"[{name}]({site})",
        license=f"[{words.translate('MIT license')}]({site}/blob/{course.tag}/LICENSE)",
    )
    return [*parts, part]


def _credits(source: Source, words: Words) -> list[str]:
    entries = source.header.credits
    title = words.translate("Credits")
    return [f"## {title}", _bullets(map(words.translate, entries))] if entries else []


def _badge(course: CourseFolder, path: str) -> str:
    return f"[![Open in Colab](attachment:{BADGE.name})]({_colab_address(course, path)})"


def _colab_address(course: CourseFolder, path: str) -> str:
    site = "https://colab.research.google.com/github"
    return f"{site}/{course.repository}/blob/{course.tag}/{path}"


def _bullets(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)
