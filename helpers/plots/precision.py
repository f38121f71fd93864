"""Figures for lesson 08 about number formats: their bits, gradients in them, and loss scales."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from torch import Tensor

from helpers.language import translate
from helpers.plots.shapes import label
from helpers.plots.style import OTHER_COLORS, WAITING_AREA, new_figure, text_color_on

_FP16_NORMAL, _FP16_SMALLEST = -14, -24  # exponents of the smallest normal and smallest value


def draw_bit_fields(formats: Mapping[str, tuple[int, int]]) -> Figure:
    """Draw one square per bit of each format, given its numbers of exponent and mantissa bits."""
    figure, axis = new_figure(width=8, height=0.45 * len(formats) + 1.3)
    kinds = {
        "sign": OTHER_COLORS[3],
        "exponent: the range": OTHER_COLORS[1],
        "mantissa: the digits": OTHER_COLORS[4],
    }
    for row, bits in enumerate(formats.values()):
        left = 0
        for (kind, color), count in zip(kinds.items(), (1, *bits), strict=True):
            look = {"color": color, "label": kind if row == 0 else None}
            axis.barh([row] * count, 0.9, 0.7, left=range(left, left + count), **look)
            label(axis, left + count / 2 - 0.05, row, count, color=text_color_on(color))
            left += count
    axis.set_yticks(range(len(formats)), formats)
    axis.invert_yaxis()
    axis.grid(visible=False)
    axis.legend(loc="lower right", fontsize=8)
    axis.set_xlabel("bits, the most significant on the left")
    axis.set_title("The exponent's bits set the range, the mantissa's bits set the digits")
    return figure


def plot_gradient_sizes(gradients: Mapping[str, Tensor]) -> Figure:
    """Draw histograms of nonzero float32 gradients over the range of float16, one per panel."""
    figure, axes = new_figure(len(gradients), 1, height=1.7 * len(gradients) + 1)
    edges = [power - 0.5 for power in range(-50, 18)]
    for axis, (name, values) in zip(axes.flat, gradients.items(), strict=True):
        powers = values[values != 0].abs().log2().cpu()
        lost = (powers < _FP16_SMALLEST - 1).float().mean().item()
        axis.hist(powers, edges, weights=[100 / len(powers)] * len(powers), color=OTHER_COLORS[0])
        axis.axvspan(edges[0], _FP16_SMALLEST - 1, color=WAITING_AREA, zorder=0)
        axis.axvspan(_FP16_SMALLEST - 1, _FP16_NORMAL, color="#F3E3B5", zorder=0)
        axis.set_title(f"{name}: {lost:.0%} of the nonzero values become 0 in fp16", fontsize=10)
        axis.set(ylabel="nonzero values [%]", xlim=(edges[0], edges[-1]))
    first = axes.flat[0]
    top = 1.25 * first.get_ylim()[1]
    first.set_ylim(0, top)
    texts = {-38: "becomes 0", -19.5: "fewer digits", 0: "all 11 binary digits"}
    for x, text in texts.items():
        label(first, x, 0.97 * top, text, va="top", fontsize=8)
    axes.flat[-1].set_xlabel("size of a gradient value, as a power of 2")
    return figure


def plot_scale_errors(errors: Mapping[str, Sequence[float]], powers: Sequence[int]) -> Figure:
    """Draw the error of the weights' gradients in float16 against the loss scale.

    `errors` maps labels to the relative error at each scale, not finite if a value overflows.
    `powers` are the base-2 exponents of the scales, with 0, which means no scaling.
    """
    figure, axis = new_figure(height=3.8)
    for (name, values), mark, color in zip(errors.items(), "os^", OTHER_COLORS, strict=False):
        finite = {p: v for p, v in zip(powers, values, strict=True) if math.isfinite(v)}
        axis.plot(list(finite), list(finite.values()), marker=mark, color=color, label=name)
        overflow = next((power for power in powers if power not in finite), None)
        if overflow is not None:
            axis.axvline(overflow, color=color, linestyle=":", label=f"{name}: first overflow")
    axis.set_yscale("log")
    axis.set_xticks(powers, [f"$2^{{{power}}}$" for power in powers])
    axis.set(xlabel="loss scale", ylabel="relative error of the gradient")
    axis.legend(fontsize=8, loc="upper center")
    unscaled, best = values[powers.index(0)], min(finite.values())
    title = f"{name}: error {unscaled:.1%} without a scale, {best:.1%} with the best one"
    title = translate(title)
    axis.set_title(title[0].upper() + title[1:], fontsize=11)
    return figure
