"""Settings of Sphinx for the web site: the stored notebooks as pages, without executing them.

Sphinx reads from the root of the repository, so that a link between files works on the site, in
JupyterLab and on GitHub. `make site` builds the site in English, and then in each other language,
as a site of its own in a folder below it, so that each one has its own search.
"""

import base64
import hashlib
import json
import os
import posixpath
import re
import sys
import tomllib
from pathlib import Path

import jieba
from sphinx.search.zh import SearchChinese

ROOT = Path(__file__).resolve().parents[2]
COURSE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["course"]
REPOSITORY = f"https://github.com/{COURSE['repository']}"

# Sphinx does not start in the folder of the course.
sys.path.insert(0, str(ROOT))

from course.course_folder import open_course  # noqa: E402
from course.translation.course_translation import read_translation  # noqa: E402
from course.translation.translator import Translator, language_name, translated_path  # noqa: E402

ENGLISH = "en"
LANGUAGE = os.environ.get("COURSE_SITE_LANGUAGE", ENGLISH)
TRANSLATOR = (
    Translator()
    if LANGUAGE == ENGLISH
    else read_translation(open_course(ROOT), LANGUAGE).translator("pages")
)
LANGUAGES = [ENGLISH, *sorted(page.parent.name for page in ROOT.glob("docs/[a-z][a-z]/index.md"))]
# What Sphinx calls a language, where the code alone is not enough.
SPHINX_NAMES = {"zh": "zh_CN"}

project = COURSE["repository"].split("/")[-1]
author = f"the authors of {project}"
language = SPHINX_NAMES.get(LANGUAGE, LANGUAGE)
# Sphinx 9 calls the stemmer of the Chinese search "ChineseStemmer", but includes the English one.
SearchChinese.language_name = "English"
# jieba would divide the words of the course, such as 线程束, and a search would not find them.
if LANGUAGE == "zh":
    GLOSSARY = (ROOT / "docs" / "zh" / "glossary.md").read_text(encoding="utf-8")
    for word in re.findall(r"^\| (\w+)", GLOSSARY, flags=re.MULTILINE):
        jieba.add_word(word)
ENGLISH_PAGES = [
    "index.md",
    "README.md",
    "docs/*.md",
    "notebooks/[!._]*.ipynb",
    "labs/[!._]*.ipynb",
]
include_patterns = [translated_path(page, LANGUAGE) for page in ENGLISH_PAGES]
root_doc = translated_path("index.md", LANGUAGE).removesuffix(".md")
# Pages of the site in another language, and their sections, as addresses from the page.
myst_url_schemes = {
    **dict.fromkeys(("http", "https", "mailto")),
    "page": "{{path}}",
    "section": "{{path}}#{{fragment}}",
}
exclude_patterns = ["**/.ipynb_checkpoints", "build", "runs", ".venv"]

extensions = ["myst_nb", "sphinx_copybutton"]
nb_execution_mode = "off"
# Links to headings use GitHub's names.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

html_theme = "pydata_sphinx_theme"
html_title = TRANSLATOR.translate("GPUs with PyTorch")
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
templates_path = ["templates"]
html_sidebars = {"**": ["contents"]}
html_theme_options = {
    "github_url": REPOSITORY,
    "use_edit_page_button": False,
    # The contents are in the sidebar; a dozen titles in the header would take three lines.
    "navbar_center": [],
    "navbar_end": ["languages", "theme-switcher", "navbar-icon-links"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = f"{project}, MIT license"

# Copy the code only, without prompts of examples. Outputs have no button: each one is a tab stop.
copybutton_selector = "div.highlight:not(.cell_output *) pre"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

_FIGURE = re.compile(r'src="data:image/png;base64,([\w+/=]+)"')
_LINK = re.compile(r"\]\(([\w./-]+)(#[\w-]+)?\)")
# MyST finds a section by such a name only in its own form.
_ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
_BADGE = "colab-badge.png"
_GROUPS = (
    (TRANSLATOR.translate("Lessons"), translated_path("notebooks/", LANGUAGE)),
    (TRANSLATOR.translate("Labs"), translated_path("labs/", LANGUAGE)),
)


def _read_page(app, docname, source):
    """Prepare a page before it is parsed: the contents of the site, or a notebook's figures."""
    pages = app.env.found_docs
    if docname.startswith(("notebooks/", "labs/")):
        source[0] = _notebook(source[0], docname, Path(app.outdir))
        return
    source[0] = _ANCHOR.sub(r"(\1)=", _with_links(source[0], docname))
    if docname == root_doc:
        source[0] += _contents(pages)


def _with_links(text, docname):
    """Point links to folders to GitHub, and links to pages in another language to its site."""

    def changed(link):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(docname), link[1]))
        page, suffix = posixpath.splitext(path)
        if (ROOT / path).is_dir():
            return f"]({REPOSITORY}/tree/{COURSE['tag']}/{path})"
        code = _language_of(page)
        if suffix not in (".md", ".ipynb") or code == LANGUAGE:
            return link[0]
        address = _relative(_address(page, code), docname)
        return f"](section:{address}{link[2]})" if link[2] else f"](page:{address})"

    return _LINK.sub(changed, text)


