"""The titles of lesson 05's figures state the finding, live or recorded."""

import pytest
from matplotlib.colors import to_hex

from helpers.training import History
from helpers.plots import speed as plots
from helpers.plots.speed import Curve
from helpers.plots.speedups import plot_speedups
from helpers.plots.style import CPU_COLOR, GPU_COLOR
from helpers.records import Record
from helpers.speedups import Speedup
from helpers.timing import Measurement

SIZES = (4, 16, 64, 256)
CPU = Curve("a CPU", "cpu", SIZES, (8e-4, 4e-4, 2e-4, 2e-4))


def gpu(*seconds):
    return Curve("a made-up GPU", "cuda", SIZES, seconds)


def speedup(name, ratio, *, helps=False, differs=True, note=""):
    return Speedup(name, ratio, 0.95 * ratio, 1.05 * ratio, differs, 1e-4, helps, note)


CUMULATIVE = [
    speedup("resident data", 2.0, helps=True),
    speedup("bf16 autocast", 0.5),
    speedup("fused optimizer", 1.01, differs=False),
    speedup("torch.compile", 1.0, differs=False, note="no compiler"),
    speedup("what helped", 2.0, helps=True),
    speedup("everything", 1.0, differs=False),
]


def test_curves_cross_between_two_sizes():
    # At 16, the GPU takes 4 times as long as the CPU; at 64, a quarter: the curves cross halfway.
    size = plots.crossing(CPU, gpu(32e-4, 16e-4, 0.5e-4, 0.1e-4))
    assert size == pytest.approx(32)


def test_last_of_several_crossings_is_used():
    size = plots.crossing(CPU, gpu(1e-4, 8e-4, 1e-4, 0.5e-4))
    assert 16 < size < 64


def test_gpu_that_is_always_faster_has_no_crossing():
    figure = plots.plot_curves([CPU, gpu(1e-4, 1e-4, 1e-4, 1e-4)], "images per batch", unit="batch")
    assert figure.axes[0].get_title() == "The GPU is faster at every batch"
    assert len(figure.axes[0].lines) == 2


def test_gpu_that_is_slower_at_the_largest_size_has_no_crossing():
    assert plots.crossing(CPU, gpu(1e-4, 1e-4, 1e-4, 3e-4)) is None
    figure = plots.plot_curves([CPU, gpu(1e-4, 1e-4, 1e-4, 3e-4)], "images per batch", unit="batch")
    assert "not faster at the largest size" in figure.axes[0].get_title()


def test_curves_are_compared_at_sizes_measured_for_both():
    wide = Curve("a GPU", "cuda", (1, 4, 64, 1024), (1, 16e-4, 0.5e-4, 1e-6))
    assert 4 < plots.crossing(CPU, wide) < 64


def test_title_states_size_from_which_gpu_is_faster():
    figure = plots.plot_curves(
        [CPU, gpu(32e-4, 16e-4, 0.5e-4, 0.1e-4)], "images per batch", unit="batch"
    )
    assert figure.axes[0].get_title() == "The GPU is faster from a batch of about 32"
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "a CPU",
        "a made-up GPU",
    ]


def test_recorded_gpu_curve_is_drawn_with_the_cpu_curve():
    seconds = [[median, 0.9 * median, 1.1 * median] for median in (32e-4, 16e-4, 0.5e-4, 0.1e-4)]
    results = {"batch": {"sizes": list(SIZES), "seconds": seconds}}
    record = Record("made-up GPU", "cuda", "9.9", "2000-01-01", results)
    figure = plots.plot_curves(
        [CPU, plots.recorded_curve(record, "batch")], "images per batch", unit="batch"
    )
    assert figure.axes[0].get_title() == "The GPU is faster from a batch of about 32"
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert legend == ["a CPU", "made-up GPU, torch 9.9, recorded 2000-01-01"]


