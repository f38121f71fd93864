from helpers import kernels
from helpers.checks.exercise import Exercise, Lab
from helpers.checks.lab_10 import shared

lab = Lab(
    __name__,
    "10_write_your_own_kernel",
    hints="""
    wrong-kind: `{name}` returns {what}, but it should return a tensor of the dtype of its input.
        -> Return the tensor that your kernel writes to. With which dtype is it created?
    torch-computes: A part of the work is not done by a kernel.
        -> Torch only creates a tensor for the result. A kernel reads all arguments as they are.
    outside: A program reads or writes where its tensor has no element. {error}.
        -> For this program, where is the mask true? Where does its block end?
        see: Without the mask
    race: Element {element} of `{tensor}` is written and used again, by the programs {programs}.
        -> Programs run in any order, or at the same time. Which one should write this element?
        see: A race
    not-covered: No program writes some elements of the result.
        -> Which elements does each program write? Compare the grid and the mask with the shape.
    undefined: The result has numbers that are infinite, NaN, or were never set.
        -> What does `tl.load` return where its mask is false? What is used before it is set?
    wrong-result: Element {place} of the result is {found:.4g}, but it should be {exact:.4g}.
        -> Which elements does its program read for it? (`if`, `and`, `max` do not work on a block.)
    one-program: No launch has more than one program.
        -> A GPU runs many programs at the same time. Which part of the result can each compute?
        see: What a launch costs
    idle-programs: More than half of the programs of a launch read nothing.
        -> Each program computes a whole block. How many blocks are there?
    too-many-bytes: The programs read and write {moved} bytes, but {bytes} would be enough.
        -> Which number is loaded again, or stored and then loaded? Keep it in the program.
    """,
    **shared.rows,
)
_exercises = {str(exercise): globals().pop(str(exercise)) for exercise in lab.exercises.values()}


def __getattr__(name: str) -> Exercise:
    """Return an exercise. Without Triton, no answer is defined: check one that says so."""
    if name not in _exercises:
        raise AttributeError(name)
    if kernels.missing:
        _exercises[name].hint_counts.clear()
        _exercises[name](lambda *_: kernels.enable())
    return _exercises[name]
