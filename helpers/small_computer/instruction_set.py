"""The instructions of the small computer, and programs made of them.

A program has one instruction per line, `label:` before it, `; comment` after it.
"""

import operator
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.language import translate
from helpers.tables import Table, TableDisplay

Number = int | float

REGISTERS = ("A", "B", "C", "D", "E", "I", "J", "K")
# Read-only registers of a lane: its own number, and the number of lanes.
FIXED_REGISTERS = ("LANE", "LANES")
CATEGORIES = ("data movement", "arithmetic", "logic", "control flow", "input/output", "special")
_KNOWN = f" The registers are the capital letters {', '.join(REGISTERS)}."
BITS = 64  # a register holds -2**63 to 2**63 - 1
_NAME = r"[A-Za-z_]\w*"


def _count(count: Number) -> Number:
    if not 0 <= count < BITS:
        raise ValueError(f"cannot shift by {count}")
    return count


# What instructions compute, in addition to the functions of `operator`.
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "set": lambda old, new: new,
    "shift_left": lambda a, count: a << _count(count),
    "shift_right": lambda a, count: a >> _count(count),
    "relu": lambda a: max(a, 0),
    "add_product": lambda a, b, c: a + b * c,
}


@dataclass(frozen=True)
class Opcode:
    """One kind of instruction: a row of `instructions.toml`, which explains the columns."""

    name: str
    category: str
    operands: Sequence[str]
    meaning: str
    cycles: int
    compute: str = ""
    condition: Sequence[str | bool] = ()

    @property
    def function(self) -> Callable[..., Number]:
        """What it computes; raises ValueError for a shift by an invalid count."""
        return _FUNCTIONS.get(self.compute) or getattr(operator, self.compute)

    @property
    def form(self) -> str:
        """How to write it in a program: "LOAD register, address"."""
        return f"{self.name} {', '.join(self.operands)}".strip()


_TABLE = Path(__file__).with_name("instructions.toml").read_text(encoding="utf-8")
OPCODES = {row["name"]: Opcode(**row) for row in tomllib.loads(_TABLE)["instructions"]}
SPECIAL = tuple(name for name, opcode in OPCODES.items() if opcode.category == "special")


class _InstructionSet(TableDisplay):
    """The table of all instructions, in the student's language."""

    def _table(self) -> Table:
        columns = [translate("category"), translate("instruction")]
        columns += [translate("what it does"), translate("cycles")]
        rows = [
            (translate(opcode.category), opcode.form, translate(opcode.meaning), str(opcode.cycles))
            for opcode in OPCODES.values()
        ]
        return Table(columns, rows)


INSTRUCTION_SET = _InstructionSet()


class ProgramError(ValueError):
    """The text is not a valid program; the message names the line and says what to change."""


@dataclass(frozen=True)
class Address:
    """A memory cell: `base`, the first of `size` cells called `name`, plus register `index`."""

    name: str
    base: int
    size: int
    index: str | None = None


@dataclass(frozen=True)
class Instruction:
    """One parsed instruction; `text` is as in the program, with whitespace normalized.

    An operand is a register's name, a number, an `Address`, or for a label its cell number.
    """

    opcode: Opcode
    operands: tuple[str | Number | Address, ...]
    text: str


