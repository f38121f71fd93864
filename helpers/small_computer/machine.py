"""The control unit and the memory: fetch an instruction, have the lanes execute it, count."""

import math
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any

from helpers.small_computer.assembler import Address, Instruction, Number, assemble
from helpers.small_computer.instruction_set import CATEGORIES, REGISTERS, SPECIAL
from helpers.small_computer.lane import Lane, MachineError, show
from helpers.small_computer.tables import Cost, Step, Table, Trace

_SHOWN_CELLS = 8  # of one block of data; the others are counted
_SHOWN_LANES = 8


class SmallComputer:
    """A von Neumann computer: one memory for the program and its data, and one control unit.

    With more than one lane, the control unit fetches an instruction once and every lane that
    stands at its cell executes it on registers of its own. Lanes that have jumped elsewhere wait:
    the control unit always serves the lowest cell at which a lane stands, so lanes that parted at
    a branch meet again behind it (after Collange, "Stack-less SIMT reconvergence at low cost",
    2011). Where several lanes store to one cell, the last lane wins.

    Args:
        program: its text; `INSTRUCTION_SET` lists what it can say.
        lanes: how many lanes execute it.
        special: the special instructions this computer is built with, of RELU and MAC.
        memory_width: how many cells memory can deliver or take at a time; an instruction that
            needs more costs its cycles again. None: as many as there are lanes.
        data: what the program calls by name, each a number or a list of numbers (a tensor or an
            array does too, a matrix row by row); it lies in memory behind the program.

    Raises:
        ProgramError: the text cannot be read.
        TypeError, ValueError: the data or the options make no computer; the message says why.
    """

    def __init__(
        self,
        program: str,
        *,
        lanes: int = 1,
        special: Collection[str] = (),
        memory_width: int | None = None,
        **data: Any,
    ) -> None:
        special = [name.upper() for name in ([special] if isinstance(special, str) else special)]
        if unknown := [name for name in special if name not in SPECIAL]:
            raise ValueError(f"special instructions are {', '.join(SPECIAL)}; not {unknown[0]!r}.")
        for name, count in (("lanes", lanes), ("memory_width", memory_width)):
            if count is not None and (type(count) is not int or count < 1):
                raise ValueError(f"{name} must be a whole number from 1 up, not {count!r}.")
        blocks = {name: _numbers(name, value) for name, value in data.items()}
        self._scalars = {name for name, value in data.items() if _is_number(_plain(value))}
        self._sizes = {name: len(block) for name, block in blocks.items()}
        self.program, self.labels, self.names = assemble(program, self._sizes, special)
        self._initial = [*self.program, *chain.from_iterable(blocks.values())]
        self._width = memory_width
        self.reset(lanes)

    def reset(self, lanes: int | None = None) -> "SmallComputer":
        """Load the program and its data anew and stand at cell 0; return the computer."""
        count = lanes or len(self.lanes)
        self.memory: list[Instruction | Number] = list(self._initial)
        self.lanes = [Lane(number, count) for number in range(count)]
        self._fetched = self._cycles = self._slots = 0
        self._categories = Counter[str]()
        return self

    @property
    def halted(self) -> bool:
        """Whether every lane has reached HALT."""
        return all(lane.halted for lane in self.lanes)

    @property
    def cost(self) -> Cost:
        """What the run has cost so far."""
        counted = {name: self._categories[name] for name in CATEGORIES if self._categories[name]}
        return Cost(self._fetched, self._cycles, counted, len(self.lanes), self._slots)

    def __getitem__(self, name: str) -> Number | list[Number]:
        """Return what memory holds under `name`: a number, or a list where a list was given."""
        if name not in self.names:
            raise KeyError(f"there are no data called {name!r}; there are {list(self.names)}.")
        cells = self.memory[self.names[name] :][: self._sizes[name]]
        return cells[0] if name in self._scalars else cells

    def run(self, *, limit: int = 100_000) -> Cost:
        """Execute up to HALT and return the cost.

        Raises:
            MachineError: the program cannot go on, or has not halted after `limit` instructions.
        """
        for _ in self._until_halted(limit):
            self._advance()
        return self.cost

    def trace(self, *, limit: int = 10_000) -> Trace:
        """Execute up to HALT and return every step; raises as `run` does."""
        return Trace([self.step() for _ in self._until_halted(limit)])

    def _until_halted(self, limit: int) -> Iterator[int]:
        for number in range(limit):
            if self.halted:
                return
            yield number
        if not self.halted:
            cell, instruction = self._fetch()
            raise MachineError(
                f"stopped after {limit:,} instructions without reaching HALT, at cell {cell}, "
                f"`{instruction.text}`. Is there a loop that never ends? "
                f"If the program does need more, allow it more: limit={10 * limit}."
            )

    def step(self) -> Step:
        """Execute one instruction, in every lane that stands at it, and return what happened.

        Raises:
            MachineError: the computer has halted, or the instruction cannot be executed.
        """
        if self.halted:
            raise MachineError("the computer has halted. Start again with computer.reset().")
        before = self._cycles
        cell, instruction, served = self._advance()
        first, active = served[0], set(served)
        return Step(
            number=self._fetched,
            cell=cell,
            instruction=instruction.text,
            category=instruction.opcode.category,
            active=tuple(lane in active for lane in self.lanes),
            cycles=self._cycles - before,
            effect=first.effect(instruction),
            registers={name: show(first.registers[name]) for name in self._registers_used()},
            flags=(int(first.negative), int(first.zero)),
        )

    def _fetch(self) -> tuple[int, Instruction]:
        cell = min(lane.counter for lane in self.lanes if not lane.halted)
        if cell >= len(self.program):
            data = cell < len(self.memory)
            held = f"holds the number {show(self.memory[cell])}" if data else "memory does not have"
            raise MachineError(
                f"the program counter has come to cell {cell}, which {held}: there is no "
                f"instruction. Every way through a program has to end with HALT."
            )
        return cell, self.program[cell]

    def _advance(self) -> tuple[int, Instruction, list[Lane]]:
        cell, instruction = self._fetch()
        served = [lane for lane in self.lanes if lane.counter == cell and not lane.halted]
        try:
            used = {lane.execute(instruction, self.memory) for lane in served}
        except MachineError as error:
            raise MachineError(f"cell {cell}: {error}") from None
        times = math.ceil(len(used) / (self._width or len(used)))
        self._fetched += 1
        self._cycles += instruction.opcode.cycles * times
        self._slots += len(served)
        self._categories[instruction.opcode.category] += 1
        return cell, instruction, served

    def _registers_used(self) -> list[str]:
        used = set()
        for instruction in self.program:
            for operand in instruction.operands:
                used.add(operand.index if isinstance(operand, Address) else operand)
        return [name for name in REGISTERS if name in used]

    def _cells(self) -> list[tuple[str, str, str]]:
        """Return every memory cell: its number, its label or name, what it holds."""
        labels = {cell: f"{name}:" for name, cell in self.labels.items()}
        for name, base in self.names.items():
            size = self._sizes[name]
            parts = [name] if name in self._scalars else [f"{name}[{i}]" for i in range(size)]
            labels |= {base + i: part for i, part in enumerate(parts)}
        return [
            (str(i), labels.get(i, ""), held.text if isinstance(held, Instruction) else show(held))
            for i, held in enumerate(self.memory)
        ]

    def _tables(self) -> tuple[Table, Table]:
        running = [lane.counter for lane in self.lanes if not lane.halted]
        at = min(running, default=None)
        shown = self.lanes[:_SHOWN_LANES]
        rows = [
            ("program counter", *("halted" if lane.halted else str(lane.counter) for lane in shown))
        ]
        rows += [("flag N", *(str(int(lane.negative)) for lane in shown))]
        rows += [("flag Z", *(str(int(lane.zero)) for lane in shown))]
        rows += [
            (f"register {name}", *(show(lane.registers[name]) for lane in shown))
            for name in self._registers_used()
        ]
        columns = [f"lane {i}" for i in range(len(shown))] if len(self.lanes) > 1 else ["value"]
        more = len(self.lanes) - len(shown)
        caption = f"processor{f' ({more} more lanes)' if more else ''}"
        processor = Table(("part", *columns), rows, caption=caption)
        cells = self._cells()
        keep = [*range(len(self.program))]
        for name, base in self.names.items():
            keep += range(base, base + min(self._sizes[name], _SHOWN_CELLS))
        hidden = len(cells) - len(keep)
        caption = f"memory{f' ({hidden} more cells of data)' if hidden else ''}"
        marked = [at] if at is not None and at < len(self.program) else []
        memory = [cells[i] for i in keep]
        return processor, Table(
            ("cell", "name", "contents"), memory, marked=marked, caption=caption
        )

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self._tables()))

    def _repr_html_(self) -> str:
        tables = "".join(f"<div>{table._repr_html_()}</div>" for table in self._tables())
        return f'<div style="display:flex;flex-wrap:wrap;gap:2em">{tables}</div>'


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(name: str, value: Any) -> list[Number]:
    plain = _plain(value)
    if _is_number(plain):
        return [plain]
    if isinstance(plain, list | tuple | range) and plain:
        return [number for part in plain for number in _numbers(name, part)]
    raise TypeError(f"{name} must be a number or a list of numbers, not {value!r}.")
