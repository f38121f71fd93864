import pytest

from course.batch.plan import expand, make_plan, read_plan
from course.course_folder import CourseError
from course.execution.jobs import ExecutionSettings

SOURCE = """\
epochs: int = 2
lr: float = 0.1
seed: int = 0
data: str = "auto"
"""


@pytest.fixture
def expand_plan(cells):
    """A function that returns the parameters of each run of a plan for one notebook."""

    def expand_table(**table):
        notebook = cells.notebook(cells.code(SOURCE, tags=["parameters"]))
        plan = make_plan({"notebooks": "one", **table})
        return [run.parameters for run in expand(plan, {"one": notebook})]

    return expand_table


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            {"parameters": {"data": "synthetic"}, "grid": {"epochs": [1, 2], "lr": [0.1, 1]}},
            [{"data": "synthetic", "epochs": n, "lr": lr} for n in (1, 2) for lr in (0.1, 1.0)],
        ),
        ({"cases": [{"epochs": 1}, {"lr": 0.5}]}, [{"epochs": 1}, {"lr": 0.5}]),
        ({"repeats": 3}, [{"seed": 0}, {"seed": 1}, {"seed": 2}]),
        ({"seeds": [7, 11]}, [{"seed": 7}, {"seed": 11}]),
    ],
)
def test_plan_gives_the_parameters_of_each_run_in_order(expand_plan, table, expected):
    assert expand_plan(**table) == expected


def test_notebook_without_the_varied_parameter_runs_once(cells):
    notebooks = {
        "one": cells.notebook(cells.code("x = 1", tags=["parameters"])),
        "two": cells.notebook(cells.code("y = 1", tags=["parameters"])),
    }
    plan = make_plan({"notebooks": ["one", "two"], "grid": {"x": [1, 2]}})
    expanded = [(run.notebook, run.parameters) for run in expand(plan, notebooks)]
    assert expanded == [("one", {"x": 1}), ("one", {"x": 2}), ("two", {})]


def test_relative_path_is_made_absolute(expand_plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert expand_plan(parameters={"data": "./images.zip"}) == [{"data": f"{tmp_path}/images.zip"}]
    assert expand_plan(parameters={"data": "synthetic"}) == [{"data": "synthetic"}]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"notebooks": []}, "lists no notebooks"),
        ({"gird": {}}, r"A plan has no entry 'gird'\. Did you mean 'grid'\?"),
        ({"limits": {"cells": 1}}, r"limits has no entry 'cells'\. Did you mean 'cell'\?"),
        ({"parameters": {"epoch": 1}}, r"Did you mean 'epochs'\?"),
        ({"parameters": {"data": 7}}, "must be a string.*Put the value in quotes"),
        ({"grid": {"epochs": 3}}, "epochs must be a non-empty list of values"),
        ({"cases": {"epochs": 1}}, "cases must be a list of parameters"),
        ({"repeats": 2, "grid": {"seed": [1]}}, "'seed' is set by grid and by repeats"),
        ({"repeats": 2, "seeds": [1, 2, 3]}, "remove repeats"),
        ({"seeds": "many"}, "seeds must be a non-empty list of integers"),
        ({"retries": -1}, "retries must be an integer of at least 0"),
        ({"parameters": ["epochs"]}, "parameters must map names to values"),
    ],
)
def test_invalid_plan_is_rejected(expand_plan, table, message):
    with pytest.raises(CourseError, match=message):
        expand_plan(**table)


def test_plan_is_read_from_yaml(tmp_path):
    (tmp_path / "plan.yaml").write_text(
        "notebooks: [03]\nlimits: {cell: 60, run: 90}\ngpus: {use: [0], runs_per_gpu: 2}\n"
        "cases: [{epochs: 1}]\n"
    )
    plan = make_plan(read_plan(tmp_path / "plan.yaml"))
    assert (plan.notebooks, plan.cases) == (("03",), ({"epochs": 1},))
    settings = ExecutionSettings(None, gpus=("0",), jobs_per_gpu=2, cell_limit=60, run_limit=90)
    assert plan.execution == settings


@pytest.mark.parametrize(("text", "message"), [("a: [", "not valid YAML"), ("- a", "lines such")])
def test_unreadable_plan_is_rejected_with_a_reason(tmp_path, text, message):
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(CourseError, match=message):
        read_plan(tmp_path / "plan.yaml")
    with pytest.raises(CourseError, match="No such file"):
        read_plan(tmp_path / "other.yaml")
