"""Sphinx's settings for the course as a web site: the stored notebooks as pages, nothing executed.

Sphinx reads from the root of the repository, so that a link between files leads to the same place
on the site, in JupyterLab and on GitHub. `make site` calls it.
"""

import base64
import hashlib
import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COURSE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["course"]
REPOSITORY = f"https://github.com/{COURSE['repository']}"

project = COURSE["repository"].split("/")[-1]
author = f"the makers of {project}"
language = "en"
root_doc = "index"
include_patterns = [
    "index.md",
    "README.md",
    "docs/*.md",
    "notebooks/[!._]*.ipynb",
    "labs/[!._]*.ipynb",
]
exclude_patterns = ["**/.ipynb_checkpoints", "build", "runs", ".venv"]

extensions = ["myst_nb"]
nb_execution_mode = "off"
# A heading may be linked to as on GitHub.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

html_theme = "pydata_sphinx_theme"
html_title = "GPU course kit"
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_static_path = ["static"]
html_css_files = ["site.css"]
templates_path = ["templates"]
html_sidebars = {"**": ["contents"]}
html_theme_options = {
    "github_url": REPOSITORY,
    "use_edit_page_button": False,
    # The contents stand at the side; a dozen titles in the header take three lines.
    "navbar_center": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = f"{project}, MIT licence"

_FIGURE = re.compile(r'src="data:image/png;base64,([\w+/=]+)"')
_LINK = re.compile(r"\]\(([\w./-]+)\)")
_GROUPS = (("Lessons", "notebooks"), ("Labs", "labs"))


def _read_page(app, docname, source):
    """Prepare a page before it is parsed: the contents of the site, or a notebook's figures."""
    if docname.startswith(("notebooks/", "labs/")):
        source[0] = _notebook(source[0], Path(app.outdir))
        return
    source[0] = _LINK.sub(lambda link: _to_folder(link, Path(docname).parent), source[0])
    if docname == root_doc:
        source[0] += _contents(app.env.found_docs)


def _to_folder(link, place):
    """Lead a link to a folder, which GitHub shows and the site does not, to GitHub."""
    folder = (ROOT / place / link[1]).resolve()
    if not folder.is_dir():
        return link[0]
    return f"]({REPOSITORY}/tree/{COURSE['tag']}/{folder.relative_to(ROOT).as_posix()})"


def _contents(pages):
    """The side bar's contents as toctrees, which GitHub and JupyterLab would show as code."""
    text = ""
    for caption, folder in _GROUPS:
        inside = sorted(page for page in pages if page.startswith(f"{folder}/"))
        if inside:
            text += _toctree(caption, inside)
    about = sorted(page for page in pages if page.startswith("docs/"))
    return text + _toctree("About the course", [*about, "README"])


def _toctree(caption, pages):
    return "\n".join(["\n\n```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])


def _notebook(text, output):
    """Leave out what no reader needs; put each figure into a file, which loads when it is seen."""
    notebook = json.loads(text)
    cells = notebook["cells"]
    notebook["cells"] = [
        cell for cell in cells if "bootstrap" not in cell["metadata"].get("tags", [])
    ]
    for cell in notebook["cells"]:
        for data in (shown.get("data", {}) for shown in cell.get("outputs", [])):
            # What a lesson records for a run's report is nothing to look at.
            data.pop("application/vnd.gpu-course.result+json", None)
            html = "".join(data.get("text/html", ""))
            if _FIGURE.search(html):
                data["text/html"] = _FIGURE.sub(lambda figure: _file_of(figure, output), html)
    return json.dumps(notebook)


def _file_of(figure, output):
    png = base64.b64decode(figure[1])
    name = f"{hashlib.sha256(png).hexdigest()[:20]}.png"
    folder = output / "_images"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(png)
    # Every notebook's page lies one folder below the start page.
    return f'src="../_images/{name}" loading="lazy"'


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", _read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
