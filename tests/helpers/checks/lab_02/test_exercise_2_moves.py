"""Answers to lab 02, exercise 2: `moves`."""

import itertools
from contextlib import suppress

import pytest
import torch
from torch.nn import functional

from helpers.checks import lab_02
from helpers.checks.collecting import Facts
from helpers.checks.lab_02 import exercise_2_moves
from simulated_cuda import visible_devices
from tests.helpers.checks.answers import Answers

RIGHT = {
    "A": ("labels", "cuda:0"),
    "B": ("images", "cuda:0"),
    "C": ("running", "cuda:0"),
    "D": ("rows", "cpu"),
    "E": ("words", "cuda:0"),
    "F": ("images", "cuda:0"),
    "G": ("scores", "cpu"),
}
TENSORS = {
    "scores": torch.zeros(4, 3),
    "labels": torch.zeros(4, dtype=torch.int64),
    "images": torch.zeros(4, 4, 4),
    "weights": torch.zeros(4, 2),
    "rows": torch.zeros(3, dtype=torch.int64),
    "words": torch.zeros(5, dtype=torch.int64),
    "kernel": torch.zeros(6, 4, 2, 2),
}
answers = Answers(lab_02.exercise_2)


@answers.right
def returns_every_move():
    return RIGHT


@answers.right
def with_devices_and_lists():
    return {line: [name, torch.device(device)] for line, (name, device) in RIGHT.items()}


WRONG = {
    "uses_the_name_in_the_message": ("no-such-name", {"B": ("mat2", "cuda:0")}),
    "moves_the_weights_to_the_cpu": ("wrong-goal", {"B": ("weights", "cpu")}),
    "moves_the_table_to_the_rows": ("wrong-goal", {"D": ("table", "cuda:0")}),
    "moves_the_words_to_their_own_device": ("still-mixes", {"E": ("words", "cpu")}),
    "moves_an_array_to_the_other_gpu": ("still-mixes", {"G": ("scores", "cuda:1")}),
    "forgets_the_gpu_index": ("no-such-device", {"F": ("images", "cuda")}),
    "adds_a_line": ("not-a-plan", {"H": ("images", "cpu")}),
    "returns_a_name_only": ("unusable-result", {"A": "labels"}),
}
for name, (hint, wrong) in WRONG.items():

    def answer(wrong=wrong):
        return RIGHT | wrong

    answer.__name__ = name
    answers.collected.append((answer, hint))


@pytest.mark.parametrize("line", exercise_2_moves.LINES)
def test_verdict_agrees_with_the_real_line(line):
    code, devices = exercise_2_moves.LINES[line]
    for name, device in itertools.product(devices, exercise_2_moves.DEVICES):
        place = None
        with suppress(RuntimeError, TypeError), visible_devices(2):
            tensors = {key: TENSORS.get(key, torch.zeros(9, 2)).to(devices[key]) for key in devices}
            tensors[name] = tensors[name].to(device)
            place = str(eval(code.partition(" = ")[2], {"F": functional}, tensors).device)
        move = exercise_2_moves.find_wrong(Facts(value=RIGHT | {line: (name, device)}))
        assert move.get("mixes", False) == (place is None)
        assert (move == {}) == (place == ("cpu" if line in "DG" else "cuda:0"))


test_answers = answers.make_test()
