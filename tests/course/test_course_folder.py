import pytest

from course.course_folder import CourseError, open_course, select_names
from course.files import read_notebook, write_atomically

NAMES = ["00_cpu_and_gpu", "04_cifar10_on_gpu", "05_when_the_gpu_wins"]


def test_finds_course_from_subfolder(small_course, monkeypatch):
    monkeypatch.chdir(small_course.folder.sources)
    assert open_course().root == small_course.root


@pytest.mark.parametrize(
    ("text", "message"),
    [('[tool.course]\ntag = "v1"\n', "'repository'"), ("<<<<<<< HEAD", "is not a TOML file")],
)
def test_refuses_folder_without_course_or_repository(small_course, text, message):
    with pytest.raises(CourseError, match="no folder notebooks/source"):
        open_course(small_course.folder.notebooks)
    (small_course.root / "pyproject.toml").write_text(text)
    with pytest.raises(CourseError, match=message):
        open_course(small_course.root)


@pytest.mark.parametrize(
    ("words", "selected"),
    [
        ([], NAMES),
        (["05_when_the_gpu_wins", "00"], [NAMES[0], NAMES[2]]),
        (["4"], [NAMES[1]]),
        (["notebooks/04_cifar10_on_gpu.ipynb"], [NAMES[1]]),
    ],
)
def test_selects_by_number_prefix_or_path_in_order(words, selected):
    assert select_names(NAMES, words, "Lesson") == selected


def test_unknown_or_ambiguous_name_lists_names():
    with pytest.raises(CourseError, match=r"'06' does not exist.*04_cifar10"):
        select_names(NAMES, ["06"], "Lesson")
    with pytest.raises(CourseError, match="'04_c' matches 04_cifar10_on_gpu and 04_cpu"):
        select_names([*NAMES, "04_cpu"], ["04_c"], "Lesson")


def test_write_atomically_keeps_the_old_content_if_writing_fails(tmp_path, monkeypatch):
    file = tmp_path / "new" / "a.txt"
    write_atomically(file, "é\n")
    monkeypatch.setattr("course.files.os.fsync", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_atomically(file, b"new")
    assert list(file.parent.iterdir()) == [file]
    assert file.read_bytes() == "é\n".encode()


@pytest.mark.parametrize("text", ["<<<<<<< HEAD", "[]"])
def test_read_notebook_rejects_files_that_are_not_notebooks(tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(CourseError, match=r"a\.ipynb is not a valid notebook"):
        read_notebook(tmp_path / "a.ipynb")
