"""What the small computer can do: its registers and its instructions, by category."""

from dataclasses import dataclass

from helpers.small_computer.tables import Table

REGISTERS = ("A", "B", "C", "D", "E", "I", "J", "K")
# A lane can read these but not write them: its own number, and how many lanes there are.
FIXED_REGISTERS = ("LANE", "LANES")
CATEGORIES = ("data movement", "arithmetic", "control flow", "special")


@dataclass(frozen=True)
class Opcode:
    """One kind of instruction.

    Attributes:
        name: as a program writes it, such as "LOAD".
        category: one of `CATEGORIES`.
        operands: what it takes, each "register", "value" (a number or a register), "address" (a
            name such as x or x[I]) or "label" (a place in the program).
        cycles: what it costs. Memory is slower than the ALU on every real machine; 4 to 1 is this
            model's choice.
        meaning: what it does, in a few words.
    """

    name: str
    category: str
    operands: tuple[str, ...]
    cycles: int
    meaning: str

    @property
    def form(self) -> str:
        """How a program writes it: "LOAD register, address"."""
        return f"{self.name} {', '.join(self.operands)}".strip()


_LIST = (
    Opcode("LOAD", "data movement", ("register", "address"), 4, "copy a memory cell to a register"),
    Opcode("STORE", "data movement", ("register", "address"), 4, "copy a register to memory"),
    Opcode("SET", "data movement", ("register", "value"), 1, "put a value in a register"),
    Opcode("ADD", "arithmetic", ("register", "value"), 1, "register + value; sets the flags"),
    Opcode("SUB", "arithmetic", ("register", "value"), 1, "register - value; sets the flags"),
    Opcode("MUL", "arithmetic", ("register", "value"), 1, "register * value; sets the flags"),
    Opcode("DIV", "arithmetic", ("register", "value"), 1, "whole quotient; sets the flags"),
    Opcode("MOD", "arithmetic", ("register", "value"), 1, "remainder of DIV; sets the flags"),
    Opcode("CMP", "arithmetic", ("register", "value"), 1, "SUB that keeps nothing but the flags"),
    Opcode("JUMP", "control flow", ("label",), 1, "go on at the label"),
    Opcode("JN", "control flow", ("label",), 1, "jump if negative: flag N is 1"),
    Opcode("JNN", "control flow", ("label",), 1, "jump if not negative: flag N is 0"),
    Opcode("JZ", "control flow", ("label",), 1, "jump if zero: flag Z is 1"),
    Opcode("JNZ", "control flow", ("label",), 1, "jump if not zero: flag Z is 0"),
    Opcode("HALT", "control flow", (), 1, "stop"),
    Opcode("RELU", "special", ("register",), 1, "put 0 in the register if it is negative"),
    Opcode(
        "MAC",
        "special",
        ("register", "register", "value"),
        1,
        "add the others' product; sets the flags",
    ),
)
OPCODES = {opcode.name: opcode for opcode in _LIST}
SPECIAL = tuple(opcode.name for opcode in _LIST if opcode.category == "special")
INSTRUCTION_SET = Table(
    ("category", "instruction", "what it does", "cycles"),
    [(opcode.category, opcode.form, opcode.meaning, str(opcode.cycles)) for opcode in _LIST],
)
