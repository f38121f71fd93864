"""Checks give the same verdicts on answers in another process as in a notebook."""

import importlib
import json
import math
import threading
import zlib

import numpy as np
import pytest
import torch
from torch import nn

from course.grading.decoding import Decoder, Malformed, RemoteObject
from course.grading.encoding import Encoder
from course.grading.judges import Judge, JudgeFailed
from course.grading.judging import read_check
from tests.course.grading.loopback import judge_through_messages
from tests.helpers.checks.collection import LABS

LAB_ANSWERS = {
    lab: importlib.import_module(f"tests.helpers.checks.{lab}_answers").answers for lab in LABS
}
EXERCISES = [
    (lab, number) for lab, answers in LAB_ANSWERS.items() for number in answers.checks.lab.exercises
]
# Each exercise transfers a different kind of data: views, moved tensors, shared memory, networks,
# classes and optimizers from both sides, files, hooks, clocks, memory, callbacks.
REPRESENTATIVE = [
    *(("lab_01", 1), ("lab_01", 3), ("lab_01", 6), ("lab_02", 1), ("lab_03", 2), ("lab_03", 3)),
    *(("lab_03", 5), ("lab_04", 4), ("lab_05", 2), ("lab_07", 2), ("lab_07", 4), ("lab_08", 4)),
    *(("lab_09", 2), ("lab_09", 3)),
]
# The first result in this check is a fact that only the answer's process can observe.
OBSERVED_BY_ANSWER = {("lab_07", 5)}
# Every call trains for six epochs.
SLOW_EXERCISE = ("lab_06", 6)


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def get_exercise(lab, number):
    return LAB_ANSWERS[lab].checks.lab.exercises[number]


# Right answers to lab 09 that pass named arguments to the function that they are given.
NAMED_ARGUMENTS = [(3, "with_named_arguments"), (5, "with_a_named_argument")]


def first_answer(lab, number, *, right):
    return next(
        answer
        for answer in LAB_ANSWERS[lab].collected
        if answer.exercise == number and (answer.hint is None) is right
    )


@pytest.mark.parametrize(("lab", "number"), REPRESENTATIVE)
def test_right_and_wrong_answers_get_the_same_verdicts(lab, number):
    for right in (True, False):
        answer = first_answer(lab, number, right=right)
        seed = zlib.crc32(answer.name.encode())
        verdict = judge_through_messages(get_exercise(lab, number), answer.arguments(), seed)
        assert verdict.hint == answer.hint, verdict.mistake and verdict.mistake.wrong


@pytest.mark.parametrize(("number", "name"), NAMED_ARGUMENTS)
def test_functions_of_the_check_take_named_arguments(number, name):
    collected = LAB_ANSWERS["lab_09"].collected
    answer = next(answer for answer in collected if answer.name == name)
    assert judge_through_messages(get_exercise("lab_09", number), answer.arguments()).passed


@pytest.mark.slow
@pytest.mark.parametrize("lab", LABS)
def test_every_collected_answer_gets_the_same_verdict(lab):
    differences = []
    for answer in LAB_ANSWERS[lab].collected:
        seed = zlib.crc32(answer.name.encode())
        verdict = judge_through_messages(
            get_exercise(lab, answer.exercise), answer.arguments(), seed
        )
        if verdict.hint != answer.hint:
            differences.append((answer.exercise, answer.name, verdict.hint))
    assert differences == []


FORGED_VALUES = [
    *(None, True, 0, 1, -1.0, math.nan, math.inf, "", "x", {}, [], {"r": 0}, {"r": -1}, {"r": 99}),
    *({"l": []}, {"t": [math.nan] * 2}, {"l": [math.inf] * 10}, {"d": []}, {"s": []}, {"bad": 1}),
    *({"D": "cuda:0"}, {"D": "meta"}, {"Y": "float16"}, {"Y": "load"}, {"o": "Tensor", "h": 0}),
    *({"T": {}}, {"M": [[], []], "o": "Linear", "h": 0}, {"o": "__class__", "h": -1}),
    {"T": {"q": True, "data": "AADAfw==", "dtype": "float32", "shape": [], "device": "cuda:0"}},
    {"T": {"q": True, "data": "", "dtype": "float32", "shape": [0], "device": "cuda:0"}},
    {"T": {"q": False, "data": "", "dtype": "float64", "shape": [1 << 40], "device": "cpu"}},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lab", "number"), sorted({*EXERCISES} - {*OBSERVED_BY_ANSWER, SLOW_EXERCISE})
)
def test_no_forged_result_passes(lab, number):
    functions = first_answer(lab, number, right=False).arguments()
    for forged in FORGED_VALUES:

        def forge(reply, forged=forged):
            return reply | {"value": forged} if "value" in reply else reply

        verdict = judge_through_messages(get_exercise(lab, number), functions, change=forge)
        assert not verdict.passed, forged


