import pytest

from course.course_folder import CourseError, open_course, select_names
from course.files import read_notebook, write_atomically

NAMES = ["00_cpu_and_gpu", "04_cifar10_on_gpu", "05_when_the_gpu_wins"]


def test_finds_course_from_subfolder(small_course, monkeypatch):
    monkeypatch.chdir(small_course.folder.sources)
    assert open_course().root == small_course.root


def test_refuses_folder_without_course(tmp_path):
    with pytest.raises(CourseError, match="no folder notebooks/source"):
        open_course(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[tool.course]\ntag = "v1"\n', "'repository'"),
        ("<<<<<<< HEAD", "is not a TOML file"),
        (None, "No such file"),
    ],
)
def test_refuses_course_without_repository(small_course, text, message):
    file = small_course.root / "pyproject.toml"
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises(CourseError, match=message):
        open_course(small_course.root)


@pytest.mark.parametrize(
    ("words", "selected"),
    [
        ([], NAMES),
        (["05_when_the_gpu_wins", "00"], [NAMES[0], NAMES[2]]),
        (["4"], [NAMES[1]]),
        (["04_cifar"], [NAMES[1]]),
        (["notebooks/04_cifar10_on_gpu.ipynb"], [NAMES[1]]),
    ],
)
def test_selects_by_number_prefix_or_path_in_order(words, selected):
    assert select_names(NAMES, words, "Lesson") == selected


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("06", r"'06' does not exist.*04_cifar10_on_gpu"),
        ("00", "matches 00_cpu_and_gpu and 00_again"),
    ],
)
def test_unknown_or_ambiguous_name_lists_names(word, message):
    with pytest.raises(CourseError, match=message):
        select_names(["00_cpu_and_gpu", "00_again", "04_cifar10_on_gpu"], [word], "Lesson")


def test_write_atomically_keeps_the_old_content_when_the_disk_is_full(tmp_path, monkeypatch):
    file = tmp_path / "new" / "a.txt"
    write_atomically(file, "é\n")

    def raise_disk_full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("course.files.os.fsync", raise_disk_full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(file, b"new")
    assert [(path.name, path.read_bytes()) for path in file.parent.iterdir()] == [
        ("a.txt", "é\n".encode())
    ]


@pytest.mark.parametrize("text", ["<<<<<<< HEAD", "", "[]"])
def test_read_notebook_rejects_files_that_are_not_notebooks(tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(CourseError, match=r"a\.ipynb is not a valid notebook"):
        read_notebook(tmp_path / "a.ipynb")
