"""Figure about several GPUs: memory per GPU."""

from collections.abc import Mapping

from helpers.plots.style import OTHER_COLORS, annotate, new_figure, show, stack_bars


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
