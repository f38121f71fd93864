"""Figures for lesson 08 about number formats: their bits, gradients in them, and loss scales."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from torch import Tensor

from helpers.plots.style import OTHER_COLORS, WAITING_AREA, new_figure, text_color_on

_SIGN, _EXPONENT, _MANTISSA = OTHER_COLORS[3], OTHER_COLORS[1], OTHER_COLORS[4]
_FP16_NORMAL, _FP16_SMALLEST = -14, -24  # exponents of the smallest normal and smallest value


def draw_bit_fields(formats: Mapping[str, tuple[int, int]]) -> Figure:
    """Draw one square per bit of each format.

    Args:
        formats: maps the name of a format to its numbers of exponent and mantissa bits.
    """
    figure, axis = new_figure(width=8, height=0.45 * len(formats) + 1.3)
    kinds = {"sign": _SIGN, "exponent: the range": _EXPONENT, "mantissa: the digits": _MANTISSA}
    for row, (exponent, mantissa) in enumerate(formats.values()):
        counts = (1, exponent, mantissa)
        left = 0
        for (kind, color), count in zip(kinds.items(), counts, strict=True):
            label = kind if row == 0 else None
            places = range(left, left + count)
            axis.barh([row] * count, 0.9, 0.7, left=places, color=color, label=label)
            axis.text(
                left + count / 2 - 0.05,
                row,
                count,
                ha="center",
                va="center",
                color=text_color_on(color),
            )
            left += count
    axis.set_yticks(range(len(formats)), formats)
    axis.invert_yaxis()
    axis.set_xlabel("bits, the most significant on the left")
    axis.grid(visible=False)
    axis.legend(loc="lower right", fontsize=8)
    axis.set_title("The exponent's bits set the range, the mantissa's bits set the digits")
    return figure


def plot_gradient_sizes(gradients: Mapping[str, Tensor]) -> Figure:
    """Draw histograms of the sizes of gradients over the range of float16, one per panel.

    Args:
        gradients: maps labels to values in float32; zeros are ignored.
    """
    figure, axes = new_figure(len(gradients), 1, height=1.7 * len(gradients) + 1)
    edges = [power - 0.5 for power in range(-50, 18)]
    for axis, (label, values) in zip(axes.flat, gradients.items(), strict=True):
        powers = values[values != 0].abs().log2().cpu()
        underflow_share = (powers < _FP16_SMALLEST - 1).float().mean().item()
        share = 100 / len(powers)
        axis.hist(powers, edges, weights=[share] * len(powers), color=OTHER_COLORS[0])
        axis.axvspan(edges[0], _FP16_SMALLEST - 1, color=WAITING_AREA, zorder=0)
        axis.axvspan(_FP16_SMALLEST - 1, _FP16_NORMAL, color="#F3E3B5", zorder=0)
        axis.set_title(
            f"{label}: {underflow_share:.0%} of the nonzero values become 0 in fp16", fontsize=10
        )
        axis.set_ylabel("nonzero values [%]")
        axis.set_xlim(edges[0], edges[-1])
    top = 1.25 * axes.flat[0].get_ylim()[1]
    axes.flat[0].set_ylim(0, top)
    texts = {-38: "becomes 0", -19.5: "fewer digits", 0: "all 11 binary digits"}
    for x, text in texts.items():
        axes.flat[0].text(x, 0.97 * top, text, ha="center", va="top", fontsize=8)
    axes.flat[-1].set_xlabel("size of a gradient value, as a power of 2")
    return figure


def plot_scale_errors(errors: Mapping[str, Sequence[float]], powers: Sequence[int]) -> Figure:
    """Draw the error of the weights' gradients in float16 against the loss scale.

    Args:
        errors: maps labels to the relative error at each scale; not finite if a value overflows.
        powers: base-2 exponents of the scales; must include 0, which means no scaling.
    """
    figure, axis = new_figure(height=3.8)
    for (label, values), mark, color in zip(errors.items(), "os^", OTHER_COLORS, strict=False):
        finite = [(p, v) for p, v in zip(powers, values, strict=True) if math.isfinite(v)]
        axis.plot(*zip(*finite, strict=True), marker=mark, color=color, label=label)
        overflowing = [p for p, v in zip(powers, values, strict=True) if not math.isfinite(v)]
        if overflowing:
            axis.axvline(
                overflowing[0], color=color, linestyle=":", label=f"{label}: first overflow"
            )
    axis.set_yscale("log")
    axis.set_xticks(powers, [f"$2^{{{power}}}$" for power in powers])
    axis.set_xlabel("loss scale")
    axis.set_ylabel("relative error of the gradient")
    axis.legend(fontsize=8, loc="upper center")
    last = list(errors)[-1]
    unscaled = dict(zip(powers, errors[last], strict=True))[0]
    best = min(value for value in errors[last] if math.isfinite(value))
    axis.set_title(
        f"{last.capitalize()}: error {unscaled:.1%} without a scale, {best:.1%} with the best one",
        fontsize=11,
    )
    return figure
