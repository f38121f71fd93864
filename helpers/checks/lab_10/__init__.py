"""The checks of lab 10, write your own kernel: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(
    __name__,
    "10_write_your_own_kernel",
    section="SECTION",
    hints="""
    no-kernel: `{name}` launches no kernel.
        -> Compute the result in your kernel, and launch it: `kernel[grid](...)`.
    outside: Program {program} accesses element {element} of `{tensor}`, which has shape {shape}. This
        element does not exist. The line is `{line}`.
        -> For which elements of the block is the mask of this line true, in the last program?
    race: Programs {first} and {second} both use element {element} of `{tensor}`, and at least one of
        them writes it.
        -> Programs run in any order, even at the same time. Which program should this element
        belong to?
    undefined: The result depends on elements that a mask excludes from a `tl.load`.
        -> Without `other=`, they can have any value. Which value does not change the result?
    not-written-to: No program writes {count} of the {size} elements of the result.
        -> Which elements does the last program of each dimension of the grid write? Print the grid.
    torch-computes: Apart from launching kernels, `{name}` runs these torch operations: {operations}.
        -> Which of them can your kernel do itself? Only creating an empty tensor is left to torch.
    one-program: A single program does all the work.
        -> A GPU runs many programs at the same time. Which part of the result can each compute?
    reads-again: Some elements of `{tensor}` are read {found} times; {exact} would be enough.
        -> Which `tl.load` reads them again? A block that was read can be used several times.
    """,
)
