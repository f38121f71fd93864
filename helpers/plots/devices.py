"""Figures about devices: copies, bytes, waiting, and the devices of a network's tensors."""

import math
import textwrap
from collections import Counter
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from helpers.devices import Row, TensorTable
from helpers.language import translate
from helpers.plots.shapes import LINE_COLOR, arrow, box
from helpers.plots.style import (
    CPU_AREA,
    CPU_COLOR,
    GPU_AREA,
    GPU_COLOR,
    OTHER_COLORS,
    WAITING_AREA,
    new_figure,
    show,
)


def draw_move() -> None:
    """Show that `y = x.to(device)` leaves two tensors, one in each memory."""
    figure, axis = new_figure(width=7.5, height=2.9)
    axis.set(xlim=(0, 10), ylim=(0, 3.6))
    axis.axis("off")
    for left, title, color in ((0.1, "CPU memory", CPU_AREA), (6.0, "GPU memory", GPU_AREA)):
        box(axis, left, 0.1, 3.9, 3.2, facecolor=color)
        axis.text(left + 1.95, 2.95, title, ha="center", va="center", weight="bold")
    for left, name in ((0.4, "x"), (6.3, "y")):
        axis.text(left + 0.2, 1.55, name, ha="center", va="center", family="monospace", size=13)
        arrow(axis, (left + 0.45, 1.55), (left + 0.95, 1.55))
        for number in range(4):
            box(axis, left + 1.0 + 0.6 * number, 1.25, 0.6, 0.6, str(number))
    arrow(axis, (4.15, 1.55), (5.85, 1.55))
    axis.text(5.0, 2.05, "copies\n32 bytes", ha="center", va="center", size=9)
    axis.text(5.0, 1.15, "y = x.to(device)", ha="center", va="center", family="monospace", size=8)
    figure.suptitle("After a move there are two tensors")
    show(
        figure,
        "Two boxes, CPU memory and GPU memory. The name x points at the numbers 0 to 3 in CPU "
        "memory, the name y at the numbers 0 to 3 in GPU memory. An arrow between them says that "
        "y = x.to(device) copies 32 bytes.",
    )


def plot_bytes(sizes: Mapping[str, int], *, title: str, xlabel: str) -> None:
    """Show sizes as bars, in megabytes (10^6 bytes).

    Args:
        sizes: the number of bytes of each bar, by name.
        title: the finding.
        xlabel: what the bytes are.
    """
    figure, axis = new_figure(height=1.2 + 0.4 * len(sizes))
    megabytes = [size / 1e6 for size in sizes.values()]
    axis.set_axisbelow(True)
    bars = axis.barh(list(sizes), megabytes, color=OTHER_COLORS[0], height=0.6)
    axis.bar_label(bars, [f"{value:,.1f} MB" for value in megabytes], padding=4, fontsize=9)
    axis.set_xlim(0, 1.2 * max(megabytes) or 1)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set(xlabel=f"{xlabel} (MB)", title=title)
    sizes_text = ", ".join(f"{name} {size / 1e6:,.1f} MB" for name, size in sizes.items())
    show(figure, translate("Bar chart of bytes: {listed}.", listed=sizes_text))


def draw_waiting() -> None:
    """Show the CPU and the GPU over four steps, with a wait in every step or one at the end.

    A drawing, not a measurement.
    """
    steps, launch, compute = 4, 1.0, 1.6  # the GPU takes longer than the CPU takes to launch
    # For each step, when the CPU launches it and when the GPU starts it.
    per_step = [((launch + compute) * n, (launch + compute) * n + launch) for n in range(steps)]
    at_end = [(launch * n, launch + compute * n) for n in range(steps)]
    end_of_first, end_of_second = (plan[-1][1] + compute for plan in (per_step, at_end))
    waiting = {"facecolor": WAITING_AREA, "hatch": "///", "edgecolor": "#999999"}
    figure, ((top,), (bottom,)) = new_figure(2, 1, width=7.5, height=4.2)
    for axis, plan, end, title in (
        (
            top,
            per_step,
            end_of_first,
            "loss.item() in every step: the GPU is idle while the CPU launches",
        ),
        (
            bottom,
            at_end,
            end_of_second,
            "one .item() after the last step: the GPU always has work",
        ),
    ):
        for number, (launched, started) in enumerate(plan, start=1):
            box(axis, launched, 1.1, launch, 0.8, f"launch {number}", facecolor=CPU_AREA)
            box(axis, started, 0.1, compute, 0.8, f"step {number}", facecolor=GPU_AREA)
            if plan is per_step:
                box(axis, started, 1.1, compute, 0.8, **waiting)
        if plan is at_end:
            wait_start = steps * launch
            box(axis, wait_start, 1.1, end - wait_start, 0.8, **waiting)
        axis.axvline(end, color=LINE_COLOR, linestyle="--")
        axis.set(xlim=(0, end_of_first + 0.2), ylim=(0, 2), yticks=[0.5, 1.5], title=title)
        axis.set_yticklabels(["GPU", "CPU"])
        axis.set_xticks([])
        axis.grid(visible=False)
        axis.title.set_fontsize(10)
    bottom.set_xlabel("time (a drawing, not a measurement; hatched: the CPU waits)")
    figure.suptitle(f"Waiting once instead of {steps} times leaves no gaps on the GPU")
    show(
        figure,
        translate(
            "Two timelines of CPU and GPU over {steps} steps. In the upper one, the CPU waits for "
            "the GPU in every step, and the GPU waits for the CPU's next launch. In the lower one, "
            "the CPU launches all steps and waits once; the GPU has no gaps and finishes earlier.",
            steps=steps,
        ),
    )


