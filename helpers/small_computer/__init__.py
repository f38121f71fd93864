"""A small simulated computer for teaching: registers, memory, flags, program counter, lanes.

Its instructions and their cycles are not those of any real processor.
`instruction_set.py` lists the instructions, `assembler.py` parses a program, `lane.py` executes one
instruction, `machine.py` runs a program, and `tables.py` displays the results.
"""

from helpers.small_computer.assembler import ProgramError
from helpers.small_computer.instruction_set import INSTRUCTION_SET, REGISTERS
from helpers.small_computer.lane import MachineError
from helpers.small_computer.machine import SmallComputer
from helpers.small_computer.tables import Cost, Trace

__all__ = [
    "INSTRUCTION_SET",
    "REGISTERS",
    "Cost",
    "MachineError",
    "ProgramError",
    "SmallComputer",
    "Trace",
]
