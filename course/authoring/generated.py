"""The generated texts, in the translator's language: first and last cells, and the start page.

The start page, `index.md`, is the page of the site and of JupyterLab with all lessons and labs.
"""

from collections.abc import Iterable
from pathlib import Path

from course.authoring.sources import Header, Source, exercise_points, read_source
from course.course_folder import CourseFolder
from course.translation.documents import START_PAGE
from course.translation.translator import Translator, language_name
from helpers.language import ENGLISH

# A PNG, because JupyterLab does not show SVG attachments.
BADGE = Path(__file__).parents[2] / "docs" / "site" / "static" / "colab-badge.png"


def lesson_header(course: CourseFolder, source: Source, translator: Translator) -> list[str]:
    """Return the paragraphs above a lesson's setup cell."""
    translate, header = translator.translate, source.header
    time = translate("About {minutes} minutes.", minutes=header.minutes)
    badge = _badge(course, f"notebooks/{source.name}.ipynb")
    objectives = translate("After this lesson, you can")
    return _header(translator, header, translate(header.title), f"{time} {badge}", objectives)


def lab_header(
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
    translate, header, points = translator.translate, source.header, exercise_points(source)
    title = translate("Lab: {title}", title=translate(header.title))
    if answers:
        title = translate("Lab with answers: {title}", title=translate(header.title))
    time = translate(
        "About {minutes} minutes, {exercises} exercises, {points} points.",
        minutes=header.minutes,
        exercises=len(points),
        points=sum(points.values()),
    )
    objectives = translate("What you practice")
    badge = _badge(course, f"labs/{source.name}.ipynb")
    links = []
    if lesson is not None:
        link = _lesson_link(lesson, f"{root}/notebooks/", translator)
        colab = _colab_link(course, f"notebooks/{source.name}.ipynb", translator)
        links = [translate("The lesson: {link} ({colab})", link=link, colab=colab)]
    instructions = translate(
        "In each exercise, replace the line that raises `NotImplementedError`, or edit the "
        "given code. Run the cell, and then run the check below it, which tries your code on "
        "its own inputs. If a check fails, it shows a hint; run it again for the next hint. "
        "You can try as often as you like: the points stay the same."
    )
    parts = _header(translator, header, title, f"{time} {badge}", objectives, links)
    return [*parts, instructions]


def _header(
    translator: Translator,
    header: Header,
    title: str,
    time: str,
    objectives: str,
    links: Iterable[str] = (),
) -> list[str]:
    parts = [f"# {title}", translator.translate(header.promise), time, f"**{objectives}**"]
    parts.append(_bullets(map(translator.translate, header.objectives)))
    entries = [*links, *map(translator.translate, header.prerequisites)]
    needs = f"**{translator.translate('What you need')}**"
    return [*parts, needs, _bullets(entries)] if entries else parts


def lab_footer(
    source: Source, lesson: Source | None, root: str, translator: Translator
) -> list[str]:
    """Return the paragraphs at the end of a lab."""
    translate = translator.translate
    save = translate("Save the notebook: the boxes above show your results.")
    footer = [f"## {translate('What to do next')}", save]
    if lesson is not None:
        help_text = translate(
            "If a check keeps failing, go back to {lesson}: the third hint names the section.",
            lesson=_lesson_link(lesson, f"{root}/notebooks/", translator),
        )
        footer.append(help_text)
    return footer + _credits(source, translator)


def lesson_footer(
    course: CourseFolder, source: Source, next_lesson: Source | None, translator: Translator
) -> list[str]:
    """Return the paragraphs at the end of a lesson; `next_lesson` is the next one, if any."""
    # Colab cannot follow a link between files of a repository, so there are two links.
    translate, steps = translator.translate, []
    lab = f"labs/{source.name}.ipynb"
    if (course.root / lab).is_file():
        link = f"[{translate('the lab for this lesson')}](../{lab})"
        colab = _colab_link(course, lab, translator)
        steps.append(translate("Practice: {lab} ({colab})", lab=link, colab=colab))
    if next_lesson is not None:
        document = f"notebooks/{next_lesson.name}"
        link = _lesson_link(next_lesson, "", translator)
        colab = _colab_link(course, f"{document}.ipynb", translator)
        step = translate("Continue: {lesson} ({colab}).", lesson=link, colab=colab)
        steps.append(f"{step} {translator.title(document, next_lesson.header.promise)}")
    else:
        steps += [
            translate("This is the last lesson. Apply what you have learned to your own network.")
        ]
    site = f"https://github.com/{course.repository}"
    part = translate(
        "Part of {course}; text and code under the {license}.",
        course=f"[{course.repository.split('/')[-1]}]({site})",
        license=f"[{translate('MIT license')}]({site}/blob/{course.tag}/LICENSE)",
    )
    title = f"## {translate('What to do next')}"
    return [title, _bullets(steps), *_credits(source, translator), part]


def _credits(source: Source, translator: Translator) -> list[str]:
    entries = source.header.credits
    title = translator.translate("Credits")
    return [f"## {title}", _bullets(map(translator.translate, entries))] if entries else []


def _lesson_link(lesson: Source, folder: str, translator: Translator) -> str:
    title = translator.title(f"notebooks/{lesson.name}", lesson.header.title)
    return f"[{title}]({folder}{lesson.name}.ipynb)"


def _badge(course: CourseFolder, path: str) -> str:
    return f"[![Open in Colab](attachment:{BADGE.name})]({_colab_url(course, path)})"


def _colab_link(course: CourseFolder, path: str, translator: Translator) -> str:
    return f"[{translator.translate('in Colab')}]({_colab_url(course, path)})"


def _colab_url(course: CourseFolder, path: str) -> str:
    site = "https://colab.research.google.com/github"
    return f"{site}/{course.repository}/blob/{course.tag}/{path}"


def _bullets(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)


def start_page(course: CourseFolder, translator: Translator | None = None) -> str:
    """Return the page as Markdown, with the lessons and labs that have been built."""
    translator = translator or Translator()
    translate = translator.translate
    lessons = [name for name in course.lesson_names() if course.notebook_path(name).is_file()]
    labs = {path.stem for path in course.labs.glob("[!._]*.ipynb")}
    lab_count = translate("{count} labs that check your code as you write it", count=len(labs))
    page = translator.markdown(START_PAGE.read_text(encoding="utf-8")).format(
        count=len(lessons),
        labs=lab_count if labs else translate("no labs yet"),
        lessons="\n".join(_entry(course, name, translator, name in labs) for name in lessons),
    )
    title, rest = translator.links(page, "index.md").split("\n", 1)
    return f"{title}\n{_language_links(course, translator)}{rest}"


def _language_links(course: CourseFolder, translator: Translator) -> str:
    """Return a line with links to the start page in other languages, if there are any."""
    if translator.language != ENGLISH:
        code = translator.translate("Code and its comments are in English in every language.")
        return f"\n[English](../../index.md) · {code}\n"
    codes = sorted(page.parent.name for page in course.root.glob("docs/[a-z][a-z]/index.md"))
    links = " · ".join(f"[{language_name(code)}](docs/{code}/index.md)" for code in codes)
    return f"\n{links}\n" if codes else ""


def _entry(course: CourseFolder, name: str, translator: Translator, has_lab: bool) -> str:
    lesson = read_source(course.source_path(name))
    entry = translator.translate(
        "**{number} {link}**, {minutes} minutes. {promise}",
        number=name[:2],
        link=_lesson_link(lesson, "notebooks/", translator),
        minutes=lesson.header.minutes,
        promise=translator.title(f"notebooks/{name}", lesson.header.promise),
    )
    if has_lab:
        lab = translator.translate(
            "Practice: {link}, {minutes} minutes.",
            link=f"[{translator.translate('the lab')}](labs/{name}.ipynb)",
            minutes=read_source(course.lab_source_path(name)).header.minutes,
        )
        return f"- {entry} {lab}"
    return f"- {entry}"