@pytest.mark.parametrize(
    "change",
    [
        lambda reply: {"failed": "ValueError"},
        lambda reply: reply | {"state": []},
        lambda reply: reply | {"state": [None] * len(reply.get("state", []))},
        lambda reply: reply | {"printed": None},
        lambda reply: reply | {"hint": {"id": "no such hint", "values": {}}},
        lambda reply: reply | {"hint": {"id": "takes-too-long", "values": {"seconds": "x"}}},
        lambda reply: reply | {"error": {"kinds": [], "text": 0}},
        lambda reply: reply | {"moves": [["many", "cpu", "nowhere"]]},
    ],
)
def test_malformed_reply_counts_as_a_wrong_answer(change):
    answer = first_answer("lab_01", 3, right=True)
    verdict = judge_through_messages(get_exercise("lab_01", 3), answer.arguments(), change=change)
    assert verdict.hint == "unusable-result"


# Answers that change their arguments so that the check might expect what they return.


def zero_the_logits(logits, labels, smoothing):
    logits.data.zero_()
    return (logits * 0).sum() + math.log(logits.shape[1])


def clear_the_network(net, images):
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    return torch.zeros(len(images), 5, device=images.device)


def make_every_label_the_same(net, X, y):
    y.zero_()
    with torch.no_grad():
        net[-1].bias[0] += 100


def prepare_one_image(images, chosen):
    from helpers.checks.lab_05.exercise_3_prepare import slow_prepare

    if len(chosen) < 32:
        return slow_prepare(images, chosen)
    chosen.fill_(chosen[0].item())
    return slow_prepare(images, chosen[:1]).expand(32, -1, -1, -1).contiguous()


def prepare_in_another_thread(images, chosen):
    from helpers.checks.lab_05.exercise_3_prepare import slow_prepare

    results = []
    thread = threading.Thread(target=lambda: results.append(slow_prepare(images, chosen)))
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize(
    ("lab", "number", "answer"),
    [
        ("lab_05", 3, prepare_one_image),
        ("lab_05", 3, prepare_in_another_thread),
        ("lab_06", 3, clear_the_network),
        ("lab_06", 5, zero_the_logits),
        ("lab_07", 5, make_every_label_the_same),
    ],
)
def test_answers_cannot_change_the_expected_result(lab, number, answer):
    assert not get_exercise(lab, number).judge(answer).passed


def transfer(value, known=()):
    return Decoder(known).decode(json.loads(json.dumps(Encoder(known).encode(value))))


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, -3, 10**30, 2.5, "text", [1, (2, "x")], {"a": {1, 2}}, math.inf),
        *(torch.device("cuda:1"), torch.bfloat16),
    ],
)
def test_plain_values_arrive_unchanged(value):
    decoded = transfer(value)
    assert decoded == value
    assert type(decoded) is type(value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_tensors_arrive_unchanged(shape, dtype):
    tensor = torch.ones(shape).to(dtype)
    decoded = transfer(tensor)
    assert decoded.dtype == dtype
    assert torch.equal(decoded, tensor)


def test_tensors_still_share_memory_after_the_transfer():
    base = torch.arange(6.0)
    first, second, array = transfer([base, base.reshape(2, 3).t()[1], base.numpy()])
    second += 10
    assert first.tolist() == [0, 11, 2, 3, 14, 5]
    assert np.array_equal(array, first.numpy())


def test_classes_that_imitate_plain_values_arrive_as_plain_values():
    class Always(float):
        def __eq__(self, other):
            return True

        __hash__ = float.__hash__

    class Equal(torch.Tensor):
        def __eq__(self, other):
            return torch.tensor(True)

        __hash__ = torch.Tensor.__hash__

    assert type(transfer(Always(2.5))) is float
    decoded = transfer(torch.ones(2).as_subclass(Equal))
    assert type(decoded) is torch.Tensor


def test_other_objects_are_replaced_by_remote_objects():
    originals = []
    net = nn.Linear(2, 3)
    trees = [Encoder(unsent_objects=originals).encode(value) for value in (len, net, object())]
    objects = [Decoder().decode(json.loads(json.dumps(tree))) for tree in trees]
    assert originals[0] is len
    assert all(isinstance(value, RemoteObject) for value in objects)
    assert not callable(objects[0])
    assert isinstance(objects[1], nn.Module)
    assert [tuple(p.shape) for p in objects[1].parameters()] == [(3, 2), (3,)]


@pytest.mark.parametrize(
    "tree", [value for value in FORGED_VALUES if isinstance(value, dict | list) and value]
)
def test_decoding_builds_plain_data_or_fails(tree):
    try:
        decoded = Decoder().decode(tree)
    except Malformed:
        return
    plain = (list, tuple, dict, set, torch.Tensor, torch.device, torch.dtype, RemoteObject)
    assert isinstance(decoded, plain)


def test_views_outside_of_a_tensor_are_refused():
    tensor = Encoder().encode(torch.zeros(4))
    for view in ({"at": 3, "shape": [2], "stride": [1]}, {"at": 0, "shape": [9], "stride": [-1]}):
        with pytest.raises(Malformed):
            Decoder().decode({"l": [tensor, {"T": {"q": False, "of": 0} | view}]})


def test_read_check_returns_the_exercise_and_its_arguments():
    assert read_check("# try it\ncheck.exercise_2(one, two)") == ("exercise_2", ["one", "two"])


def test_judge_that_exits_reports_the_reason():
    judge = Judge()
    try:
        with pytest.raises(JudgeFailed, match="no check in 'nothing'"):
            judge.exchange(b'{"lab": "lab_01", "source": "nothing"}', threading.Event())
    finally:
        judge.close()
