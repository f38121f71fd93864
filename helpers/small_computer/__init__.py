"""A small simulated computer for teaching: registers, memory, flags, program counter, lanes.

Its instructions and their cycles are not those of any real processor.
"""

from helpers.small_computer.instruction_set import INSTRUCTION_SET, ProgramError
from helpers.small_computer.machine import Cost, MachineError, SmallComputer, Trace

__all__ = ["INSTRUCTION_SET", "Cost", "MachineError", "ProgramError", "SmallComputer", "Trace"]