def assemble(
    program: str, data_sizes: Mapping[str, int], special: Collection[str] = ()
) -> tuple[list[Instruction], dict[str, int], dict[str, Address]]:
    """Parse a program; return its instructions, the cell of each label, and each name's address.

    The instructions take the first cells of memory; the data follow in the given order.
    `data_sizes` has the number of cells for each name that the program may use as an address,
    `special` the special instructions that this computer has. Raises ProgramError.
    """
    if not isinstance(program, str):
        raise ProgramError(f"a program must be a string, not {program!r}.")
    lines: list[tuple[int, str]] = []
    labels: dict[str, int] = {}
    for number, text in enumerate(program.splitlines(), start=1):
        code = re.split("[;#]", text)[0].strip()
        while match := re.match(rf"({_NAME})\s*:", code):
            if match[1] in labels:
                raise ProgramError(f"line {number}: the label {match[1]} is already defined.")
            labels[match[1]] = len(lines)
            code = code[match.end() :].strip()
        if code:
            lines.append((number, code))
    if not lines:
        raise ProgramError("the program is empty: it needs at least HALT.")
    for label, cell in labels.items():
        if cell == len(lines):
            raise ProgramError(f"no instruction follows the label {label}. Add HALT after it.")
    addresses, cell = {}, len(lines)
    for name, size in data_sizes.items():
        if name in labels or name in REGISTERS + FIXED_REGISTERS:
            kind = "a label" if name in labels else "a register"
            raise ProgramError(f"{name} is {kind}: choose another name for the data.")
        addresses[name] = Address(name, cell, size)
        cell += size
    instructions = []
    for number, code in lines:
        try:
            instructions.append(_parse(code, labels, addresses, special))
        except ProgramError as error:
            raise ProgramError(f"line {number}: {error}") from None
    return instructions, labels, addresses


def _parse(
    code: str, labels: dict[str, int], addresses: dict[str, Address], special: Collection[str]
) -> Instruction:
    name, _, rest = code.partition(" ")
    name, texts = name.upper(), [part.strip() for part in rest.split(",") if rest.strip()]
    opcode = OPCODES.get(name)
    if opcode is None:
        raise ProgramError(
            f"there is no instruction {name}. The instructions are {', '.join(OPCODES)}."
        )
    if opcode.category == "special" and name not in special:
        raise ProgramError(
            f"this computer does not have {name}. "
            f"Use others, or build one that does: SmallComputer(..., special=[{name!r}])."
        )
    text = f"{name} {', '.join(texts)}".strip()
    if len(texts) != len(opcode.operands):
        raise ProgramError(
            f"`{text}` has the wrong number of operands: write {opcode.form}, "
            f"with commas between the operands."
        )
    operands = []
    for kind, operand in zip(opcode.operands, texts, strict=True):
        try:
            if kind == "label":
                if operand not in labels:
                    known = ", ".join(labels) or "none yet"
                    raise ProgramError(f"the label {operand} is not defined. Labels: {known}.")
                operands.append(labels[operand])
            elif kind == "address":
                operands.append(_address(operand, addresses))
            else:
                reads = name in ("CMP", "OUT", "STORE")
                operands.append(_value(operand, addresses, kind == "value", reads))
        except ProgramError as error:
            raise ProgramError(f"in `{text}`, {error}") from None
    return Instruction(opcode, tuple(operands), text)


def _address(text: str, addresses: Mapping[str, Address]) -> Address:
    match = re.fullmatch(rf"({_NAME})\s*(?:\[\s*(\w+)\s*\])?", text)
    if match is None or match[1] not in addresses:
        known = "There are no names yet: define them, as in SmallComputer(program, x=-3)."
        if addresses:
            known = f"The names are {', '.join(addresses)}."
        raise ProgramError(f"{text} is not a name in memory. {known}")
    name, index = match.groups()
    if index is not None and index not in REGISTERS + FIXED_REGISTERS:
        use = f" Use one: SET I, {index} and then {name}[I]." if index.isdigit() else _KNOWN
        raise ProgramError(f"the index {index} is not a register.{use}")
    return replace(addresses[name], index=index)


def _value(text: str, addresses: Mapping[str, Address], numbers: bool, reads: bool) -> str | Number:
    if text in REGISTERS or ((numbers or reads) and text in FIXED_REGISTERS):
        return text
    if numbers and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if numbers and re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+)", text):
        return float(text)
    if text in FIXED_REGISTERS:
        raise ProgramError(f"{text} is read-only. Copy it to a register: SET I, {text}.")
    expected = "a register or a number" if numbers else "a register"
    load = " LOAD the memory cell into a register first." if text in addresses else ""
    raise ProgramError(f"{text or 'nothing'} is not {expected}.{load}{_KNOWN}")
