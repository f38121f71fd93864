import helpers
from course.execution import provenance
from course.execution.provenance import helpers_digest, run_id


def test_a_run_is_its_code_and_its_parameters(cells):
    notebook = cells.notebook(cells.code("1 + 1"))
    same = cells.notebook(cells.text("Words."), cells.code("1 + 1", cells.value("2"), count=7))
    other = cells.notebook(cells.code("1 + 2"))
    assert run_id(notebook, {"a": 1, "b": 2}) == run_id(same, {"b": 2, "a": 1})
    assert run_id(notebook, {"a": 1}) != run_id(notebook, {"a": 2})
    assert run_id(notebook, {"a": 1}) != run_id(notebook, {"a": "1"})
    assert run_id(notebook, {}) != run_id(other, {})


def test_a_change_in_helpers_is_another_run_and_one_in_the_tools_is_not(tmp_path, monkeypatch):
    package = tmp_path / "helpers"
    (package / "instructor").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    for name in ("__init__.py", "devices.py", "instructor/batch.py", "__pycache__/devices.pyc"):
        (package / name).write_text("one")
    monkeypatch.setattr(helpers, "__file__", str(package / "__init__.py"))
    digest = helpers_digest.__wrapped__
    before = digest()
    (package / "instructor" / "batch.py").write_text("two")
    (package / "__pycache__" / "devices.pyc").write_text("two")
    assert digest() == before
    (package / "devices.py").write_text("two")
    assert digest() != before


def test_versions_are_told_without_importing_torch():
    assert set(provenance.versions()) == {"python", "helpers", "torch", "torchvision", "numpy"}
