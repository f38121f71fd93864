"""A small simulated computer for teaching: registers, memory, flags, program counter, lanes.

Its instructions and their cycles are not those of any real processor.
`instruction_set.py` lists the instructions, `assembler.py` parses a program, and `machine.py` runs
it and displays the results.
"""

from helpers.small_computer.assembler import ProgramError
from helpers.small_computer.instruction_set import INSTRUCTION_SET
from helpers.small_computer.machine import Cost, MachineError, SmallComputer, Trace

__all__ = ["INSTRUCTION_SET", "Cost", "MachineError", "ProgramError", "SmallComputer", "Trace"]
