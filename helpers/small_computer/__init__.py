"""A computer small enough to watch: registers, memory, flags, a program counter, and lanes.

`instruction_set.py` says what it can do, `assembler.py` reads a program, `lane.py` executes one
instruction, `machine.py` runs the whole, `tables.py` shows it. A teaching model: its instructions
and their cycles are those of no real chip.
"""

from helpers.small_computer.assembler import ProgramError
from helpers.small_computer.instruction_set import INSTRUCTION_SET, REGISTERS
from helpers.small_computer.lane import MachineError
from helpers.small_computer.machine import SmallComputer
from helpers.small_computer.tables import Cost, Table, Trace

__all__ = [
    "INSTRUCTION_SET",
    "REGISTERS",
    "Cost",
    "MachineError",
    "ProgramError",
    "SmallComputer",
    "Table",
    "Trace",
]
