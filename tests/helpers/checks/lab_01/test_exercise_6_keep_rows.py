"""Answers to lab 01, exercise 6: `keep_rows`."""

import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers

answers = Answers(lab_01.exercise_6)


@answers.right
def clones_the_row(results):
    return [result[0].clone() for result in results]


@answers.right
def stacks_the_rows(results):
    return list(torch.stack([result[0] for result in results]))


@answers.right
def copies_into_new_rows(results):
    kept = []
    for result in results:
        kept.append(torch.empty_like(result[0]).copy_(result[0]))
    return kept


@answers.wrong("keeps-the-results")
def keeps_views(results):
    return [result[0] for result in results]


@answers.wrong("keeps-the-results")
def clones_the_result(results):
    return [result.clone()[0] for result in results]


@answers.wrong("row-moved")
def moves_to_the_cpu(results):
    return [result[0].cpu() for result in results]


@answers.wrong("copied")
def moves_there_and_back(results):
    return [result[0].cpu().to(result.device, copy=True) for result in results]


@answers.wrong("wrong-rows")
def keeps_the_first_column(results):
    return [result[:, 0].clone() for result in results]


@answers.wrong("not-a-list")
def stacks_in_one_tensor(results):
    return torch.stack([result[0] for result in results])


test_answers = answers.make_test()
