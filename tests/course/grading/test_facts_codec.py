"""Facts arrive in the grader as they are; anything else that a student sends is refused."""

import base64
import json
import math
from importlib import import_module
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from course.grading import facts_codec
from course.grading.facts_codec import Malformed, decode, encode
from helpers.checks.collecting import Collector, Copy, Error, Facts
from helpers.checks.plain import Other, is_equal, plain

PLAIN = [
    *(None, True, -3, 10**30, 2.5, math.inf, math.nan, "a\nb \ud800 {}", [1, (2, [])], (), {"x"}),
    *({1: "a", ("b", None): {2.0: frozenset({1})}}, torch.device("cuda:1"), torch.bfloat16),
    *(Other("a Net"), [[[[[[[[1]]]]]]]]),
]
TENSORS = [
    *(torch.ones(shape) for shape in [(), (0,), (2, 3)]),
    *(torch.ones(3).to(dtype) for dtype in (torch.bfloat16, torch.int64, torch.bool, torch.cfloat)),
    torch.arange(6.0).reshape(2, 3).t().requires_grad_(),
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_arrive_unchanged(value):
    assert repr(decode(encode(Facts(value=value))).value) == repr(value)


@pytest.mark.parametrize("tensor", TENSORS, ids=lambda t: f"{t.dtype}-{tuple(t.shape)}")
def test_tensors_arrive_unchanged(tensor):
    value = plain(tensor, {"X": tensor})
    decoded = decode(encode(Facts(value=value))).value
    assert is_equal(decoded, value)
    assert {**vars(decoded), "values": 0} == {**vars(value), "values": 0}


def test_every_fact_arrives_but_not_the_students_object():
    net = nn.Linear(2, 3).eval()
    net.bias.grad = torch.ones(3)
    facts = Facts(
        error=Error("raised", {"error": "x", "where": ""}),
        name="f", arguments={"X": [1]}, copies=[Copy(8, "cpu", "cuda:0")], waits=2, calls=3,
        gradients_left_off=True, shadowed=("sum", "an int"), own={"modes": [True]}, stopped="time",
        printed="hello", result=object(),
    )  # fmt: skip
    decoded = decode(encode(facts))
    facts.result = None
    assert decoded == facts
    assert is_equal(decode(encode(Facts(value=plain(net)))).value, plain(net))


CHECKS = Path(__file__).parents[2] / "helpers" / "checks"
EXERCISES = sorted(f"{path.parent.name}.{path.stem}" for path in CHECKS.glob("lab_*/test_ex*.py"))


@pytest.mark.parametrize("name", EXERCISES)
def test_right_answer_to_each_exercise_is_right_with_facts_sent_as_text(name):
    answers = import_module(f"tests.helpers.checks.{name}").answers
    exercise = answers.exercise
    answer = next(answer for answer, hint in answers.collected if hint is None)
    named = dict(zip(exercise.names, answers.arguments(answer), strict=True))
    with Collector(named, exercise.seconds) as collector:

        def collect(function, case):
            return decode(encode(collector.collect(function, case)))

        assert exercise.run(collect, 0, collector.gpus).hint is None


def text_of(tree):
    content = safetensors.torch.save({"0": torch.ones(2)})
    return f"{base64.b64encode(content).decode()} {json.dumps(tree)}"


def facts_with(**changes):
    """Return the text of facts in which some fields are forged."""
    [(name, values)] = json.loads(encode(Facts()).split(" ", 1)[1]).items()
    fields = dict(zip(facts_codec._TYPES[Facts], values, strict=True))
    return text_of({name: list((fields | changes).values())})


DEEP = 1
for _ in range(900):
    DEEP = [DEEP]
NAMES = [{"tuple": []}] * 2
FORGED_VALUES = [
    *({}, {"a": 1, "b": 2}, {"load": "x"}, {"device": "nowhere"}, {"dtype": "load"}, {"tuple": 3}),
    *({"dtype": "Tensor"}, {"set": [[1]]}, {"dict": [[[], 0]]}, {"dict": [1]}, DEEP, 10**1001),
    *({"Tensor": "1"}, {"Tensor": []}, {"Copy": [1]}, {"Facts": []}),
    *({"Copy": ["8", "cpu", "cpu", False]}, {"Copy": [8, "cpu", "cpu", 0]}),
    {"PlainTensor": [1, "cpu", False, "tensor", *NAMES]},
    {"PlainTensor": [{"Tensor": "0"}, "cpu", 1, "tensor", *NAMES]},
    {"Error": [{"tuple": []}, "", "no such hint", {"dict": []}]},
    {"Error": [{"tuple": []}, "", "takes-too-long", {"dict": [["seconds", "x"]]}]},
]
FORGED_FIELDS = [
    *({"error": "text"}, {"name": None}, {"arguments": []}, {"copies": [1]}, {"waits": True}),
    *({"waits": "many"}, {"shadowed": {"tuple": ["a"]}}, {"own": {"dict": [[1, 2]]}}),
    *({"printed": None}, {"printed": {"tuple": ["", 0]}}, {"stopped": None}, {"more": 1}),
]


def test_forged_facts_are_refused():
    assert decode(facts_with(value={"Tensor": "0"})).value.tolist() == [1, 1]
    trees = [facts_with(value=value) for value in FORGED_VALUES]
    trees += [facts_with(**changes) for changes in FORGED_FIELDS]
    for text in [*trees, "", "x", "{}", " {}", "QQ== {}", text_of([]), text_of(1), "None"]:
        with pytest.raises(Malformed, match="not plain data"):
            decode(text)


def test_facts_that_are_too_large_are_refused_on_both_sides(monkeypatch):
    text = facts_with(value=[0] * 2000)
    with monkeypatch.context() as patch, pytest.raises(Malformed, match="too much data"):
        patch.setattr(facts_codec, "_MAX_ITEMS", 1000)
        decode(text)
    monkeypatch.setattr(facts_codec, "MAX_BYTES", 1000)
    with pytest.raises(Malformed, match="too much data"):
        decode(text)
    with pytest.raises(Malformed, match="too much data"):
        encode(Facts(value=plain(torch.ones(1000))))
