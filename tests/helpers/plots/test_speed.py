"""The figures of lesson 05 say what they found, from live measurements and from records."""

import matplotlib.pyplot as plt
import pytest

from helpers.ladder import Rung
from helpers.plots import ladder as ladder_plot
from helpers.plots import speed as plots
from helpers.plots.speed import Curve
from helpers.records import Record
from helpers.timing import Measurement

SIZES = (4, 16, 64, 256)
CPU = Curve("a CPU", "cpu", SIZES, (8e-4, 4e-4, 2e-4, 2e-4))


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("agg")
    yield
    plt.close("all")


def gpu(*seconds):
    return Curve("a made-up GPU", "cuda", SIZES, seconds)


def rung(name, ratio, *, kept=False, differs=True, note=""):
    return Rung(name, ratio, 0.95 * ratio, 1.05 * ratio, differs, 1e-4, kept, note)


CLIMB = [
    rung("resident data", 2.0, kept=True),
    rung("bf16 autocast", 0.5),
    rung("fused optimizer", 1.01, differs=False),
    rung("torch.compile", 1.0, differs=False, note="no compiler"),
    rung("what helped", 2.0, kept=True),
    rung("everything", 1.0, differs=False),
]


def test_curves_cross_between_two_sizes():
    # Four times as long at 16, a quarter as long at 64: on logarithmic scales they meet halfway.
    where = plots.crossing(CPU, gpu(32e-4, 16e-4, 0.5e-4, 0.1e-4))
    assert where == pytest.approx(32)


def test_the_last_crossing_counts():
    where = plots.crossing(CPU, gpu(1e-4, 8e-4, 1e-4, 0.5e-4))
    assert 16 < where < 64


def test_a_gpu_that_always_wins_has_no_crossing_to_mark():
    figure = plots.curves([CPU, gpu(1e-4, 1e-4, 1e-4, 1e-4)], "images a batch", unit="batch")
    assert figure.axes[0].get_title() == "The GPU wins from the smallest batch on"
    assert len(figure.axes[0].lines) == 2


def test_a_gpu_that_loses_at_the_end_does_not_win():
    assert plots.crossing(CPU, gpu(1e-4, 1e-4, 1e-4, 3e-4)) is None
    figure = plots.curves([CPU, gpu(1e-4, 1e-4, 1e-4, 3e-4)], "images a batch", unit="batch")
    assert "does not win" in figure.axes[0].get_title()


def test_curves_of_different_sizes_are_compared_where_both_were_measured():
    wide = Curve("a GPU", "cuda", (1, 4, 64, 1024), (1, 16e-4, 0.5e-4, 1e-6))
    assert 4 < plots.crossing(CPU, wide) < 64


def test_the_title_says_from_where_the_gpu_wins():
    figure = plots.curves([CPU, gpu(32e-4, 16e-4, 0.5e-4, 0.1e-4)], "images a batch", unit="batch")
    assert figure.axes[0].get_title() == "The GPU wins from a batch of about 32 on"
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "a CPU",
        "a made-up GPU",
    ]


def test_a_record_of_a_gpu_becomes_a_curve_beside_that_of_this_cpu():
    seconds = [[median, 0.9 * median, 1.1 * median] for median in (32e-4, 16e-4, 0.5e-4, 0.1e-4)]
    figures = {"batch": {"sizes": list(SIZES), "seconds": seconds}}
    record = Record("made-up GPU", "cuda", "9.9", "2000-01-01", figures)
    figure = plots.curves(
        [CPU, plots.recorded_curve(record, "batch")], "images a batch", unit="batch"
    )
    assert figure.axes[0].get_title() == "The GPU wins from a batch of about 32 on"
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert legend == ["a CPU", "made-up GPU, torch 9.9, recorded 2000-01-01"]


@pytest.mark.parametrize(
    ("seconds", "title"),
    [
        ((8e-4, 4e-4, 2e-4, 2e-4), "From batch 4 to 256, an image's time falls to 1/4.0"),
        ((1e-4, 2e-4, 3e-4, 5e-4), "From batch 4 to 256, an image's time grows 5.0 times"),
    ],
)
def test_a_cpu_alone_has_a_title_of_its_own(seconds, title):
    figure = plots.curves([Curve("CPU", "cpu", SIZES, seconds)], "images a batch", unit="batch")
    assert figure.axes[0].get_title() == title
    assert "[µs]" in figure.axes[0].get_ylabel()


def test_the_stopwatch_shows_the_first_call_against_the_measurement():
    found = Measurement("forward", (0.010, 0.011, 0.012), "cpu")
    figure = plots.stopwatch(0.5, [0.011, 0.012], found)
    assert "first call shows 500 ms, the measurement 11.0 ms" in figure.axes[0].get_title()


def test_the_first_and_the_last_setting_are_compared_as_wholes():
    parts = {"classic": {"data": 3e-4, "forward": 1e-3}, "other": {"data": 1e-5, "forward": 1e-4}}
    figure = plots.step_parts(parts)
    assert figure.axes[0].get_title() == "An image takes 1,300 µs at the top, 110 µs at the bottom"


def test_the_fastest_pipeline_is_named_with_its_ratio():
    speeds = {"PIL": {4: 2000.0, 64: 5000.0}, "resident": {4: 80_000.0, 64: 1_200_000.0}}
    figure = plots.pipelines(speeds, "PIL")
    axis = figure.axes[0]
    assert axis.get_title() == "At batch 4: 40 times as many images a second from resident"
    assert {text.get_text() for text in axis.texts} == {"2k", "5k", "80k", "1.2M"}


def test_the_ladder_counts_what_helps_and_shows_what_does_not():
    figure = ladder_plot.ladder(CLIMB, where="a made-up machine")
    title = figure.get_suptitle()
    assert "1 of 3 changes help; together they make training 2.0 times as fast" in title
    assert "a made-up machine" in title
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[:4] == ["2.00", "0.50", "1.01, no difference", "not measured"]
    colours = [bar.get_facecolor() for bar in figure.axes[0].patches]
    assert colours[0] != colours[1] == colours[2] == colours[3]


def test_the_ladder_has_a_panel_more_for_what_was_measured_alone():
    figure = ladder_plot.ladder(CLIMB, CLIMB[:-2])
    assert [axis.get_title() for axis in figure.axes] == [
        "alone, on the classic script",
        "on top of what helped so far",
    ]


def test_copies_are_compared_at_the_largest_size():
    rates = {"pageable": [1.0, 5.0], "pinned": [1.0, 20.0]}
    figure = plots.transfers([4096, 10**8], rates, "a made-up GPU")
    title = figure.axes[0].get_title()
    assert title.startswith("A large copy from pinned memory runs 4.0 times as fast")
