import pytest

from course.course_folder import CourseError
from course.files import read_notebook, write_atomically


def test_write_atomically_creates_folders_and_writes_text_and_bytes(tmp_path):
    write_atomically(tmp_path / "new" / "a.txt", "é\n")
    write_atomically(tmp_path / "new" / "b.bin", b"\x00")
    assert (tmp_path / "new" / "a.txt").read_bytes() == "é\n".encode()
    assert (tmp_path / "new" / "b.bin").read_bytes() == b"\x00"
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_write_atomically_keeps_the_old_content_when_the_disk_is_full(tmp_path, monkeypatch):
    file = tmp_path / "a.txt"
    write_atomically(file, "old")

    def raise_disk_full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("course.files.os.fsync", raise_disk_full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(file, "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "old")]


@pytest.mark.parametrize("text", ["<<<<<<< HEAD", "", "[]"])
def test_read_notebook_rejects_files_that_are_not_notebooks(tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(CourseError, match=r"a\.ipynb is not a valid notebook"):
        read_notebook(tmp_path / "a.ipynb")
