"""The box below a check: what is right or wrong, and how many exercises are done."""

import re
from dataclasses import dataclass
from html import escape
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import display

from helpers.checks.sandbox import MAX_CHARACTERS
from helpers.explain import mark_as_seen
from helpers.language import current_language, translate

CHECK_TYPE = "application/vnd.gpu-course.check+json"
# Set both the text color and the background. JupyterLab drops `inherit` from stored outputs, so its
# dark theme would show light code on a light box.
_TEXT, _FAINT_TEXT = "#1a1a1a", "#444444"
_GREEN, _PALE_GREEN = "#00735c", "#eff9f5"
_ORANGE, _PALE_ORANGE = "#a84300", "#fff6ec"


class CheckFailed(Exception):
    """Raised after a wrong answer: "Run All" stops, and a notebook shows a single line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        mark_as_seen(self)

    def _render_traceback_(self) -> list[str]:
        n = str(self).split(":")[0].removeprefix("exercise ")
        line = translate("Not yet: see the hint for exercise {number} in the box above.", number=n)
        return [line]


@dataclass(frozen=True)
class CheckBox:
    """The box that shows the result of a check."""

    data: dict[str, Any]  # to store in the notebook, from `Exercise.record`
    lines: list[str]  # the sentences to show, with code in backquotes
    done: int  # the number of solved exercises of the lab
    count: int  # the number of exercises
    printed: str = ""  # what the student's code printed, up to `MAX_CHARACTERS`
    link: str = ""  # the target of the last line, if it names a lesson

    def show(self) -> None:
        """Show the box as HTML, text and data. Outside a notebook, print the text."""
        if get_ipython() is None:
            print(self.text)
            return
        bundle = {"text/plain": self.text, "text/html": self._html(), CHECK_TYPE: self.data}
        display(bundle, raw=True)
        if self.text_printed:
            print(self.text_printed)

    @property
    def text(self) -> str:
        """The box as text."""
        title, marks, progress = self._texts()
        return "\n".join([f"{title} {self.lines[0]}", *self.lines[1:], f"{marks} {progress}"])

    @property
    def text_printed(self) -> str:
        """The student's printed text as shown below the box; "" if there is none."""
        if not self.printed.strip():
            return ""
        end = "\n" + translate("... (truncated)") if len(self.printed) >= MAX_CHARACTERS else ""
        return translate("Your code printed:") + f"\n{self.printed.rstrip()}{end}"

    def _texts(self) -> tuple[str, str, str]:
        """Return the title, a mark for each exercise, and the progress."""
        title = translate("Exercise {number}: not yet.", number=self.data["exercise"])
        if self.data["passed"]:
            title = translate("Exercise {number}: right.", number=self.data["exercise"])
        marks = "●" * self.done + "○" * (self.count - self.done)
        progress = translate("{done} of {count} exercises done", done=self.done, count=self.count)
        return title, marks, progress

    def _html(self) -> str:
        title, marks, progress = self._texts()
        right, wrong = ("✓", _GREEN, _PALE_GREEN), ("✗", _ORANGE, _PALE_ORANGE)
        sign, color, background = right if self.data["passed"] else wrong
        code = rf'<code style="color:{_TEXT};background-color:{background};padding:0">\1</code>'
        lines = [re.sub("`(.*?)`", code, escape(line)) for line in self.lines]
        if self.link:
            lines[-1] = f'<a href="{escape(self.link)}" style="color:#00568c">{lines[-1]}</a>'
        paragraphs = "".join(f"<div>{line}</div>" for line in lines)
        return (
            f'<div role="status" lang="{current_language()}" style="border:1px solid {color};'
            f"border-left-width:6px;background:{background};color:{_TEXT};"
            'padding:0.6em 1em;margin:0.4em 0">'
            f'<strong style="color:{color}">{sign} {escape(title)}</strong>'
            f'{paragraphs}<div style="margin-top:0.4em;color:{_FAINT_TEXT}">'
            f'<span style="color:{_GREEN};letter-spacing:2px" aria-hidden="true">{marks}</span> '
            f"{progress}</div></div>"
        )
