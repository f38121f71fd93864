import pytest

from course.authoring import stored_outputs
from course.authoring.stored_outputs import output_problems
from helpers import lesson


def test_result_type_matches_lessons():
    assert stored_outputs.RESULT_TYPE == lesson.RESULT_TYPE


@pytest.mark.parametrize(
    "text",
    [
        "saved in /home/ada/course/output/net.pt",
        "'/root/.cache/gpu-course/cifar10'",
        "File /usr/lib/python3/site-packages/torch/nn/module.py:12",
        "PosixPath('/content/drive')",
        "path=/mnt/disk/data",
        "/tmp/run_17",
        "~/course/output",
        r"C:\Users\ada\course",
        r"'C:\\Users\\ada\\course'",
    ],
)
def test_finds_local_path(cells, text):
    notebook = cells.notebook(cells.code("show()", cells.stream(text)))
    [problem] = output_problems(notebook)
    assert "path of this machine" in problem


@pytest.mark.parametrize(
    "text",
    [
        "1,234 images/s and 3 MB/s",
        "https://github.com/somebody/course/blob/main/README.md",
        "</td></tr></table>",
        '<a href="https://example.org/a/b/c">x</a>',
        "output/net.pt",
        "notebooks/04_cifar10_on_gpu.ipynb",
        "../labs/04_lab.ipynb",
        "/dev/nvidia0",
        "1/2/3",
        "a / b / c",
        "and/or",
        "cuda:0",
    ],
)
def test_accepts_text_that_resembles_a_path(cells, text):
    assert output_problems(cells.notebook(cells.code("show()", cells.stream(text)))) == []


def test_finds_path_in_html_and_in_results(cells):
    html = cells.display_data({"text/html": "<b>from /home/ada/data.zip</b>", "text/plain": "box"})
    record = cells.display_data({lesson.RESULT_TYPE: {"provenance": "/home/ada/data.zip"}})
    notebook = cells.notebook(cells.code("one()", html), cells.code("two()", record))
    assert len(output_problems(notebook)) == 2


def test_does_not_search_images(cells):
    image = cells.display_data({"image/png": "iVBORw0KGgo/home/ada/AAA/BBB="})
    assert output_problems(cells.notebook(cells.code("plot()", image))) == []


def test_searches_alt_text_but_not_pixels_in_html(cells):
    html = '<img alt="{alt}" src="data:image/png;base64,iVBOR+/home/ada/AAA/BBB=">'
    fine = cells.display_data({"text/html": html.format(alt="A line."), "text/plain": "A line."})
    assert output_problems(cells.notebook(cells.code("plot()", fine))) == []
    path = cells.display_data({"text/html": html.format(alt="from /home/ada/data.zip")})
    assert len(output_problems(cells.notebook(cells.code("plot()", path)))) == 1


def test_finds_errors_stderr_and_warnings_with_their_cell(cells):
    notebook = cells.notebook(
        cells.text("# Title"),
        cells.code("fail()", cells.error("ValueError", "no")),
        cells.code("noise()", cells.stream("something\n", name="stderr")),
        cells.code("warn()", cells.stream("module.py:7: UserWarning: old\n")),
    )
    error, stderr, warning = output_problems(notebook)
    assert error == "cell 2 (fail()) ends in an error: ValueError: no"
    assert stderr == "cell 3 (noise()) writes to stderr: something"
    assert warning == "cell 4 (warn()) shows a warning: module.py:7: UserWarning: old"
