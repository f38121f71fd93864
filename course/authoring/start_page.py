"""The text of `index.md`, the start page of the site and of JupyterLab, with all lessons and labs.

`course build` writes it.
"""

from __future__ import annotations

from course.authoring.sources import read_source
from course.course_folder import CourseFolder
from course.translation.documents import START_PAGE
from course.translation.translator import Translator, language_name
from helpers.language import ENGLISH


def start_page(course: CourseFolder, translator: Translator | None = None) -> str:
    """Return the page as Markdown, with the lessons and labs that have been built."""
    translator = translator or Translator()
    lessons = [name for name in course.lesson_names() if course.notebook_path(name).is_file()]
    labs = {path.stem for path in course.labs.glob("[!._]*.ipynb")}
    page = translator.markdown(START_PAGE.read_text(encoding="utf-8")).format(
        count=len(lessons),
        labs=translator.translate(
            "{count} labs that check your code as you write it", count=len(labs)
        )
        if labs
        else translator.translate("no labs yet"),
        lessons="\n".join(_entry(course, name, translator, name in labs) for name in lessons),
    )
    title, rest = translator.links(page, "index.md").split("\n", 1)
    return f"{title}\n{_language_links(course, translator)}{rest}"


def _language_links(course: CourseFolder, translator: Translator) -> str:
    """Return a line with links to the start page in other languages, if there are any."""
    if translator.language != ENGLISH:
        return "\n[English](../../index.md)\n"
    pages = sorted((course.root / "docs").glob("[a-z][a-z]/index.md"))
    links = (
        f"[{language_name(page.parent.name)}](docs/{page.parent.name}/index.md)" for page in pages
    )
    return f"\n{' · '.join(links)}\n" if pages else ""


def _entry(course: CourseFolder, name: str, translator: Translator, has_lab: bool) -> str:
    header = read_source(course.source_path(name)).header
    document = f"notebooks/{name}"
    title = translator.title(document, header.title)
    entry = translator.translate(
        "**{number} {link}**, {minutes} minutes. {promise}",
        number=name[:2],
        link=f"[{title}]({document}.ipynb)",
        minutes=header.minutes,
        promise=translator.title(document, header.promise),
    )
    if has_lab:
        lab = translator.translate(
            "Practice: {link}, {minutes} minutes.",
            link=f"[{translator.translate('the lab')}](labs/{name}.ipynb)",
            minutes=read_source(course.lab_source_path(name)).header.minutes,
        )
        entry = f"{entry} {lab}"
    return f"- {entry}"
