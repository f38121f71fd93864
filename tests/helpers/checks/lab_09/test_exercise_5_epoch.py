"""Answers to lab 09, exercise 5: `epoch`."""

from helpers.checks import lab_09
from tests.helpers.checks.answers import Answers

answers = Answers(lab_09.exercise_5)
END = ("evaluate", "all_reduce counts", "save", "barrier")


def train(rank, batches, do):
    for batch in range(max(batches)):
        if batch < batches[rank]:
            do("train")
        do("all_reduce gradients")


def finish(rank, do, actions=END):
    for action in actions:
        if action != "save" or rank == 0:
            do(action)


@answers.right
def as_in_the_solution(rank, batches, do):
    train(rank, batches, do)
    finish(rank, do)


@answers.right
def waits_in_the_all_reduce_of_the_counts(rank, batches, do):
    train(rank, batches, do)
    finish(rank, do, ("save", "evaluate", "all_reduce counts"))


@answers.wrong("deadlock")
def as_given_but_evaluates_everywhere(rank, batches, do):
    train(0, [batches[rank]], do)
    finish(rank, do)


@answers.wrong("deadlock")
def evaluates_on_rank_0_only(rank, batches, do):
    train(rank, batches, do)
    if rank == 0:
        finish(rank, do)


@answers.wrong("batches-lost")
def trains_without_batches(rank, batches, do):
    train(0, [max(batches)], do)
    finish(rank, do)


@answers.wrong("batches-lost")
def compares_the_first_two_processes(rank, batches, do):
    most = max(batches[:2])
    train(0, [min(batches[rank], most), most], do)
    finish(rank, do)


@answers.wrong("gradients-miscounted")
def reduces_once_at_the_end(rank, batches, do):
    for _ in range(batches[rank]):
        do("train")
    do("all_reduce gradients")
    finish(rank, do)


@answers.wrong("not-after-each-batch")
def trains_first_and_reduces_later(rank, batches, do):
    for _ in range(batches[rank]):
        do("train")
    train(1, [max(batches), 0], do)
    finish(rank, do)


@answers.wrong("counts-too-early")
def reduces_the_counts_before_counting(rank, batches, do):
    train(rank, batches, do)
    finish(rank, do, ("all_reduce counts", "evaluate", "save", "barrier"))


@answers.wrong("saved-by-all")
def saves_on_no_rank(rank, batches, do):
    train(rank, batches, do)
    finish(rank, do, ("evaluate", "all_reduce counts", "barrier"))


@answers.wrong("saved-too-early")
def saves_at_the_start(rank, batches, do):
    finish(rank, do, ("save", "barrier"))
    train(rank, batches, do)
    finish(rank, do, ("evaluate", "all_reduce counts"))


@answers.wrong("not-waited-for-the-file")
def waits_before_saving(rank, batches, do):
    train(rank, batches, do)
    finish(rank, do, ("evaluate", "all_reduce counts", "barrier", "save"))


test_answers = answers.make_test()
