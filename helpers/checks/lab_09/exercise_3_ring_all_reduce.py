"""Lab 09, exercise 3: the sum of all tensors for each process, sending few bytes."""

import torch

from helpers.checks.plain import PlainTensor, first, is_equal, is_list, is_tensor

answers = "ring_all_reduce(tensors, send)"
points = 4
success = "Every process has the sum, and none sent more than it had to."
section = "All-reduce: what it does and what it costs"


def cases(draw):
    for n in (4, 2, 3, 1):
        devices = [draw.devices[rank % len(draw.devices)] for rank in range(n)]
        shape = (n * draw.randint(2, 5),)
        tensors = [draw.integers(0, 100, shape, device, torch.float32) for device in devices]
        case = {"tensors": tensors, "n": n, "size": 4 * shape[0]}
        yield case | {"exact": 8 * (n - 1) * shape[0] // n}


def collect(call, case, ring_all_reduce):
    def run(added):
        sent, wrong, tensors = [0] * case.n, [], [tensor.make() for tensor in case.tensors]

        def send(source, target, tensor):
            if target != (source + 1) % case.n:
                wrong.append({"source": source, "target": target})
            sent[source] += tensor.nbytes
            return tensor.detach().clone().to(case.tensors[target % case.n].device) + added

        facts = call(ring_all_reduce, tensors, send)
        return facts.add(after=tensors, sent=sent, wrong_targets=wrong)

    # Every number of a sum depends on at least one message: all of them must change with these.
    return run(0).add(other=run(1).value if case.n > 1 else [])


def right(case):
    total = sum(tensor.values for tensor in case.tensors)
    return [PlainTensor(total, tensor.device) for tensor in case.tensors]


returns = ("not-a-list", lambda value, case: is_list(value, case.n, is_tensor))
side_effects = {"not-a-neighbor": lambda f: first(f.wrong_targets)}
mistakes = {
    "elsewhere": lambda f: first(
        x.device != y.device and {"rank": rank, "found": x.device, "wanted": y.device}
        for rank, (x, y) in enumerate(zip(f.value, f.right, strict=True))
    ),
    "different-sum": lambda f: first(
        not is_equal(f.value[rank], total) and {"rank": rank} for rank, total in enumerate(f.right)
    ),
}
costs = {
    "input-changed": lambda f: not is_equal(f.after, f.case.tensors),
    "too-many-bytes": lambda f: max(f.sent) > f.case.exact and {"found": max(f.sent)},
    "not-sent": lambda f: (
        min(f.sent) < f.case.exact
        or any((x.values == y.values).any() for x, y in zip(f.other, f.right, strict=False))
    ),
}
hints = """
not-a-list: `ring_all_reduce` returns {found}, but it should return a list of {n} tensors.
    -> Return one tensor for each process.
not-a-neighbor: With {n} processes, process {source} sends to process {target}.
    -> Each process sends only to its right neighbor. Which rank is the neighbor of the last?
elsewhere: The result of process {rank} is on {found}, but this process works on {wanted}.
    -> `send` returns the tensor on the device of the receiver. What do you combine it with?
different-sum: With {n} processes, the result of process {rank} is not the sum.
    -> Follow one chunk on paper: which process adds its numbers in which round? Is a chunk sent
    before or after it has been added to?
input-changed: After the call, the given tensors have changed.
    -> `chunk` returns views: writing to a chunk changes the tensor. What must you do first?
too-many-bytes: With {n} processes of {size} bytes, one sent {found} bytes; {exact} are enough.
    -> How large is one message, and how many rounds are there?
not-sent: With {n} processes, a process reads numbers of another one that were not sent to it.
    -> In a real ring, a process cannot read the tensors of the others. Use what `send` returns.
"""
