"""Answers to lab 02, exercise 4: `build_batch`."""

import torch

from helpers.checks import lab_02
from tests.helpers.checks.answers import Answers

answers = Answers(lab_02.exercise_4)


@answers.right
def with_index_on_the_cpu(table, rows, extra):
    return torch.cat([table[rows.cpu()].to(extra.device), extra])


@answers.right
def into_a_preallocated_tensor(table, rows, extra):
    batch = extra.new_empty(len(rows) + len(extra), table.shape[1])
    batch[: len(rows)] = table[rows.to("cpu")].to(extra.device)
    batch[len(rows) :] = extra
    return batch


@answers.right
def row_by_row(table, rows, extra):
    selected = [table[row].to(extra.device) for row in rows.tolist()]
    return torch.stack([*selected, *extra])


@answers.wrong("device-error")
def indexes_with_the_gpu(table, rows, extra):
    return torch.cat([table[rows].to(extra.device), extra])


@answers.wrong("copies-more")
def moves_the_table(table, rows, extra):
    return torch.cat([table.to(rows.device)[rows], extra])


@answers.wrong("result-elsewhere")
def moves_all_to_the_first_gpu(table, rows, extra):
    return torch.cat([table[rows.cpu()].to("cuda:0"), extra.to("cuda:0")])


@answers.wrong("wrong-rows")
def sorts_the_rows(table, rows, extra):
    return torch.cat([table[rows.cpu().sort().values].to(extra.device), extra])


@answers.wrong("not-a-batch")
def forgets_the_extra_rows(table, rows, extra):
    return table[rows.cpu()].to(extra.device)


@answers.wrong("input-changed")
def writes_into_the_table(table, rows, extra):
    result = torch.cat([table[rows.cpu()].to(extra.device), extra])
    table[: len(extra)] = 0
    return result


test_answers = answers.make_test()
