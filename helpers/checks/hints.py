"""What a student reads when an answer is not right yet: in three steps, and never the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Hint:
    """What to say of one mistake.

    Args:
        id: names the mistake, in the tests and in the data kept with the notebook.
        wrong: what is wrong, said at the first try. `{name}` is filled in from the values given to
            `Hint.of`.
        look: where to look, added at the second try.
        section: heading of the lesson's section that helps, added at the third; "" for none.
    """

    id: str
    wrong: str
    look: str
    section: str = ""

    def of(self, **values: Any) -> NotRight:
        """The error to raise: `raise RESULT_DROPPED.of(device=x.device)`."""
        return NotRight(self, values)


@dataclass(eq=False)
class NotRight(Exception):
    """An answer that is not right, and the hint on why; `values` fill in the hint's text."""

    hint: Hint
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def wrong(self) -> str:
        """What is wrong, with its values."""
        return self.hint.wrong.format(**self.values)

    @property
    def look(self) -> str:
        """Where to look, with its values."""
        return self.hint.look.format(**self.values)


# What can happen in any exercise. `{name}` is the student's function.
NOT_WRITTEN = Hint(
    "not-written",
    "`{name}` is not written yet.",
    "Put your code in the place of the line that raises NotImplementedError, run that cell, and "
    "then this one.",
)
NOT_A_FUNCTION = Hint(
    "not-callable",
    "`{name}` should be a function, and it is {what}.",
    "Has another cell given this name to something else? Run the cell that defines it again.",
)
NAME_HIDDEN = Hint(
    "name-hidden",
    "In your notebook, `{hidden}` no longer means what it did: it is {what} now.",
    "A line such as `{hidden} = ...` has covered it. Rename what that line makes, restart the "
    "kernel, and run the cells from the top.",
)
DEVICE_ERROR = Hint(
    "device-error",
    "`{name}` stops with a device error. {explained}",
    "Read off where each of the tensors in that line is, and which of them you can move.",
)
RAISED = Hint(
    "raised",
    "`{name}` stops with {error}.{where}",
    "Call it yourself in a new cell with small tensors: the traceback shows the line.",
)
WRONG_ARGUMENTS = Hint(
    "wrong-arguments",
    "`{name}` cannot be called as the exercise says: {error}.",
    "Compare the first line of your function with the one that was given.",
)
TOO_LONG = Hint(
    "takes-too-long",
    "`{name}` was stopped after {seconds:g} seconds.",
    "Is there a loop whose condition never becomes false, or one over far more than it needs?",
)
TOO_MUCH_MEMORY = Hint(
    "too-much-memory",
    "`{name}` takes more memory than there is to spare.",
    "Look for a tensor or a list that is larger than the exercise needs, or that grows in a loop.",
)
ENDS_THE_PROGRAM = Hint(
    "ends-the-program",
    "`{name}` ends the program, so it never comes back with a result.",
    "A function hands its result back with `return`; `exit()` ends Python itself.",
)
ASKS_FOR_INPUT = Hint(
    "asks-for-input",
    "`{name}` calls `input()` and waits for somebody to type.",
    "Everything it needs to know is in its arguments.",
)
TOO_DEEP = Hint(
    "too-deep",
    "`{name}` calls itself again and again and never gets to an end.",
    "Which call should be the last, and what does it do instead of calling again?",
)
NO_RESULT = Hint(
    "no-result",
    "`{name}` returns nothing: its result is None.",
    "What a function works out is lost unless it says `return`.",
)
UNSAFE_RESULT = Hint(
    "strange-result",
    "The check could not work with what `{name}` returns: {error}.",
    "Compare what it returns with what the exercise asks for: how many values, and of which type?",
)
