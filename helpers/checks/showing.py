"""The box under a check: what is right or wrong, and how far the student has come."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from IPython.core.getipython import get_ipython
from IPython.display import display

from helpers.explain.showing import mark_as_seen

if TYPE_CHECKING:
    from helpers.checks.lab import Exercise, Verdict

CHECK_TYPE = "application/vnd.gpu-course.check+json"
_PRINTED_LINES = 20
_GREEN, _PALE_GREEN = "#00735C", "#EFF9F5"
_ORANGE, _PALE_ORANGE = "#B34700", "#FFF6EC"


class NotYet(Exception):
    """Ends the cell of an answer that is not right, so that "run all" stops there.

    A notebook shows one line of it: the box above it says the rest.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        mark_as_seen(self)

    def _render_traceback_(self) -> list[str]:
        exercise = str(self).split(":")[0]
        return [f"Not yet: {exercise} has a hint for you in the box above."]


def show(exercise: Exercise, verdict: Verdict) -> None:
    """Show the verdict with the progress of the lab, as HTML, as text, and as data."""
    lines = _lines(exercise, verdict)
    done, count = len(exercise.lab.done), len(exercise.lab.exercises)
    title = f"Exercise {exercise.number}: {'right' if verdict.passed else 'not yet'}."
    bar = f"{'■' * done}{'□' * (count - done)} {done} of {count} exercises done"
    plain = "\n".join([f"{title} {lines[0]}", *lines[1:], bar])
    if get_ipython() is None:
        print(plain)
        return
    display(
        {
            "text/plain": plain,
            "text/html": _html(title, lines, bar, passed=verdict.passed),
            CHECK_TYPE: _data(exercise, verdict),
        },
        raw=True,
    )
    if verdict.printed.text.strip():
        lines = verdict.printed.text.rstrip().splitlines()
        cut = verdict.printed.cut or len(lines) > _PRINTED_LINES
        print("\n".join(["Your code printed:", *lines[:_PRINTED_LINES], *["... (cut here)"] * cut]))


def _lines(exercise: Exercise, verdict: Verdict) -> list[str]:
    """What is said: more at the second and third time that the same mistake is met."""
    if verdict.mistake is None:
        return [exercise.right]
    mistake, times = verdict.mistake, exercise.given[verdict.hint]
    lines = [mistake.wrong]
    if times >= 2:
        lines.append(f"Where to look: {mistake.look}")
    if times >= 3 and mistake.hint.section:
        lesson = exercise.lab.name.split("_")[0]
        lines.append(f"Read again: lesson {lesson}, “{mistake.hint.section}”.")
    return lines


def _data(exercise: Exercise, verdict: Verdict) -> dict[str, str | int | bool | None]:
    return {
        "lab": exercise.lab.name,
        "exercise": exercise.number,
        "passed": verdict.passed,
        "points": exercise.points if verdict.passed else 0,
        "of": exercise.points,
        "hint": verdict.hint,
        "tries": exercise.tries,
    }


def _html(title: str, lines: list[str], bar: str, *, passed: bool) -> str:
    colour, ground = (_GREEN, _PALE_GREEN) if passed else (_ORANGE, _PALE_ORANGE)
    sign = "✓" if passed else "✗"
    said = "".join(f"<div>{_marked(line)}</div>" for line in lines)
    return (
        f'<div role="status" style="border:1px solid {colour};border-left-width:6px;'
        f'background:{ground};color:#1a1a1a;padding:0.6em 1em;margin:0.4em 0">'
        f'<strong style="color:{colour}">{sign} {escape(title)}</strong>{said}'
        f'<div style="margin-top:0.4em;color:#444"><span style="color:{_GREEN};letter-spacing:2px" '
        f'aria-hidden="true">{escape(bar.split(" ")[0])}</span> '
        f"{escape(bar.split(' ', 1)[1])}</div></div>"
    )


def _marked(text: str) -> str:
    """Turn `code` in a sentence into HTML."""
    pieces = text.split("`")
    style = "color:inherit;background:none;padding:0"
    return "".join(
        f'<code style="{style}">{escape(piece)}</code>' if i % 2 else escape(piece)
        for i, piece in enumerate(pieces)
    )
