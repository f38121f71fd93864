"""Right and wrong answers to lab 09, with the hint that each wrong one must get."""

import itertools

import torch

from helpers.checks import lab_09
from tests.helpers.checks.collection import Answers

answers = Answers(lab_09)

# Exercise 1: share(order, rank, world_size)


@answers.right(1)
def by_positions(order, rank, world_size):
    count = -(-len(order) // world_size)
    return [order[(rank + i * world_size) % len(order)] for i in range(count)]


@answers.right(1)
def with_a_cycle(order, rank, world_size):
    total = -(-len(order) // world_size) * world_size
    return list(itertools.islice(itertools.cycle(order), rank, total, world_size))


@answers.right(1)
def pads_a_copy(order, rank, world_size):
    longer = list(order)
    while len(longer) % world_size:
        longer.append(longer[len(longer) - len(order)])
    return longer[rank::world_size]


@answers.wrong(1, "too-few")
def forgets_to_pad(order, rank, world_size):
    return order[rank::world_size]


@answers.wrong(1, "too-few")
def drops_the_rest(order, rank, world_size):
    return order[: len(order) // world_size * world_size][rank::world_size]


@answers.wrong(1, "too-few")
def pads_only_once(order, rank, world_size):
    missing = -len(order) % world_size
    return (order + order[:missing])[rank::world_size]


@answers.wrong(1, "contiguous-block")
def takes_a_block(order, rank, world_size):
    count = -(-len(order) // world_size)
    return (order * world_size)[rank * count : (rank + 1) * count]


@answers.wrong(1, "order-changed")
def pads_the_callers_list(order, rank, world_size):
    while len(order) % world_size:
        order.append(order[0])
    return order[rank::world_size]


@answers.wrong(1, "too-many")
def always_pads(order, rank, world_size):
    return (order + order[:world_size])[rank::world_size]


@answers.wrong(1, "padded-wrongly")
def pads_with_the_last(order, rank, world_size):
    missing = -len(order) % world_size
    return (order + [order[-1]] * missing)[rank::world_size]


@answers.wrong(1, "different-sequence")
def sorts_the_result(order, rank, world_size):
    return sorted(by_positions(order, rank, world_size))


@answers.wrong(1, "different-examples")
def counts_ranks_from_one(order, rank, world_size):
    return by_positions(order, rank + 1, world_size)


@answers.wrong(1, "not-a-list")
def returns_a_tensor(order, rank, world_size):
    return torch.tensor(by_positions(order, rank, world_size))


@answers.wrong(1, "no-result")
def prints_the_shard(order, rank, world_size):
    print(by_positions(order, rank, world_size))


# Exercise 2: average_gradients(replicas, sizes)


def copies_of(replicas):
    for copies in zip(*(net.parameters() for net in replicas), strict=True):
        if copies[0].grad is not None:
            yield copies


def weighted_mean(copies, sizes):
    pairs = zip(copies, sizes, strict=True)
    return sum(copy.grad.cpu() * size for copy, size in pairs) / sum(sizes)


@answers.right(2)
def on_the_cpu(replicas, sizes):
    for copies in copies_of(replicas):
        mean = weighted_mean(copies, sizes)
        for copy in copies:
            copy.grad = mean.to(copy.device)


@answers.wrong(2, "sizes-changed")
def changes_the_sizes(replicas, sizes):
    total = sum(sizes)
    for rank, size in enumerate(sizes):
        sizes[rank] = size / total
    on_the_cpu(replicas, sizes)


@answers.right(2)
def in_place(replicas, sizes):
    for copies in copies_of(replicas):
        mean = weighted_mean(copies, sizes)
        for copy in copies:
            copy.grad.copy_(mean)


@answers.right(2)
def with_weights_that_add_up_to_one(replicas, sizes):
    for copies in copies_of(replicas):
        mean = torch.zeros_like(copies[0].grad)
        for copy, size in zip(copies, sizes, strict=True):
            mean += copy.grad.to(mean.device) * (size / sum(sizes))
        for copy in copies:
            copy.grad = mean.to(copy.device, copy=True)


@answers.wrong(2, "shared-gradient")
def shares_tensors_on_one_device(replicas, sizes):
    for copies in copies_of(replicas):
        mean = weighted_mean(copies, sizes).to(copies[0].device)
        for copy in copies:
            copy.grad = mean.to(copy.device)


@answers.wrong(2, "device-error")
def forgets_to_move(replicas, sizes):
    for copies in copies_of(replicas):
        mean = sum(copy.grad for copy in copies) / len(copies)
        for copy in copies:
            copy.grad = mean


@answers.wrong(2, "unweighted-mean")
def ignores_the_sizes(replicas, sizes):
    for copies in copies_of(replicas):
        mean = sum(copy.grad.cpu() for copy in copies) / len(copies)
        for copy in copies:
            copy.grad = mean.to(copy.device)


@answers.wrong(2, "the-sum")
def forgets_to_divide(replicas, sizes):
    for copies in copies_of(replicas):
        total = sum(copy.grad.cpu() for copy in copies)
        for copy in copies:
            copy.grad = total.to(copy.device)


@answers.wrong(2, "unchanged")
def changes_only_the_first(replicas, sizes):
    for copies in copies_of(replicas):
        copies[0].grad = weighted_mean(copies, sizes).to(copies[0].device)


@answers.wrong(2, "unchanged")
def returns_at_the_first_unused_parameter(replicas, sizes):
    for copies in zip(*(net.parameters() for net in replicas), strict=True):
        if copies[0].grad is None:
            return
        mean = weighted_mean(copies, sizes)
        for copy in copies:
            copy.grad.copy_(mean)


@answers.wrong(2, "unchanged")
def drops_the_result(replicas, sizes):
    for copies in copies_of(replicas):
        for copy in copies:
            weighted_mean(copies, sizes).to(copy.device)


@answers.wrong(2, "copied-gradients")
def copies_from_the_last(replicas, sizes):
    for copies in copies_of(replicas):
        for copy in copies:
            copy.grad = copies[-1].grad.to(copy.device, copy=True)


@answers.wrong(2, "unused-gradient-set")
def replaces_none_with_zeros(replicas, sizes):
    on_the_cpu(replicas, sizes)
    for net in replicas:
        for parameter in net.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)


@answers.wrong(2, "raised")
def does_not_handle_none(replicas, sizes):
    for copies in zip(*(net.parameters() for net in replicas), strict=True):
        mean = weighted_mean(copies, sizes)
        for copy in copies:
            copy.grad = mean.to(copy.device)


@answers.wrong(2, "gradient-lost")
def clears_the_others(replicas, sizes):
    on_the_cpu(replicas, sizes)
    for net in replicas[1:]:
        net.zero_grad()


@answers.wrong(2, "weights-changed")
def averages_the_weights_too(replicas, sizes):
    on_the_cpu(replicas, sizes)
    with torch.no_grad():
        for net in replicas:
            for parameter in net.parameters():
                if parameter.grad is not None:
                    parameter -= parameter.grad


@answers.wrong(2, "different-gradient")
def divides_by_the_largest_shard(replicas, sizes):
    for copies in copies_of(replicas):
        pairs = zip(copies, sizes, strict=True)
        total = sum(copy.grad.cpu() * size for copy, size in pairs)
        for copy in copies:
            copy.grad = (total / max(sizes) / 3).to(copy.device)


@answers.wrong(2, "replica-moved")
def leaves_the_replicas_on_the_cpu(replicas, sizes):
    for net in replicas:
        net.cpu()
    on_the_cpu(replicas, sizes)


@answers.wrong(2, "different-gradient")
def averages_only_the_weights_gradients(replicas, sizes):
    for copies in copies_of(replicas):
        if copies[0].dim() > 1:
            mean = weighted_mean(copies, sizes)
            for copy in copies:
                copy.grad = mean.to(copy.device, copy=True)


# Exercise 3: ring_all_reduce(tensors, send)


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


@answers.right(3)
def with_chunks(tensors, send):
    return [torch.cat(rank_chunks) for rank_chunks in run_ring(tensors, send)]


@answers.right(3)
def in_place_on_clones(tensors, send):
    n = len(tensors)
    results = [tensor.clone() for tensor in tensors]
    size = len(tensors[0]) // n
    for round_number in range(2 * (n - 1)):
        messages = []
        for rank in range(n):
            start = (rank - round_number) % n * size
            part = results[rank][start : start + size]
            messages.append((start, send(rank, (rank + 1) % n, part)))
        for rank, (start, message) in enumerate(messages):
            part = results[(rank + 1) % n][start : start + size]
            if round_number < n - 1:
                part += message
            else:
                part.copy_(message)
    return results


@answers.right(3)
def with_named_arguments(tensors, send):
    def send_by_name(source, target, tensor):
        return send(tensor=tensor, source=source, target=target)

    return with_chunks(tensors, send_by_name)


@answers.right(3)
def in_two_loops(tensors, send):
    n = len(tensors)
    parts = [list(tensor.split(len(tensor) // n)) for tensor in tensors]
    for chunk in range(n):
        for step in range(n - 1):
            source = (chunk + step) % n
            target = (source + 1) % n
            received = send(source, target, parts[source][chunk])
            parts[target][chunk] = parts[target][chunk] + received
        for step in range(n - 1, 2 * n - 2):
            source = (chunk + step) % n
            parts[(source + 1) % n][chunk] = send(source, (source + 1) % n, parts[source][chunk])
    return [torch.cat(rank_chunks) for rank_chunks in parts]


@answers.wrong(3, "too-many-bytes")
def passes_whole_tensors_around(tensors, send):
    n = len(tensors)
    results = [tensor.clone() for tensor in tensors]
    passing = list(tensors)
    for _ in range(n - 1):
        received = [send(rank, (rank + 1) % n, passing[rank]) for rank in range(n)]
        passing = [received[rank - 1] for rank in range(n)]
        results = [a + b for a, b in zip(results, passing, strict=True)]
    return results


@answers.wrong(3, "not-sent")
def reads_the_other_tensors(tensors, send):
    total = sum(tensor.cpu() for tensor in tensors)
    return [total.to(tensor.device) for tensor in tensors]


@answers.wrong(3, "not-received")
def ignores_received_chunks(tensors, send):
    n = len(tensors)
    chunks = [list(tensor.clone().chunk(n)) for tensor in tensors]
    for round_number in range(2 * (n - 1)):
        for rank in range(n):
            right, chunk = (rank + 1) % n, (rank - round_number) % n
            send(rank, right, chunks[rank][chunk])
            message = chunks[rank][chunk].to(tensors[right].device)
            chunks[right][chunk] = (
                chunks[right][chunk] + message if round_number < n - 1 else message
            )
    return [torch.cat(rank_chunks) for rank_chunks in chunks]


@answers.wrong(3, "not-received")
def copies_without_receiving(tensors, send):
    n = len(tensors)
    parts = run_ring(tensors, send, copy=0)
    for round_number in range(n - 1):
        for rank in range(n):
            send(rank, (rank + 1) % n, parts[rank][(rank + 1 - round_number) % n])
    total = sum(tensor.cpu() for tensor in tensors)
    return [total.to(tensor.device) for tensor in tensors]


@answers.wrong(3, "not-a-neighbor")
def sends_to_the_first(tensors, send):
    total = tensors[0].clone()
    for rank in range(1, len(tensors)):
        total = total + send(rank, 0, tensors[rank])
    others = [send(0, rank, total) for rank in range(1, len(tensors))]
    return [total, *others]


@answers.wrong(3, "not-a-neighbor")
def forgets_to_close_the_ring(tensors, send):
    n = len(tensors)
    chunks = [list(tensor.clone().chunk(n)) for tensor in tensors]
    for round_number in range(n - 1):
        for rank in range(n):
            chunk = (rank - round_number) % n
            send(rank, rank + 1, chunks[rank][chunk])
    return [torch.cat(rank_chunks) for rank_chunks in chunks]


@answers.wrong(3, "partly-summed")
def stops_after_the_reduction(tensors, send):
    return [torch.cat(rank_chunks) for rank_chunks in run_ring(tensors, send, copy=0)]


@answers.wrong(3, "partly-summed")
def adds_in_every_round(tensors, send):
    n = len(tensors)
    return [
        torch.cat(rank_chunks) for rank_chunks in run_ring(tensors, send, add=2 * (n - 1), copy=0)
    ]


@answers.wrong(3, "different-sum")
def returns_the_input(tensors, send):
    return list(tensors)


@answers.wrong(3, "the-mean")
def divides_by_the_world_size(tensors, send):
    return [tensor / len(tensors) for tensor in with_chunks(tensors, send)]


@answers.wrong(3, "different-shape")
def stacks_the_chunks(tensors, send):
    return [torch.stack(rank_chunks) for rank_chunks in run_ring(tensors, send)]


@answers.wrong(3, "elsewhere")
def returns_the_sum_of_the_first(tensors, send):
    results = with_chunks(tensors, send)
    return [results[0] for _ in results]


@answers.wrong(3, "not-a-list")
def returns_one_tensor(tensors, send):
    return with_chunks(tensors, send)[0]


@answers.wrong(3, "not-a-message")
def sends_a_list(tensors, send):
    send(0, 1 % len(tensors), list(tensors[0].chunk(len(tensors))))
    return with_chunks(tensors, send)


@answers.wrong(3, "input-changed")
def works_on_views_of_the_input(tensors, send):
    results = with_chunks(tensors, send)
    for tensor, result in zip(tensors, results, strict=True):
        tensor.copy_(result)
    return results


@answers.wrong(3, "device-error")
def forgets_the_device(tensors, send):
    chunks = [list(tensor.chunk(len(tensors))) for tensor in tensors]
    return [sum(rank_chunks[0] for rank_chunks in chunks) for _ in tensors]


# Exercise 4: plan(method, parameters, gpus)


@answers.right(4)
def with_a_table(method, parameters, gpus):
    whole = {"ddp": 16, "zero1": 4, "zero2": 2, "fsdp": 0}[method]
    memory = whole * parameters + (16 - whole) * parameters / gpus
    return memory, {"fsdp": 6}.get(method, 4) * parameters * (gpus - 1) / gpus


@answers.right(4)
def part_by_part(method, parameters, gpus):
    level = ["ddp", "zero1", "zero2", "fsdp"].index(method)
    memory = 12 * parameters / (gpus if level >= 1 else 1)
    memory += 2 * parameters / (gpus if level >= 2 else 1)
    memory += 2 * parameters / (gpus if level >= 3 else 1)
    gather = 2 * parameters * (gpus - 1) / gpus
    return memory, gather * (2 + (level == 3))


@answers.right(4)
def in_whole_bytes(method, parameters, gpus):
    whole = {"ddp": 16, "zero1": 4, "zero2": 2, "fsdp": 0}[method]
    memory = whole * parameters + (16 - whole) * (parameters // gpus)
    return [memory, (6 if method == "fsdp" else 4) * (gpus - 1) * (parameters // gpus)]


@answers.wrong(4, "not-a-pair")
def returns_only_memory(method, parameters, gpus):
    return with_a_table(method, parameters, gpus)[0]


@answers.wrong(4, "not-a-pair")
def returns_text(method, parameters, gpus):
    return tuple(f"{number} bytes" for number in with_a_table(method, parameters, gpus))


@answers.wrong(4, "sum-over-gpus")
def sums_over_all_gpus(method, parameters, gpus):
    memory, sent = with_a_table(method, parameters, gpus)
    return memory * gpus, sent


@answers.wrong(4, "different-unit")
def returns_gigabytes(method, parameters, gpus):
    memory, sent = with_a_table(method, parameters, gpus)
    return memory / 1e9, sent / 1e9


@answers.wrong(4, "all-sharded")
def shards_everything(method, parameters, gpus):
    return 16 * parameters / gpus, with_a_table(method, parameters, gpus)[1]


@answers.wrong(4, "nothing-sharded")
def shards_nothing(method, parameters, gpus):
    return 16 * parameters, with_a_table(method, parameters, gpus)[1]


@answers.wrong(4, "wrong-memory")
def forgets_the_gradients(method, parameters, gpus):
    memory, sent = with_a_table(method, parameters, gpus)
    return memory - 2 * parameters, sent


@answers.wrong(4, "single-gpu-sends")
def always_sends(method, parameters, gpus):
    memory, sent = with_a_table(method, parameters, gpus)
    return memory, sent if gpus > 1 else 4 * parameters


@answers.wrong(4, "large-n")
def assumes_many_gpus(method, parameters, gpus):
    return with_a_table(method, parameters, gpus)[0], (6 if method == "fsdp" else 4) * parameters


@answers.wrong(4, "single-pass")
def sends_only_one_pass(method, parameters, gpus):
    return with_a_table(method, parameters, gpus)[0], 2 * parameters * (gpus - 1) / gpus


@answers.wrong(4, "fsdp-as-ddp")
def gathers_only_once(method, parameters, gpus):
    return with_a_table(method, parameters, gpus)[0], 4 * parameters * (gpus - 1) / gpus


@answers.wrong(4, "wrong-bytes")
def sends_float32(method, parameters, gpus):
    memory, sent = with_a_table(method, parameters, gpus)
    return memory, 2 * sent


@answers.wrong(4, "wrong-bytes")
def sends_the_states_too(method, parameters, gpus):
    memory, sent = with_a_table(method, parameters, gpus)
    return memory, sent + 12 * parameters * (gpus - 1) / gpus


# Exercise 5: epoch(rank, batches, do)


def train_all(rank, batches, do):
    for batch in range(max(batches)):
        if batch < batches[rank]:
            do("train")
        do("all_reduce gradients")


def finish(rank, do):
    do("evaluate")
    do("all_reduce counts")
    if rank == 0:
        do("save")
    do("barrier")


@answers.right(5)
def as_in_the_solution(rank, batches, do):
    train_all(rank, batches, do)
    finish(rank, do)


@answers.right(5)
def with_a_named_argument(rank, batches, do):
    as_in_the_solution(rank, batches, lambda action: do(action=action))


@answers.right(5)
def with_two_loops(rank, batches, do):
    for _ in range(batches[rank]):
        do("train")
        do("all_reduce gradients")
    for _ in range(max(batches) - batches[rank]):
        do("all_reduce gradients")
    finish(rank, do)


@answers.right(5)
def saves_before_the_evaluation(rank, batches, do):
    train_all(rank, batches, do)
    if rank == 0:
        do("save")
    do("barrier")
    do("evaluate")
    do("all_reduce counts")


@answers.right(5)
def waits_in_the_all_reduce_of_the_counts(rank, batches, do):
    train_all(rank, batches, do)
    if rank == 0:
        do("save")
    do("evaluate")
    do("all_reduce counts")


@answers.right(5)
def adds_zeros_first(rank, batches, do):
    for _ in range(max(batches) - batches[rank]):
        do("all_reduce gradients")
    for _ in range(batches[rank]):
        do("train")
        do("all_reduce gradients")
    finish(rank, do)


@answers.wrong(5, "different-order")
def as_given_but_evaluates_everywhere(rank, batches, do):
    for _ in range(batches[rank]):
        do("train")
        do("all_reduce gradients")
    finish(rank, do)


@answers.wrong(5, "deadlock")
def evaluates_on_rank_0_only(rank, batches, do):
    train_all(rank, batches, do)
    if rank == 0:
        finish(rank, do)


@answers.wrong(5, "deadlock")
def waits_on_rank_0_only(rank, batches, do):
    train_all(rank, batches, do)
    do("evaluate")
    do("all_reduce counts")
    if rank == 0:
        do("save")
        do("barrier")


@answers.wrong(5, "batches-lost")
def stops_with_the_shortest_rank(rank, batches, do):
    for _ in range(min(batches)):
        do("train")
        do("all_reduce gradients")
    finish(rank, do)


@answers.wrong(5, "too-much-training")
def trains_without_batches(rank, batches, do):
    for _ in range(max(batches)):
        do("train")
        do("all_reduce gradients")
    finish(rank, do)


@answers.wrong(5, "gradients-miscounted")
def reduces_once_at_the_end(rank, batches, do):
    for _ in range(batches[rank]):
        do("train")
    do("all_reduce gradients")
    finish(rank, do)


@answers.wrong(5, "not-after-each-batch")
def trains_first_and_reduces_later(rank, batches, do):
    for _ in range(batches[rank]):
        do("train")
    for _ in range(max(batches)):
        do("all_reduce gradients")
    finish(rank, do)


@answers.wrong(5, "not-evaluated")
def counts_on_rank_0_only(rank, batches, do):
    train_all(rank, batches, do)
    if rank == 0:
        do("evaluate")
    do("all_reduce counts")
    if rank == 0:
        do("save")
    do("barrier")


@answers.wrong(5, "counts-too-early")
def reduces_the_counts_before_counting(rank, batches, do):
    train_all(rank, batches, do)
    do("all_reduce counts")
    do("evaluate")
    if rank == 0:
        do("save")
    do("barrier")


@answers.wrong(5, "saved-by-all")
def saves_on_every_rank(rank, batches, do):
    train_all(rank, batches, do)
    do("evaluate")
    do("all_reduce counts")
    do("save")
    do("barrier")


@answers.wrong(5, "saved-by-all")
def saves_on_no_rank(rank, batches, do):
    train_all(rank, batches, do)
    do("evaluate")
    do("all_reduce counts")
    do("barrier")


@answers.wrong(5, "not-waited-for-the-file")
def waits_before_saving(rank, batches, do):
    train_all(rank, batches, do)
    do("evaluate")
    do("all_reduce counts")
    do("barrier")
    if rank == 0:
        do("save")


@answers.wrong(5, "saved-too-early")
def saves_at_the_start(rank, batches, do):
    if rank == 0:
        do("save")
    do("barrier")
    train_all(rank, batches, do)
    do("evaluate")
    do("all_reduce counts")


@answers.wrong(5, "saved-too-early")
def saves_after_its_own_batches(rank, batches, do):
    for _ in range(batches[rank]):
        do("train")
        do("all_reduce gradients")
    if rank == 0:
        do("save")
    for _ in range(max(batches) - batches[rank]):
        do("all_reduce gradients")
    do("evaluate")
    do("all_reduce counts")
    do("barrier")


@answers.wrong(5, "unknown-action")
def uses_other_action_names(rank, batches, do):
    train_all(rank, batches, do)
    do("evaluate")
    do("all-reduce counts")
    do("barrier")


@answers.wrong(5, "raised")
def uses_batches_as_a_number(rank, batches, do):
    for _ in range(batches):
        do("train")
        do("all_reduce gradients")
    finish(rank, do)
