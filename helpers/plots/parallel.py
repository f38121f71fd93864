"""Figures about several GPUs: bytes sent, memory per GPU, and scaling."""

from collections.abc import Callable, Mapping, Sequence

from helpers.language import translate
from helpers.plots.style import GPU_COLOR, OTHER_COLORS, annotate, new_figure, show, stack_bars


def plot_bytes_sent(
    counts: Sequence[int], algorithms: Mapping[str, Callable[[int], float]], *, title: str
) -> None:
    """Show how much the busiest GPU sends with each algorithm, against the number of GPUs.

    `algorithms` maps names to functions that return the amount sent for a number of GPUs, as a
    multiple of the gradients' size.
    """
    figure, axis = new_figure(height=3.2)
    looks = (("s", OTHER_COLORS[2]), ("o", GPU_COLOR))
    for (name, amount), (marker, color) in zip(algorithms.items(), looks, strict=True):
        sent = [amount(count) for count in counts]
        axis.plot(counts, sent, marker=marker, color=color, label=name)
    axis.set(xlabel="number of GPUs", ylabel="sent by the busiest GPU\n(times the gradients' size)")
    axis.set(title=title, xticks=counts)
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False)
    show(
        figure,
        "Lines against 2 to {count} GPUs: how many times the gradients' size the busiest GPU "
        "sends. With {count} GPUs: {last}.",
        count=counts[-1],
        last=", ".join(f"{name} {amount(counts[-1]):.2f}" for name, amount in algorithms.items()),
    )


def plot_memory(
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


def plot_scaling(
    predicted: Mapping[str, tuple[float, float]], published: Mapping[str, float], *, title: str
) -> None:
    """Show the scaling efficiency of networks, from 0 to 1, next to published measurements.

    `predicted` has the efficiency without and with overlap.
    """
    figure, axis = new_figure(height=1.6 + 0.4 * len(predicted))
    bar = {"color": GPU_COLOR, "lw": 7, "solid_capstyle": "butt", "alpha": 0.4}
    for row, (name, (low, high)) in enumerate(predicted.items()):
        axis.plot([100 * low, 100 * high], [row, row], **bar)
        axis.plot(100 * published[name], row, "D", color="black")
    axis.set(yticks=range(len(predicted)), yticklabels=list(predicted), ylim=(-0.6, row + 0.6))
    axis.set(xlabel="scaling efficiency (%)", xlim=(0, 105))
    figure.suptitle(title)
    axis.invert_yaxis()
    labels = ["predicted: without to with overlap", "published"]
    figure.legend(axis.lines[:2], labels, frameon=False, loc="outside lower center", ncols=2)
    ranges = [
        translate(
            "{name} {low:.0%} to {high:.0%}, published {published:.0%}",
            name=name,
            low=low,
            high=high,
            published=published[name],
        )
        for name, (low, high) in predicted.items()
    ]
    show(
        figure,
        "Ranges of predicted scaling efficiency with a mark for the published one: {listed}.",
        listed="; ".join(ranges),
    )
