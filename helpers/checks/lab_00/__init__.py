"""The checks of lab 00, CPU and GPU: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(
    __name__,
    "00_cpu_and_gpu",
    section="ReLU, one instruction at a time",
    hints="""
    not-a-program: `{name}` returns {what}, but it should return the text of a program.
        -> Write the program between triple quotes and return that string.
    cannot-be-read: The program cannot be read: {error}.
        -> `INSTRUCTION_SET` lists how each instruction is written. Operands are separated by
        commas.
    never-halts: With {data}, the program has not reached HALT after {limit} instructions.
        -> Follow one pass through the loop with `.trace()`. Which instruction changes what the jump
        tests?
        see: Many lanes, one control unit
    stops-early: With {data}, the program stops: {error}.
        -> Build a `SmallComputer` with these data and step through it with `.trace()`.
    nothing-stored: For x = {x}, the program stores nothing in `y`.
        -> A result in a register is lost when the computer halts. Which instruction copies it to
        memory, and does every path through your program reach it?
    x-changed: The program changes `x` in memory from {x} to {found}.
        -> The result belongs in `y`. Where does your STORE write?
    """,
)
