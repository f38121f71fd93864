import pytest

from course.course_folder import CourseError
from course.execution.parameters import UNKNOWN, convert_parameters, read_parameters


def convert(text, default):
    """Return the value that `-p x TEXT` gives to a parameter `x` with this default."""
    return convert_parameters({"x": text}, {"lesson": {"x": default}})["lesson"]["x"]


def test_defaults_are_read_from_the_parameters_cell(cells):
    source = 'epochs: int = 2  # passes\nlr = 1e-3\ndata = "auto"\nout = Path("x")\nnone = None\n'
    notebook = cells.notebook(cells.code("other = 1"), cells.code(source, tags=["parameters"]))
    expected = {"epochs": 2, "lr": 1e-3, "data": "auto", "out": UNKNOWN, "none": None}
    assert read_parameters(notebook) == expected


def test_parameters_cell_with_a_syntax_error_is_rejected(cells):
    notebook = cells.notebook(cells.code("epochs = \n", tags=["parameters"]))
    with pytest.raises(CourseError, match="not valid Python"):
        read_parameters(notebook)


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [
        ("5", 2, 5),
        ("1e3", 2, 1000),
        ("1e-3", 0.1, 0.001),
        ("1", 0.1, 1.0),
        ("true", False, True),
        ("yes", False, True),
        ("007", "auto", "007"),
        ("cuda:1", "auto", "cuda:1"),
        ("[1, 2]", [3], [1, 2]),
        ("(1, 2)", (3,), [1, 2]),
        ("{'a': 1}", {}, {"a": 1}),
        ("3", None, 3),
        ("None", None, None),
        ("3", UNKNOWN, 3),
    ],
)
def test_value_is_converted_to_the_type_of_the_default(text, default, expected):
    value = convert(text, default)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "default", "expected_type"),
    [
        ("1.5", 2, "an integer"),
        ("nan", 2, "an integer"),
        ("true", 2, "an integer"),
        ("fast", 0.1, "a number"),
        ("maybe", True, "true or false"),
        ("1, 2, x", [1], "a list"),
        ("(1, 2)", [1], "a list"),
    ],
)
def test_value_of_the_wrong_type_is_rejected(text, default, expected_type):
    with pytest.raises(CourseError, match=rf"'x' of lesson must be {expected_type} .*, not '"):
        convert(text, default)


def test_each_notebook_gets_a_shared_parameter_in_its_own_type():
    notebooks = {"one": {"n": 1}, "two": {"n": "auto"}, "three": {"m": 1}}
    converted = convert_parameters({"n": "7"}, notebooks)
    assert converted == {"one": {"n": 7}, "two": {"n": "7"}, "three": {}}
