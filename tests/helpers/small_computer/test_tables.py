"""Tables of the small computer: aligned text, and complete, escaped HTML."""

import subprocess
import sys

from helpers.small_computer import Cost, SmallComputer
from helpers.tables import Table


def test_aligns_columns_and_numbers_to_the_right():
    assert repr(Table(("name", "n"), [("a", "1"), ("bcdef", "1,000")])) == (
        "name       n\na          1\nbcdef  1,000"
    )


def test_table_without_rows_shows_its_header():
    assert repr(Table(("name", "n"), [])) == "name  n"


def test_html_is_escaped():
    assert "&lt;b&gt;" in Table(("a",), [("<b>",)])._repr_html_()


def test_marked_row_stands_out_in_text_and_html():
    table = Table(("a",), [("x",), ("y",)], marked=[1])
    assert repr(table).splitlines()[2] == "> y"
    assert table._repr_html_().count("background") == 1


def test_html_and_text_show_the_same_cells(relu):
    computer = SmallComputer(relu, x=-3, y=7)
    html = computer._repr_html_()
    assert all(row.split()[-1] in html for row in repr(computer).splitlines() if row.strip())


def test_long_data_are_truncated_with_a_count():
    shown = repr(SmallComputer("HALT", x=[0] * 1000))
    assert "x[7]" in shown
    assert "x[8]" not in shown
    assert "992 more cells of data" in shown


def test_many_lanes_are_truncated_with_a_count():
    assert "processor (24 more lanes)" in repr(SmallComputer("HALT", lanes=32))


def test_cost_shows_lanes_only_if_there_are_several():
    assert "lanes" not in repr(Cost(instructions=5, cycles=9, lane_slots_used=5))
    assert "lanes busy      50%" in repr(Cost(instructions=5, cycles=9, lanes=2, lane_slots_used=5))


def test_import_does_not_import_matplotlib():
    code = "import sys, helpers.small_computer; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
