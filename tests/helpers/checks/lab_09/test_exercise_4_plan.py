"""Answers to lab 09, exercise 4: `plan`."""

from helpers.checks import lab_09
from tests.helpers.checks.answers import Answers

answers = Answers(lab_09.exercise_4)


@answers.right
def with_a_table(method, parameters, gpus):
    whole = {"ddp": 16, "zero1": 4, "zero2": 2, "fsdp": 0}[method]
    memory = whole * parameters + (16 - whole) * parameters / gpus
    return memory, {"fsdp": 6}.get(method, 4) * parameters * (gpus - 1) / gpus


@answers.right
def part_by_part(method, parameters, gpus):
    level = ["ddp", "zero1", "zero2", "fsdp"].index(method)
    memory = 12 * parameters / (gpus if level >= 1 else 1)
    memory += 2 * parameters / (gpus if level >= 2 else 1)
    memory += 2 * parameters / (gpus if level >= 3 else 1)
    gather = 2 * parameters * (gpus - 1) / gpus
    return memory, gather * (2 + (level == 3))


@answers.right
def in_whole_bytes(method, parameters, gpus):
    whole = {"ddp": 16, "zero1": 4, "zero2": 2, "fsdp": 0}[method]
    memory = whole * parameters + (16 - whole) * (parameters // gpus)
    return [memory, (6 if method == "fsdp" else 4) * (gpus - 1) * (parameters // gpus)]


@answers.wrong("not-a-pair")
def returns_only_memory(method, parameters, gpus):
    return with_a_table(method, parameters, gpus)[0]


@answers.wrong("wrong-memory")
def shards_everything(method, parameters, gpus):
    return 16 * parameters / gpus, with_a_table(method, parameters, gpus)[1]


@answers.wrong("wrong-bytes")
def always_sends(method, parameters, gpus):
    memory, sent = with_a_table(method, parameters, gpus)
    return memory, sent if gpus > 1 else 4 * parameters


test_answers = answers.make_test()
