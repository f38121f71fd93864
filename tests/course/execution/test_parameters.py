import pytest

from course.course_folder import CourseError
from course.execution.parameters import UNKNOWN, defaults_of, fit_parameters


def fit(text, default):
    """What a notebook gets whose parameter `x` has this default, given `-p x TEXT`."""
    return fit_parameters([("x", text)], {"lesson": {"x": default}})["lesson"]["x"]


def test_defaults_are_read_from_the_parameters_cell(cells):
    source = 'epochs: int = 2  # passes\nlr = 1e-3\ndata = "auto"\nout = Path("x")\nnone = None\n'
    notebook = cells.notebook(cells.code("other = 1"), cells.code(source, tags=["parameters"]))
    assert defaults_of(notebook) == {
        "epochs": 2,
        "lr": 1e-3,
        "data": "auto",
        "out": UNKNOWN,
        "none": None,
    }


def test_a_parameters_cell_that_is_no_python_is_shown(cells):
    notebook = cells.notebook(cells.code("epochs = \n", tags=["parameters"]))
    with pytest.raises(CourseError, match="not valid Python"):
        defaults_of(notebook)


def test_a_notebook_without_a_parameters_cell_has_none(cells):
    assert defaults_of(cells.notebook(cells.code("a = 1"))) == {}


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [
        ("5", 2, 5),
        ("1e3", 2, 1000),
        ("-1", 2, -1),
        ("1e-3", 0.1, 0.001),
        ("1", 0.1, 1.0),
        ("true", False, True),
        ("False", True, False),
        ("yes", False, True),
        ("007", "auto", "007"),
        ("cuda:1", "auto", "cuda:1"),
        ("true", "auto", "true"),
        ("[1, 2]", [3], [1, 2]),
        ("(1, 2)", (3,), [1, 2]),
        ("{'a': 1}", {}, {"a": 1}),
        ("3", None, 3),
        ("cpu", None, "cpu"),
        ("None", None, None),
        ("3", UNKNOWN, 3),
    ],
)
def test_a_value_takes_the_type_of_the_default(text, default, expected):
    value = fit(text, default)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "default", "wanted"),
    [
        ("1.5", 2, "a whole number"),
        ("many", 2, "a whole number"),
        ("inf", 2, "a whole number"),
        ("nan", 2, "a whole number"),
        ("", 2, "a whole number"),
        ("true", 2, "a whole number"),
        ("fast", 0.1, "a number"),
        ("maybe", True, "true or false"),
        ("2", True, "true or false"),
        ("1, 2, x", [1], "a list"),
        ("(1, 2)", [1], "a list"),
        ("3", [1], "a list"),
    ],
)
def test_a_value_that_cannot_be_of_that_type_is_refused(text, default, wanted):
    with pytest.raises(CourseError, match=rf"'x' of lesson takes {wanted}.* is not\."):
        fit(text, default)


def test_an_unknown_name_is_refused_and_the_nearest_named():
    with pytest.raises(CourseError, match=r"'epoch'.*Did you mean 'epochs'\?"):
        fit_parameters([("epoch", "1")], {"lesson": {"epochs": 2, "lr": 0.1}})


def test_a_name_like_no_other_is_refused_with_all_that_there_are():
    with pytest.raises(CourseError, match="Known here: epochs, lr") as caught:
        fit_parameters([("colour", "red")], {"lesson": {"epochs": 2, "lr": 0.1}})
    assert "mean" not in str(caught.value)


def test_a_parameter_goes_to_the_notebooks_that_have_it_in_the_type_of_each():
    defaults = {"one": {"n": 1}, "two": {"n": "auto"}, "three": {"m": 1}}
    fitted = fit_parameters([("n", "7")], defaults)
    assert fitted == {"one": {"n": 7}, "two": {"n": "7"}, "three": {}}


def test_a_parameter_given_twice_is_refused():
    with pytest.raises(CourseError, match="'n' is given twice"):
        fit_parameters([("n", "1"), ("n", "2")], {"one": {"n": 1}})
