"""Reads a program's text: one instruction a line, `label:` before it, `; comment` after it."""

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from helpers.small_computer.instruction_set import FIXED_REGISTERS, OPCODES, REGISTERS, Opcode

Number = int | float
_NAME = r"[A-Za-z_]\w*"


class ProgramError(ValueError):
    """The text is no program for this computer; the message names the line and the way out."""


@dataclass(frozen=True)
class Address:
    """A memory cell: the first of the `size` cells of a name, plus what an index register holds."""

    name: str
    base: int
    size: int
    index: str | None


@dataclass(frozen=True)
class Instruction:
    """One instruction, ready to execute.

    Attributes:
        opcode: what to do.
        operands: with what: a register's name, a number, an `Address`, or for a label the number
            of its cell.
        text: the instruction as the program has it, spaces put in order.
    """

    opcode: Opcode
    operands: tuple[str | Number | Address, ...]
    text: str


@dataclass(frozen=True)
class _Line:
    number: int
    opcode: str
    operands: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.opcode} {', '.join(self.operands)}".strip()


def assemble(
    program: str, data_sizes: Mapping[str, int], special: Collection[str] = ()
) -> tuple[list[Instruction], dict[str, int], dict[str, int]]:
    """Turn a program's text into instructions, and give every label and every name its cell.

    The instructions take the first cells of memory, the data follow in the order given.

    Args:
        program: the text.
        data_sizes: the names that the program may use as addresses, and how many cells each takes.
        special: which of the special instructions this computer has.

    Returns:
        the instructions; the cell of each label; the first cell of each name.

    Raises:
        ProgramError: a line cannot be read.
    """
    lines, labels = _split(program)
    for name in data_sizes:
        if name in labels or name in REGISTERS + FIXED_REGISTERS:
            kind = "a label" if name in labels else "a register"
            raise ProgramError(f"the data cannot be called {name}: that is {kind}. Rename them.")
    addresses, cell = {}, len(lines)
    for name, size in data_sizes.items():
        addresses[name] = Address(name, cell, size, None)
        cell += size
    instructions = [_instruction(line, labels, addresses, special) for line in lines]
    return instructions, labels, {name: address.base for name, address in addresses.items()}


def _split(program: str) -> tuple[list[_Line], dict[str, int]]:
    if not isinstance(program, str):
        raise ProgramError(f"a program is a text, not {program!r}.")
    lines: list[_Line] = []
    labels: dict[str, int] = {}
    for number, text in enumerate(program.splitlines(), start=1):
        code = re.split("[;#]", text)[0].strip()
        while match := re.match(rf"({_NAME})\s*:", code):
            if match[1] in labels:
                raise ProgramError(f"line {number}: there is already a label {match[1]}.")
            labels[match[1]] = len(lines)
            code = code[match.end() :].strip()
        if code:
            opcode, _, rest = code.partition(" ")
            operands = tuple(part.strip() for part in rest.split(",")) if rest.strip() else ()
            lines.append(_Line(number, opcode.upper(), operands))
    if not lines:
        raise ProgramError("the program is empty: it needs at least HALT.")
    for label, cell in labels.items():
        if cell == len(lines):
            raise ProgramError(f"no instruction follows the label {label}. Write HALT after it.")
    return lines, labels


def _instruction(
    line: _Line, labels: Mapping[str, int], names: Mapping[str, Address], special: Collection[str]
) -> Instruction:
    opcode = OPCODES.get(line.opcode)
    if opcode is None:
        raise ProgramError(
            f"line {line.number}: there is no instruction {line.opcode}."
            f"{_nearest(line.opcode, OPCODES)} There are {', '.join(OPCODES)}."
        )
    if opcode.category == "special" and opcode.name not in special:
        raise ProgramError(
            f"line {line.number}: this computer is built without {opcode.name}. "
            f"Build one that has it: SmallComputer(..., special=[{opcode.name!r}])."
        )
    if len(line.operands) != len(opcode.operands):
        raise ProgramError(
            f"line {line.number}: `{line.text}` does not fit: it is written {opcode.form}, "
            f"with commas between what follows the name."
        )
    operands = tuple(
        _operand(line, kind, text, labels, names)
        for kind, text in zip(opcode.operands, line.operands, strict=True)
    )
    return Instruction(opcode, operands, line.text)


def _operand(
    line: _Line, kind: str, text: str, labels: Mapping[str, int], names: Mapping[str, Address]
) -> str | Number | Address:
    where = f"line {line.number}: in `{line.text}`, "
    if kind == "label":
        if text not in labels:
            known = f" There are {', '.join(labels)}." if labels else " Write it as `name:`."
            raise ProgramError(
                f"{where}no line has the label {text}.{_nearest(text, labels) or known}"
            )
        return labels[text]
    if kind == "address":
        match = re.fullmatch(rf"({_NAME})\s*(?:\[\s*(\w+)\s*\])?", text)
        if match is None or match[1] not in names:
            raise ProgramError(
                f"{where}{text} is no place in memory. The data here are called "
                f"{', '.join(names) or 'nothing: give them, as in SmallComputer(program, x=-3)'}."
            )
        if match[2] is not None and match[2] not in REGISTERS + FIXED_REGISTERS:
            number = f" Use one: SET I, {match[2]} and then {match[1]}[I]."
            hint = number if match[2].isdigit() else _registers(match[2])
            raise ProgramError(f"{where}the index {match[2]} is no register.{hint}")
        return replace(names[match[1]], index=match[2])
    if text in REGISTERS or (kind == "value" and text in FIXED_REGISTERS):
        return text
    if kind == "value" and (number := _number(text)) is not None:
        return number
    expected = "a register" if kind == "register" else "a register or a number"
    if text in FIXED_REGISTERS:
        raise ProgramError(f"{where}{text} can be read but not changed. Copy it: SET I, {text}.")
    load = " Memory has to be LOADed into a register first." if text in names else ""
    raise ProgramError(f"{where}{text or 'nothing'} is not {expected}.{load}{_registers(text)}")


def _number(text: str) -> Number | None:
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+)", text) else None


def _nearest(word: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" Did you mean {close[0]}?" if close else ""


def _registers(text: str) -> str:
    if text.upper() in REGISTERS:
        return f" Did you mean {text.upper()}? Registers are written in capitals."
    return f" The registers are {', '.join(REGISTERS)}."
