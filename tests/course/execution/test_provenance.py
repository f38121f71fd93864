import helpers
from course.execution.provenance import helpers_digest, run_id


def test_run_id_depends_on_code_and_parameters_only(cells):
    notebook = cells.notebook(cells.code("1 + 1"))
    same = cells.notebook(cells.text("Words."), cells.code("1 + 1", cells.value("2"), count=7))
    other = cells.notebook(cells.code("1 + 2"))
    assert run_id(notebook, {"a": 1, "b": 2}) == run_id(same, {"b": 2, "a": 1})
    assert run_id(notebook, {"a": 1}) != run_id(notebook, {"a": 2})
    assert run_id(notebook, {"a": 1}) != run_id(notebook, {"a": "1"})
    assert run_id(notebook, {}) != run_id(other, {})


def test_helpers_digest_depends_on_every_file_but_bytecode(tmp_path, monkeypatch):
    package = tmp_path / "helpers"
    (package / "__pycache__").mkdir(parents=True)
    for name in ("__init__.py", "devices.py", "__pycache__/devices.pyc"):
        (package / name).write_text("one")
    monkeypatch.setattr(helpers, "__file__", str(package / "__init__.py"))
    digest = helpers_digest.__wrapped__
    before = digest()
    (package / "__pycache__" / "devices.pyc").write_text("two")
    assert digest() == before
    (package / "devices.py").write_text("two")
    assert digest() != before
