"""One lane: an ALU with its registers and flags, and how it executes one instruction."""

from collections.abc import Callable

from helpers.small_computer.assembler import Address, Instruction, Number
from helpers.small_computer.instruction_set import FIXED_REGISTERS, REGISTERS

LARGEST = 2**63

_ALU: dict[str, Callable[[Number, Number], Number]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "CMP": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "DIV": lambda a, b: a // b,
    "MOD": lambda a, b: a % b,
}
# By flags N and Z: whether to jump, and which flag decides.
_JUMPS: dict[str, tuple[Callable[[bool, bool], bool], str]] = {
    "JUMP": (lambda negative, zero: True, ""),
    "JN": (lambda negative, zero: negative, "N"),
    "JNN": (lambda negative, zero: not negative, "N"),
    "JZ": (lambda negative, zero: zero, "Z"),
    "JNZ": (lambda negative, zero: not zero, "Z"),
}


class MachineError(RuntimeError):
    """The program cannot go on; the message says at which cell, why, and what to change."""


def show(value: Number) -> str:
    """Return a number as the tables show it: at most six digits of a fraction."""
    return f"{value:g}" if isinstance(value, float) else str(value)


class Lane:
    """What each lane has of its own: registers, flags, and the cell it stands at.

    Memory and the control unit are shared by all lanes.
    """

    def __init__(self, number: int, lanes: int) -> None:
        self.registers: dict[str, Number] = dict.fromkeys(REGISTERS, 0)
        self.registers |= dict(zip(FIXED_REGISTERS, (number, lanes), strict=True))
        self.negative = False
        self.zero = False
        self.halted = False
        self.counter = 0

    def execute(self, instruction: Instruction, memory: list[Instruction | Number]) -> int | None:
        """Execute `instruction` and move on; return the memory cell it used, if it used one.

        Raises:
            MachineError: it cannot be executed.
        """
        name, operands = instruction.opcode.name, instruction.operands
        self.counter += 1
        if name in _JUMPS:
            if _JUMPS[name][0](self.negative, self.zero):
                self.counter = operands[0]
            return None
        if name == "HALT":
            self.halted = True
            return None
        if name in ("LOAD", "STORE"):
            cell = self._cell(instruction, operands[1])
            if name == "LOAD":
                self.registers[operands[0]] = memory[cell]
            else:
                memory[cell] = self.registers[operands[0]]
            return cell
        self._compute(instruction)
        return None

    def _compute(self, instruction: Instruction) -> None:
        name, operands = instruction.opcode.name, instruction.operands
        target, old = operands[0], self.registers[operands[0]]
        if name == "SET":
            self.registers[target] = self._value(operands[1])
            return
        if name == "RELU":
            self.registers[target] = max(old, 0)
            return
        if name == "MAC":
            result = old + self.registers[operands[1]] * self._value(operands[2])
        else:
            value = self._value(operands[1])
            if value == 0 and name in ("DIV", "MOD"):
                raise MachineError(f"`{instruction.text}` divides {show(old)} by zero.")
            result = _ALU[name](old, value)
        if abs(result) > LARGEST:
            raise MachineError(
                f"`{instruction.text}` gives a number beyond 2**63, too large for a register. "
                f"Is there a loop that never ends?"
            )
        self.negative, self.zero = result < 0, result == 0
        if name != "CMP":
            self.registers[target] = result

    def _value(self, operand: str | Number) -> Number:
        return self.registers[operand] if isinstance(operand, str) else operand

    def _cell(self, instruction: Instruction, address: Address) -> int:
        if address.index is None:
            return address.base
        index = self.registers[address.index]
        if not isinstance(index, int) or not 0 <= index < address.size:
            raise MachineError(
                f"`{instruction.text}` with {address.index} = {show(index)} is out of range: "
                f"{address.name} has the cells {address.name}[0] to "
                f"{address.name}[{address.size - 1}]. Look at how {address.index} is counted."
            )
        return address.base + index

    def effect(self, instruction: Instruction) -> str:
        """Say what `instruction`, executed a moment ago, did: "A becomes -3"."""
        name, operands = instruction.opcode.name, instruction.operands
        if name == "HALT":
            return "the computer stops"
        if name in _JUMPS:
            decides, flag = _JUMPS[name]
            jumped = decides(self.negative, self.zero)
            because = f"{flag} is {int(self.negative if flag == 'N' else self.zero)}: "
            to = f"jump to cell {self.counter}" if jumped else "no jump"
            return (because if flag else "") + to
        if name == "CMP":
            value = self._value(operands[1])
            first = self.registers[operands[0]]
            return f"{show(first)} - {show(value)} is {show(first - value)}"
        if name == "STORE":
            where, index = operands[1].name, operands[1].index
            where += f"[{show(self.registers[index])}]" if index else ""
            return f"{where} becomes {show(self.registers[operands[0]])}"
        return f"{operands[0]} becomes {show(self.registers[operands[0]])}"
