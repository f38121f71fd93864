"""The checks of lab 10, write your own kernel: one module per exercise."""

from helpers.checks.exercise import Lab
from helpers.checks.lab_10 import shared

lab = Lab(
    __name__,
    "10_write_your_own_kernel",
    section="Summary",
    hints="""
    not-a-tensor: `{name}` returns {what}, but it should return a tensor.
        -> Return the tensor that your kernel writes to.
    wrong-kind: `{name}` returns a tensor of another shape or type than it should.
        -> Which shape and dtype has the tensor that you create for the result?
    torch-computes: A part of the work is done by torch, not by a kernel.
        -> Torch only creates a tensor for the result. A kernel reads all arguments as they are.
    outside: Program {program} accesses `{tensor}` at {element}, where it has no element. The line:
        `{line}`
        -> `{tensor}` has shape {shape} and strides {strides}. For this program, where is the mask
        true?
    race: The programs {programs} use element {element} of `{tensor}`, and not all only read it.
        -> Programs run in any order, or at the same time. Which one should write this element?
    not-covered: No program writes some elements of the result.
        -> Which elements does each program write? Compare the grid and the mask with the shape.
    undefined: The result depends on numbers that were never set.
        -> `torch.empty` returns what is in memory, and so does a `tl.load` without `other=` where
        its mask is false.
    wrong-result: Element {place} of the result is {found:.4g}, but it should be {exact:.4g}.
        -> Which program computes this element, and which elements does it read for it?
    one-program: A single program does all the work.
        -> A GPU runs many programs at the same time. Which part of the result can each compute?
    reads-again: An element of `{tensor}` is read {times} times, but {exact} would be enough.
        -> Which `tl.load` reads it again? What was read once can be used several times.
    """,
    **shared.rows,
)
