"""`explain(error)` and `with explain():` in code, outside a notebook."""

import pytest
import torch

from helpers.explain import explain


def mix():
    return torch.ones(3, device="meta") + torch.ones(3)


def test_a_caught_error_is_explained():
    with pytest.raises(RuntimeError) as caught:
        mix()
    assert explain(caught.value).culprit == "torch.ones(3)"


def test_an_error_that_was_never_raised_is_explained_by_its_text():
    error = RuntimeError("Expected all tensors to be on the same device, but found at least two "
                         "devices, cuda:0 and cpu!")  # fmt: skip
    assert "(cuda:0 and cpu)" in repr(explain(error))


def test_any_other_error_has_no_explanation():
    assert explain(ValueError("no such file")) is None


def test_an_error_that_a_device_error_caused_is_explained_by_its_cause():
    with pytest.raises(ValueError, match="training failed") as caught:
        try:
            mix()
        except RuntimeError as error:
            raise ValueError("training failed") from error
    assert explain(caught.value).culprit == "torch.ones(3)"


def test_what_is_no_error_is_refused_by_name():
    with pytest.raises(TypeError, match="not a str"):
        explain("Expected all tensors to be on the same device")


def test_the_block_shows_the_box_and_lets_the_error_go_on(capsys):
    with pytest.raises(RuntimeError, match="expected device"), explain():
        mix()
    assert "Two devices meet in one line" in capsys.readouterr().err


def test_the_block_can_go_on_after_showing_message_and_box(capsys):
    with explain(go_on=True) as block:
        mix()
    assert block.explanation.culprit == "torch.ones(3)"
    captured = capsys.readouterr()
    assert captured.out.startswith("RuntimeError: Tensor on device cpu")
    assert "Two devices meet in one line" in captured.err


def test_the_block_never_holds_back_another_error():
    with pytest.raises(ZeroDivisionError), explain(go_on=True):
        _ = 1 / 0


def test_a_fault_of_the_explainer_never_hides_the_error(monkeypatch, capsys):
    def broken(error):
        raise KeyError("a fault")

    monkeypatch.setattr("helpers.explain.showing.diagnose", broken)
    with pytest.raises(RuntimeError, match="expected device"), explain(go_on=True):
        mix()
    assert capsys.readouterr().err == ("(This error could not be explained: KeyError: 'a fault')\n")


def test_the_block_is_silent_where_nothing_fails(capsys):
    with explain() as block:
        torch.ones(3)
    assert block.explanation is None
    assert capsys.readouterr() == ("", "")
