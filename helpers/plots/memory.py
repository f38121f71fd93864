"""Figures about a GPU's memory: its parts, a step over time, layers, a limit, segments."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from helpers.language import translate
from helpers.memory import Sample
from helpers.plots.style import GPU_COLOR, OTHER_COLORS, new_figure, show, text_color_on

MIB = 2**20
# All of this is GPU memory, so the colors show what the memory is used for.
PART_COLORS = {
    "weights": OTHER_COLORS[0],
    "gradients": OTHER_COLORS[1],
    "states": OTHER_COLORS[2],
    "activations": OTHER_COLORS[4],
}


def plot_parts(parts: Mapping[str, Mapping[str, int]], *, title: str) -> None:
    """Draw one bar per case, divided into "weights", "gradients", "states" and "activations".

    Args:
        parts: bytes by part, for each case.
        title: the finding.
    """
    figure, axis = new_figure(height=1.2 + 0.5 * len(parts))
    for row, sizes in enumerate(parts.values()):
        left = 0.0
        for part, size in sizes.items():
            color = PART_COLORS[part]
            axis.barh(row, size / MIB, left=left, color=color, label=part if row == 0 else None)
            if size:
                middle = left + size / MIB / 2
                axis.text(
                    middle, row, part, ha="center", va="center", size=8, color=text_color_on(color)
                )
            left += size / MIB
    axis.set_yticks(range(len(parts)), list(parts))
    axis.invert_yaxis()
    axis.set_xlabel("GPU memory [MiB]")
    axis.grid(visible=False, axis="y")
    figure.suptitle(title)
    cases = "; ".join(
        f"{case}: {', '.join(part for part, size in sizes.items() if size)}"
        for case, sizes in parts.items()
    )
    show(figure, translate("Bars of GPU memory by use. {cases}.", cases=cases))


def plot_timeline(samples: Sequence[Sample], *, title: str) -> None:
    """Draw the allocated memory after each operation of a step, with the phases as areas."""
    figure, axis = new_figure(height=3.6)
    values = [sample.allocated / MIB for sample in samples]
    axis.step(range(1, len(values) + 1), values, where="post", color=GPU_COLOR)
    top = max(values) * 1.18
    start = 1
    for number, (phase, group) in enumerate(groupby(samples, key=lambda sample: sample.phase)):
        end = start + len(list(group))
        axis.axvspan(start, end, color="#EEEEEE" if number % 2 == 0 else "white", zorder=0)
        axis.text((start + end) / 2, top * 0.93, phase, ha="center", size=9)
        start = end
    axis.set(xlim=(1, len(values)), ylim=(0, top))
    axis.set_xlabel("operation")
    axis.set_ylabel("allocated GPU memory [MiB]")
    figure.suptitle(title)
    show(
        figure,
        "The GPU memory after each operation of a training step. It grows in the forward pass, "
        "peaks early in the backward pass, falls until its end, and rises briefly in the optimizer "
        "step.",
    )


def plot_layers(saved_bytes: Mapping[str, int], *, title: str) -> None:
    """Draw the bytes that autograd saves for each layer."""
    figure, axis = new_figure(height=1.0 + 0.24 * len(saved_bytes))
    sizes = [size / MIB for size in saved_bytes.values()]
    axis.barh(range(len(saved_bytes)), sizes, color=PART_COLORS["activations"])
    axis.set_yticks(range(len(saved_bytes)), list(saved_bytes), size=8)
    axis.invert_yaxis()
    axis.set_xlabel("saved for the backward pass [MiB]")
    axis.grid(visible=False, axis="y")
    figure.suptitle(title)
    largest = max(saved_bytes.values())
    big = ", ".join(name for name, size in saved_bytes.items() if size > largest / 2)
    alt = translate(
        "Bars: the memory that autograd saves for each layer. The long ones: {big}.", big=big
    )
    show(figure, alt)


def plot_against_limit(peaks: Mapping[str, int | None], limit: int, *, title: str) -> None:
    """Draw the peak of each training setup (None: out of memory), and the memory of the GPU."""
    figure, axis = new_figure(height=1.2 + 0.36 * len(peaks))
    for row, peak in enumerate(peaks.values()):
        fits = peak is not None
        size = (peak if fits else limit) / MIB
        axis.barh(
            row, size, color=GPU_COLOR if fits else "white", edgecolor=GPU_COLOR,
            hatch=None if fits else "///",
        )  # fmt: skip
        if not fits:
            axis.text(
                size / 2, row, "out of memory", ha="center", va="center", size=9,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
            )  # fmt: skip
    axis.axvline(limit / MIB, color="black", linestyle="--")
    axis.text(limit / MIB, -0.75, "the GPU's memory", ha="right", size=8)
    axis.set_yticks(range(len(peaks)), list(peaks))
    axis.set_ylim(len(peaks) - 0.5, -1)
    axis.set_xlabel("peak of a training step [MiB]")
    axis.grid(visible=False, axis="y")
    figure.suptitle(title)
    fitting = ", ".join(name for name, peak in peaks.items() if peak is not None)
    failing = ", ".join(name for name, peak in peaks.items() if peak is None)
    alt = translate(
        "Bars of peak GPU memory. Within the limit: {fitting}. Too much: {failing}.",
        fitting=fitting,
        failing=failing,
    )
    show(figure, alt)


def draw_segments(
    snapshot: Sequence[Mapping[str, Any]], *, title: str, max_segments: int = 12
) -> None:
    """Draw the large segments of `torch.cuda.memory_snapshot()`, with used and unused blocks.

    Args:
        snapshot: the segments.
        title: the finding.
        max_segments: how many segments to draw.
    """
    all_large = [segment for segment in snapshot if segment["segment_type"] == "large"]
    large = all_large[:max_segments]
    figure, axis = new_figure(height=1.2 + 0.24 * len(large))
    names = {True: "used", False: "unused, but reserved"}
    for row, segment in enumerate(large):
        for block in segment["blocks"]:
            used = block["state"] != "inactive"
            left = (block["address"] - segment["address"]) / MIB
            axis.barh(
                row, block["size"] / MIB, left=left, height=0.7, edgecolor="black", linewidth=0.6,
                color=GPU_COLOR if used else "white", label=names.pop(used, None),
            )  # fmt: skip
    axis.set_yticks(range(len(large)), range(1, len(large) + 1), size=7)
    axis.invert_yaxis()
    axis.set_xlabel("position in the segment [MiB]")
    axis.set_ylabel(f"segment ({len(large)} of {len(all_large)})")
    axis.grid(visible=False)
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)
    figure.suptitle(title)
    show(
        figure,
        "Segments of GPU memory, each divided into blocks. Used and unused blocks alternate in "
        "every segment.",
    )