def draw_network(tables: Mapping[str, TensorTable], *, title: str) -> None:
    """Show which memory holds each tensor of a network.

    Args:
        tables: maps the title of each panel to a table from `helpers.devices.where`.
        title: the finding.

    A bar is a tensor; its length grows with the number of bytes, but not to scale.
    """
    rows = max(len(table.rows) for table in tables.values())
    figure, _ = new_figure(1, len(tables), width=4.6 * len(tables), height=1.3 + 0.3 * rows)
    for axis, (stage, table) in zip(figure.axes, tables.items(), strict=True):
        _draw_memories(axis, table.rows)
        axis.set_title(stage, fontsize=10, family="monospace")
    figure.suptitle(title)
    summary = "; ".join(f"{stage}: {_summary(table)}" for stage, table in tables.items())
    alt = translate(
        "The tensors of a network, each in CPU memory or GPU memory. {summary}.", summary=summary
    )
    show(figure, alt)


def _draw_memories(axis: Axes, rows: list[Row]) -> None:
    """Draw the tensors' names, each with a bar on the left (CPU) or on the right (GPU)."""
    axis.set(xlim=(0, 10), ylim=(-0.7, len(rows) + 1.0))
    axis.axis("off")
    for left, name, color in ((0.0, "CPU memory", CPU_AREA), (7.0, "GPU memory", GPU_AREA)):
        box(axis, left, -0.6, 3.0, len(rows) + 1.5, facecolor=color)
        axis.text(left + 1.5, len(rows) + 0.4, name, ha="center", va="center", size=9)
    for number, row in enumerate(rows):
        y = len(rows) - 1 - number
        axis.text(5, y, row.name, ha="center", va="center", family="monospace", size=8)
        length = 0.25 * math.log2(1 + row.bytes / 4) / 1.6
        on_cpu = row.device.type == "cpu"
        bar = 2.8 - length if on_cpu else 7.2
        color = CPU_COLOR if on_cpu else GPU_COLOR
        axis.add_patch(Rectangle((bar, y - 0.28), length, 0.56, facecolor=color))
        half = 0.105 * len(row.name)
        ends = (5 - half, 2.8) if on_cpu else (5 + half, 7.2)
        axis.plot(ends, (y, y), color="#888888", linewidth=0.8)


def _summary(table: TensorTable) -> str:
    counts = Counter(str(row.device) for row in table.rows)
    return ", ".join(f"{count} on {device}" for device, count in counts.items()) or "no tensors"


def plot_stages(stages: Mapping[str, TensorTable], *, title: str) -> None:
    """Show the device of every tensor (rows) after each stage (columns).

    Args:
        stages: maps the name of each stage to a table from `helpers.devices.where`.
        title: the finding.
    """
    names = list(dict.fromkeys(row.name for table in stages.values() for row in table.rows))
    places = {
        stage: {row.name: str(row.device) for row in table.rows} for stage, table in stages.items()
    }
    figure, axis = new_figure(width=8.0, height=1.2 + 0.38 * len(names))
    for column, (stage, place) in enumerate(places.items()):
        heading = textwrap.fill(stage, 60 // len(stages), break_long_words=False)
        axis.text(column + 0.5, -0.4, heading, ha="center", va="center", size=9)
        for line, name in enumerate(names):
            device = place.get(name, "none yet")
            color = {"none yet": "white", "cpu": CPU_AREA}.get(device, GPU_AREA)
            box(axis, column + 0.03, line + 0.06, 0.94, 0.88, device, facecolor=color)
    axis.set(xlim=(0, len(stages)), ylim=(len(names), -0.9))
    axis.set_yticks([line + 0.5 for line in range(len(names))], names, family="monospace", size=8)
    axis.set_xticks([])
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    figure.suptitle(title)
    summary = "; ".join(
        f"{stage}: {', '.join(f'{name} on {device}' for name, device in place.items())}"
        for stage, place in places.items()
    )
    show(figure, translate("A table of tensors and their devices. {summary}.", summary=summary))
