"""Figures about devices: timelines, and a network's tensors."""

import textwrap
from collections.abc import Mapping

from helpers.devices import TensorTable
from helpers.language import translate
from helpers.plots import style
from helpers.plots.shapes import box, label
from helpers.plots.style import show
from simulated_cuda.estimates import Estimate

# The row and the color of a span by the first word of its row; kernels are on "GPU 0".
_TIMELINE = {
    "launches": (0, style.CPU_COLOR),
    "CPU": (0, style.WAITING_AREA),
    "copy": (1, style.OTHER_COLORS[0]),
}


def plot_timelines(estimates: Mapping[str, Estimate], *, title: str) -> None:
    """Show when CPU and GPU work and wait, one panel per result of `simulated_cuda.estimate`."""
    figure, _ = style.new_figure(len(estimates), 1, width=8, height=1.2 * len(estimates) + 1.1)
    ends = [max(s.end for s in e.spans) - min(s.start for s in e.spans) for e in estimates.values()]
    longest = 1.02e3 * max(ends)
    summaries = []
    for axis, (name, estimate) in zip(figure.axes, estimates.items(), strict=True):
        first = min(span.start for span in estimate.spans)
        for span in estimate.spans:
            row, color = _TIMELINE.get(span.row.split()[0], (1, style.GPU_COLOR))
            axis.barh(row, 1e3 * span.seconds, 0.7, 1e3 * (span.start - first), color=color)
        names = ["CPU (gray: waits)", "GPU (green: copies)"]
        axis.set(xlim=(0, longest), ylim=(1.5, -0.5), yticks=[0, 1], yticklabels=names)
        axis.grid(axis="y", visible=False)
        busy = min(1.0, estimate.gpu_seconds / estimate.seconds)
        times = f"\N{ALMOST EQUAL TO} {1e3 * estimate.seconds:.2f} ms"
        axis.set_title(f"{name}: {times[2:]}, the GPU is busy {busy:.0%} of the time", fontsize=10)
        waits = f"\N{ALMOST EQUAL TO} {len(estimate.waits)}"
        summaries.append(translate(f"{name}: {times}, number of waits: {waits}"))
    axis.set_xlabel("modelled time in ms")
    figure.suptitle(title, fontsize=11)
    summary = "; ".join(summaries)
    show(figure, "Modelled timelines of CPU and GPU: time and waits. {summary}.", summary=summary)


def plot_stages(stages: Mapping[str, TensorTable], *, title: str) -> None:
    """Show the device of every tensor (rows) after each stage (columns).

    `stages` maps the name of each stage to a table from `helpers.devices.where`.
    """
    names = list(dict.fromkeys(row.name for table in stages.values() for row in table.rows))
    figure, axis = style.new_figure(width=8.0, height=1.2 + 0.38 * len(names))
    summaries = []
    for column, (stage, table) in enumerate(stages.items()):
        place = {row.name: str(row.device) for row in table.rows}
        heading = textwrap.fill(translate(stage), 60 // len(stages), break_long_words=False)
        label(axis, column + 0.5, -0.4, heading, size=9)
        for line, name in enumerate(names):
            device = place.get(name, "none yet")
            color = {"none yet": "white", "cpu": style.CPU_AREA}.get(device, style.GPU_AREA)
            box(axis, column + 0.03, line + 0.06, 0.94, 0.88, device, facecolor=color)
        devices = ", ".join(translate(f"{name} on {device}") for name, device in place.items())
        summaries.append(f"{translate(stage)}: {devices}")
    axis.set(xlim=(0, len(stages)), ylim=(len(names), -0.9), xticks=[])
    axis.set_yticks([line + 0.5 for line in range(len(names))], names, family="monospace", size=8)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    figure.suptitle(title)
    show(figure, "A table of tensors and their devices. {summary}.", summary="; ".join(summaries))
