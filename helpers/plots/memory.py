"""Figures about GPU memory: its parts, a step over time, layers, a limit, segments, many GPUs."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from helpers.language import translate
from helpers.memory import Sample
from helpers.plots.shapes import label
from helpers.plots.style import GPU_COLOR, OTHER_COLORS, annotate, new_figure, show, stack_bars

MIB = 2**20
# All of this is GPU memory, so the colors show what the memory is used for.
_PARTS = ("weights", "gradients", "states", "activations")
PART_COLORS = dict(zip(_PARTS, (*OTHER_COLORS[:3], OTHER_COLORS[4]), strict=True))


def plot_parts(parts: Mapping[str, Mapping[str, int]], *, title: str) -> None:
    """Draw one bar per case: its bytes of "weights", "gradients", "states" and "activations"."""
    figure, axis = new_figure(height=1.2 + 0.5 * len(parts))
    rows = {case: {part: n / MIB for part, n in sizes.items()} for case, sizes in parts.items()}
    stack_bars(axis, rows, PART_COLORS, lambda part, size: part)
    axis.set_xlabel("GPU memory [MiB]")
    figure.suptitle(title)
    cases = "; ".join(
        f"{translate(case)}: {', '.join(translate(part) for part, size in sizes.items() if size)}"
        for case, sizes in parts.items()
    )
    show(figure, "Bars of GPU memory by use. {cases}.", cases=cases)


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
    axis.set(xlabel="operation", ylabel="allocated GPU memory [MiB]")
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
    rows = {layer: {"activations": size / MIB} for layer, size in saved_bytes.items()}
    stack_bars(axis, rows, {"activations": PART_COLORS["activations"]})
    axis.tick_params(axis="y", labelsize=8)
    axis.set_xlabel("saved for the backward pass [MiB]")
    figure.suptitle(title)
    largest = max(saved_bytes.values())
    show(
        figure,
        "Bars: the memory that autograd saves for each layer. The long ones: {big}.",
        big=", ".join(translate(name) for name, size in saved_bytes.items() if size > largest / 2),
    )


def plot_against_limit(peaks: Mapping[str, int | None], limit: int, *, title: str) -> None:
    """Draw the peak of each training setup (None: out of memory), and the memory of the GPU."""
    figure, axis = new_figure(height=1.2 + 0.36 * len(peaks))
    white = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    for row, peak in enumerate(peaks.values()):
        if peak is None:
            axis.barh(row, limit / MIB, color="white", edgecolor=GPU_COLOR, hatch="///")
            label(axis, limit / MIB / 2, row, "out of memory", size=9, bbox=white)
        else:
            axis.barh(row, peak / MIB, color=GPU_COLOR, edgecolor=GPU_COLOR)
    axis.axvline(limit / MIB, color="black", linestyle="--")
    axis.text(limit / MIB, -0.75, "the GPU's memory", ha="right", size=8)
    axis.set_yticks(range(len(peaks)), list(peaks))
    axis.set(ylim=(len(peaks) - 0.5, -1), xlabel="peak of a training step [MiB]")
    axis.grid(visible=False, axis="y")
    figure.suptitle(title)
    show(
        figure,
        "Bars of peak GPU memory. Within the limit: {fitting}. Too much: {failing}.",
        fitting=", ".join(translate(name) for name, peak in peaks.items() if peak is not None),
        failing=", ".join(translate(name) for name, peak in peaks.items() if peak is None),
    )


def draw_segments(snapshot: Sequence[Mapping[str, Any]], *, title: str) -> None:
    """Draw the first 12 large segments of `torch.cuda.memory_snapshot()` with their blocks."""
    all_large = [segment for segment in snapshot if segment["segment_type"] == "large"]
    large = all_large[:12]
    figure, axis = new_figure(height=1.2 + 0.24 * len(large))
    border = {"height": 0.7, "edgecolor": "black", "linewidth": 0.6}
    names = {True: "used", False: "unused, but reserved"}
    for row, segment in enumerate(large):
        for block in segment["blocks"]:
            used = block["state"] != "inactive"
            left = (block["address"] - segment["address"]) / MIB
            look = {"color": GPU_COLOR if used else "white", "label": names.pop(used, None)}
            axis.barh(row, block["size"] / MIB, left=left, **border, **look)
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


def plot_memory_per_gpu(
    strategies: Mapping[str, Mapping[str, float]], *, memory: float, title: str
) -> None:
    """Show the memory per GPU of each strategy as one bar, split into its parts.

    Sizes, and the `memory` of one GPU, which is drawn as a line, are in gigabytes (10^9 bytes).
    """
    figure, axis = new_figure(height=1.4 + 0.45 * len(strategies))
    parts = next(iter(strategies.values()))
    ends = stack_bars(axis, strategies, dict(zip(parts, OTHER_COLORS, strict=False)))
    for row, end in enumerate(ends):
        annotate(axis, f"{end:,.1f}", end, row, 4, fontsize=10)
    axis.axvline(memory, color="black", linestyle="--", label=f"a GPU with {memory:g} GB")
    axis.set_axisbelow(True)
    axis.set(xlabel="memory per GPU (GB)", title=title, xlim=(0, 1.15 * max(ends)))
    axis.legend(frameon=False)
    show(
        figure,
        "Stacked bars of the memory per GPU, beside a line at {memory:g} GB: {listed}.",
        memory=memory,
        listed=", ".join(f"{n} {end:,.1f} GB" for n, end in zip(strategies, ends, strict=True)),
    )
