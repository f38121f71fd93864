import pytest

from course.course_folder import CourseError, open_course, select_names

NAMES = ["00_cpu_and_gpu", "04_cifar10_on_gpu", "05_when_the_gpu_wins"]


def test_finds_course_from_subfolder(small_course, monkeypatch):
    monkeypatch.chdir(small_course.folder.sources)
    assert open_course().root == small_course.root


def test_refuses_folder_without_course(tmp_path):
    with pytest.raises(CourseError, match="no folder notebooks/source"):
        open_course(tmp_path)


def test_refuses_course_without_repository(small_course):
    (small_course.root / "pyproject.toml").write_text('[tool.course]\ntag = "v1"\n')
    with pytest.raises(CourseError, match="'repository'"):
        open_course(small_course.root)


def test_picks_names_in_order():
    assert select_names(NAMES, ["05_when_the_gpu_wins", "00_cpu_and_gpu"], "Lesson") == [
        NAMES[0],
        NAMES[2],
    ]


@pytest.mark.parametrize(
    "word", ["04", "4", "04_cifar", "notebooks/04_cifar10_on_gpu.ipynb", "04_cifar10_on_gpu.py"]
)
def test_accepts_number_prefix_or_path(word):
    assert select_names(NAMES, [word], "Lesson") == ["04_cifar10_on_gpu"]


def test_picks_all_without_a_name():
    assert select_names(NAMES, [], "Lesson") == NAMES


def test_unknown_name_lists_known_names():
    with pytest.raises(CourseError, match=r"'06' does not exist.*04_cifar10_on_gpu"):
        select_names(NAMES, ["06"], "Lesson")


def test_refuses_ambiguous_name():
    with pytest.raises(CourseError, match="matches 04_cifar10_on_gpu and 04_cifar10_again"):
        select_names(["04_cifar10_on_gpu", "04_cifar10_again"], ["04"], "Lesson")
