"""A picture of what the CPU, the GPU and the copies do over time, and a trace for Perfetto."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from .clock import Span

# The colors of the course: the CPU, the GPU, waiting, and copies.
_CPU, _GPU, _WAITING, _COPY = "#0072B2", "#D55E00", "#D9D9D9", "#009E73"
_WIDTH, _LEFT, _ROW = 900, 190, 34


@dataclass(frozen=True)
class Timeline:
    """A timeline that notebooks show as a picture; times are modelled."""

    spans: Sequence[Span] = field(repr=False)
    title: str

    def trace(self) -> dict[str, list[dict]]:
        """Return the spans in the format of Perfetto and chrome://tracing, in microseconds."""
        rows = self._rows()
        events: list[dict] = [
            {"ph": "M", "pid": 1, "tid": n, "name": "thread_name", "args": {"name": row}}
            for n, row in enumerate(rows)
        ]
        for number, spans in enumerate(rows.values()):
            for span in spans:
                details = {"line": span.line} if span.line else {}
                if span.work is not None:
                    details = {"bytes": span.work.bytes, "flops": span.work.flops}
                name = f"{span.name} at {span.line}" if span.line else span.name
                events.append({"ph": "X", "pid": 1, "tid": number, "name": name, "args": details,
                               "ts": 1e6 * span.start, "dur": 1e6 * span.seconds})  # fmt: skip
        return {"traceEvents": events}

    def save(self, path: str | Path) -> tuple[Path, Path]:
        """Write the trace, and the picture next to it; return both paths."""
        trace = Path(path)
        trace.write_text(json.dumps(self.trace()), encoding="utf-8")
        picture = trace.with_suffix(".svg")
        picture.write_text(self._repr_svg_(), encoding="utf-8")
        return trace, picture

    def _rows(self) -> dict[str, list[Span]]:
        """Return the spans by row: the CPU, the GPUs and their streams, then copies."""
        rows: dict[str, list[Span]] = {"CPU": []}
        for span in sorted(self.spans, key=lambda s: (s.row.startswith("copy"), s.row)):
            rows.setdefault("CPU" if span.row == "launches" else span.row, []).append(span)
        return {row: sorted(spans, key=lambda s: s.start) for row, spans in rows.items()}

    def _repr_svg_(self) -> str:
        rows = self._rows()
        start = min((span.start for span in self.spans), default=0.0)
        seconds = max((span.end for span in self.spans), default=1.0) - start or 1.0
        scale = (_WIDTH - _LEFT - 20) / seconds
        bottom = 40 + _ROW * len(rows)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 70}" '
            f'width="{_WIDTH}" role="img" aria-label="{escape(self._description(seconds))}" '
            'font-family="sans-serif" font-size="14">',
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="8" y="24" font-size="16" font-weight="bold">{escape(self.title)}</text>',
        ]
        for number, (row, spans) in enumerate(rows.items()):
            y = 40 + _ROW * number
            parts.append(f'<text x="8" y="{y + 20}">{escape(row)}</text>')
            for span in _joined(spans, 1 / scale):
                x, width = _LEFT + scale * (span.start - start), scale * span.seconds
                label = escape(f"{span.name} {span.line}: {1e3 * span.seconds:.3g} ms")
                parts.append(
                    f'<rect x="{x:.1f}" y="{y + 4}" width="{max(width, 0.3):.1f}" '
                    f'height="{_ROW - 8}" fill="{_color(span)}"><title>{label}</title></rect>'
                )
                if span.line and width > 8 * len(span.line):
                    parts.append(f'<text x="{x + 4:.1f}" y="{y + 21}">{escape(span.line)}</text>')
        step = _tick(1e3 * seconds)
        for number in range(int(1e3 * seconds / step) + 1):
            x = _LEFT + scale * 1e-3 * number * step
            parts.append(
                f'<path d="M{x:.1f} 40V{bottom + 5}" stroke="#00000030"/><text x="{x:.1f}" '
                f'y="{bottom + 20}" text-anchor="middle">{number * step:g}</text>'
            )
        middle = (_LEFT + _WIDTH) / 2
        parts.append(f'<text x="{middle}" y="{bottom + 38}" text-anchor="middle">'
                     "modelled time in ms</text>")  # fmt: skip
        legend = (("CPU launches", _CPU), ("CPU waits", _WAITING), ("kernels", _GPU))
        for number, (text, color) in enumerate((*legend, ("copies", _COPY))):
            x, y = _LEFT + 150 * number, bottom + 48
            parts.append(f'<rect x="{x}" y="{y}" width="14" height="14" fill="{color}"/>'
                         f'<text x="{x + 20}" y="{y + 12}">{text}</text>')  # fmt: skip
        return "".join([*parts, "</svg>"])

    _repr_html_ = _repr_svg_

    def _description(self, seconds: float) -> str:
        texts = []
        for row, spans in self._rows().items():
            waits = [span for span in spans if span.line]
            busy = sum(s.seconds for s in spans if not s.line) / seconds
            texts.append(f"{row}: busy {busy:.0%}" + (f", {len(waits)} waits" if waits else ""))
        return f"{self.title} Modelled timeline of {1e3 * seconds:.3g} ms. {'; '.join(texts)}."


def _color(span: Span) -> str:
    if span.line:
        return _WAITING
    return _CPU if span.row == "launches" else _COPY if span.row.startswith("copy") else _GPU


def _joined(spans: Sequence[Span], pixel: float) -> list[Span]:
    """Join spans of the same color that are too close to be told apart."""
    joined: list[Span] = []
    for span in spans:
        last = joined[-1] if joined else None
        is_small = last is not None and (span.seconds < pixel or last.seconds < pixel)
        if is_small and span.start - last.end < pixel / 3 and _color(last) == _color(span):
            name = last.name if last.name == span.name else "several"
            joined[-1] = Span(last.row, name, last.start, max(last.end, span.end), line=last.line)
        else:
            joined.append(span)
    return joined


def _tick(milliseconds: float) -> float:
    """Return a round distance of ticks, for 5 to 12 of them."""
    power = 10.0 ** (len(f"{milliseconds:.0f}") - 1) if milliseconds >= 1 else 0.1
    while milliseconds / power < 2:
        power /= 10
    return next(power * f for f in (0.2, 0.5, 1, 2, 5, 10) if milliseconds / (power * f) <= 12)
