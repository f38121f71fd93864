"""The texts in Markdown are found and replaced, and nothing else changes."""

import pytest

from course.translation.markdown import structure, text_blocks, translate_markdown

PAGE = """\
## A computer you can watch (6 minutes)

The **CPU** runs your browser,
your word processor, and `this
notebook`.

- **Memory**: numbered cells
  that hold data.

  A second paragraph.
- `code`
1. First step

> A quoted sentence.

| design | fits any task |
|---|---:|
| network | each has `a | b` |
| 1 | 2 |

<details><summary>Answer</summary>

No. [Read on](01_next.ipynb#part).

</details>

<table>
<tr><th scope="col">the message says</th></tr>
<tr><td>print each <code>.device</code>,
then add</td></tr>
</table>

```
code stays
```

    so does this

<a id="ways-in"></a>

Line one  
line two
"""
TEXTS = [
    ("heading", "A computer you can watch (6 minutes)"),
    ("paragraph", "The **CPU** runs your browser, your word processor, and `this notebook`."),
    ("list item", "**Memory**: numbered cells that hold data."),
    ("list item", "A second paragraph."),
    ("list item", "First step"),
    ("paragraph", "A quoted sentence."),
    ("table row", "| design | fits any task |"),
    ("table row", "| network | each has `a | b` |"),
    ("HTML", "Answer"),
    ("paragraph", "No. [Read on](01_next.ipynb#part)."),
    ("HTML", "the message says"),
    ("HTML", "print each <code>.device</code>, then add"),
    ("paragraph", "Line one  \nline two"),
]


def test_finds_each_text_once_in_order():
    assert [(piece.kind, piece.text) for piece in text_blocks(PAGE)] == TEXTS


def test_replacing_texts_with_themselves_changes_nothing():
    copy = translate_markdown(PAGE, lambda text: text)
    assert copy.split() == PAGE.split()
    assert structure(copy) == structure(PAGE)


def test_only_the_texts_are_replaced():
    new = translate_markdown(PAGE, lambda text: text.upper() if text == "First step" else text)
    assert "1. FIRST STEP\n" in new
    assert [piece.text for piece in text_blocks(new)] == [
        "FIRST STEP" if text == "First step" else text for _, text in TEXTS
    ]


def test_continuation_lines_are_indented_and_repeated_texts_replaced():
    new = translate_markdown("- one two\n- one two", lambda text: "uno  \ndos")
    assert new == "- uno  \n  dos\n- uno  \n  dos"


@pytest.mark.parametrize("text", ["94 %", "`net.to(device)`", "$U V^T$", "<br>", "[`x`](y.md)"])
def test_text_without_words_is_not_translated(text):
    assert text_blocks(text) == ()
