"""Registers and instructions of the small computer."""

import operator
from collections.abc import Callable
from dataclasses import dataclass

from helpers.language import translate
from helpers.tables import Table, TableDisplay

Number = int | float

REGISTERS = ("A", "B", "C", "D", "E", "I", "J", "K")
# Read-only registers of a lane: its own number, and the number of lanes.
FIXED_REGISTERS = ("LANE", "LANES")
CATEGORIES = ("data movement", "arithmetic", "logic", "control flow", "input/output", "special")
BITS = 64  # a register holds -2**63 to 2**63 - 1


def _count(count: Number) -> Number:
    if not 0 <= count < BITS:
        raise ValueError(f"cannot shift by {count}")
    return count


@dataclass(frozen=True)
class Opcode:
    """One kind of instruction."""

    name: str  # in a program, such as "LOAD"
    category: str  # one of `CATEGORIES`
    # "register", "value" (a number or a register), "address" (a name such as x or x[I]) or "label"
    # (a position in the program).
    operands: tuple[str, ...]
    # Memory is slower than the ALU on every real machine; the ratio of 4 to 1 is a choice.
    cycles: int
    meaning: str
    # The new value of the first operand, computed from the values of all operands.
    compute: Callable[..., Number] | None = None
    # For a conditional jump, the flag it tests and the value that makes it jump.
    condition: tuple[str, bool] | None = None

    @property
    def form(self) -> str:
        """How to write it in a program: "LOAD register, address"."""
        return f"{self.name} {', '.join(self.operands)}".strip()

    @property
    def sets_flags(self) -> bool:
        """Whether its result sets the flags N (negative) and Z (zero)."""
        return self.category in ("arithmetic", "logic", "special")


def _compute(
    name: str, category: str, meaning: str, compute: Callable[..., Number], values: int = 1
) -> Opcode:
    return Opcode(name, category, ("register",) + ("value",) * values, 1, meaning, compute)


def _jump(name: str, meaning: str, condition: tuple[str, bool] | None = None) -> Opcode:
    return Opcode(name, "control flow", ("label",), 1, meaning, condition=condition)


_ALL_OPCODES = (
    Opcode(
        "LOAD", "data movement", ("register", "address"), 4, "copy a memory cell to the register"
    ),
    Opcode(
        "STORE", "data movement", ("register", "address"), 4, "copy the register to a memory cell"
    ),
    _compute("SET", "data movement", "copy the value to the register", lambda old, value: value),
    _compute("ADD", "arithmetic", "add the value to the register", operator.add),
    _compute("SUB", "arithmetic", "subtract the value from the register", operator.sub),
    _compute("MUL", "arithmetic", "multiply the register by the value", operator.mul),
    _compute("DIV", "arithmetic", "divide by the value and round down", operator.floordiv),
    _compute("MOD", "arithmetic", "remainder of that division", operator.mod),
    _compute("CMP", "arithmetic", "compare: SUB that only sets the flags", operator.sub),
    _compute("AND", "logic", "1 where both bits are 1", operator.and_),
    _compute("OR", "logic", "1 where at least one bit is 1", operator.or_),
    _compute("XOR", "logic", "1 where the bits differ", operator.xor),
    _compute("NOT", "logic", "flip every bit", operator.invert, values=0),
    _compute("SHL", "logic", "shift the bits to the left", lambda old, n: old << _count(n)),
    _compute("SHR", "logic", "shift the bits to the right", lambda old, n: old >> _count(n)),
    _jump("JUMP", "continue at the label"),
    _jump("JN", "jump if negative: flag N is 1", ("N", True)),
    _jump("JNN", "jump if not negative: flag N is 0", ("N", False)),
    _jump("JZ", "jump if zero: flag Z is 1", ("Z", True)),
    _jump("JNZ", "jump if not zero: flag Z is 0", ("Z", False)),
    Opcode("HALT", "control flow", (), 1, "stop"),
    Opcode("OUT", "input/output", ("register",), 4, "send the register to the screen"),
    _compute("RELU", "special", "replace a negative number with 0", lambda a: max(a, 0), values=0),
    _compute(
        "MAC", "special", "add value * value to the register", lambda a, b, c: a + b * c, values=2
    ),
)
OPCODES = {opcode.name: opcode for opcode in _ALL_OPCODES}
SPECIAL = tuple(opcode.name for opcode in _ALL_OPCODES if opcode.category == "special")


class _InstructionSet(TableDisplay):
    """The table of all instructions, in the student's language."""

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table: category, instruction, what it does, cycles."""
        return self._table().rows

    def _table(self) -> Table:
        columns = [translate("category"), translate("instruction")]
        columns += [translate("what it does"), translate("cycles")]
        rows = [
            (translate(opcode.category), opcode.form, translate(opcode.meaning), str(opcode.cycles))
            for opcode in _ALL_OPCODES
        ]
        return Table(columns, rows)


INSTRUCTION_SET = _InstructionSet()
