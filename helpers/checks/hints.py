"""Hints for wrong answers: three levels of help, never the solution.

The hints of an exercise are a text in its module; `read_hints` has the format. General hints are at
the end of this module, in the same format: for errors, and for rows of any exercise.
"""

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from helpers.language import translate

_ENTRY = re.compile(r"^([a-z0-9-]+): ", flags=re.MULTILINE)


@dataclass(frozen=True)
class Hint:
    """The help for one mistake; `id` is used by the tests and stored in the notebook."""

    id: str
    wrong: str  # what is wrong, at the first attempt, with placeholders such as `{name}`
    look: str  # where to look, added at the second attempt with the same mistake
    section: str = ""  # of the lesson, to read again; added at the third attempt

    def fill(self, values: Mapping[str, Any]) -> "Hint":
        """Return the hint with its texts translated and their placeholders filled in."""
        wrong, look = (translate(text).format_map(values) for text in (self.wrong, self.look))
        return replace(self, wrong=wrong, look=look)


def read_hints(text: str, section: str = "") -> dict[str, Hint]:
    """Return the hints in a text, by id.

    The text has one paragraph per hint, indented as a whole. Lines are joined with spaces:

        the-id: What is wrong, with {placeholders}.
            -> Where to look.
            see: The section of the lesson, if it is not the one that the exercise names

    Raises ValueError if a hint does not say where to look.
    """
    hints = {}
    parts = _ENTRY.split(textwrap.dedent(text).strip())[1:]
    for id, paragraph in zip(parts[::2], parts[1::2], strict=True):
        body, _, own_section = paragraph.partition("\n    see: ")
        wrong, arrow, look = (" ".join(part.split()) for part in body.partition("\n    -> "))
        if not arrow:
            raise ValueError(f"The hint {id!r} has no line that starts with '->'.")
        hints[id] = Hint(id, wrong, look, " ".join(own_section.split()) or section)
    return hints


# `{name}` is the name of the student's function.
GENERAL = read_hints("""
not-written: `{name}` is not written yet.
    -> Replace the line that raises NotImplementedError with your code. Run that cell, then this
    one.
not-callable: `{name}` should be a function, but it is {what}.
    -> Does another cell assign something else to this name? Run the cell that defines it again.
name-shadowed: Your notebook has reassigned `{hidden}`: it is now {what}.
    -> A line such as `{hidden} = ...` replaced it. Use another name in that line, restart the
    kernel, and run the cells from the top.
device-error: `{name}` raises a device error. {explained}
    -> Print the device of each tensor in that line. Which of them can you move?
raised: `{name}` raises {error}.{where}
    -> Call it yourself in a new cell with small tensors: the traceback shows the line.
wrong-arguments: `{name}` cannot be called with the arguments of the exercise: {error}.
    -> Compare the first line of your function with the one that was given.
takes-too-long: `{name}` was stopped after {seconds:g} seconds. Perhaps one of its loops never ends.
    -> Is there a condition that never becomes false, or a loop that does far more work than it
    needs to?
too-much-memory: `{name}` needs more memory than is available.
    -> Look for a tensor or a list that is larger than the exercise needs, or that grows in a loop.
ends-the-program: `{name}` exits the program instead of returning a result.
    -> A function passes its result back with `return`; `exit()` ends Python itself.
asks-for-input: `{name}` calls `input()`, which waits for keyboard input.
    -> Use the function's arguments instead: they contain all the data it needs.
too-deep: `{name}` calls itself endlessly.
    -> Which call should be the last one, and what does it do instead of calling itself again?
no-result: `{name}` returns None.
    -> A function returns None unless it ends with `return` and a value.
unusable-result: The check could not use the value that `{name}` returns: {error}.
    -> Compare what it returns with what the exercise asks for: how many values, and of which type?
not-a-number: `{name}` returns {what}, but it should return a plain Python number.
    -> A tensor with one number is still a tensor on its device. Which method returns the number?
not-an-int: `{name}` returns {what}, but it should return an int.
    -> The result has no fractions. Does your function contain a division with `/`?
result-elsewhere: The input is on {given}, but the result of `{name}` is on {found}.
    -> The result should be on the input's device, whichever that is. How can your code find out?
copied: `{name}` copies {bytes} bytes between devices.
    -> Tensors can be created where they are needed. Which call creates them, and where?
input-changed: After the call, an argument of `{name}` has changed.
    -> Which line writes to it? `+=`, `sort()`, assignments to elements, and operations whose names
    end in an underscore work in place.
net-moved: After `{name}`, the network is on {found}. It was on {given} and should stay there.
    -> A network moves in place, for all code that uses it. What can you move instead?
gradients-left-off: After the call, torch no longer tracks gradients: nothing can be trained.
    -> A setting stays until it is changed back. Which block turns gradients off only for its lines?
tracks-gradients: Gradients were tracked during the evaluation of the network.
    -> Which block turns gradient tracking off, and is the call to the network inside it?
training-mode: During the evaluation, the network was in training mode, so its dropout was on.
    -> Which method switches to evaluation mode, and where does that line have to be?
mode-not-restored: `net.training` was {before} before the call and is {after} after it.
    -> The caller may go on training. `net.training` is the mode at the start: do you restore it?
many-fetches: For {batches} batches, you read from the GPU {fetched} times; once is enough.
    -> Which line in your loop turns a tensor into a Python number, or copies it to the CPU?
    `bincount` and `x[mask]` read from the GPU too. The sum can stay on the device of the
    predictions.
""")
