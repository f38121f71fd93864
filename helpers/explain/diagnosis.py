"""Recognize a device error, and build its explanation: the box with the fix."""

import ast
import re
import textwrap
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from html import escape
from pathlib import Path

import torch
from torch import nn

from helpers.explain.fixes import CPU_ONLY, Advice, Fix, copy_to_cpu, fix_mismatch
from helpers.explain.mismatch import Operand, find_mismatch
from helpers.explain.source import CodeFrame, student_frames
from helpers.language import current_language, translate


@dataclass(frozen=True)
class Kind:
    """One kind of device error: a row of `diagnosis.toml`, which explains the columns."""

    name: str
    patterns: tuple[str, ...]
    title: str
    why: str = ""
    advice: Sequence[str] = ()


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
KINDS = [Kind(**row) for row in _TABLES["kinds"]]
_ROLES = {row["argument"]: row["role"] for row in _TABLES["roles"]}
MISMATCH = next(kind for kind in KINDS if kind.name == "mix")
_INPUT_TYPES = re.compile(r"Input type \((.*?)\) and (?:weight|bias) type \((.*?)\)")
_DEVICE_NAMES = re.compile(r"(?<![\w.'])'?(cpu|meta|(?:cuda|mps|xpu)(?::\d+)?)\b'?", re.IGNORECASE)
# "got mat1 is on cpu, different from"; in earlier versions, "... and cpu! (... argument mat1".
_ARGUMENT = re.compile(r"got (\w+) is on ([\w:]+),.* wrapper_[A-Z]+_+(\w+)\)")
_EARLIER = re.compile(r"and (\S+)!.* for argument (\w+) in method wrapper_[A-Z]+_+(\w+)\)")
_WIDTH = 100
# JupyterLab removes `inherit` and `none` from untrusted outputs and then applies its theme to code:
# only explicit colors are readable in both themes.
_COLORS = "color:#1a1a1a;background:#F3F8FC"


@dataclass(frozen=True)
class Explanation:
    """The box that a student reads under a device error, as text and as HTML."""

    title: str  # what went wrong, in a few words
    line: str  # the failing line; "" if it is not available
    where: str  # its number, file and function
    places: tuple[tuple[str, str], ...]  # each name in the line with its device, culprit first
    why: str  # why torch raises the error
    fix: Fix | None = None  # the change that fixes it, if one was found
    advice: tuple[str, ...] = ()  # sentences about what to do if there is no fix

    @property
    def without_fix(self) -> str:
        """The devices and the reason for the error. Checks use it: they must not show the fix."""
        if not self.line:
            return self.why
        if not self.places:
            return translate("It happens in `{line}`. {why}", line=self.line, why=self.why)
        places = reduce(_join_with_and, map(_describe, self.places))
        return translate(
            "In `{line}`, {places}. {why}", line=self.line, places=places, why=self.why
        )

    def __repr__(self) -> str:
        lines = [self.title, *self._failing_line]
        lines += [f"  - {_describe(place)}" for place in self.places]
        lines.append(self.why)
        changes = self.fix.shown if self.fix else ()
        width = max((len(label) for label, _ in changes), default=0)
        for label, code in changes:
            if "\n" in code:
                lines += [label, textwrap.indent(code, "    ")]
            else:
                lines.append(f"{label.ljust(width)}  {code}")
        return "\n".join([*lines, *self.advice])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{_to_html(_describe(place))}</li>" for place in self.places)
        style = f"{_COLORS};font-family:monospace;margin:0.2em 0 0.2em 1em;padding:0"
        changes = [
            f'<div>{_to_html(label)}<pre style="{style}">{escape(code)}</pre></div>'
            for label, code in (self.fix.shown if self.fix else ())
        ]
        parts = [
            f"<strong>{escape(self.title)}</strong>",
            *(f"<br>{_to_html(line)}" for line in self._failing_line),
            f'<ul style="margin:0.2em 0">{items}</ul>' if items else "<br>",
            _to_html(self.why),
            *changes,
            *(f"<div>{_to_html(line)}</div>" for line in self.advice),
        ]
        box = f"border:1px solid #0072B2;{_COLORS};padding:0.6em 1em;margin:0.4em 0"
        return f'<div role="note" lang="{current_language()}" style="{box}">{"".join(parts)}</div>'

    @property
    def _failing_line(self) -> list[str]:
        line = textwrap.shorten(self.line, _WIDTH, placeholder=" ...")
        return [translate("In `{line}` ({where}):", line=line, where=self.where)] if line else []


def _join_with_and(first: str, second: str) -> str:
    return translate("{first} and {second}", first=first, second=second)


