"""`explain(error)` and `with explain():` outside a notebook."""

import pytest
import torch

from helpers.explain import explain


def mix_devices():
    return torch.ones(3, device="meta") + torch.ones(3)


def test_a_caught_error_is_explained():
    with pytest.raises(RuntimeError) as caught:
        mix_devices()
    assert explain(caught.value).culprit == "torch.ones(3)"


def test_an_error_that_was_never_raised_is_explained_from_its_message():
    error = RuntimeError("Expected all tensors to be on the same device, but found at least two "
                         "devices, cuda:0 and cpu!")  # fmt: skip
    assert "(cuda:0 and cpu)" in repr(explain(error))


def test_other_errors_have_no_explanation():
    assert explain(ValueError("no such file")) is None


def test_an_error_caused_by_a_device_error_is_explained():
    with pytest.raises(ValueError, match="training failed") as caught:
        try:
            mix_devices()
        except RuntimeError as error:
            raise ValueError("training failed") from error
    assert explain(caught.value).culprit == "torch.ones(3)"


def test_an_argument_that_is_not_an_error_raises_type_error():
    with pytest.raises(TypeError, match="not a str"):
        explain("Expected all tensors to be on the same device")


def test_the_block_shows_the_box_and_raises_the_error(capsys):
    with pytest.raises(RuntimeError, match="expected device"), explain():
        mix_devices()
    assert "Two devices in one operation" in capsys.readouterr().err


def test_the_block_continues_with_suppress(capsys):
    with explain(suppress=True) as block:
        mix_devices()
    assert block.explanation.culprit == "torch.ones(3)"
    captured = capsys.readouterr()
    assert captured.out.startswith("RuntimeError: Tensor on device cpu")
    assert "Two devices in one operation" in captured.err


def test_the_block_never_suppresses_other_errors():
    with pytest.raises(ZeroDivisionError), explain(suppress=True):
        _ = 1 / 0


def test_a_bug_in_the_explainer_never_hides_the_error(monkeypatch, capsys):
    def broken(error):
        raise KeyError("a bug")

    monkeypatch.setattr("helpers.explain.notebook.diagnose", broken)
    with pytest.raises(RuntimeError, match="expected device"), explain(suppress=True):
        mix_devices()
    assert capsys.readouterr().err == ("(The explainer failed on this error: KeyError: 'a bug')\n")


def test_the_block_shows_nothing_without_an_error(capsys):
    with explain() as block:
        torch.ones(3)
    assert block.explanation is None
    assert capsys.readouterr() == ("", "")
