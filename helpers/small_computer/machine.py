"""The computer that runs a program: its lanes, control unit and memory, and the cost of a run."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from helpers.language import translate
from helpers.small_computer import instruction_set as isa
from helpers.small_computer.instruction_set import Address, Instruction, Number, assemble
from helpers.tables import Table, TableDisplay

_MAX_SHOWN = 8  # lanes, and cells per name; the captions say how many are not shown


class MachineError(RuntimeError):
    """The program cannot continue; the message gives the cell, the reason, and what to change."""


@dataclass(frozen=True, repr=False)
class Cost(TableDisplay):
    """The cost of a run."""

    instructions: int = 0  # fetched; one fetch serves all lanes at that cell
    cycles: int = 0
    by_category: Mapping[str, int] = field(default_factory=dict)  # numbers of instructions
    lanes: int = 1
    lane_slots_used: int = 0  # the number of active lanes, summed over the instructions

    @property
    def lanes_busy(self) -> float:
        """The mean fraction of the lanes that execute an instruction, from 0 to 1."""
        return self.lane_slots_used / max(1, self.instructions * self.lanes)

    def _table(self) -> Table:
        rows = [(translate("instructions"), f"{self.instructions:,}")]
        rows += [(f"  {translate(name)}", f"{count:,}") for name, count in self.by_category.items()]
        rows += [(translate("cycles"), f"{self.cycles:,}")]
        if self.lanes > 1:
            rows += [(translate("lanes"), f"{self.lanes:,}")]
            rows += [(translate("lanes busy"), f"{self.lanes_busy:.0%}")]
        return Table((translate("what"), translate("count")), rows)


@dataclass(frozen=True, repr=False)
class Step(TableDisplay):
    """One executed instruction, and what it did in the first active lane."""

    number: int
    cell: int
    instruction: str
    active: tuple[bool, ...]  # which lanes executed it
    cycles: int
    effect: str
    registers: Mapping[str, str]  # after the step
    flags: tuple[int, int]  # N and Z, after the step

    def _table(self) -> Table:
        return Trace([self])._table()


@dataclass(frozen=True, repr=False)
class Trace(TableDisplay):
    """The steps of a run: with several lanes, which were active (●), else what each step did."""

    steps: Sequence[Step]

    def _table(self) -> Table:
        rows, several = [], bool(self.steps) and len(self.steps[0].active) > 1
        for step in self.steps:
            row = [str(step.number), str(step.cell), step.instruction]
            if several:
                lanes = "".join("●" if active else "·" for active in step.active)
                rows.append([*row, lanes, str(step.cycles)])
            else:
                rows.append([*row, step.effect, *step.registers.values(), *map(str, step.flags)])
        columns = [translate("step"), translate("cell"), translate("instruction")]
        if several:
            columns += [translate("lanes"), translate("cycles")]
        else:
            names = self.steps[0].registers if self.steps else ()
            columns += [translate("what happens"), *names, "N", "Z"]
        return Table(columns, rows)


class Lane:
    """Registers, flags, and program counter of one lane; all lanes share the memory."""

    def __init__(self, number: int, lanes: int) -> None:
        self.registers = dict.fromkeys(isa.REGISTERS, 0) | {"LANE": number, "LANES": lanes}
        self.flags = {"N": False, "Z": False}
        self.halted = False
        self.counter = 0

    def execute(
        self, instruction: Instruction, memory: list[Instruction | Number], output: list[Number]
    ) -> int | None:
        """Execute `instruction` and advance the counter; return the memory cell used, if any."""
        opcode, operands = instruction.opcode, instruction.operands
        self.counter += 1
        if opcode.compute:
            self._compute(instruction)
        elif opcode.name in ("LOAD", "STORE"):
            cell = self._cell(instruction, operands[1])
            if opcode.name == "LOAD":
                self.registers[operands[0]] = memory[cell]
            else:
                memory[cell] = self.registers[operands[0]]
            return cell
        elif opcode.name == "OUT":
            output.append(self.registers[operands[0]])
        elif opcode.name == "HALT":
            self.halted = True
        elif self._jumps(opcode.condition):
            self.counter = operands[0]
        return None

    def _compute(self, instruction: Instruction) -> None:
        opcode, text = instruction.opcode, f"`{instruction.text}`"
        values = [self.registers.get(operand, operand) for operand in instruction.operands]
        try:
            result = opcode.function(*values)
        except (ZeroDivisionError, TypeError, ValueError) as error:
            shown = [format_number(value) for value in values]
            problems = {
                ZeroDivisionError: f"divides {shown[0]} by zero.",
                TypeError: f"works on the bits of integers, not on {' and '.join(shown)}.",
                ValueError: f"shifts by {shown[-1]}: use a count from 0 to {isa.BITS - 1}.",
            }
            raise MachineError(f"{text} {problems[type(error)]}") from None
        if not -(2 ** (isa.BITS - 1)) <= result < 2 ** (isa.BITS - 1):
            raise MachineError(
                f"{text} gives a number that does not fit in a register of {isa.BITS} bits. Is "
                "there a loop that never ends?"
            )
        if opcode.category in ("arithmetic", "logic", "special"):
            self.flags = {"N": result < 0, "Z": result == 0}
        if opcode.name != "CMP":
            self.registers[instruction.operands[0]] = result

    def _jumps(self, condition: Sequence[str | bool]) -> bool:
        return not condition or self.flags[condition[0]] == condition[1]

    def _cell(self, instruction: Instruction, address: Address) -> int:
        if address.index is None:
            return address.base
        index = self.registers[address.index]
        if not isinstance(index, int) or not 0 <= index < address.size:
            name = address.name
            raise MachineError(
                f"`{instruction.text}` with {address.index} = {format_number(index)} is out of "
                f"range: {name} has the cells {name}[0] to {name}[{address.size - 1}]. Check how "
                f"{address.index} is computed."
            )
        return address.base + index

    def effect(self, instruction: Instruction) -> str:
        """Return the effect of `instruction`, the last one this lane executed: "A becomes -3"."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode.name == "HALT":
            return translate("the computer stops")
        if opcode.category == "control flow":
            jump, stay = translate("jump to cell {cell}", cell=operands[0]), translate("no jump")
            if not opcode.condition:
                return jump
            flag, found = opcode.condition[0], jump if self._jumps(opcode.condition) else stay
            value = int(self.flags[flag])
            return translate("{flag} is {value}: {found}", flag=flag, value=value, found=found)
        name, number = operands[0], self.registers[operands[0]]
        value = format_number(number)
        if opcode.name == "CMP":
            other = self.registers.get(operands[1], operands[1])
            texts = {"other": format_number(other), "difference": format_number(number - other)}
            return translate("{value} - {other} is {difference}", value=value, **texts)
        if opcode.name == "OUT":
            return translate("the screen shows {value}", value=value)
        if opcode.name == "STORE":
            name, index = operands[1].name, operands[1].index
            name += f"[{format_number(self.registers[index])}]" if index else ""
        return translate("{name} becomes {value}", name=name, value=value)


