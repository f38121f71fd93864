"""Hints for wrong answers: three levels of help, never the solution.

Each lab's hints are in `hints.toml` next to its checks. Hints that apply to any exercise are at the
end of this module.
"""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.language import translate


@dataclass(frozen=True)
class Hint:
    """The help for one mistake.

    Args:
        id: identifier of the mistake, used by the tests and stored in the notebook.
        wrong: what is wrong; shown at the first attempt. Placeholders such as `{name}` are filled
            with the values passed to `Hint.of`.
        look: where to look; added at the second attempt with the same mistake.
        section: heading of the lesson section to read again; added at the third attempt, "" for
            none.
    """

    id: str
    wrong: str
    look: str
    section: str = ""

    def of(self, **values: Any) -> "WrongAnswer":
        """Return the exception to raise, with the values for the placeholders."""
        return WrongAnswer(self, values)


@dataclass(eq=False)
class WrongAnswer(Exception):
    """Raised for a wrong answer, with the hint to show and the `values` for its placeholders."""

    hint: Hint
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def wrong(self) -> str:
        """What is wrong, translated and filled in."""
        return translate(self.hint.wrong).format(**self.values)

    @property
    def look(self) -> str:
        """Where to look, translated and filled in."""
        return translate(self.hint.look).format(**self.values)


def hint_as_data(wrong: WrongAnswer) -> dict[str, Any]:
    """Return the hint of `wrong` as plain data: its id, and its values as strings or numbers."""
    values = {
        name: value if isinstance(value, int | float) else str(value)
        for name, value in wrong.values.items()
    }
    return {"id": wrong.hint.id, "values": values}


def read_hints(lab_folder: Path) -> dict[str, dict[str, Hint]]:
    """Read a lab's `hints.toml`; return the hints of each exercise, keyed by id.

    The table `[exercise_2.wrong-place]` defines a hint for exercise 2, and `[every.wrong-place]`
    defines one for all exercises. A `section` key in `[exercise_2]` is the default for its hints.
    """
    tables = tomllib.loads((lab_folder / "hints.toml").read_text(encoding="utf-8"))
    hints = {
        exercise: {
            id: Hint(id, **{"section": table.get("section", "")} | entry)
            for id, entry in table.items()
            if isinstance(entry, dict)
        }
        for exercise, table in tables.items()
    }
    shared = hints.pop("every", {})
    return {exercise: shared | own for exercise, own in hints.items()}


# Hints that apply to any exercise. `{name}` is the name of the student's function.
NOT_WRITTEN = Hint(
    "not-written",
    "`{name}` is not written yet.",
    "Replace the line that raises NotImplementedError with your code. Run that cell, then this "
    "one.",
)
NOT_A_FUNCTION = Hint(
    "not-callable",
    "`{name}` should be a function, but it is {what}.",
    "Does another cell assign something else to this name? Run the cell that defines it again.",
)
NAME_SHADOWED = Hint(
    "name-shadowed",
    "Your notebook has reassigned `{hidden}`: it is now {what}.",
    "A line such as `{hidden} = ...` replaced it. Use another name in that line, restart the "
    "kernel, and run the cells from the top.",
)
DEVICE_ERROR = Hint(
    "device-error",
    "`{name}` raises a device error. {explained}",
    "Print the device of each tensor in that line. Which of them can you move?",
)
RAISED = Hint(
    "raised",
    "`{name}` raises {error}.{where}",
    "Call it yourself in a new cell with small tensors: the traceback shows the line.",
)
WRONG_ARGUMENTS = Hint(
    "wrong-arguments",
    "`{name}` cannot be called with the arguments of the exercise: {error}.",
    "Compare the first line of your function with the one that was given.",
)
TOO_LONG = Hint(
    "takes-too-long",
    "`{name}` was stopped after {seconds:g} seconds.",
    "Is there a loop whose condition never becomes false, or one that does far more work than it "
    "needs to?",
)
TOO_MUCH_MEMORY = Hint(
    "too-much-memory",
    "`{name}` needs more memory than is available.",
    "Look for a tensor or a list that is larger than the exercise needs, or that grows in a loop.",
)
ENDS_THE_PROGRAM = Hint(
    "ends-the-program",
    "`{name}` exits the program instead of returning a result.",
    "A function passes its result back with `return`; `exit()` ends Python itself.",
)
ASKS_FOR_INPUT = Hint(
    "asks-for-input",
    "`{name}` calls `input()`, which waits for keyboard input.",
    "Use the function's arguments instead: they contain all the data it needs.",
)
TOO_DEEP = Hint(
    "too-deep",
    "`{name}` calls itself endlessly.",
    "Which call should be the last one, and what does it do instead of calling itself again?",
)
NO_RESULT = Hint(
    "no-result",
    "`{name}` returns None.",
    "A function returns None unless it ends with `return` and a value.",
)
UNUSABLE_RESULT = Hint(
    "unusable-result",
    "The check could not use the value that `{name}` returns: {error}.",
    "Compare what it returns with what the exercise asks for: how many values, and of which type?",
)
