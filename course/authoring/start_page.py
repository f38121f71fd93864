"""Writes `index.md`, the page that JupyterLab and the site open at: every lesson, every lab.

`python -m course.authoring.start_page` writes it anew; `make build` does so too.
"""

from __future__ import annotations

from course.authoring.lesson_source import LessonSource, read_source
from course.course_folder import CourseFolder, open_course

_PAGE = """\
# Start here

You learn to use GPUs from PyTorch: what a GPU is good for, how tensors and networks get there, what
the errors on the way mean, and how to train on one. You need no GPU to begin. Where the machine has
none, the lessons about devices run on a simulated one and say so.

Open a lesson and run its cells from the top with Shift+Enter. The stored outputs are there before
you run anything, so you can read first. {labs}

## Lessons

{lessons}

## When something is in the way

- [No GPU](docs/help.md#no-gpu), [no network](docs/help.md#no-network),
  [little disk](docs/help.md#little-disk), [an old driver](docs/help.md#an-old-driver)
- [Windows](docs/help.md#windows) and [macOS](docs/help.md#macos)
- [Ways to install the course](docs/help.md#ways-in)

You teach with the course, or want to change it? The [README](README.md) has a section for you.
"""
_ABOUT_LABS = (
    "Where a lab goes with a lesson, you write the\ncode there yourself, and a check says at once "
    "what is right."
)


def start_page(course: CourseFolder) -> str:
    """The start page's Markdown: the lessons and labs that are built, in the course's order."""
    lessons = [name for name in course.lesson_names() if course.notebook_of(name).is_file()]
    labs = {path.stem for path in course.labs.glob("[!._]*.ipynb")}
    return _PAGE.format(
        lessons="\n".join(_entry(course, name, name in labs) for name in lessons),
        labs=_ABOUT_LABS if labs else "",
    ).replace(" \n", "\n")


def _entry(course: CourseFolder, name: str, has_lab: bool) -> str:
    header = read_source(course.source_of(name)).header
    link = f"[{header.title}](notebooks/{name}.ipynb)"
    entry = f"- **{name[:2]} {link}**, {header.minutes} minutes. {header.promise}"
    if has_lab:
        lab: LessonSource = read_source(course.labs / "source" / f"{name}.py")
        entry += f" Practise: [the lab](labs/{name}.ipynb), {lab.header.minutes} minutes."
    return entry


def main() -> None:
    """Write the start page of the course around the working folder."""
    course = open_course()
    (course.root / "index.md").write_text(start_page(course), encoding="utf-8")


if __name__ == "__main__":
    main()
