import pytest

from course.authoring.sources import read_source
from course.course_folder import CourseError

GOOD = {"title": "A title", "promise": "A promise.", "minutes": "5", "objectives": "[one]"}


def write(path, entries, cells="# %%\n1 + 1\n"):
    header = "".join(f"#     {key}: {value}\n" for key, value in entries.items())
    path.write_text(f"# ---\n# jupyter:\n#   course:\n{header}# ---\n\n{cells}", encoding="utf-8")
    return path


def test_reads_header_cells_and_tags(tmp_path):
    path = write(tmp_path / "01_x.py", GOOD, '# %% [markdown]\n# Text\n\n# %% tags=["a"]\n1\n')
    source = read_source(path)
    assert source.name == "01_x"
    assert (source.header.title, source.header.minutes) == ("A title", 5)
    assert [(c.cell_type, c.source) for c in source.cells] == [("markdown", "Text"), ("code", "1")]
    assert source.cells[1].metadata == {"tags": ["a"]}


def test_blank_lines_add_no_metadata(tmp_path):
    path = write(tmp_path / "x.py", GOOD, "# %%\ndef f():\n    pass\n\n\n\n# %%\n1\n")
    assert all(cell.metadata == {} for cell in read_source(path).cells)


def test_line_endings_do_not_change_the_hash(tmp_path):
    original, copy = write(tmp_path / "a.py", GOOD), tmp_path / "b.py"
    copy.write_bytes(original.read_bytes().replace(b"\n", b"\r\n"))
    assert read_source(original).sha256 == read_source(copy).sha256


@pytest.mark.parametrize("key", ["title", "promise", "minutes", "objectives"])
def test_reports_missing_entry(tmp_path, key):
    path = write(tmp_path / "x.py", {k: v for k, v in GOOD.items() if k != key})
    with pytest.raises(CourseError, match=f"has no '{key}'"):
        read_source(path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("minutes", "soon", "'minutes' in the header is 'soon', not a positive integer"),
        ("minutes", "true", "'minutes' in the header is True, not a positive integer"),
        ("title", "[a]", r"'title' in the header is \['a'\], not a non-empty string"),
        ("objectives", "one", "'objectives' in the header is 'one', not a list"),
        ("objectives", "[{a: b}]", "Put quotes"),
        ("credit", "[a]", "unknown entry 'credit'"),
    ],
)
def test_reports_invalid_entry_with_its_value(tmp_path, key, value, message):
    with pytest.raises(CourseError, match=message):
        read_source(write(tmp_path / "x.py", GOOD | {key: value}))


def test_refuses_source_without_header(tmp_path):
    (tmp_path / "x.py").write_text("# %%\n1\n")
    with pytest.raises(CourseError, match="has no header"):
        read_source(tmp_path / "x.py")


def test_invalid_yaml_header_is_refused(tmp_path):
    with pytest.raises(CourseError, match="not valid YAML"):
        read_source(write(tmp_path / "x.py", GOOD | {"promise": "a: b: c"}))


def test_a_source_without_cells_is_refused(tmp_path):
    with pytest.raises(CourseError, match="no cells"):
        read_source(write(tmp_path / "x.py", GOOD, cells=""))