def _language_of(page):
    """Return the language of a page, from its folder."""
    found = re.match(r"(?:docs|notebooks|labs)/([a-z][a-z])/", page)
    return found[1] if found else ENGLISH


def _address(page, code):
    """Return the address of a page from the start of the site."""
    return f"{page}.html" if code == ENGLISH else f"{code}/{page}.html"


def _relative(address, pagename):
    """Return an address as a page of this language needs it."""
    return posixpath.relpath(address, posixpath.dirname(_address(pagename, LANGUAGE)) or ".")


def _contents(pages):
    """Return the sidebar's toctrees, which GitHub and JupyterLab would show as code."""
    text = ""
    for caption, folder in _GROUPS:
        inside = sorted(page for page in pages if posixpath.dirname(page) == folder.rstrip("/"))
        if inside:
            text += _toctree(caption, [_numbered(page) for page in inside])
    readme = translated_path("README.md", LANGUAGE).removesuffix(".md")
    about = sorted(page for page in pages if page.startswith("docs/"))
    about = [_from_root(page) for page in about if page not in (root_doc, readme)]
    title = (
        "README for instructors" if LANGUAGE == ENGLISH else TRANSLATOR.translate("For students")
    )
    caption = TRANSLATOR.translate("About the course")
    return text + _toctree(caption, [*about, f"{title} <{_from_root(readme)}>"])


def _numbered(page):
    """Return a toctree entry with the number of the lesson or lab before its title."""
    notebook = json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))
    number = Path(page).name[:2]
    title = notebook["metadata"].get("title", Path(page).name)
    return f"{number} {title} <{_from_root(page)}>"


def _from_root(page):
    """Return a page as the toctree on the start page names it."""
    return page if LANGUAGE == ENGLISH else f"/{page}"


def _toctree(caption, pages):
    return "\n".join(["\n\n```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])


def _notebook(text, docname, output):
    """Remove what readers do not need, and move each figure to a file, which loads lazily."""
    notebook = json.loads(text)
    cells = notebook["cells"]
    notebook["cells"] = [
        cell for cell in cells if "bootstrap" not in cell["metadata"].get("tags", [])
    ]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = _with_links("".join(cell["source"]), docname)
        # MyST does not read attachments.
        if cell.pop("attachments", None):
            cell["source"] = cell["source"].replace(
                f"attachment:{_BADGE}", f"/docs/site/static/{_BADGE}"
            )
        for data in (shown.get("data", {}) for shown in cell.get("outputs", [])):
            # Results for a run's report are not for readers.
            for kind in ("result", "check"):
                data.pop(f"application/vnd.gpu-course.{kind}+json", None)
            html = "".join(data.get("text/html", ""))
            if _FIGURE.search(html):
                data["text/html"] = _FIGURE.sub(lambda f: _file_of(f, docname, output), html)
    return json.dumps(notebook)


def _file_of(figure, docname, output):
    png = base64.b64decode(figure[1])
    name = f"{hashlib.sha256(png).hexdigest()[:20]}.png"
    folder = output / "_images"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(png)
    up = "../" * docname.count("/")
    return f'src="{up}_images/{name}" loading="lazy"'


def _add_languages(app, pagename, templatename, context, doctree):
    """Tell the templates where the page is in the other languages."""
    english = _english_name(pagename)
    files = [file for file in (f"{english}.md", f"{english}.ipynb") if (ROOT / file).is_file()]
    context["languages_label"] = TRANSLATOR.translate("Languages")
    context["languages"] = [
        _in_language(pagename, file, code)
        for file in files
        for code in LANGUAGES
        if (ROOT / translated_path(file, code)).is_file()
    ]


def _english_name(pagename):
    """Return the name of the English page: `notebooks/es/00` is `notebooks/00`."""
    folder, name = posixpath.split(pagename)
    if LANGUAGE == ENGLISH:
        return pagename
    folder = folder.removesuffix(f"/{LANGUAGE}")
    return name if folder == "docs" and name in ("index", "README") else f"{folder}/{name}"


def _in_language(pagename, file, code):
    """Return the language's name and code, and the page's address, relative and absolute."""
    address = _address(posixpath.splitext(translated_path(file, code))[0], code)
    owner, name = COURSE["repository"].split("/")
    return {
        "code": SPHINX_NAMES.get(code, code).replace("_", "-"),
        "name": language_name(code),
        "current": code == LANGUAGE,
        "link": _relative(address, pagename),
        "address": f"https://{owner}.github.io/{name}/{address}",
    }


def _add_start_page(app, error):
    """Make the folder of a language, such as `/es/`, lead to its start page."""
    page = Path(app.outdir) / "index.html"
    if error is None and LANGUAGE != ENGLISH and not page.exists():
        link = f'<a href="{root_doc}.html">{language_name(LANGUAGE)}</a>'
        refresh = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">'
        page.write_text(f"<!doctype html>{refresh}<p>{link}", encoding="utf-8")


def setup(app):
    """Connect to Sphinx."""
    app.connect("source-read", _read_page)
    app.connect("html-page-context", _add_languages)
    app.connect("build-finished", _add_start_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
