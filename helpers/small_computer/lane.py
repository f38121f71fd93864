"""One lane: an ALU with its registers and flags, and the execution of one instruction."""

from helpers.language import translate
from helpers.small_computer.assembler import Address, Instruction
from helpers.small_computer.instruction_set import BITS, FIXED_REGISTERS, REGISTERS, Number


class MachineError(RuntimeError):
    """The program cannot continue; the message gives the cell, the reason, and what to change."""


def format_number(value: Number) -> str:
    """Return a number as the tables show it, with at most six significant digits of a float."""
    return f"{value:g}" if isinstance(value, float) else str(value)


class Lane:
    """Registers, flags, and program counter of one lane; all lanes share the memory."""

    def __init__(self, number: int, lanes: int) -> None:
        self.registers: dict[str, Number] = dict.fromkeys(REGISTERS, 0)
        self.registers |= dict(zip(FIXED_REGISTERS, (number, lanes), strict=True))
        self.flags = {"N": False, "Z": False}
        self.halted = False
        self.counter = 0

    def execute(
        self, instruction: Instruction, memory: list[Instruction | Number], output: list[Number]
    ) -> int | None:
        """Execute `instruction` and advance the counter; return the memory cell used, if any.

        Raises:
            MachineError: the instruction cannot be executed.
        """
        opcode, operands = instruction.opcode, instruction.operands
        self.counter += 1
        cell = None
        if opcode.compute is not None:
            self._compute(instruction)
        elif opcode.name == "LOAD":
            cell = self._cell(instruction, operands[1])
            self.registers[operands[0]] = memory[cell]
        elif opcode.name == "STORE":
            cell = self._cell(instruction, operands[1])
            memory[cell] = self.registers[operands[0]]
        elif opcode.name == "OUT":
            output.append(self.registers[operands[0]])
        elif opcode.name == "HALT":
            self.halted = True
        elif self._jumps(instruction):
            self.counter = operands[0]
        return cell

    def _compute(self, instruction: Instruction) -> None:
        values = [self._value(operand) for operand in instruction.operands]
        try:
            result = instruction.opcode.compute(*values)
        except ZeroDivisionError:
            raise MachineError(
                f"`{instruction.text}` divides {format_number(values[0])} by zero."
            ) from None
        except TypeError:
            raise MachineError(
                f"`{instruction.text}` works on the bits of integers, not on "
                f"{' and '.join(format_number(v) for v in values)}."
            ) from None
        except ValueError:
            raise MachineError(
                f"`{instruction.text}` shifts by {format_number(values[1])}: "
                f"use a count from 0 to {BITS - 1}."
            ) from None
        if not -(2 ** (BITS - 1)) <= result < 2 ** (BITS - 1):
            raise MachineError(
                f"`{instruction.text}` gives a number that does not fit in a register of {BITS} "
                f"bits. Is there a loop that never ends?"
            )
        if instruction.opcode.sets_flags:
            self.flags = {"N": result < 0, "Z": result == 0}
        if instruction.opcode.name != "CMP":
            self.registers[instruction.operands[0]] = result

    def _jumps(self, instruction: Instruction) -> bool:
        flag, expected = instruction.opcode.condition or ("", None)
        return not flag or self.flags[flag] == expected

    def _value(self, operand: str | Number) -> Number:
        return self.registers[operand] if isinstance(operand, str) else operand

    def _cell(self, instruction: Instruction, address: Address) -> int:
        if address.index is None:
            return address.base
        index = self.registers[address.index]
        if not isinstance(index, int) or not 0 <= index < address.size:
            raise MachineError(
                f"`{instruction.text}` with {address.index} = {format_number(index)} is out of "
                f"range: {address.name} has the cells {address.name}[0] to "
                f"{address.name}[{address.size - 1}]. Check how {address.index} is computed."
            )
        return address.base + index

    def effect(self, instruction: Instruction) -> str:
        """Return the effect of `instruction`, the last one this lane executed: "A becomes -3"."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode.name == "HALT":
            return translate("the computer stops")
        if operands and opcode.category == "control flow":
            flag = opcode.condition[0] if opcode.condition else ""
            outcome = translate("no jump")
            if self._jumps(instruction):
                outcome = translate("jump to cell {cell}", cell=operands[0])
            if not flag:
                return outcome
            value = int(self.flags[flag])
            return translate("{flag} is {value}: {found}", flag=flag, value=value, found=outcome)
        value = format_number(self.registers[operands[0]])
        if opcode.name == "CMP":
            other = self._value(operands[1])
            difference = format_number(self.registers[operands[0]] - other)
            return translate(
                "{value} - {other} is {difference}",
                value=value,
                other=format_number(other),
                difference=difference,
            )
        if opcode.name == "OUT":
            return translate("the screen shows {value}", value=value)
        if opcode.name == "STORE":
            name, index = operands[1].name, operands[1].index
            at = f"[{format_number(self.registers[index])}]" if index else ""
            return translate("{name} becomes {value}", name=f"{name}{at}", value=value)
        return translate("{name} becomes {value}", name=operands[0], value=value)
