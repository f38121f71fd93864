"""The generated first and last cells of lessons and labs, in the translator's language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from course.authoring.labs import exercise_points
from course.authoring.sources import Header, Source
from course.course_folder import CourseFolder
from course.translation.translator import Translator

# A PNG, because JupyterLab does not show SVG attachments.
BADGE = Path(__file__).parents[2] / "docs" / "site" / "static" / "colab-badge.png"


def lesson_opening(course: CourseFolder, source: Source, translator: Translator) -> list[str]:
    """Return the paragraphs above a lesson's setup cell."""
    header = source.header
    time = translator.translate("About {minutes} minutes.", minutes=header.minutes)
    objectives = translator.translate("After this lesson, you can")
    badge = _badge(course, f"notebooks/{source.name}.ipynb")
    opening = _opening(translator, header, "", f"{time} {badge}", objectives)
    return opening + _prerequisites(translator, header)


def lab_opening(
    course: CourseFolder,
    source: Source,
    lesson: Source | None,
    root: str,
    translator: Translator,
    *,
    answers: bool,
) -> list[str]:
    """Return the paragraphs above a lab's setup cell.

    `root` is the path from the notebook to the folder of the course.
    """
    header, points = source.header, exercise_points(source)
    kind = translator.translate("Lab with answers") if answers else translator.translate("Lab")
    time = translator.translate(
        "About {minutes} minutes, {exercises} exercises, {points} points.",
        minutes=header.minutes,
        exercises=len(points),
        points=sum(points.values()),
    )
    objectives = translator.translate("What you practice")
    badge = _badge(course, f"labs/{source.name}.ipynb")
    parts = _opening(translator, header, f"{kind}: ", f"{time} {badge}", objectives)
    links = []
    if lesson is not None:
        document = f"notebooks/{source.name}"
        link = f"[{translator.title(document, lesson.header.title)}]({root}/{document}.ipynb)"
        colab = f"[{translator.translate('in Colab')}]({_colab_url(course, f'{document}.ipynb')})"
        links = [translator.translate("The lesson: {link} ({colab})", link=link, colab=colab)]
    parts += _prerequisites(translator, header, links)
    parts.append(
        translator.translate(
            "In each exercise, replace the line that raises `NotImplementedError`, or edit the "
            "given code. Run the cell, and then run the check below it, which tries your code on "
            "its own inputs. If a check fails, it shows a hint; run it again for the next hint. "
            "You can try as often as you like: the points stay the same."
        )
    )
    return parts


def _opening(
    translator: Translator, header: Header, kind: str, time: str, objectives: str
) -> list[str]:
    return [
        f"# {kind}{translator.translate(header.title)}",
        translator.translate(header.promise),
        time,
        f"**{objectives}**",
        _bullets(map(translator.translate, header.objectives)),
    ]


def _prerequisites(translator: Translator, header: Header, links: Sequence[str] = ()) -> list[str]:
    title = translator.translate("Before you start, you need")
    entries = [*links, *map(translator.translate, header.prerequisites)]
    return [f"**{title}**", _bullets(entries)] if entries else []


def lab_closing(
    source: Source, lesson: Source | None, root: str, translator: Translator
) -> list[str]:
    """Return the paragraphs at the end of a lab."""
    save = translator.translate("Save the notebook: the boxes above show your results.")
    closing = [f"## {translator.translate('What to do next')}", save]
    if lesson is not None:
        document = f"notebooks/{source.name}"
        title = translator.title(document, lesson.header.title)
        link = f"[{title}]({root}/{document}.ipynb)"
        closing.append(
            translator.translate(
                "If a check keeps failing, go back to {lesson}: the third hint names the section.",
                lesson=link,
            )
        )
    return closing + _credits(source, translator)


def lesson_closing(
    course: CourseFolder, source: Source, next_lesson: Source | None, translator: Translator
) -> list[str]:
    """Return the paragraphs at the end of a lesson; `next_lesson` is the next one, if any."""
    # Colab cannot follow a link between files of a repository, so there are two links.
    steps = []
    in_colab = translator.translate("in Colab")
    lab = f"{source.name}.ipynb"
    if (course.labs / lab).is_file():
        link = f"[{translator.translate('the lab for this lesson')}](../labs/{lab})"
        colab = f"[{in_colab}]({_colab_url(course, f'labs/{lab}')})"
        steps.append(translator.translate("Practice: {lab} ({colab})", lab=link, colab=colab))
    if next_lesson is not None:
        document = f"notebooks/{next_lesson.name}"
        file = f"{next_lesson.name}.ipynb"
        link = f"[{translator.title(document, next_lesson.header.title)}]({file})"
        colab = f"[{in_colab}]({_colab_url(course, f'notebooks/{file}')})"
        step = translator.translate("Continue: {lesson} ({colab}).", lesson=link, colab=colab)
        steps.append(f"{step} {translator.title(document, next_lesson.header.promise)}")
    else:
        steps.append(
            translator.translate(
                "This is the last lesson. Apply what you have learned to your own network."
            )
        )
    parts = [
        f"## {translator.translate('What to do next')}",
        _bullets(steps),
        *_credits(source, translator),
    ]
    site = f"https://github.com/{course.repository}"
    name = course.repository.split("/")[-1]
    part = translator.translate(
        "Part of {course}; text and code under the {license}.",
        course=f"[{name}]({site})",
        license=f"[{translator.translate('MIT license')}]({site}/blob/{course.tag}/LICENSE)",
    )
    return [*parts, part]


def _credits(source: Source, translator: Translator) -> list[str]:
    entries = source.header.credits
    title = translator.translate("Credits")
    return [f"## {title}", _bullets(map(translator.translate, entries))] if entries else []


def _badge(course: CourseFolder, path: str) -> str:
    return f"[![Open in Colab](attachment:{BADGE.name})]({_colab_url(course, path)})"


def _colab_url(course: CourseFolder, path: str) -> str:
    site = "https://colab.research.google.com/github"
    return f"{site}/{course.repository}/blob/{course.tag}/{path}"


def _bullets(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)
