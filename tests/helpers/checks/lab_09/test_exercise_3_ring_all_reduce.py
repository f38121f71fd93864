"""Answers to lab 09, exercise 3: `ring_all_reduce`."""

import torch

from helpers.checks import lab_09
from tests.helpers.checks.answers import Answers

answers = Answers(lab_09.exercise_3)


def run_ring(tensors, send, *, add=None, copy=None):
    """Return the chunks of each rank after the given numbers of add and copy rounds."""
    n = len(tensors)
    add, copy = n - 1 if add is None else add, n - 1 if copy is None else copy
    chunks = [list(tensor.clone().chunk(n)) for tensor in tensors]
    for round_number in range(add + copy):
        for rank in range(n):
            right, chunk = (rank + 1) % n, (rank - round_number) % n
            message = send(rank, right, chunks[rank][chunk])
            chunks[right][chunk] = chunks[right][chunk] + message if round_number < add else message
    return chunks


@answers.right
def with_chunks(tensors, send):
    return [torch.cat(rank_chunks) for rank_chunks in run_ring(tensors, send)]


@answers.right
def with_named_arguments(tensors, send):
    def send_by_name(source, target, tensor):
        return send(tensor=tensor, source=source, target=target)

    return with_chunks(tensors, send_by_name)


@answers.wrong("too-many-bytes")
def passes_whole_tensors_around(tensors, send):
    n = len(tensors)
    results = [tensor.clone() for tensor in tensors]
    passing = list(tensors)
    for _ in range(n - 1):
        received = [send(rank, (rank + 1) % n, passing[rank]) for rank in range(n)]
        passing = [received[rank - 1] for rank in range(n)]
        results = [a + b for a, b in zip(results, passing, strict=True)]
    return results


@answers.wrong("not-sent")
def reads_the_other_tensors(tensors, send):
    total = sum(tensor.cpu() for tensor in tensors)
    return [total.to(tensor.device) for tensor in tensors]


@answers.wrong("not-sent")
def ignores_what_arrives(tensors, send):
    with_chunks(tensors, send)
    return reads_the_other_tensors(tensors, send)


@answers.wrong("not-a-neighbor")
def sends_to_the_first(tensors, send):
    total = tensors[0].clone()
    for rank in range(1, len(tensors)):
        total = total + send(rank, 0, tensors[rank])
    others = [send(0, rank, total) for rank in range(1, len(tensors))]
    return [total, *others]


@answers.wrong("different-sum")
def stops_after_the_reduction(tensors, send):
    return [torch.cat(rank_chunks) for rank_chunks in run_ring(tensors, send, copy=0)]


@answers.wrong("elsewhere")
def returns_the_sum_of_the_first(tensors, send):
    results = with_chunks(tensors, send)
    return [results[0] for _ in results]


@answers.wrong("not-a-list")
def returns_one_tensor(tensors, send):
    return with_chunks(tensors, send)[0]


@answers.wrong("input-changed")
def works_on_views_of_the_input(tensors, send):
    results = with_chunks(tensors, send)
    for tensor, result in zip(tensors, results, strict=True):
        tensor.copy_(result)
    return results


test_answers = answers.make_test()
