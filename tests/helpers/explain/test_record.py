"""Every recorded CUDA error is explained on the device at hand: the variable, and a fix."""

import pytest
import torch

import simulated_cuda
from helpers.explain.diagnosis import recognize
from simulated_cuda.tests.recorded_cases import all_cases, fresh_names, load

FAILING = [case for case in all_cases() if case.outcome == "raises"]

ADVICE_ALONE = ("memory", "load", "generator", "ordinal", "name")


@pytest.fixture(autouse=True, scope="module")
def two_gpus():
    if torch.cuda.is_available():
        yield
    else:
        with simulated_cuda.simulated(devices=2):
            yield


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.name)
def test_recorded_error_has_right_culprit_and_working_fix(student, case):
    if case.gpus > torch.cuda.device_count():
        pytest.skip(f"{case.name} needs {case.gpus} GPUs")
    explanation = student.explain(case.code, fresh_names())
    if explanation.fix is None:
        kind, *_ = recognize(student.error_of(case.code, fresh_names()))
        assert kind.name in ADVICE_ALONE
        assert explanation.advice
        return
    assert "".join(name for name, _ in explanation.places[:1]) in (
        case.culprit,
        *case.also_culprits,
    )
    assert student.error_of(explanation.fix.text, fresh_names()) is None


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.name)
def test_recorded_messages_are_recognized(case):
    for entry in load().get(case.name, {}).values():
        assert entry.outcome != "raises" or recognize(RuntimeError(entry.text))
