"""Figures about the small computer: the cycles of its runs and the activity of its lanes."""

from collections.abc import Mapping, Sequence

import numpy as np

from helpers.language import translate
from helpers.plots.shapes import box, load_drawing
from helpers.plots.style import OTHER_COLORS, WAITING_AREA, new_figure, scale_to_sizes, show
from helpers.small_computer import SmallComputer, Trace


def plot_cycles(
    counts: Sequence[int], cycles: Mapping[str, Sequence[int]], *, title: str, xlabel: str = "lanes"
) -> None:
    """Show the cycles of programs, by name, against the number of lanes or of warps."""
    figure, axis = new_figure(height=4.0)
    for (name, values), color, marker in zip(cycles.items(), OTHER_COLORS, "osD^v", strict=False):
        axis.plot(counts, values, marker=marker, markersize=5, label=name, color=color)
    axis.set_yscale("log")
    scale_to_sizes(axis, counts)
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.set(xlabel=f"{xlabel} (log scale)", ylabel="cycles (log scale)", title=title)
    axis.legend(frameon=False)
    lines = [
        translate(
            "{name}: from {first:,} to {last:,} cycles",
            name=translate(name),
            first=y[0],
            last=y[-1],
        )
        for name, y in cycles.items()
    ]
    show(figure, "Line chart of cycles on log scales. {summary}.", summary="; ".join(lines))


# The parts of the drawing of the computer that an instruction uses after it has been fetched.
_PARTS = {"LOAD": (3, 6, 9, 13), "STORE": (3, 6, 9, 13), "CMP": (2, 3, 11, 12), "JNN": (1, 14)}


def animate_parts(trace: Trace) -> None:
    """Outline the parts of the computer that each of the first four steps of `trace` uses."""
    frames = [load_drawing("computer")[0] for _ in range(5)]
    for step, frame in zip(trace.steps, frames[1:], strict=False):
        for number in (5, 8, *_PARTS[step.instruction.split()[0]]):
            frame.axes[0].patches[number].set(edgecolor=OTHER_COLORS[2], linewidth=3)
        frame.suptitle(f"{step.instruction}: {step.effect}", family="monospace")
    show(frames, "The parts of the computer. In four steps, those that a step uses are outlined.")


def animate_lanes(computer: SmallComputer, steps: int) -> None:
    """Execute `steps` instructions, and show register A and the active lanes after each."""
    frames, lanes = [], computer.lanes
    for step in (computer.step() for _ in range(steps)):
        figure, axis = new_figure(width=6, height=1.6)
        for number, (lane, active) in enumerate(zip(lanes, step.active, strict=True)):
            text = f"{translate('lane {number}', number=number)}\nA = {lane.registers['A']}"
            box(axis, number, 0, 0.9, 1, text, facecolor="#A6DCCB" if active else WAITING_AREA)
        axis.set(xlim=(-0.1, len(lanes)), ylim=(-0.1, 1.1))
        axis.axis("off")
        axis.set_title(step.instruction, family="monospace")
        frames.append(figure)
    show(frames, "Lanes in {steps} steps: active ones green, waiting ones gray.", steps=steps)


def plot_lanes(trace: Trace, *, title: str) -> None:
    """Show which lanes are active in each step of `trace`."""
    active = np.array([step.active for step in trace.steps]).T
    lanes, steps = active.shape
    figure, axis = new_figure(width=7.5, height=1.5 + 0.2 * lanes)
    across, down = np.arange(steps + 1) + 0.5, np.arange(lanes + 1) - 0.5
    look = {"cmap": "Greens", "vmin": 0, "vmax": 1, "edgecolors": "white", "linewidth": 0.5}
    axis.pcolormesh(across, down, np.where(active, 0.75, 0.05), **look)
    axis.grid(visible=False)
    axis.invert_yaxis()
    axis.set_yticks(range(lanes))
    axis.set(xlabel="step (dark: the lane is active; light: it waits)", ylabel="lane", title=title)
    counts = enumerate(active.sum(1))
    busy = [translate("lane {lane}: {steps}", lane=lane, steps=steps) for lane, steps in counts]
    show(figure, "Grid of lanes by steps. Active steps: {busy}.", busy=", ".join(busy))