class SmallComputer:
    """A von Neumann computer: one memory for the program and its data, and one control unit.

    With more than one lane, the control unit fetches an instruction once, and every lane whose
    program counter is at that cell executes it on its own registers. Lanes that have jumped
    elsewhere wait: the control unit always serves the lowest program counter of any lane, so lanes
    that diverged at a branch reconverge after it (see Collange, "Stack-less SIMT reconvergence at
    low cost", 2011). If several lanes store to one cell, the last lane wins.

    Args:
        program: the text of the program; `INSTRUCTION_SET` lists the instructions.
        special: the special instructions that this computer has: "RELU", "MAC", or both.
        memory_width: how many cells memory can read or write at a time; an instruction that needs
            more takes its cycles once per access. None: as many as there are lanes.
        data: the named data of the program, each a number or a list, tensor, or array of numbers
            (a matrix is stored row by row). They follow the program in memory.
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
        if unknown := [name for name in special if name not in isa.SPECIAL]:
            raise ValueError(f"special must be {' or '.join(isa.SPECIAL)}, not {unknown[0]!r}.")
        for name, count in (("lanes", lanes), ("memory_width", memory_width)):
            if count is not None and (type(count) is not int or count < 1):
                raise ValueError(f"{name} must be a positive integer, not {count!r}.")
        blocks = {name: _numbers(name, value) for name, value in data.items()}
        lists = (list, tuple, range)
        self._scalars = {n for n, v in data.items() if not getattr(v, "ndim", isinstance(v, lists))}
        sizes = {name: len(block) for name, block in blocks.items()}
        self.program, self.labels, self.addresses = assemble(program, sizes, special)
        self._initial = [*self.program, *chain.from_iterable(blocks.values())]
        self._width, self._lane_count = memory_width, lanes
        self.reset()

    def reset(self) -> "SmallComputer":
        """Reload the program and its data and return to cell 0; return the computer."""
        self.memory: list[Instruction | Number] = list(self._initial)
        self.lanes = [Lane(number, self._lane_count) for number in range(self._lane_count)]
        self.output: list[Number] = []  # what OUT has sent to the screen
        self._cycles = self._slots = 0
        self._categories = Counter[str]()
        return self

    @property
    def halted(self) -> bool:
        """Whether every lane has executed HALT."""
        return all(lane.halted for lane in self.lanes)

    @property
    def cost(self) -> Cost:
        """The cost of the run so far."""
        counts = {name: self._categories[name] for name in isa.CATEGORIES if self._categories[name]}
        return Cost(sum(counts.values()), self._cycles, counts, len(self.lanes), self._slots)

    def __getitem__(self, name: str) -> Number | list[Number]:
        """Return the data called `name` from memory: a number, or a list if a list was given."""
        if name not in self.addresses:
            raise KeyError(f"there is no data {name!r}; the names are {list(self.addresses)}.")
        address = self.addresses[name]
        cells = self.memory[address.base : address.base + address.size]
        return cells[0] if name in self._scalars else cells

    def run(self, *, limit: int = 100_000) -> Cost:
        """Run until HALT and return the cost; MachineError after more than `limit` instructions."""
        self._repeat(self._advance, limit)
        return self.cost

    def trace(self, *, limit: int = 10_000) -> Trace:
        """Run until HALT and return every step; raises the same errors as `run`."""
        return Trace(self._repeat(self.step, limit))

    def _repeat(self, advance: Callable[[], Any], limit: int) -> list[Any]:
        results = []
        while not self.halted and len(results) < limit:
            results.append(advance())
        if not self.halted:
            cell, instruction = self._fetch()
            raise MachineError(
                f"stopped after {limit:,} instructions without reaching HALT, at cell {cell}, "
                f"`{instruction.text}`. Is there a loop that never ends? "
                f"If the program needs more instructions, raise the limit: limit={10 * limit}."
            )
        return results

    def step(self) -> Step:
        """Execute one instruction, in every lane that has reached it, and return what happened."""
        if self.halted:
            raise MachineError("the computer has halted. Restart it with computer.reset().")
        before = self._cycles
        cell, instruction, running = self._advance()
        first = running[0]
        return Step(
            number=self._categories.total(),
            cell=cell,
            instruction=instruction.text,
            active=tuple(lane in running for lane in self.lanes),
            cycles=self._cycles - before,
            effect=first.effect(instruction),
            registers={n: format_number(first.registers[n]) for n in self._used_registers()},
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
        self._cycles += instruction.opcode.cycles * times
        self._slots += len(running)
        self._categories[instruction.opcode.category] += 1
        return cell, instruction, running

    def _used_registers(self) -> list[str]:
        """Return the registers that the program names, in order."""
        operands = {operand for instruction in self.program for operand in instruction.operands}
        operands |= {operand.index for operand in operands if isinstance(operand, Address)}
        return [name for name in isa.REGISTERS if name in operands]

    def _processor(self) -> Table:
        lanes, halted = self.lanes[:_MAX_SHOWN], translate("halted")
        counters = (halted if lane.halted else str(lane.counter) for lane in lanes)
        rows = [(translate("program counter"), *counters)]
        for name in ("N", "Z"):
            values = (str(int(lane.flags[name])) for lane in lanes)
            rows.append((translate("flag {name}", name=name), *values))
        for name in self._used_registers():
            values = (format_number(lane.registers[name]) for lane in lanes)
            rows.append((translate("register {name}", name=name), *values))
        if self.output:
            output_text = " ".join(format_number(value) for value in self.output)
            rows.append((translate("screen"), output_text, *[""] * (len(lanes) - 1)))
        columns = [translate("value")]
        if len(self.lanes) > 1:
            columns = [translate("lane {number}", number=i) for i in range(len(lanes))]
        caption = translate("processor")
        if count := len(self.lanes) - len(lanes):
            caption = translate("processor ({count} more lanes)", count=count)
        return Table((translate("part"), *columns), rows, caption=caption)

    def _memory(self) -> Table:
        labels = {cell: f"{name}:" for name, cell in self.labels.items()}
        rows = [(str(i), labels.get(i, ""), code.text) for i, code in enumerate(self.program)]
        for name, address in self.addresses.items():
            for i in range(min(address.size, _MAX_SHOWN)):
                cell = address.base + i
                part = name if name in self._scalars else f"{name}[{i}]"
                rows.append((str(cell), part, format_number(self.memory[cell])))
        caption = translate("memory")
        if count := len(self.memory) - len(rows):
            caption = translate("memory ({count} more cells of data)", count=count)
        next_cells = [lane.counter for lane in self.lanes if not lane.halted]
        marked = [cell for cell in next_cells if cell == min(next_cells) < len(self.program)]
        columns = (translate("cell"), translate("name"), translate("contents"))
        return Table(columns, rows, marked=marked, caption=caption)

    def __repr__(self) -> str:
        return f"{self._processor()!r}\n\n{self._memory()!r}"

    def _repr_html_(self) -> str:
        tables = (self._processor(), self._memory())
        divisions = "".join(f"<div>{table._repr_html_()}</div>" for table in tables)
        return f'<div style="display:flex;flex-wrap:wrap;gap:2em">{divisions}</div>'


def format_number(value: Number) -> str:
    """Return a number as the tables show it, with at most six significant digits of a float."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _numbers(name: str, value: Any) -> list[Number]:
    number_or_list = value.tolist() if hasattr(value, "tolist") else value
    if type(number_or_list) in (int, float):
        return [number_or_list]
    if isinstance(number_or_list, list | tuple | range) and number_or_list:
        return [number for part in number_or_list for number in _numbers(name, part)]
    raise TypeError(f"{name} must be a number or a list of numbers, not {value!r}.")
