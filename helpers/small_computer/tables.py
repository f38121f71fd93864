"""Tables that show a run of the small computer: its cost, and its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from helpers.language import translate
from helpers.tables import Table, TableDisplay


@dataclass(frozen=True, repr=False)
class Cost(TableDisplay):
    """The cost of a run.

    Attributes:
        instructions: number of instructions fetched; one fetch serves all lanes at that cell.
        cycles: number of cycles they took.
        by_category: the number of instructions in each category.
        lanes: the computer's number of lanes.
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
        rows = [(translate("instructions"), f"{self.instructions:,}")]
        rows += [(f"  {translate(name)}", f"{count:,}") for name, count in self.by_category.items()]
        rows += [(translate("cycles"), f"{self.cycles:,}")]
        if self.lanes > 1:
            rows += [
                (translate("lanes"), f"{self.lanes:,}"),
                (translate("lanes busy"), f"{self.lanes_busy:.0%}"),
            ]
        return Table((translate("what"), translate("count")), rows)


@dataclass(frozen=True, repr=False)
class Step(TableDisplay):
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
class Trace(TableDisplay):
    """The steps of a run in order.

    With one lane, the table shows the effect of each step and the registers after it; with more,
    which lanes were active (●) and which waited (·).
    """

    steps: Sequence[Step]

    def _table(self) -> Table:
        columns = (translate("step"), translate("cell"), translate("instruction"))
        rows = []
        several = bool(self.steps) and len(self.steps[0].active) > 1
        names = list(self.steps[0].registers) if self.steps else []
        for step in self.steps:
            row = (str(step.number), str(step.cell), step.instruction)
            if several:
                lanes = "".join("●" if active else "·" for active in step.active)
                rows.append((*row, lanes, str(step.cycles)))
            else:
                rows.append((*row, step.effect, *step.registers.values(), *map(str, step.flags)))
        more_columns = (translate("what happens"), *names, "N", "Z")
        if several:
            more_columns = (translate("lanes"), translate("cycles"))
        return Table((*columns, *more_columns), rows)
