"""How the small computer is shown: as HTML in a notebook, as aligned text anywhere else."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

_CELL = "padding:0.1em 0.7em;white-space:pre;text-align:"
_NUMBER = re.compile(r"-?[\d,.]+(e[+-]\d+)?%?")
# A text colour goes with each background, so that a dark theme stays readable.
_MARKED = "background:#FFF0C2;color:#1a1a1a"


class Table:
    """Rows of text under column names; `marked` rows stand out (HTML: coloured, text: a `>`)."""

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
        """Return for each column "right" if it holds nothing but numbers, else "left"."""
        columns = list(zip(*self.rows, strict=True)) or [("",)] * len(self.columns)
        return ["right" if all(map(_NUMBER.fullmatch, c)) else "left" for c in columns]

    def __repr__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        styles = [
            f"{'>' if side == 'right' else '<'}{width}"
            for side, width in zip(self._alignments(), widths, strict=True)
        ]
        text = ["  ".join(map(format, line, styles)) for line in lines]
        if self.marked:
            text = [
                f"{'> ' if i - 1 in self.marked else '  '}{line}" for i, line in enumerate(text)
            ]
        return "\n".join([*([self.caption] if self.caption else []), *map(str.rstrip, text)])

    def _repr_html_(self) -> str:
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        styles = [f'style="{_CELL}{side}' for side in self._alignments()]
        head = "".join(
            f'<th scope="col" {style}">{escape(column)}</th>'
            for column, style in zip(self.columns, styles, strict=True)
        )
        body = ""
        for i, row in enumerate(self.rows):
            cells = "".join(
                f'<td {style};font-family:monospace">{escape(cell)}</td>'
                for cell, style in zip(row, styles, strict=True)
            )
            body += f'<tr style="{_MARKED if i in self.marked else ""}">{cells}</tr>'
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Cost:
    """What a run cost.

    Attributes:
        instructions: how many the control unit fetched; one fetch serves all lanes at that place.
        cycles: the time they took.
        by_category: the instructions, counted by category.
        lanes: how many lanes the computer has.
        lane_slots_used: lanes that did something, summed over the instructions.
    """

    instructions: int = 0
    cycles: int = 0
    by_category: Mapping[str, int] = field(default_factory=dict)
    lanes: int = 1
    lane_slots_used: int = 0

    @property
    def lanes_busy(self) -> float:
        """The share of the lanes at work, from 0 to 1, on average over the instructions."""
        return self.lane_slots_used / max(1, self.instructions * self.lanes)

    def _table(self) -> Table:
        rows = [("instructions", f"{self.instructions:,}")]
        rows += [(f"  {name}", f"{count:,}") for name, count in self.by_category.items()]
        rows += [("cycles", f"{self.cycles:,}")]
        if self.lanes > 1:
            rows += [("lanes", f"{self.lanes:,}"), ("lanes busy", f"{self.lanes_busy:.0%}")]
        return Table(("what", "count"), rows)

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


@dataclass(frozen=True)
class Step:
    """One instruction executed: where it stood, which lanes took part, what it changed.

    `effect` is that of the first lane that took part; `registers` and `flags` (N, Z) are that
    lane's afterwards.
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

    def __repr__(self) -> str:
        return repr(Trace([self]))

    def _repr_html_(self) -> str:
        return Trace([self])._repr_html_()


@dataclass(frozen=True)
class Trace:
    """The steps of a run in order.

    With one lane the table shows what each step did and the registers after it; with more, which
    lanes took part: ● did, · waited.
    """

    steps: Sequence[Step]

    def _table(self) -> Table:
        if self.steps and len(self.steps[0].active) > 1:
            rows = [
                (str(s.number), str(s.cell), s.instruction, _lamps(s.active), str(s.cycles))
                for s in self.steps
            ]
            return Table(("step", "cell", "instruction", "lanes", "cycles"), rows)
        names = list(self.steps[0].registers) if self.steps else []
        rows = []
        for step in self.steps:
            after = (*step.registers.values(), *map(str, step.flags))
            rows.append((str(step.number), str(step.cell), step.instruction, step.effect, *after))
        return Table(("step", "cell", "instruction", "what happens", *names, "N", "Z"), rows)

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def _lamps(active: Sequence[bool]) -> str:
    return "".join("●" if lane else "·" for lane in active)
