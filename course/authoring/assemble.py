"""Assemble unexecuted notebooks: header, setup cell, the source's cells, footer."""

import base64
import copy
import hashlib
from collections import Counter
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course.authoring.generated import BADGE, lab_footer, lab_header, lesson_footer, lesson_header
from course.authoring.sources import Source, lab_cells, nbgrader_metadata, read_source
from course.course_folder import CourseFolder
from course.translation.translator import Translator
from helpers import packages
from helpers.language import ENGLISH

# This cell runs first, so it uses only the standard library. It unpacks the archive into a
# temporary folder, so that an interrupted download does not leave an incomplete copy.
SETUP_CELL = Path(__file__).with_name("setup_cell.template")

# Matches JupyterLab's metadata; `docs/jupyterlab/config.py` keeps the version when it saves.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3.12.0",
    },
    # Colab opens the lesson on a machine with a GPU.
    "accelerator": "GPU",
    "colab": {"gpuType": "T4", "provenance": []},
}
IN_ENGLISH = Translator()


def assemble_lesson(
    course: CourseFolder, name: str, translator: Translator = IN_ENGLISH
) -> NotebookNode:
    """Return the notebook of a lesson in the language of `translator`, without outputs."""
    source = read_source(course.source_path(name))
    # The footer links to the next lesson.
    later = [other for other in course.lesson_names() if other > name]
    next_lesson = read_source(course.source_path(later[0])) if later else None
    header = lesson_header(course, source, translator)
    footer = lesson_footer(course, source, next_lesson, translator)
    page, cells = f"notebooks/{name}.ipynb", copy.deepcopy(source.cells)
    return _notebook(source, page, header, bootstrap(course), cells, footer, translator)


def assemble_lab(
    course: CourseFolder, name: str, *, answers: bool, translator: Translator = IN_ENGLISH
) -> NotebookNode:
    """Return the notebook of lab `name`, with answers or with stubs."""
    source = read_source(course.lab_source_path(name))
    lesson_file = course.source_path(name)
    lesson = read_source(lesson_file) if lesson_file.is_file() else None
    page = f"labs/{'solutions/' if answers else ''}{name}.ipynb"
    root = "../.." if answers else ".."
    header = lab_header(course, source, lesson, root, translator, answers=answers)
    footer = lab_footer(source, lesson, root, translator)
    setup = bootstrap(course)
    setup.metadata["nbgrader"] = nbgrader_metadata("bootstrap")
    cells = lab_cells(source, answers=answers)
    return _notebook(source, page, header, setup, cells, footer, translator)


def bootstrap(course: CourseFolder) -> NotebookNode:
    """Return the setup cell, which makes `import helpers` work wherever the notebook is opened."""
    # The folder name in GitHub's archives, so that two versions have different folders.
    folder = f"{course.repository.split('/')[-1]}-{course.tag.replace('/', '-')}"
    template = SETUP_CELL.read_text(encoding="utf-8").removesuffix("\n")
    fields = {"repository": course.repository, "tag": course.tag, "version": packages.VERSION}
    code = template.format(folder=folder, **fields)
    # Collapsed in Colab and in JupyterLab.
    cell_options = {"cellView": "form", "jupyter": {"source_hidden": True}}
    return new_code_cell(code, metadata={**cell_options, "tags": ["bootstrap"]})


def _notebook(
    source: Source,
    page: str,
    header: list[str],
    setup: NotebookNode,
    cells: list[NotebookNode],
    footer: list[str],
    translator: Translator,
) -> NotebookNode:
    for cell in cells:
        translate = translator.markdown if cell.cell_type == "markdown" else translator.code
        cell.source = translate(cell.source)
    first, last = (new_markdown_cell("\n\n".join(paragraphs)) for paragraphs in (header, footer))
    badge = base64.b64encode(BADGE.read_bytes()).decode()
    first.attachments = nbformat.from_dict({BADGE.name: {"image/png": badge}})
    notebook = new_notebook(
        cells=[first, setup, *cells, last], metadata=nbformat.from_dict(METADATA)
    )
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = translator.links(cell.source, page)
    notebook.metadata["title"] = translator.translate(source.header.title)
    # `course build --check` compares these digests.
    record = {
        "source": f"{page.split('/')[0]}/source/{source.name}.py",
        "source_sha256": source.sha256,
        "generated_sha256": _digest(first.source + setup.source + last.source),
    }
    if translator.language != ENGLISH:
        translated = "".join(cell.source for cell in cells if cell.cell_type == "markdown")
        record |= {"language": translator.language, "translation_sha256": _digest(translated)}
    notebook.metadata["course"] = nbformat.from_dict(record)
    # Ids are derived from the content, so that rebuilding keeps them.
    counts: Counter[str] = Counter()
    for cell in notebook.cells:
        digest = _digest(cell.cell_type + "\n" + cell.source)[:12]
        counts[digest] += 1
        cell.id = digest if counts[digest] == 1 else f"{digest}-{counts[digest]}"
    return notebook


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
