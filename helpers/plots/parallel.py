"""Figures about several GPUs: bytes sent, memory per GPU, and scaling."""

from collections.abc import Callable, Mapping, Sequence

from helpers.language import translate
from helpers.plots.style import GPU_COLOR, OTHER_COLORS, new_figure, show


def plot_bytes_sent(
    counts: Sequence[int], algorithms: Mapping[str, Callable[[int], float]], *, title: str
) -> None:
    """Show how much the busiest GPU sends with each algorithm, against the number of GPUs.

    Args:
        counts: numbers of GPUs.
        algorithms: maps the name of each algorithm to a function that returns the amount sent for a
            number of GPUs, in units of the gradients' size.
        title: the finding.
    """
    figure, axis = new_figure(height=3.2)
    for (name, amount), marker, color in zip(
        algorithms.items(), "so", (OTHER_COLORS[2], GPU_COLOR), strict=True
    ):
        sent = [amount(count) for count in counts]
        axis.plot(counts, sent, marker=marker, color=color, label=name)
    axis.set(xlabel="number of GPUs", ylabel="sent by the busiest GPU\n(times the gradients' size)")
    axis.set(title=title, xticks=counts)
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False)
    last = ", ".join(f"{name} {amount(counts[-1]):.2f}" for name, amount in algorithms.items())
    show(
        figure,
        translate(
            "Lines against 2 to {count} GPUs: how many times the gradients' size the busiest GPU "
            "sends. With {count} GPUs: {last}.",
            count=counts[-1],
            last=last,
        ),
    )


def plot_memory(
    strategies: Mapping[str, Mapping[str, float]], *, memory: float, title: str
) -> None:
    """Show the memory per GPU of each strategy as one bar, split into its parts.

    Args:
        strategies: the gigabytes (10^9 bytes) of each part, by strategy; all have the same parts.
        memory: capacity of one GPU, in gigabytes; drawn as a line.
        title: the finding.
    """
    figure, axis = new_figure(height=1.4 + 0.45 * len(strategies))
    ends = dict.fromkeys(strategies, 0.0)
    parts = next(iter(strategies.values()))
    for part, color in zip(parts, OTHER_COLORS, strict=False):
        widths = [sizes[part] for sizes in strategies.values()]
        axis.barh(list(strategies), widths, left=list(ends.values()), color=color, label=part)
        ends = {
            name: end + sizes[part]
            for (name, end), sizes in zip(ends.items(), strategies.values(), strict=True)
        }
    for row, end in enumerate(ends.values()):
        axis.annotate(f"{end:,.1f}", (end, row), (4, 0), textcoords="offset points", va="center")
    axis.axvline(memory, color="black", linestyle="--", label=f"a GPU with {memory:g} GB")
    axis.set_axisbelow(True)
    axis.grid(visible=False, axis="y")
    axis.invert_yaxis()
    axis.set(xlabel="memory per GPU (GB)", title=title, xlim=(0, 1.15 * max(ends.values())))
    axis.legend(frameon=False)
    totals_text = ", ".join(f"{name} {end:,.1f} GB" for name, end in ends.items())
    alt = translate(
        "Stacked bars of the memory per GPU, beside a line at {memory:g} GB: {listed}.",
        memory=memory,
        listed=totals_text,
    )
    show(figure, alt)


def plot_scaling(
    predicted: Mapping[str, tuple[float, float]], published: Mapping[str, float], *, title: str
) -> None:
    """Show predicted ranges of scaling efficiency next to published measurements.

    Args:
        predicted: for each network, the efficiency without and with overlap, from 0 to 1.
        published: for each network, the measured efficiency.
        title: the finding.
    """
    figure, axis = new_figure(height=1.6 + 0.4 * len(predicted))
    for row, (name, (low, high)) in enumerate(predicted.items()):
        label = "predicted: without to with overlap" if row == 0 else None
        axis.plot(
            [100 * low, 100 * high],
            [row, row],
            color=GPU_COLOR,
            lw=7,
            solid_capstyle="butt",
            alpha=0.4,
            label=label,
        )
        label = "published" if row == 0 else None
        axis.plot(100 * published[name], row, "D", color="black", label=label)
    axis.set(yticks=range(len(predicted)), yticklabels=list(predicted), ylim=(-0.6, row + 0.6))
    axis.set(xlabel="scaling efficiency (%)", xlim=(0, 105))
    figure.suptitle(title)
    axis.invert_yaxis()
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    ranges_text = "; ".join(
        translate(
            "{name} {low:.0%} to {high:.0%}, published {published:.0%}",
            name=name,
            low=low,
            high=high,
            published=published[name],
        )
        for name, (low, high) in predicted.items()
    )
    show(
        figure,
        translate(
            "Ranges of predicted scaling efficiency with a mark for the published one: {listed}.",
            listed=ranges_text,
        ),
    )
