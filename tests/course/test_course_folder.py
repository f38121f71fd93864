import pytest

from course.course_folder import CourseError, open_course, pick

NAMES = ["00_cpu_and_gpu", "04_cifar10_on_gpu", "05_when_the_gpu_wins"]


def test_the_course_is_found_from_a_folder_inside_it(small_course, monkeypatch):
    monkeypatch.chdir(small_course.folder.sources)
    assert open_course().root == small_course.root


def test_a_folder_without_a_course_is_refused_with_its_name(tmp_path):
    with pytest.raises(CourseError, match="no folder notebooks/source"):
        open_course(tmp_path)


def test_a_course_that_does_not_say_where_it_is_published_is_refused(small_course):
    (small_course.root / "pyproject.toml").write_text('[tool.course]\ntag = "v1"\n')
    with pytest.raises(CourseError, match="'repository'"):
        open_course(small_course.root)


def test_names_are_picked_in_the_order_of_the_course():
    assert pick(NAMES, ["05_when_the_gpu_wins", "00_cpu_and_gpu"], "Lesson") == [NAMES[0], NAMES[2]]


@pytest.mark.parametrize(
    "word", ["04", "4", "04_cifar", "notebooks/04_cifar10_on_gpu.ipynb", "04_cifar10_on_gpu.py"]
)
def test_a_lesson_can_be_named_by_number_beginning_or_path(word):
    assert pick(NAMES, [word], "Lesson") == ["04_cifar10_on_gpu"]


def test_no_name_means_all():
    assert pick(NAMES, [], "Lesson") == NAMES


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(CourseError, match=r"'06' is not here.*04_cifar10_on_gpu"):
        pick(NAMES, ["06"], "Lesson")


def test_a_name_that_could_be_several_is_refused():
    with pytest.raises(CourseError, match="could be 04_cifar10_on_gpu or 04_cifar10_again"):
        pick(["04_cifar10_on_gpu", "04_cifar10_again"], ["04"], "Lesson")
