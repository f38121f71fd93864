import pytest

from course.authoring import stored_outputs
from course.authoring.stored_outputs import output_problems
from helpers import lesson


def test_the_type_of_a_record_is_that_of_the_lessons():
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
def test_a_path_of_one_machine_is_found(cells, text):
    notebook = cells.notebook(cells.code("show()", cells.stream(text)))
    [problem] = output_problems(notebook)
    assert "path of one machine" in problem


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
def test_what_only_looks_like_a_path_is_left_alone(cells, text):
    assert output_problems(cells.notebook(cells.code("show()", cells.stream(text)))) == []


def test_a_path_in_html_or_in_a_record_is_found(cells):
    html = cells.shown({"text/html": "<b>from /home/ada/data.zip</b>", "text/plain": "box"})
    record = cells.shown({lesson.RESULT_TYPE: {"provenance": "/home/ada/data.zip"}})
    notebook = cells.notebook(cells.code("one()", html), cells.code("two()", record))
    assert len(output_problems(notebook)) == 2


def test_an_image_is_not_searched(cells):
    image = cells.shown({"image/png": "iVBORw0KGgo/home/ada/AAA/BBB="})
    assert output_problems(cells.notebook(cells.code("plot()", image))) == []


def test_an_image_inside_html_is_not_searched_but_its_description_is(cells):
    html = '<img alt="{alt}" src="data:image/png;base64,iVBOR+/home/ada/AAA/BBB=">'
    fine = cells.shown({"text/html": html.format(alt="A line."), "text/plain": "A line."})
    assert output_problems(cells.notebook(cells.code("plot()", fine))) == []
    path = cells.shown({"text/html": html.format(alt="from /home/ada/data.zip")})
    assert len(output_problems(cells.notebook(cells.code("plot()", path)))) == 1


def test_errors_stderr_and_warnings_are_found_with_their_cell(cells):
    notebook = cells.notebook(
        cells.text("# Title"),
        cells.code("fail()", cells.error("ValueError", "no")),
        cells.code("noise()", cells.stream("something\n", name="stderr")),
        cells.code("warn()", cells.stream("module.py:7: UserWarning: old\n")),
    )
    one, two, three = output_problems(notebook)
    assert one == "cell 2 (fail()) ends in an error: ValueError: no"
    assert two == "cell 3 (noise()) writes to stderr: something"
    assert three == "cell 4 (warn()) shows a warning: module.py:7: UserWarning: old"
