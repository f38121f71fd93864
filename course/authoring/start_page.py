"""Write `index.md`, the first page of the site and of JupyterLab, with all lessons and labs.

`python -m course.authoring.start_page` writes it, and so does `make build`.
"""

from __future__ import annotations

from course.authoring.sources import read_source
from course.course_folder import CourseFolder, open_course

_PAGE = """\
# Learn to use GPUs with PyTorch

**The same notebooks, with the same outputs, on a machine with a GPU and on one without.**
Learn what a GPU is good for, how to move tensors and networks to it, how to read its error
messages, and how to make training fast. {count} lessons of about an hour each, {labs}.

- **No GPU?** The lessons about devices run on a simulated one, with CUDA's rules for devices and
  its error messages.
- **No installation?** Open any lesson in Colab with the badge at its top.
- **Not sure?** Every output is stored, so you can read a lesson before you run it.

Open a lesson, and run its cells from the top with Shift+Enter. New to notebooks? Read
[The first five minutes](docs/first_five_minutes.md).

## Lessons

{lessons}

## Help

- [No GPU](docs/help.md#no-gpu), [no network](docs/help.md#no-network),
  [little disk space](docs/help.md#little-disk), [an old driver](docs/help.md#an-old-driver)
- [Windows](docs/help.md#windows) and [macOS](docs/help.md#macos)
- [Ways to install the course](docs/help.md#ways-in)
- [Glossary](docs/glossary.md): the terms of the course in one place

Do you teach with the course, or want to change it? See the [README](README.md).
"""


def start_page(course: CourseFolder) -> str:
    """Return the page as Markdown, with the lessons and labs that have been built."""
    lessons = [name for name in course.lesson_names() if course.notebook_of(name).is_file()]
    labs = {path.stem for path in course.labs.glob("[!._]*.ipynb")}
    return _PAGE.format(
        count=len(lessons),
        labs=f"{len(labs)} labs that check your code as you write it" if labs else "no labs yet",
        lessons="\n".join(_entry(course, name, name in labs) for name in lessons),
    )


def _entry(course: CourseFolder, name: str, has_lab: bool) -> str:
    header = read_source(course.source_of(name)).header
    link = f"[{header.title}](notebooks/{name}.ipynb)"
    entry = f"- **{name[:2]} {link}**, {header.minutes} minutes. {header.promise}"
    if has_lab:
        lab = read_source(course.labs / "source" / f"{name}.py")
        entry += f" Practice: [the lab](labs/{name}.ipynb), {lab.header.minutes} minutes."
    return entry


def main() -> None:
    """Write the start page of the course in the working directory."""
    course = open_course()
    (course.root / "index.md").write_text(start_page(course), encoding="utf-8")


if __name__ == "__main__":
    main()
