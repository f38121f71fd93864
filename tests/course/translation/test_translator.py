"""Texts, links and the call to `lesson.start` are translated, and nothing else changes."""

import pytest

from course.course_folder import CourseError
from course.translation.markdown import sort_tables, structure, text_blocks, translate_markdown
from course.translation.translator import Translator, language_name
from tests.course.translation.same_code import without_language

COLAB = "https://colab.research.google.com/github/o/r/blob/main"
PAGES = {"notebooks/01_next.ipynb", "labs/00_first.ipynb", "docs/help.md", "index.md"}
PAGE = """\
## A computer you can watch (6 minutes)

The **CPU** runs your browser,
your word processor, and `this
notebook`.

- **Memory**: numbered cells
  that hold data.
- `code`
1. First step

> A quoted sentence.

| design | fits any task |
|---|---:|
| 1 | 2 |

<details><summary>Answer</summary>

No. [Read on](01_next.ipynb#part).

</details>

<table><tr><td>print each <code>.device</code>,
then add</td></tr></table>

```
code stays
```

Line one  
line two
"""
TEXTS = [
    ("heading", "A computer you can watch (6 minutes)"),
    ("paragraph", "The **CPU** runs your browser, your word processor, and `this notebook`."),
    ("list item", "**Memory**: numbered cells that hold data."),
    ("list item", "First step"),
    ("paragraph", "A quoted sentence."),
    ("table row", "| design | fits any task |"),
    ("HTML", "Answer"),
    ("paragraph", "No. [Read on](01_next.ipynb#part)."),
    ("HTML", "print each <code>.device</code>, then add"),
    ("paragraph", "Line one  \nline two"),
]


def test_finds_each_text_once_in_order():
    assert [(piece.kind, piece.text) for piece in text_blocks(PAGE)] == TEXTS


def test_only_the_texts_are_replaced():
    new = translate_markdown(PAGE, lambda text: text.upper() if text == "First step" else text)
    assert new.split() == PAGE.replace("First step", "FIRST STEP").split()
    assert structure(new) == structure(PAGE)


def test_continuation_lines_are_indented_and_repeated_texts_replaced():
    new = translate_markdown("- one two\n- one two", lambda text: "uno  \ndos")
    assert new == "- uno  \n  dos\n- uno  \n  dos"


@pytest.mark.parametrize(
    ("language", "terms"), [("es", "árbol bus zona"), ("ko", "GPU 값 장치"), ("zh", "CPU 步 参数")]
)
def test_rows_of_a_table_are_in_the_order_of_the_language(language, terms):
    rows = [f"| {term} | x |\n" for term in terms.split()]
    expected, given = ("".join(["|a|b|\n|-|-|\n", *some]) for some in (rows, rows[::-1]))
    assert sort_tables(given, language) == expected


@pytest.mark.parametrize("text", ["94 %", "`net.to(device)`", "$U V^T$", "<br>", "[`x`](y.md)"])
def test_text_without_words_is_not_translated(text):
    assert text_blocks(text) == ()


@pytest.mark.parametrize(
    ("page", "link", "translated"),
    [
        ("notebooks/00_first.ipynb", "01_next.ipynb", "01_next.ipynb"),
        ("notebooks/00_first.ipynb", "02_later.ipynb", "../02_later.ipynb"),
        ("notebooks/00_first.ipynb", "../labs/00_first.ipynb", "../../labs/es/00_first.ipynb"),
        ("notebooks/00_first.ipynb", "../docs/help.md#no-gpu", "../../docs/es/help.md#no-gpu"),
        ("index.md", "notebooks/01_next.ipynb", "../../notebooks/es/01_next.ipynb"),
        ("docs/help.md", "../Containerfile", "../../Containerfile"),
        ("docs/help.md", "https://pytorch.org", "https://pytorch.org"),
        ("index.md", f"{COLAB}/labs/00_first.ipynb", f"{COLAB}/labs/es/00_first.ipynb"),
        ("index.md", f"{COLAB}/labs/02_later.ipynb", f"{COLAB}/labs/02_later.ipynb"),
    ],
)
@pytest.mark.parametrize("markdown", ["[Read]({}) on.", '<a href="{}">', "[![Open](x.png)]({})"])
def test_link_opens_the_translated_page_if_there_is_one(page, link, translated, markdown):
    links = Translator("es", pages=[*PAGES, "x.png"]).links(markdown.format(link), page)
    assert f"({translated})" in links or f'"{translated}"' in links


@pytest.mark.parametrize(
    ("code", "translated"),
    [
        ("lesson.start()", 'lesson.start(language="es")'),
        ("d = lesson.start(seed=1)", 'd = lesson.start(seed=1, language="es")'),
        ("lesson.start(f(1), 'ñ')\nx", "lesson.start(f(1), 'ñ', language=\"es\")\nx"),
        ("# lesson.start(seed=1)", "# lesson.start(seed=1)"),
    ],
)
def test_language_is_passed_to_lesson_start_and_can_be_removed(code, translated):
    assert Translator("es").code(code) == translated
    assert without_language(translated) == code


@pytest.mark.parametrize(("code", "name"), [("es", "español"), ("ja", "日本語"), ("xx", "xx")])
def test_language_has_its_native_name(code, name):
    assert language_name(code) == name


def test_translation_that_changes_the_structure_is_refused():
    class Catalog:
        file = "es.po"

        def translation_of(self, text):
            return f"# {text}"

    with pytest.raises(CourseError, match="structure of headings"):
        Translator("es", (Catalog(),)).markdown("A paragraph.")