def _describe(place: tuple[str, str]) -> str:
    name, what = place
    return f"`{name}` {what}" if name else what


def _to_html(text: str) -> str:
    code = f'<code style="{_COLORS}">'
    pieces = (escape(piece) for piece in text.split("`"))
    return "".join(f"{code}{p}</code>" if i % 2 else p for i, p in enumerate(pieces))


def recognize(error: BaseException) -> tuple[Kind, tuple[str, ...], bool] | None:
    """Return the kind of a device error, the devices its message names, and if dtypes differ."""
    text = str(error)
    if types := _INPUT_TYPES.search(text):  # `torch.cuda.FloatTensor`, or `MPSFloatType`
        found = [re.search("cuda|xpu|mps", name, re.IGNORECASE) for name in types.groups()]
        devices = [name[0].lower() if name else "cpu" for name in found]
        dtypes = {re.sub(r".*\.|MPS|Tensor|Type", "", name) for name in types.groups()}
        return MISMATCH, tuple(dict.fromkeys(devices)), len(dtypes) > 1
    for kind in KINDS if isinstance(error, Exception) else ():
        is_full = kind.name == "memory" and isinstance(error, torch.OutOfMemoryError)
        if is_full or re.search("|".join(kind.patterns), text, re.IGNORECASE):
            names = dict.fromkeys(name.lower() for name in _DEVICE_NAMES.findall(text))
            return kind, tuple(names), False
    return None


def diagnose(error: BaseException) -> Explanation | None:
    """Return the explanation of `error`; None if it is not a device error."""
    recognized = recognize(error)
    if recognized is None:
        return diagnose(error.__cause__) if error.__cause__ is not None else None
    kind, devices, dtypes_differ = recognized
    frames = student_frames(error.__traceback__)
    advice, places = Advice(None), []
    if kind is MISMATCH and (mismatch := find_mismatch(frames, devices)) is not None:
        frames, advice = [mismatch.frame], fix_mismatch(mismatch, dtypes_differ=dtypes_differ)
        places = _places(mismatch.culprits, 2) + _places(mismatch.already_on_target, 1)
    elif dtypes_differ:  # on one device
        return None
    for frame in [frame for frame in frames if frame.source and kind.name in CPU_ONLY]:
        if (found := copy_to_cpu(frame, str(error))) is not None:
            frames, advice, places = [frame], found, _places(found.places, 2)
            break
    why, sentences = advice.why or translate(kind.why), tuple(map(translate, kind.advice))
    if not frames:  # a message without its program
        places = _named_argument(str(error))
    if not (kind.advice or advice.fix or places):
        why = translate(
            "This is a device error, but the explainer cannot tell which of your variables causes "
            "it."
        )
        sentences = (_how_to_find_the_cause(frames),)
    line = frames[0].line if frames else ""
    where = frames[0].where if line else ""
    sentences = () if advice.fix else sentences
    return Explanation(
        translate(kind.title), line, where, tuple(places), why, advice.fix, sentences
    )


def _named_argument(text: str) -> list[tuple[str, str]]:
    """Return the argument that a message names, with its device and its role in common lines."""
    if (new := _ARGUMENT.search(text)) is not None:
        name, device, operation = new.groups()
    elif (earlier := _EARLIER.search(text)) is not None:
        device, name, operation = earlier.groups()
    else:
        return []
    known = _ROLES.get(f"{name} {operation}")
    role = translate(known) if known else translate("an argument of {name}", name=operation)
    return [(name, translate("is on {device}: it is {role}", device=device, role=role))]


def _how_to_find_the_cause(frames: list[CodeFrame]) -> str:
    kinds = (torch.Tensor, nn.Module, torch.optim.Optimizer)
    nodes = ast.walk(frames[0].statement) if frames and frames[0].source else ()
    names = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))
    names = [name for name in names if isinstance(frames[0].names.get(name), kinds)]
    return translate(
        "List the devices: `from helpers.devices import where`, then `where({names})`.",
        names=", ".join(names) or "net, x",
    )


def _places(operands: Sequence[Operand], limit: int) -> list[tuple[str, str]]:
    """Return descriptions of up to `limit` operands, one for each network or list."""
    unique = {ast.dump(o.node): o for o in reversed(operands)}
    first = [o for o in operands if unique[ast.dump(o.node)] is o]
    places = []
    for operand in first[:limit]:
        what = translate("is on {device}", device=operand.device)
        if len(places) == limit - 1 > 0 and len(first) > limit:
            what = translate("{what}, and {more} more", what=what, more=len(first) - limit)
        places.append((operand.text, what))
    return places
