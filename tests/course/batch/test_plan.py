import pytest

from course.batch.plan import expand, make_plan, read_plan
from course.course_folder import CourseError

SOURCE = """\
from typing import Literal
epochs: int = 2
lr: float = 0.1
seed: int = 0
data: str = "auto"
size: Literal["small", "large"] = "small"
"""


@pytest.fixture
def settings(cells):
    """The runs' parameters that a plan for one notebook leads to."""

    def expanded(**table):
        notebook = cells.notebook(cells.code(SOURCE, tags=["parameters"]))
        plan = make_plan({"notebook": "one", **table})
        return [setting.parameters for setting in expand(plan, {"one": notebook})]

    return expanded


def test_a_plan_without_parameters_is_one_run(settings):
    assert settings() == [{}]


def test_a_grid_gives_every_combination_and_fixed_parameters_are_in_all(settings):
    found = settings(parameters={"data": "drawn"}, grid={"epochs": [1, 2], "lr": [0.1, 1]})
    assert found == [
        {"data": "drawn", "epochs": 1, "lr": 0.1},
        {"data": "drawn", "epochs": 1, "lr": 1.0},
        {"data": "drawn", "epochs": 2, "lr": 0.1},
        {"data": "drawn", "epochs": 2, "lr": 1.0},
    ]


def test_a_list_gives_its_settings_one_after_the_other(settings):
    assert settings(list=[{"epochs": 1}, {"lr": 0.5}]) == [{"epochs": 1}, {"lr": 0.5}]


def test_repeats_differ_in_their_seed(settings):
    assert settings(repeats=3) == [{"seed": 0}, {"seed": 1}, {"seed": 2}]
    assert settings(seeds=[7, 11]) == [{"seed": 7}, {"seed": 11}]


def test_the_same_run_is_not_planned_twice(settings):
    assert settings(grid={"epochs": [1, "1", 1.0]}) == [{"epochs": 1}]


def test_a_notebook_without_the_varied_parameter_runs_once(cells):
    notebooks = {
        "one": cells.notebook(cells.code("x = 1", tags=["parameters"])),
        "two": cells.notebook(cells.code("y = 1", tags=["parameters"])),
    }
    plan = make_plan({"notebooks": ["one", "two"], "grid": {"x": [1, 2]}})
    found = [(setting.notebook, setting.parameters) for setting in expand(plan, notebooks)]
    assert found == [("one", {"x": 1}), ("one", {"x": 2}), ("two", {})]


@pytest.mark.parametrize("given", ["1e-3", 0.001])
def test_what_yaml_takes_for_a_text_becomes_the_number_it_is(settings, given):
    assert settings(parameters={"lr": given}) == [{"lr": 0.001}]


def test_a_path_that_starts_here_is_made_absolute(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert settings(parameters={"data": "./images.zip"}) == [{"data": f"{tmp_path}/images.zip"}]
    assert settings(parameters={"data": "drawn"}) == [{"data": "drawn"}]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"gird": {}}, r"A plan has no 'gird'\. Did you mean 'grid'\?"),
        ({"limits": {"cells": 1}}, r"limits has no 'cells'\. Did you mean 'cell'\?"),
        ({"parameters": {"epoch": 1}}, r"Did you mean 'epochs'\?"),
        ({"parameters": {"size": "larg"}}, r"'small', 'large'.*Did you mean 'large'\?"),
        ({"parameters": {"data": 7}}, "takes a text.*Put it into quotes"),
        ({"parameters": {"epochs": True}}, "takes a whole number"),
        ({"parameters": {"lr": [0.1]}}, "takes a number"),
        ({"parameters": {"epochs": None}}, "takes a whole number"),
        ({"grid": {"epochs": 3}}, "epochs takes a list of values"),
        ({"grid": {"epochs": []}}, "epochs takes a list of values"),
        ({"list": {"epochs": 1}}, "list takes settings"),
        ({"repeats": 2, "grid": {"seed": [1]}}, "'seed' is set by grid and by repeats"),
        ({"repeats": 2, "seeds": [1, 2, 3]}, "leave repeats out"),
        ({"seeds": "many"}, "seeds takes a list of whole numbers"),
        ({"retries": -1}, "retries takes a whole number of 0 or more"),
        ({"parameters": ["epochs"]}, "parameters takes names and values"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings, table, message):
    with pytest.raises(CourseError, match=message):
        settings(**table)


def test_a_plan_without_notebooks_is_refused():
    with pytest.raises(CourseError, match="names no notebook"):
        make_plan({"grid": {"x": [1]}})


def test_a_plan_is_read_from_yaml(tmp_path):
    file = tmp_path / "plan.yaml"
    file.write_text("notebooks: [03]\nlimits: {cell: 60, run: 90}\ngpus: {use: [0], share: 2}\n")
    plan = make_plan(read_plan(file))
    assert plan.notebooks == ("03",)
    assert (plan.cell_limit, plan.run_limit, plan.gpus, plan.share) == (60, 90, ("0",), 2)


@pytest.mark.parametrize(("text", "message"), [("a: [", "not valid YAML"), ("- a", "lines such")])
def test_a_file_that_is_no_plan_says_why(tmp_path, text, message):
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(CourseError, match=message):
        read_plan(tmp_path / "plan.yaml")
    with pytest.raises(CourseError, match="No such file"):
        read_plan(tmp_path / "other.yaml")
