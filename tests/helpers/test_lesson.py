"""`helpers.lesson`: rich output in a kernel, plain text elsewhere."""

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import simulated_cuda
from helpers import explain, lesson
from helpers.cifar10 import Dataset, Images
from helpers.training import Progress


@pytest.fixture
def notebook(monkeypatch):
    """A real IPython shell, as in a kernel."""
    shell = InteractiveShell.instance()
    monkeypatch.setattr(lesson, "get_ipython", lambda: shell)
    yield shell
    InteractiveShell.clear_instance()


def make_dataset(synthetic: bool) -> Dataset:
    images = Images(torch.zeros(1, 3, 32, 32, dtype=torch.uint8), torch.zeros(1, dtype=torch.int64))
    name = "synthetic images" if synthetic else "CIFAR-10"
    return Dataset(name, tuple("abcdefghij"), images, images, "From a test", synthetic)


def outputs_of(action) -> list[dict]:
    with capture_output() as captured:
        action()
    return [output.data for output in captured.outputs]


@pytest.mark.parametrize("practice", [False, True])
def test_banner_in_colab_without_gpu_says_how_to_get_one(notebook, monkeypatch, practice):
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release-colab")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    try:
        (banner,) = outputs_of(lambda: lesson.start(practice=practice))
    finally:
        simulated_cuda.disable()
    assert "Runtime > Change runtime type > T4 GPU" in banner["text/plain"]
    assert "Runtime &gt; Change runtime type &gt; T4 GPU" in banner["text/html"]
    assert ("a simulated GPU" in banner["text/plain"]) == practice


def test_progress_is_one_line_updated_in_place(notebook):
    show = lesson.progress("Training")
    state = Progress(1, 2, 10, 100, 1.2345, 4321.0, 5.0)
    first = outputs_of(lambda: show(state))
    second = outputs_of(lambda: show(Progress(2, 2, 100, 100, 1.0, 4000.0, 9.0, note="stopped")))
    assert first[0]["text/plain"] == (
        "Training: epoch 1 of 2, step 10 of 100, loss 1.234, 4,321 images/s, 5.0 s"
    )
    assert second[0]["text/plain"].endswith("9.0 s; stopped")
    assert len(first) == len(second) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_practice_without_a_gpu_simulates_one_and_the_banner_names_it(notebook):
    try:
        with capture_output() as captured:
            device = lesson.start(practice=True, gpus=2, gpu_memory="1GiB")
        banner = captured.outputs[0].data
        assert device == torch.device("cuda", 0)
        assert torch.cuda.device_count() == 2
        assert torch.cuda.mem_get_info() == (1 << 30, 1 << 30)
        assert banner["text/plain"].startswith("This notebook uses a simulated GPU: cuda:0")
        assert "imulated" in banner[lesson.RESULT_TYPE]["device"]
    finally:
        simulated_cuda.disable()
        explain.uninstall()


def test_start_seeds_and_returns_the_device(notebook, monkeypatch):
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    outputs_of(lambda: lesson.start("cpu", seed=7))
    first = torch.rand(3)
    (banner,) = outputs_of(lambda: lesson.start(torch.device("cpu"), seed=7))
    assert torch.equal(torch.rand(3), first)
    assert banner["text/plain"].startswith("This notebook runs on cpu (")
    assert "Runtime" not in banner["text/plain"]
    assert banner[lesson.RESULT_TYPE]["device"].startswith("cpu (")
    assert not simulated_cuda.is_enabled()


@pytest.mark.parametrize("synthetic", [True, False])
def test_only_synthetic_images_get_a_warning_box(notebook, synthetic):
    (box,) = outputs_of(lambda: lesson.show_data(make_dataset(synthetic)))
    warning = "!!! These images are not CIFAR-10"
    assert box["text/plain"].startswith(warning) == ("4px solid" in box["text/html"]) == synthetic
    assert box[lesson.RESULT_TYPE]["synthetic"] is synthetic
    assert box[lesson.RESULT_TYPE]["provenance"] == "From a test"


def test_box_is_escaped_html_in_a_notebook_and_plain_text_elsewhere(capsys, notebook, monkeypatch):
    (output,) = outputs_of(lambda: lesson.box("a < b", "<script>"))
    assert "<script>" not in output["text/html"]
    monkeypatch.undo()
    lesson.box("Title.", "<text>")
    assert capsys.readouterr().out == "Title. <text>\n"
