"""The control unit and the memory: fetch instructions, run them on the lanes, count cycles."""

import math
from collections import Counter
from collections.abc import Collection
from itertools import chain
from typing import Any

from helpers.language import translate
from helpers.small_computer.assembler import Address, Instruction, assemble
from helpers.small_computer.instruction_set import CATEGORIES, REGISTERS, SPECIAL, Number
from helpers.small_computer.lane import Lane, MachineError, format_number
from helpers.small_computer.tables import Cost, Step, Trace
from helpers.tables import Table

_MAX_SHOWN_CELLS = 8  # per name; the caption says how many cells are not shown
_MAX_SHOWN_LANES = 8


class SmallComputer:
    """A von Neumann computer: one memory for the program and its data, and one control unit.

    With more than one lane, the control unit fetches an instruction once, and every lane whose
    program counter is at that cell executes it on its own registers. Lanes that have jumped
    elsewhere wait: the control unit always serves the lowest program counter of any lane, so lanes
    that diverged at a branch reconverge after it (see Collange, "Stack-less SIMT reconvergence at
    low cost", 2011). If several lanes store to one cell, the last lane wins.

    Args:
        program: the text of the program; `INSTRUCTION_SET` lists the instructions.
        lanes: the number of lanes.
        special: the special instructions that this computer has: "RELU", "MAC", or both.
        memory_width: how many cells memory can read or write at a time; an instruction that needs
            more takes its cycles once per access. None: as many as there are lanes.
        data: the named data of the program, each a number or a list, tensor, or array of numbers
            (a matrix is stored row by row). They follow the program in memory.

    Raises:
        ProgramError: the program cannot be parsed.
        TypeError, ValueError: the data or the options are invalid; the message says why.
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
            raise ValueError(f"special must be {' or '.join(SPECIAL)}, not {unknown[0]!r}.")
        for name, count in (("lanes", lanes), ("memory_width", memory_width)):
            if count is not None and (type(count) is not int or count < 1):
                raise ValueError(f"{name} must be a positive integer, not {count!r}.")
        blocks = {name: _numbers(name, value) for name, value in data.items()}
        self._scalars = {name for name, value in data.items() if _is_number(_to_python(value))}
        sizes = {name: len(block) for name, block in blocks.items()}
        self.program, self.labels, self.addresses = assemble(program, sizes, special)
        self._initial = [*self.program, *chain.from_iterable(blocks.values())]
        self._width = memory_width
        self._lane_count = lanes
        self.reset()

    def reset(self) -> "SmallComputer":
        """Reload the program and its data and return to cell 0; return the computer."""
        self.memory: list[Instruction | Number] = list(self._initial)
        self.lanes = [Lane(number, self._lane_count) for number in range(self._lane_count)]
        self.output: list[Number] = []  # what OUT has sent to the screen
        self._fetched = self._cycles = self._slots = 0
        self._categories = Counter[str]()
        return self

    @property
    def halted(self) -> bool:
        """Whether every lane has executed HALT."""
        return all(lane.halted for lane in self.lanes)

    @property
    def cost(self) -> Cost:
        """The cost of the run so far."""
        counts = {name: self._categories[name] for name in CATEGORIES if self._categories[name]}
        return Cost(self._fetched, self._cycles, counts, len(self.lanes), self._slots)

    def __getitem__(self, name: str) -> Number | list[Number]:
        """Return the data called `name` from memory: a number, or a list if a list was given."""
        if name not in self.addresses:
            raise KeyError(f"there is no data {name!r}; the names are {list(self.addresses)}.")
        address = self.addresses[name]
        cells = self.memory[address.base : address.base + address.size]
        return cells[0] if name in self._scalars else cells

    def run(self, *, limit: int = 100_000) -> Cost:
        """Run until HALT and return the cost.

        Raises:
            MachineError: the program cannot continue, or does not halt within `limit` instructions.
        """
        for _ in range(limit):
            if self.halted:
                break
            self._advance()
        self._require_halt(limit)
        return self.cost

    def trace(self, *, limit: int = 10_000) -> Trace:
        """Run until HALT and return every step; raises the same errors as `run`."""
        steps = []
        while not self.halted and len(steps) < limit:
            steps.append(self.step())
        self._require_halt(limit)
        return Trace(steps)

    def _require_halt(self, limit: int) -> None:
        if not self.halted:
            cell, instruction = self._fetch()
            raise MachineError(
                f"stopped after {limit:,} instructions without reaching HALT, at cell {cell}, "
                f"`{instruction.text}`. Is there a loop that never ends? "
                f"If the program needs more instructions, raise the limit: limit={10 * limit}."
            )

    def step(self) -> Step:
        """Execute one instruction, in every lane that has reached it, and return what happened.

        Raises:
            MachineError: the computer has halted, or the instruction cannot be executed.
        """
        if self.halted:
            raise MachineError("the computer has halted. Restart it with computer.reset().")
        before = self._cycles
        cell, instruction, running = self._advance()
        first, active = running[0], set(running)
        return Step(
            number=self._fetched,
            cell=cell,
            instruction=instruction.text,
            category=instruction.opcode.category,
            active=tuple(lane in active for lane in self.lanes),
            cycles=self._cycles - before,
            effect=first.effect(instruction),
            registers={
                name: format_number(first.registers[name]) for name in self._used_registers()
            },
            flags=(int(first.flags["N"]), int(first.flags["Z"])),
        )

    def _fetch(self) -> tuple[int, Instruction]:
        cell = min(lane.counter for lane in self.lanes if not lane.halted)
        if cell < len(self.program):
            return cell, self.program[cell]
        state = "is beyond the end of memory"
        if cell < len(self.memory):
            state = f"holds the number {format_number(self.memory[cell])}"
        raise MachineError(
            f"the program counter has reached cell {cell}, which {state} and not an instruction. "
            f"Every path through a program must end with HALT."
        )

    def _advance(self) -> tuple[int, Instruction, list[Lane]]:
        cell, instruction = self._fetch()
        running = [lane for lane in self.lanes if lane.counter == cell and not lane.halted]
        try:
            cells = {lane.execute(instruction, self.memory, self.output) for lane in running}
        except MachineError as error:
            raise MachineError(f"cell {cell}: {error}") from None
        times = math.ceil(len(cells) / (self._width or len(cells)))
        self._fetched += 1
        self._cycles += instruction.opcode.cycles * times
        self._slots += len(running)
        self._categories[instruction.opcode.category] += 1
        return cell, instruction, running

    def _used_registers(self) -> list[str]:
        """Return the registers that the program names, in order."""
        operands = {operand for instruction in self.program for operand in instruction.operands}
        operands |= {operand.index for operand in operands if isinstance(operand, Address)}
        return [name for name in REGISTERS if name in operands]

    def _processor(self) -> Table:
        lanes = self.lanes[:_MAX_SHOWN_LANES]
        halted = translate("halted")
        counters = [halted if lane.halted else str(lane.counter) for lane in lanes]
        rows = [(translate("program counter"), *counters)]
        for flag in ("N", "Z"):
            rows.append(
                (
                    translate("flag {name}", name=flag),
                    *(str(int(lane.flags[flag])) for lane in lanes),
                )
            )
        for name in self._used_registers():
            values = (format_number(lane.registers[name]) for lane in lanes)
            rows.append((translate("register {name}", name=name), *values))
        if self.output:
            output_text = " ".join(format_number(value) for value in self.output)
            rows.append((translate("screen"), output_text, *[""] * (len(lanes) - 1)))
        columns = [translate("value")]
        if len(self.lanes) > 1:
            columns = [translate("lane {number}", number=i) for i in range(len(lanes))]
        hidden_count = len(self.lanes) - len(lanes)
        caption = translate("processor")
        if hidden_count:
            caption = translate("processor ({count} more lanes)", count=hidden_count)
        return Table((translate("part"), *columns), rows, caption=caption)

    def _memory(self) -> Table:
        labels = {cell: f"{name}:" for name, cell in self.labels.items()}
        rows = [(str(i), labels.get(i, ""), code.text) for i, code in enumerate(self.program)]
        for name, address in self.addresses.items():
            for i in range(min(address.size, _MAX_SHOWN_CELLS)):
                cell = address.base + i
                part = name if name in self._scalars else f"{name}[{i}]"
                rows.append((str(cell), part, format_number(self.memory[cell])))
        hidden_count = len(self.memory) - len(rows)
        caption = translate("memory")
        if hidden_count:
            caption = translate("memory ({count} more cells of data)", count=hidden_count)
        next_cell = min((lane.counter for lane in self.lanes if not lane.halted), default=None)
        marked = [next_cell] if next_cell is not None and next_cell < len(self.program) else []
        columns = (translate("cell"), translate("name"), translate("contents"))
        return Table(columns, rows, marked=marked, caption=caption)

    def __repr__(self) -> str:
        return f"{self._processor()!r}\n\n{self._memory()!r}"

    def _repr_html_(self) -> str:
        tables = (self._processor(), self._memory())
        divisions = "".join(f"<div>{table._repr_html_()}</div>" for table in tables)
        return f'<div style="display:flex;flex-wrap:wrap;gap:2em">{divisions}</div>'


def _to_python(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(name: str, value: Any) -> list[Number]:
    number_or_list = _to_python(value)
    if _is_number(number_or_list):
        return [number_or_list]
    if isinstance(number_or_list, list | tuple | range) and number_or_list:
        return [number for part in number_or_list for number in _numbers(name, part)]
    raise TypeError(f"{name} must be a number or a list of numbers, not {value!r}.")
