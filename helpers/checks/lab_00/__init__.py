from helpers.checks.exercise import Lab

lab = Lab(
    __name__,
    "00_cpu_and_gpu",
    section="ReLU, one instruction at a time",
    hints="""
    not-a-program: `{name}` returns {what}, but it should return the text of a program.
        -> Write the program between triple quotes and return that string.
    cannot-be-read: The program cannot be read: {error}.
        -> `INSTRUCTION_SET` lists how each instruction is written. Put commas between operands.
    never-halts: With {data}, the program has not reached HALT after {limit} instructions.
        -> Follow the loop once with `.trace()`. Which instruction changes what the jump tests?
        see: Many lanes, one control unit
    stops-early: With {data}, the program stops: {error}.
        -> Build a `SmallComputer` with these data and step through it with `.trace()`.
    nothing-stored: For x = {x}, the program stores nothing in `y`.
        -> A register is lost at HALT. Which instruction copies it to memory, on every path?
    x-changed: The program changes `x` in memory from {x} to {found}.
        -> The result belongs in `y`. Where does your STORE write?
    """,
)
