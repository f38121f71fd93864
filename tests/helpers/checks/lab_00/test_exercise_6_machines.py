"""Answers to lab 00, exercise 6: `diagnose`."""

from helpers.checks import lab_00
from tests.helpers.checks.answers import Answers

answers = Answers(lab_00.exercise_6)
SOLUTION = {"A": "CPU build", "B": "memory in use", "C": "old driver"}


@answers.right
def writes_a_dictionary():
    return SOLUTION


@answers.right
def zips_letters_and_causes():
    return dict(zip("CBA", ("old driver", "memory in use", "CPU build"), strict=True))


@answers.wrong("not-a-diagnosis")
def leaves_out_a_machine():
    return {"A": "CPU build", "B": "memory in use"}


@answers.wrong("not-a-diagnosis")
def returns_a_list():
    return [*SOLUTION.values()]


@answers.wrong("no-such-cause")
def invents_a_cause():
    return SOLUTION | {"C": "wrong CUDA"}


@answers.wrong("wrong-cause")
def takes_no_process_for_no_driver():
    return SOLUTION | {"A": "no driver"}


@answers.wrong("wrong-cause")
def overlooks_the_gpu():
    return SOLUTION | {"C": "no GPU"}


test_answers = answers.make_test()
