"""Tables of text: HTML in a notebook, aligned columns elsewhere."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_CELL = "padding:0.1em 0.7em;white-space:pre;text-align:"
_NUMBER = re.compile(r"-?[\d,.\u202f]+(e[+-]\d+)?%?")
# The text color is set, too, so that marked rows are readable in a dark theme.
MARKED_STYLE = "background:#FFF0C2;color:#1a1a1a"


@dataclass(repr=False)
class Table:
    """Rows of text under column names; `marked` rows get a background color or, in text, a `>`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: Sequence[int] = ()
    caption: str = ""

    def _alignments(self) -> list[str]:
        """Return "right" for each column that holds only numbers, else "left"."""
        columns = list(zip(*self.rows, strict=True)) or [("",)] * len(self.columns)
        return ["right" if all(map(_NUMBER.fullmatch, c)) else "left" for c in columns]

    def __repr__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        pad = {"right": str.rjust, "left": str.ljust}
        sides = self._alignments()
        text = [self.caption] if self.caption else []
        for number, line in enumerate(lines, start=-1):
            cells = (pad[s](c, w) for s, c, w in zip(sides, line, widths, strict=True))
            mark = "> " if number in self.marked else "  " if self.marked else ""
            text.append((mark + "  ".join(cells)).rstrip())
        return "\n".join(text)

    def _repr_html_(self) -> str:
        styles = [f"{_CELL}{side}" for side in self._alignments()]
        columns, head, body = zip(self.columns, styles, strict=True), "", ""
        for name, style in columns:
            head += f'<th scope="col" style="{style}">{escape(name)}</th>'
        for number, row in enumerate(self.rows):
            body += f'<tr style="{MARKED_STYLE if number in self.marked else ""}">'
            for cell, style in zip(row, styles, strict=True):
                body += f'<td style="{style};font-family:monospace">{escape(cell)}</td>'
            body += "</tr>"
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class TableDisplay:
    """Base class of objects that are displayed as the table that `_table` returns."""

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()
