"""Settings of Sphinx for the web site: the stored notebooks as pages, without executing them.

Sphinx reads from the root of the repository, so that a link between files works on the site, in
JupyterLab and on GitHub. `make site` builds the site.
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
author = f"the authors of {project}"
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

extensions = ["myst_nb", "sphinx_copybutton"]
nb_execution_mode = "off"
# Links to headings use GitHub's names.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

html_theme = "pydata_sphinx_theme"
html_title = "GPUs with PyTorch"
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
    # The contents are in the sidebar; a dozen titles in the header would take three lines.
    "navbar_center": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = f"{project}, MIT license"

# Copy the code only, without prompts of examples.
copybutton_selector = "div.cell_input div.highlight pre, div.highlight pre"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

_FIGURE = re.compile(r'src="data:image/png;base64,([\w+/=]+)"')
_LINK = re.compile(r"\]\(([\w./-]+)\)")
_BADGE = "colab-badge.png"
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
    """Point a link to a folder, which the site cannot show, to GitHub."""
    folder = (ROOT / place / link[1]).resolve()
    if not folder.is_dir():
        return link[0]
    return f"]({REPOSITORY}/tree/{COURSE['tag']}/{folder.relative_to(ROOT).as_posix()})"


def _contents(pages):
    """Return the sidebar's toctrees, which GitHub and JupyterLab would show as code."""
    text = ""
    for caption, folder in _GROUPS:
        inside = sorted(page for page in pages if page.startswith(f"{folder}/"))
        if inside:
            text += _toctree(caption, [_numbered(page) for page in inside])
    about = sorted(page for page in pages if page.startswith("docs/"))
    return text + _toctree("About the course", [*about, "README for instructors <README>"])


def _numbered(page):
    """Return a toctree entry with the number of the lesson or lab before its title."""
    notebook = json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))
    number = Path(page).name[:2]
    title = notebook["metadata"].get("title", Path(page).name)
    return f"{number} {title} <{page}>"


def _toctree(caption, pages):
    return "\n".join(["\n\n```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])


def _notebook(text, output):
    """Remove what readers do not need, and move each figure to a file, which loads lazily."""
    notebook = json.loads(text)
    cells = notebook["cells"]
    notebook["cells"] = [
        cell for cell in cells if "bootstrap" not in cell["metadata"].get("tags", [])
    ]
    for cell in notebook["cells"]:
        # MyST does not read attachments.
        if cell.pop("attachments", None):
            source = "".join(cell["source"])
            cell["source"] = source.replace(f"attachment:{_BADGE}", f"/docs/site/static/{_BADGE}")
        for data in (shown.get("data", {}) for shown in cell.get("outputs", [])):
            # Results for a run's report are not for readers.
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
    # Every notebook's page is one folder below the start page.
    return f'src="../_images/{name}" loading="lazy"'


def setup(app):
    """Connect to Sphinx."""
    app.connect("source-read", _read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
