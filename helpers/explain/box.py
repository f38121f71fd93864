"""The box that a student reads: what is where, why torch refuses, what to write. Text and HTML."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape

from helpers.explain.editing import Cure

_WIDTH = 100
# Said of each piece of code, or a dark theme would put its own light letters or dark ground here.
_PLAIN = "color:inherit;background:none"


@dataclass(frozen=True)
class Explanation:
    """What an error means for the student's own line.

    `places` are the names in the line and where each is, the culprit first; `cure` is the change
    that mends it, None where none could be written; `advice` is what to do then.
    """

    kind: str
    title: str
    line: str
    where: str
    places: tuple[tuple[str, str], ...]
    why: str
    cure: Cure | None = None
    advice: tuple[str, ...] = ()

    @property
    def culprit(self) -> str:
        """The name of what is in the wrong place; "" where it is not known."""
        return self.places[0][0] if self.places else ""

    def __repr__(self) -> str:
        lines = [self.title]
        if self.line:
            where = f" ({self.where})" if self.where else ""
            lines.append(f"In `{_shortened(self.line)}`{where}:")
        lines += [f"  - {_quoted(name)}{what}" for name, what in self.places]
        lines.append(self.why)
        width = max((len(label) for label, _ in self._change()), default=0)
        for label, code in self._change():
            if "\n" in code:
                lines += [label, textwrap.indent(code, "    ")]
            else:
                lines.append(f"{label.ljust(width)}  {code}")
        return "\n".join([*lines, *self.advice])

    def _repr_html_(self) -> str:
        parts = [f"<strong>{escape(self.title)}</strong>"]
        if self.line:
            where = f" ({_marked(self.where)})" if self.where else ""
            parts.append(f"<br>In {_code(_shortened(self.line))}{where}:")
        items = "".join(f"<li>{_marked(_quoted(n) + what)}</li>" for n, what in self.places)
        parts.append(f'<ul style="margin:0.2em 0">{items}</ul>' if items else "<br>")
        parts.append(_marked(self.why))
        for label, code in self._change():
            style = f"{_PLAIN};font-family:monospace;margin:0.2em 0 0.2em 1em;padding:0"
            shown = f'<pre style="{style}">{escape(code)}</pre>'
            parts.append(f"<div>{_marked(label)}{shown}</div>")
        parts += [f"<div>{_marked(line)}</div>" for line in self.advice]
        style = "border:1px solid #0072B2;background:#F3F8FC;color:#1a1a1a;padding:0.6em 1em"
        return f'<div role="note" style="{style};margin:0.4em 0">{"".join(parts)}</div>'

    def _change(self) -> list[tuple[str, str]]:
        if self.cure is None:
            return []
        if self.cure.added:
            return [("Write before this line:", self.cure.added)]
        where = f" ({self.cure.where})" if self.cure.where else ""
        old, new = self.cure.shown
        return [(f"Instead of{where}:", old), ("write:", new)]


def _shortened(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 4] + " ..."


def _quoted(name: str) -> str:
    return f"`{name}` " if name else ""


def _marked(text: str) -> str:
    """Turn `code` in a sentence into HTML."""
    pieces = text.split("`")
    return "".join(_code(p) if i % 2 else escape(p) for i, p in enumerate(pieces))


def _code(text: str) -> str:
    return f'<code style="{_PLAIN}">{escape(text)}</code>'
