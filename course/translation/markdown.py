"""Find the texts to translate in Markdown, and replace them with their translations.

A text is a heading, a paragraph, a row of a table, or the text between two HTML block tags. Code
blocks, link targets and everything between the texts are not changed.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.token import Token

PARSER = MarkdownIt("commonmark").enable("table")
# Parses no text inside the blocks, which takes most of the time.
_BLOCK_PARSER = MarkdownIt("commonmark").enable("table").disable("inline")
# A line break that Markdown does not keep: no two spaces or backslash at the end of the line.
_SOFT_BREAK = re.compile(r"(?<! {2})(?<!\\)\n[ \t]*")
_BLOCK_TAG = re.compile(
    r"</?(?:table|caption|thead|tbody|tfoot|tr|th|td|details|summary|div|p|ul|ol|li|dl|dt|dd|"
    r"h[1-6]|figure|figcaption|blockquote|pre|hr|br)\b[^>]*>|<!--.*?-->",
    re.DOTALL | re.IGNORECASE,
)
# Parts that are not translated: code, math, tags, the targets of links and images, URLs.
_NOT_WORDS = re.compile(
    r"(`+).+?\1|<code>.*?</code>|\$[^$]+\$|<[^>]+>|\]\([^)]*\)|https?://\S+|\{[^}]*\}", re.DOTALL
)
# The rows of a table below its header.
_ROWS = re.compile(r"(?m)(?<=-\|\n)(?:^\|.*\n)+")
_WORD = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True)
class TextBlock:
    """A text to translate: its kind, the text on one line, and its position in the Markdown.

    `indent` is the prefix of continuation lines.
    """

    kind: str
    text: str
    start: int
    end: int
    indent: str = ""


# Cached so that a page is parsed once for all languages.
@lru_cache(maxsize=2048)
def text_blocks(markdown: str) -> tuple[TextBlock, ...]:
    """Return the texts to translate, in order, without texts that have no words."""
    return tuple(block for block in _all_text_blocks(markdown) if has_words(block.text))


def translate_markdown(markdown: str, translate: Callable[[str], str]) -> str:
    """Return the Markdown with each text replaced by `translate(text)`."""
    for block in reversed(text_blocks(markdown)):
        new = translate(block.text).replace("\n", "\n" + block.indent)
        markdown = markdown[: block.start] + new + markdown[block.end :]
    return markdown


@lru_cache(maxsize=8192)
def structure(markdown: str) -> tuple[tuple[str, int], ...]:
    """Return type and level of each block, to compare a translation with its original."""
    return tuple((token.type, token.level) for token in _BLOCK_PARSER.parse(markdown))


def sort_tables(markdown: str, language: str) -> str:
    """Return Markdown with the rows of each table in the alphabetical order of their first cell.

    Chinese is in the order of GB 18030, in which common characters are sorted by pinyin. Japanese
    has no such order, because a character has several readings.
    """

    def order(row: str) -> str | bytes:
        term = unicodedata.normalize("NFKD", row.split("|")[1].strip().casefold())
        term = re.sub(r"\(.*|[^\w ]", "", term).strip()  # without accents
        return term.encode("gb18030") if language == "zh" else term

    return _ROWS.sub(lambda rows: "".join(sorted(rows[0].splitlines(True), key=order)), markdown)


def has_words(text: str) -> bool:
    """Return whether the text contains words, apart from code, numbers and URLs."""
    return _WORD.search(_NOT_WORDS.sub(" ", text)) is not None


def _all_text_blocks(markdown: str) -> Iterator[TextBlock]:
    lines = markdown.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    in_item = in_table = False
    kind = "paragraph"
    for token in _BLOCK_PARSER.parse(markdown):
        match token.type:
            case "heading_open" | "paragraph_open":
                heading = token.type == "heading_open"
                kind = "heading" if heading else "list item" if in_item else "paragraph"
            case "list_item_open" | "list_item_close":
                in_item = token.type == "list_item_open"
            case "table_open" | "table_close":
                in_table = token.type == "table_open"
            case "tr_open":
                first, end = token.map
                text = "".join(lines[first:end]).strip()
                start = starts[first] + lines[first].index(text)
                yield TextBlock("table row", text, start, start + len(text))
            case "inline" if not in_table:
                yield _inline(kind, token, lines, starts)
            case "html_block":
                first, end = token.map
                yield from _html(markdown[starts[first] : starts[end]], starts[first])


def _inline(kind: str, token: Token, lines: list[str], starts: list[int]) -> TextBlock:
    first, last = token.map
    content_lines = token.content.split("\n")
    line = lines[first].rstrip("\n")
    column = line.rfind(content_lines[0])
    start = starts[first] + column
    end = starts[last - 1] + lines[last - 1].rfind(content_lines[-1]) + len(content_lines[-1])
    # Continuation lines of a list item are indented; those of a block quote repeat the `>`.
    indent = "".join(mark if mark == ">" else " " for mark in line[:column])
    return TextBlock(kind, _SOFT_BREAK.sub(" ", token.content), start, end, indent)


def _html(block: str, offset: int) -> Iterator[TextBlock]:
    position = 0
    for tag in [*_BLOCK_TAG.finditer(block), None]:
        content = block[position : tag.start() if tag else len(block)]
        if text := content.strip():
            start = offset + position + content.index(text)
            yield TextBlock("HTML", " ".join(text.split()), start, start + len(text))
        position = tag.end() if tag else len(block)
