"""Tables that show the small computer: HTML in a notebook, aligned text elsewhere."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

_CELL = "padding:0.1em 0.7em;white-space:pre;text-align:"
_NUMBER = re.compile(r"-?[\d,.]+(e[+-]\d+)?%?")
# The text color goes with the background, so that a dark theme stays readable.
MARKED_STYLE = "background:#FFF0C2;color:#1a1a1a"


class Table:
    """Rows of text under column names; `marked` rows stand out (HTML: a color, text: a `>`)."""

    def __init__(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        marked: Sequence[int] = (),
        caption: str = "",
    ) -> None:
        self.columns = tuple(columns)
        self.rows = [tuple(row) for row in rows]
        self.marked = frozenset(marked)
        self.caption = caption

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
        head = "".join(
            f'<th scope="col" style="{style}">{escape(name)}</th>'
            for name, style in zip(self.columns, styles, strict=True)
        )
        body = ""
        for number, row in enumerate(self.rows):
            cells = "".join(
                f'<td style="{style};font-family:monospace">{escape(cell)}</td>'
                for cell, style in zip(row, styles, strict=True)
            )
            body += f'<tr style="{MARKED_STYLE if number in self.marked else ""}">{cells}</tr>'
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class _ShownAsTable:
    """Displays itself as the table that `_table` returns."""

    def _table(self) -> Table:
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


@dataclass(frozen=True, repr=False)
class Cost(_ShownAsTable):
    """The cost of a run.

    Attributes:
        instructions: how many the control unit fetched; one fetch serves all lanes at that cell.
        cycles: the time they took.
        by_category: the number of instructions in each category.
        lanes: the number of lanes of the computer.
        lane_slots_used: the number of active lanes, summed over the instructions.
    """

    instructions: int = 0
    cycles: int = 0
    by_category: Mapping[str, int] = field(default_factory=dict)
    lanes: int = 1
    lane_slots_used: int = 0

    @property
    def lanes_busy(self) -> float:
        """The mean fraction of the lanes that execute an instruction, from 0 to 1."""
        return self.lane_slots_used / max(1, self.instructions * self.lanes)

    def _table(self) -> Table:
        rows = [("instructions", f"{self.instructions:,}")]
        rows += [(f"  {name}", f"{count:,}") for name, count in self.by_category.items()]
        rows += [("cycles", f"{self.cycles:,}")]
        if self.lanes > 1:
            rows += [("lanes", f"{self.lanes:,}"), ("lanes busy", f"{self.lanes_busy:.0%}")]
        return Table(("what", "count"), rows)


@dataclass(frozen=True, repr=False)
class Step(_ShownAsTable):
    """One executed instruction: its cell, the lanes that executed it, and its effect.

    `effect` is that of the first active lane; `registers` and `flags` (N, Z) are the values in that
    lane after the step.
    """

    number: int
    cell: int
    instruction: str
    category: str
    active: tuple[bool, ...]
    cycles: int
    effect: str
    registers: Mapping[str, str]
    flags: tuple[int, int]

    def _table(self) -> Table:
        return Trace([self])._table()


@dataclass(frozen=True, repr=False)
class Trace(_ShownAsTable):
    """The steps of a run in order.

    With one lane, the table shows the effect of each step and the registers after it; with more,
    which lanes were active (●) and which waited (·).
    """

    steps: Sequence[Step]

    def _table(self) -> Table:
        columns, rows = ("step", "cell", "instruction"), []
        several = bool(self.steps) and len(self.steps[0].active) > 1
        names = list(self.steps[0].registers) if self.steps else []
        for step in self.steps:
            row = (str(step.number), str(step.cell), step.instruction)
            if several:
                lanes = "".join("●" if active else "·" for active in step.active)
                rows.append((*row, lanes, str(step.cycles)))
            else:
                rows.append((*row, step.effect, *step.registers.values(), *map(str, step.flags)))
        more = ("lanes", "cycles") if several else ("what happens", *names, "N", "Z")
        return Table((*columns, *more), rows)
