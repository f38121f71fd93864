import subprocess
import sys
from pathlib import Path

import pytest

from helpers.instructor.assemble import bootstrap
from helpers.instructor.build import assembled

TEXT = "# %% [markdown]\n# ## A section\n\n# %%\n1 + 1\n"


@pytest.fixture
def course(small_course):
    small_course.write("01_first", TEXT, title="First")
    small_course.write("02_second", TEXT, title="Second")
    return small_course


def test_a_lesson_stands_between_opening_bootstrap_and_closing(course):
    notebook = assembled(course.folder, "01_first")
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds == ["markdown", "code", "markdown", "code", "markdown"]
    assert notebook.cells[1].metadata.tags == ["bootstrap"]
    assert notebook.cells[3].source == "1 + 1"


def test_the_opening_holds_title_promise_time_and_objectives(course):
    opening = assembled(course.folder, "01_first").cells[0].source
    assert opening.startswith("# First\n\nYou see what happens.\n\nAbout 5 minutes.")
    assert "- see it" in opening


def test_the_badge_opens_the_published_copy(course):
    opening = assembled(course.folder, "01_first").cells[0].source
    site = "https://colab.research.google.com/github/somebody/a-course/blob/v7"
    assert f"({site}/notebooks/01_first.ipynb)" in opening


def test_the_closing_leads_to_the_next_lesson(course):
    closing = assembled(course.folder, "01_first").cells[-1].source
    assert "Go on: [Second](02_second.ipynb)" in closing


def test_the_last_lesson_leads_to_no_other(course):
    assert "Go on" not in assembled(course.folder, "02_second").cells[-1].source


def test_the_closing_leads_to_the_lab_only_where_there_is_one(course):
    assert "labs/" not in assembled(course.folder, "01_first").cells[-1].source
    course.folder.labs.mkdir()
    (course.folder.labs / "01_first.ipynb").write_text("{}")
    assert "(../labs/01_first.ipynb)" in assembled(course.folder, "01_first").cells[-1].source


def test_cells_keep_their_ids_when_others_change(course):
    before = [cell.id for cell in assembled(course.folder, "01_first").cells]
    course.write("01_first", TEXT.replace("A section", "Another") + "\n# %%\n2\n", title="First")
    after = [cell.id for cell in assembled(course.folder, "01_first").cells]
    assert len(set(before) - set(after)) == 1


def test_two_equal_cells_have_two_ids(course):
    course.write("01_first", "# %%\n1\n\n# %%\n1\n")
    ids = [cell.id for cell in assembled(course.folder, "01_first").cells]
    assert len(set(ids)) == len(ids)


def run_bootstrap(course, folder, check=""):
    # -S leaves out installed packages, so that helpers is not there.
    code = bootstrap(course.folder).source + "\n" + check
    return subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=folder, capture_output=True, text=True
    )


def test_in_a_clone_without_installation_the_bootstrap_finds_the_package(course):
    package = course.root / "helpers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "lesson.py").write_text("")
    done = run_bootstrap(course, course.folder.notebooks, "import helpers; print(helpers.__file__)")
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == package / "__init__.py"


def test_without_package_and_network_the_bootstrap_says_what_it_could_not_reach(course, tmp_path):
    # Stands in for a pip that does not reach its address.
    (tmp_path / "pip.py").write_text("raise SystemExit(1)")
    done = run_bootstrap(course, tmp_path)
    assert "RuntimeError: Could not fetch the course's helpers" in done.stderr
    assert "https://github.com/somebody/a-course/archive/v7.zip" in done.stderr


def test_elsewhere_the_bootstrap_installs_this_tag_and_nothing_beside_it(
    course, tmp_path, monkeypatch
):
    commands = []

    class Done:
        returncode = 0

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("subprocess.run", lambda command, **_: commands.append(command) or Done)
    monkeypatch.chdir(tmp_path)
    exec(bootstrap(course.folder).source, {})
    [command] = commands
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert "--no-deps" in command
    assert command[-1] == "https://github.com/somebody/a-course/archive/v7.zip"


def test_where_the_package_is_installed_the_bootstrap_does_nothing(course, tmp_path, monkeypatch):
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("called pip"))
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    exec(bootstrap(course.folder).source, {})
    assert sys.path == before
