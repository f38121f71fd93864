"""The box that a student reads under a device error, as text and as HTML."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import reduce
from html import escape

from helpers.explain.edits import Fix
from helpers.language import translate

_WIDTH = 100
# JupyterLab removes `inherit` and `none` from untrusted outputs and then applies its theme to code:
# only explicit colors are readable in both themes.
_COLORS = "color:#1a1a1a;background:#F3F8FC"


@dataclass(frozen=True)
class Explanation:
    """The explanation of a device error in a line of the student's code.

    Attributes:
        title: what went wrong, in a few words.
        line: the failing line; "" if it is not available.
        where: its number, file and function.
        places: each name in the line with its device, culprit first.
        why: why torch raises the error.
        fix: the change that fixes it; None if none was found.
        advice: sentences about what to do if there is no fix.
    """

    title: str
    line: str
    where: str
    places: tuple[tuple[str, str], ...]
    why: str
    fix: Fix | None = None
    advice: tuple[str, ...] = ()

    @property
    def culprit(self) -> str:
        """The name of the variable on the wrong device; "" if unknown."""
        return self.places[0][0] if self.places else ""

    @property
    def without_fix(self) -> str:
        """The devices and the reason for the error. Checks use it: they must not show the fix."""
        names = (f"{_quote(name)}{what}" for name, what in self.places)
        if not self.line:
            return self.why
        if not self.places:
            return translate("It happens in `{line}`. {why}", line=self.line, why=self.why)
        places = reduce(join_with_and, names)
        return translate(
            "In `{line}`, {places}. {why}", line=self.line, places=places, why=self.why
        )

    def __repr__(self) -> str:
        lines = [self.title, *self._failing_line]
        lines += [f"  - {_quote(name)}{what}" for name, what in self.places]
        lines.append(self.why)
        width = max((len(label) for label, _ in self._change), default=0)
        for label, code in self._change:
            if "\n" in code:
                lines += [label, textwrap.indent(code, "    ")]
            else:
                lines.append(f"{label.ljust(width)}  {code}")
        return "\n".join([*lines, *self.advice])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{_to_html(_quote(n) + what)}</li>" for n, what in self.places)
        style = f"{_COLORS};font-family:monospace;margin:0.2em 0 0.2em 1em;padding:0"
        changes = (
            f'<div>{_to_html(label)}<pre style="{style}">{escape(code)}</pre></div>'
            for label, code in self._change
        )
        parts = [
            f"<strong>{escape(self.title)}</strong>",
            *(f"<br>{_to_html(line)}" for line in self._failing_line),
            f'<ul style="margin:0.2em 0">{items}</ul>' if items else "<br>",
            _to_html(self.why),
            *changes,
            *(f"<div>{_to_html(line)}</div>" for line in self.advice),
        ]
        box = f"border:1px solid #0072B2;{_COLORS};padding:0.6em 1em;margin:0.4em 0"
        return f'<div role="note" style="{box}">{"".join(parts)}</div>'

    @property
    def _failing_line(self) -> list[str]:
        if not self.line:
            return []
        line = textwrap.shorten(self.line, _WIDTH, placeholder=" ...")
        if not self.where:
            return [translate("In `{line}`:", line=line)]
        return [translate("In `{line}` ({where}):", line=line, where=self.where)]

    @property
    def _change(self) -> list[tuple[str, str]]:
        if self.fix is None:
            return []
        if self.fix.added:
            return [(translate("Add before this line:"), self.fix.added)]
        old, new = self.fix.shown
        replace = translate("Replace:")
        if self.fix.where:
            replace = translate("Replace in {where}:", where=self.fix.where)
        return [(replace, old), (translate("with:"), new)]


def join_with_and(first: str, second: str) -> str:
    """Return "FIRST and SECOND" in the student's language."""
    return translate("{first} and {second}", first=first, second=second)


def _quote(name: str) -> str:
    return f"`{name}` " if name else ""


def _to_html(text: str) -> str:
    code = f'<code style="{_COLORS}">'
    pieces = (escape(piece) for piece in text.split("`"))
    return "".join(f"{code}{p}</code>" if i % 2 else p for i, p in enumerate(pieces))