@pytest.mark.parametrize(
    ("seconds", "title"),
    [
        ((8e-4, 4e-4, 2e-4, 3e-4), "Fastest per image: batch 64, 4.0 times as fast as 4"),
        (
            (1e-4, 2e-4, 3e-4, 5e-4),
            "From batch 4 to 256, the time per image grows by a factor of 5.0",
        ),
    ],
)
def test_title_without_gpu_states_change_of_time_per_image(seconds, title):
    figure = plots.plot_curves(
        [Curve("CPU", "cpu", SIZES, seconds)], "images per batch", unit="batch"
    )
    assert figure.axes[0].get_title() == title
    assert "[µs]" in figure.axes[0].get_ylabel()


def test_stopwatch_title_compares_first_call_with_median():
    measurement = Measurement("forward", (0.010, 0.011, 0.012), "cpu")
    figure = plots.plot_timings(0.5, [0.011, 0.012], measurement)
    assert "First call: 500 ms, 45.5 times the median of 11.0 ms" in figure.axes[0].get_title()


def test_stopwatch_title_gives_range_if_first_call_is_not_slowest():
    measurement = Measurement("forward", (0.010, 0.011, 0.012), "cpu")
    figure = plots.plot_timings(0.011, [0.010, 0.012], measurement)
    title = "Calls of the same function: 10.0 ms to 12.0 ms; median 11.0 ms"
    assert figure.axes[0].get_title() == title


def test_loss_title_and_legend_give_final_losses():
    histories = {
        "small": History(steps=[1, 2], losses=[2.0, 1.5], seconds=1.0),
        "large": History(steps=[1, 2], losses=[2.2, 2.1], seconds=1.0),
    }
    axis = plots.plot_loss_against_time(histories).axes[0]
    assert axis.get_title() == "The same images: a final loss from 1.50 to 2.10"
    texts = [text.get_text() for text in axis.get_legend().get_texts()]
    assert texts == ["small: final loss 1.50", "large: final loss 2.10"]


def test_step_parts_title_compares_first_and_last_setting():
    parts = {"classic": {"data": 3e-4, "forward": 1e-3}, "other": {"data": 1e-5, "forward": 1e-4}}
    figure = plots.plot_step_parts(parts)
    assert (
        figure.axes[0].get_title()
        == "Time per image: 1,300 µs in the first bar, 110 µs in the last"
    )


def test_pipelines_title_names_fastest_and_its_ratio_to_the_next():
    speeds = {"PIL": {4: 2000.0, 64: 5000.0}, "resident": {4: 80_000.0, 64: 1_200_000.0}}
    figure = plots.plot_pipelines(speeds)
    axis = figure.axes[0]
    assert axis.get_title() == 'Batch 64: "resident" is 240.0 times as fast as "PIL"'
    assert {text.get_text() for text in axis.texts} == {"2k", "5k", "80k", "1.2M"}


def test_plot_speedups_counts_changes_that_help_and_grays_out_the_rest():
    figure = plot_speedups(CUMULATIVE, where="a made-up machine")
    title = figure.get_suptitle()
    assert "Changes that help: 1 of 3; training with them is 2.0 times as fast" in title
    assert "a made-up machine" in title
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[:4] == ["2.00", "0.50", "1.01, no difference", "not measured"]
    colors = [bar.get_facecolor() for bar in figure.axes[0].patches]
    assert colors[0] != colors[1] == colors[2] == colors[3]


def test_plot_speedups_does_not_use_device_colors():
    axis = plot_speedups(CUMULATIVE).axes[0]
    colors = {to_hex(bar.get_facecolor()).upper() for bar in axis.patches}
    assert len(colors) == 3
    assert not colors & {CPU_COLOR, GPU_COLOR}


def test_plot_speedups_has_a_second_panel_for_changes_alone():
    figure = plot_speedups(CUMULATIVE, CUMULATIVE[:-2])
    assert [axis.get_title() for axis in figure.axes] == [
        "each change alone, on the classic script",
        "each change on top of those that helped",
    ]


def test_title_of_transfers_compares_rates_at_the_largest_size():
    rates = {"pageable": [1.0, 5.0], "pinned": [1.0, 20.0]}
    figure = plots.plot_transfers([4096, 10**8], rates, "a made-up GPU")
    title = figure.axes[0].get_title()
    assert title.startswith("Large copies: pinned memory is 4.0 times as fast")
