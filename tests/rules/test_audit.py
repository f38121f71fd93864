from pathlib import Path

import pytest
from nbval.plugin import get_sanitize_patterns

from course.authoring.stored_outputs import RESULT_TYPE
from tests.rules.audit import always_shows_output, compare

SANITIZER = Path(__file__).parents[1] / "nbval_sanitize.cfg"


@pytest.fixture(scope="module")
def patterns():
    return get_sanitize_patterns(SANITIZER.read_text(encoding="utf-8"))


@pytest.fixture
def count_compared(cells, patterns):
    """A function that counts how many of the given code cells are compared."""
    return lambda *code_cells: compare(cells.notebook(*code_cells), patterns).compared


def test_compares_printed_text_and_values(cells, count_compared):
    assert (
        count_compared(
            cells.code("print(1)", cells.stream("1\n")), cells.code("2", cells.value("2"))
        )
        == 2
    )


def test_cell_without_outputs_is_not_compared(cells, count_compared):
    assert count_compared(cells.code("a = 1")) == 0


@pytest.mark.parametrize("tag", ["nbval-ignore-output", "nbval-skip"])
def test_cell_with_ignore_tag_is_not_compared(cells, count_compared, tag):
    assert count_compared(cells.code("1", cells.value("1"), tags=[tag])) == 0


@pytest.mark.parametrize("mark", ["NBVAL_IGNORE_OUTPUT", "NBVAL_SKIP"])
def test_cell_with_ignore_comment_is_not_compared(cells, count_compared, mark):
    assert count_compared(cells.code(f"# {mark}\n1", cells.value("1"))) == 0


def test_comment_overrides_tag(cells, count_compared):
    cell = cells.code("# NBVAL_CHECK_OUTPUT\n1", cells.value("1"), tags=["nbval-ignore-output"])
    assert count_compared(cell) == 1


def test_figure_is_not_compared(cells, count_compared):
    figure = cells.display_data(
        {"image/png": "AAAA", "text/plain": "<Figure size 640x480 with 1 Axes>"}
    )
    assert count_compared(cells.code("plot()", figure)) == 0


def test_table_next_to_figure_is_compared(cells, count_compared):
    figure = cells.display_data({"image/png": "AAAA", "text/plain": "<Figure>"})
    assert count_compared(cells.code("plot()", figure, cells.stream("cat 12\n"))) == 1


def test_stderr_and_records_are_not_compared(cells, count_compared):
    stderr = cells.stream("text", name="stderr")
    record = cells.display_data({RESULT_TYPE: {"a": 1}, "text/plain": "recorded: a"})
    assert count_compared(cells.code("one()", stderr), cells.code("two()", record)) == 0


def test_fully_masked_output_is_not_compared(cells, count_compared):
    assert count_compared(cells.code("seconds", cells.value("'12.3 s'"))) == 0
    assert count_compared(cells.code("seconds", cells.value("'CPU 12.3 s'"))) == 1


def test_cell_not_executed_is_not_compared(cells, count_compared):
    assert count_compared(cells.code("1", cells.value("1"), count=None)) == 0


def test_at_least_a_third_of_the_cells_must_be_compared(cells, patterns):
    good = cells.code("1", cells.value("1"))
    bare = [cells.code("a = 1") for _ in range(3)]
    assert compare(cells.notebook(good, *bare[:2]), patterns).compares_enough
    assert not compare(cells.notebook(good, *bare), patterns).compares_enough


def test_reports_stripped_cell_that_prints(cells, patterns):
    notebook = cells.notebook(
        cells.text("x"), cells.code("print(1)"), cells.code("2", cells.value("2"))
    )
    comparison = compare(notebook, patterns)
    assert comparison.stripped == ["cell 2 (print(1))"]
    assert str(comparison) == (
        "1 of 2 code cells are compared; stripped of their output: cell 2 (print(1))"
    )


def test_reports_stripped_cell_with_ignored_output(cells, patterns):
    notebook = cells.notebook(cells.code("print(1)", tags=["nbval-ignore-output"]))
    assert compare(notebook, patterns).stripped


def test_skipped_cell_needs_no_output(cells, patterns):
    notebook = cells.notebook(
        cells.code("print(1)", tags=["nbval-skip"]), cells.code("print(1)", tags=["skip-execution"])
    )
    assert compare(notebook, patterns).stripped == []


@pytest.mark.parametrize(
    "source",
    [
        "print(1)",
        "x = 1\nx",
        "x, y",
        "x.shape",
        "x[0] == 1",
        "f'{x}'",
        "for i in range(3):\n    print(i)",
        "with open('f') as f:\n    print(f)",
        "%%time\nprint(1)",
        "lesson.report(accuracy=0.5)",
        "lesson.show_data(dataset)",
    ],
)
def test_recognizes_cell_that_always_shows_output(source):
    assert always_shows_output(source)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "x = 1",
        "x;",
        "None",
        "net.train()",
        "def f():\n    print(1)",
        "if x:\n    print(1)",
        "import torch",
        "!ls",
        "# only a comment",
    ],
)
def test_recognizes_cell_that_may_show_nothing(source):
    assert not always_shows_output(source)
