"""The box that a student reads under a device error, as text and as HTML."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape

from helpers.explain.edits import Fix
from helpers.explain.messages import Kind

_WIDTH = 100
# JupyterLab removes `inherit` and `none` from untrusted outputs and then applies its theme to code:
# only explicit colors are readable in both themes.
_COLORS = "color:#1a1a1a;background:#F3F8FC"

TITLES = {
    Kind.MIX: "Two devices in one operation",
    Kind.NUMPY: "NumPy reads only the CPU's memory",
    Kind.GENERATOR: "The generator is on another device",
    Kind.LOAD: "The file was saved on a GPU that this machine does not have",
    Kind.MEMORY: "The GPU is out of memory",
    Kind.NO_GPU: "This machine has no GPU that torch can use",
    Kind.ORDINAL: "There is no GPU with this number",
    Kind.NAME: "There is no device with this name",
    Kind.CUDA_METHOD: "This method moves a tensor only to a GPU",
    Kind.PIN: "Only CPU tensors can be pinned",
    Kind.MUST_BE_CPU: "This argument must stay on the CPU",
    Kind.FORK: "A DataLoader worker cannot use the GPU",
    Kind.ASSERT: "The GPU stopped at an invalid value",
    Kind.CUDA: "The GPU reported an error",
}
REASONS = {
    Kind.MIX: "An operation needs all its tensors on one device; torch does not copy them for you.",
    Kind.NUMPY: "NumPy cannot access GPU memory: copy the tensor to the CPU first.",
    Kind.GENERATOR: "Random numbers are drawn on the device of their generator.",
    Kind.LOAD: "torch loads each tensor to the device it was saved on, unless you pass "
    "`map_location`.",
    Kind.MEMORY: "The line needs more memory than is free.",
    Kind.NO_GPU: "Let the program use the GPU where there is one, and the CPU elsewhere.",
    Kind.CUDA_METHOD: "`.cuda()` takes the number of a GPU; `.to()` takes any device.",
    Kind.PIN: "Pinned memory is CPU memory from which copies to the GPU are fast.",
    Kind.MUST_BE_CPU: "torch reads these numbers on the CPU to plan the work of the GPU.",
    Kind.FORK: "A forked worker process cannot use the CUDA context of its parent process.",
    Kind.ASSERT: "The usual cause is a label or an index out of range: the labels of C classes are "
    "0 to C - 1.",
    Kind.CUDA: "The GPU runs asynchronously, so the line that caused the error may be an earlier "
    "one.",
}
ADVICE = {
    Kind.FORK: ("Return CPU tensors from the data set, and move each batch in the training loop.",),
    Kind.MEMORY: (
        "Use smaller batches, `del` tensors that you no longer need, and evaluate under "
        "`torch.no_grad()`.",
        "Add `loss.item()` to a running total, not `loss`, which keeps the whole graph in memory.",
    ),
    Kind.NO_GPU: ("Choose once: `device = 'cuda' if torch.cuda.is_available() else 'cpu'`.",),
    Kind.ASSERT: (
        "Restart the kernel and run the same code on the CPU: there the message names the line "
        "and the value.",
    ),
    Kind.CUDA: (
        "Restart the kernel and run again with the environment variable CUDA_LAUNCH_BLOCKING=1.",
    ),
}


@dataclass(frozen=True)
class Explanation:
    """What an error means for the student's line.

    Attributes:
        kind: the kind of device error.
        title: what went wrong, in a few words.
        line: the failing line; "" if it is not available.
        where: its number, file and function.
        places: names in the line and where each is, the culprit first.
        why: why torch refuses the line.
        fix: the change that fixes it; None if none could be written.
        advice: sentences about what to do if there is no fix.
    """

    kind: Kind
    title: str
    line: str
    where: str
    places: tuple[tuple[str, str], ...]
    why: str
    fix: Fix | None = None
    advice: tuple[str, ...] = ()

    @property
    def culprit(self) -> str:
        """The name of what is on the wrong device; "" if unknown."""
        return self.places[0][0] if self.places else ""

    def __repr__(self) -> str:
        lines = [self.title]
        if self.line:
            where = f" ({self.where})" if self.where else ""
            lines.append(f"In `{_shortened(self.line)}`{where}:")
        lines += [f"  - {_quoted(name)}{what}" for name, what in self.places]
        lines.append(self.why)
        width = max((len(label) for label, _ in self._change()), default=0)
        for label, code in self._change():
            if "\n" in code:
                lines += [label, textwrap.indent(code, "    ")]
            else:
                lines.append(f"{label.ljust(width)}  {code}")
        return "\n".join([*lines, *self.advice])

    def _repr_html_(self) -> str:
        parts = [f"<strong>{escape(self.title)}</strong>"]
        if self.line:
            where = f" ({_to_html(self.where)})" if self.where else ""
            parts.append(f"<br>In {_code(_shortened(self.line))}{where}:")
        items = "".join(f"<li>{_to_html(_quoted(n) + what)}</li>" for n, what in self.places)
        parts.append(f'<ul style="margin:0.2em 0">{items}</ul>' if items else "<br>")
        parts.append(_to_html(self.why))
        for label, code in self._change():
            style = f"{_COLORS};font-family:monospace;margin:0.2em 0 0.2em 1em;padding:0"
            parts.append(f'<div>{_to_html(label)}<pre style="{style}">{escape(code)}</pre></div>')
        parts += [f"<div>{_to_html(line)}</div>" for line in self.advice]
        style = f"border:1px solid #0072B2;{_COLORS};padding:0.6em 1em;margin:0.4em 0"
        return f'<div role="note" style="{style}">{"".join(parts)}</div>'

    def _change(self) -> list[tuple[str, str]]:
        if self.fix is None:
            return []
        if self.fix.added:
            return [("Add before this line:", self.fix.added)]
        where = f" in {self.fix.where}" if self.fix.where else ""
        old, new = self.fix.shown
        return [(f"Replace{where}:", old), ("with:", new)]


def _shortened(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 4] + " ..."


def _quoted(name: str) -> str:
    return f"`{name}` " if name else ""


def _to_html(text: str) -> str:
    pieces = text.split("`")
    return "".join(_code(p) if i % 2 else escape(p) for i, p in enumerate(pieces))


def _code(text: str) -> str:
    return f'<code style="{_COLORS}">{escape(text)}</code>'
